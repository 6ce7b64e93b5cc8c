"""Queries as text, beside what they compile to (queries.txt) or are refused with (errors.txt)."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from windrow.cql import CompiledQuery, compile_query
from windrow.dialect import SparkDialect
from windrow.model import CountWindow, Stream, WindrowError

HERE = Path(__file__).parent
FIELDS = {
    "LocationId": pa.int64(),
    "Value": pa.float64(),
    "TimeStamp": pa.timestamp("us"),
    "geo": pa.struct({"lat": pa.float64()}),
}
NOTED = {**FIELDS, "note": pa.string()}
AT = {"at": pa.timestamp("us")}
DOORS = {"site": pa.int64(), "rack": pa.string(), "door": pa.bool_(), **AT}
BADGES = {"site": pa.int32(), "rack": pa.string(), "person": pa.int64(), **AT}
STREAMS = [
    Stream(None, pa.schema(FIELDS), "Temperature", ("LocationId",), "TimeStamp"),
    Stream(None, pa.schema(NOTED), "Humidity", ("LocationId",), "TimeStamp"),
    Stream(None, pa.schema(FIELDS), "Power", ("LocationId",), "TimeStamp"),
    Stream(None, pa.schema(DOORS), "Doors", ("site", "rack"), "at"),
    Stream(None, pa.schema(BADGES), "Badges", ("site", "rack"), "at"),
    Stream(None, pa.schema(FIELDS), "Noise", None, "TimeStamp"),
]


def pairs(file: str) -> list[tuple[str, str]]:
    """The texts of a file, each with what is expected of it."""
    cases = (HERE / file).read_text().split("\n---\n")
    found = [case.strip("\n").split("\n=>\n") for case in cases]
    return [(asked, expected) for asked, expected in found]


@pytest.mark.parametrize(("asked", "expected"), pairs("queries.txt"))
def test_a_query_compiles_to_this(asked: str, expected: str) -> None:
    assert shown(compile_query(asked, "q", STREAMS)) == expected


@pytest.mark.parametrize(("asked", "expected"), pairs("errors.txt"))
def test_a_query_is_refused_with_this(asked: str, expected: str) -> None:
    with pytest.raises(WindrowError) as refused:
        compile_query(asked, "q", STREAMS)
    assert str(refused.value) == expected


def test_a_query_is_text_and_not_empty() -> None:
    with pytest.raises(WindrowError, match="query 'q': is empty"):
        compile_query(" -- nothing", "q", STREAMS)
    with pytest.raises(WindrowError, match="query 'q' is 5, expected SQL text"):
        compile_query(5, "q", STREAMS)  # type: ignore[arg-type]


def test_names_on_spark_are_by_spark_s_rule() -> None:
    fields = {"Id": pa.int64(), "a.b": pa.int64(), "geo": pa.struct({"Lat": pa.float64()}), **AT}
    streams = [
        Stream(None, pa.schema(fields), name, ("Id",), "at", dialect=SparkDialect())
        for name in ("my-heat", "damp")
    ]
    query = compile_query(
        "SELECT `b`.`a.b`, H.GEO.lat FROM `my-heat` h, Damp b WHERE h.ID = B.id WINDOW 1 min",
        "q",
        streams,
    )
    assert query.schema.names == ["a.b", "Lat"]
    assert query.wanted() == {(1, "a.b"), (0, "geo.Lat")}


def shown(query: CompiledQuery) -> str:
    """A compiled query as lines."""
    window = query.window
    length = f"{window.n} rows" if isinstance(window, CountWindow) else f"{window.micros} us"
    lines = [f"{query.signature.kind} of {[STREAMS[at].name for at in query.streams]}, {length}"]
    lines[0] += f", every {query.slide} us" if query.slide is not None else ""
    for part in query.filters:
        lines.append(f"filter {part.test.sql} | {sorted(STREAMS[at].name for at in part.streams)}")
    for group in query.group_by:
        lines.append(f"group {group.value.sql}: {group.type}")
    for item in query.select:
        of = "*" if item.value is None else item.value.sql
        what = f" = {item.function}({'distinct ' * item.distinct}{of})" if item.function else ""
        what = f" = group {item.group}" if item.group is not None else what
        lines.append(f"select {item.name}: {item.type}{what}")
    if query.aggregated:
        lines.append(f"answers have {query.schema.names[-1]}: {query.schema.types[-1]}")
    lines.append(f"reads {sorted((STREAMS[at].name, path) for at, path in query.wanted())}")
    return "\n".join(lines)
