"""Continuous queries over tables, as users ask them, against DuckDB."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.model import BEGINNING
from windrow.testing.queries_oracle import Asked, duckdb_answers, duckdb_select

ALIASES = ("A", "B", "C")
FILTERS = [
    "A.v > 2",
    "B.v < 6 AND A.v <> B.v",
    "(A.s = 'x' OR B.s IS NULL)",
    "A.v + B.v > 5",
    "C.v >= 3",
]
SELECTS = ["A.v", "B.s", "A.v + B.v", "C.v", "A.k"]
AGGREGATES = [
    ("count", None, False),
    ("count", "A.s", False),
    ("count", "B.v", True),
    ("count", "A.s", True),
    ("sum", "A.v", False),
    ("sum", "B.w", False),
    ("avg", "B.w", False),
    ("min", "A.w", False),
    ("max", "B.v", False),
    ("max", "C.w", False),
]
GROUPS = ["A.k", "B.s", "A.v", "C.s"]


@dataclass(frozen=True)
class Drawn:
    """A query, and the batches before which it is added and dropped."""

    asked: Asked
    added: int
    dropped: int

    @property
    def sql(self) -> str:
        asked = self.asked
        names = [stream.name for stream in asked.streams]
        sources = ", ".join(f"{n.upper()} {a}" for n, a in zip(names, asked.aliases, strict=True))
        where = [f"A.k = {other}.k" for other in asked.aliases[1:]]
        where += [asked.where] if asked.where else []
        items = [f"{text} AS c{at}" for at, text in enumerate(asked.select)]
        items += ["ts AS t"] if asked.select else []
        items += [f"{text} AS g{at}" for at, text in enumerate(asked.groups)]
        for at, (function, text, distinct) in enumerate(asked.aggregates):
            items.append(f"{function}({'DISTINCT ' * distinct}{text or '*'}) AS a{at}")
        by = f" GROUP BY {', '.join(asked.groups)}" if asked.groups else ""
        window = f"{asked.window} us" + (f" SLIDE {asked.slide} us" if asked.slide else "")
        if asked.rows is not None:
            window = f"{asked.rows[0]} ROWS" + " PER KEY" * (asked.rows[1] == "key")
        return (
            f"SELECT {', '.join(items)} FROM {sources} WHERE {' AND '.join(where)}{by} "
            f"WINDOW {window}"
        )

    def expected(self) -> list[dict[str, Any]]:
        asked = replace(self.asked, batches=(self.added, self.dropped))
        if asked.aggregates:
            return duckdb_answers(asked).to_pylist()
        times = ", ".join(f"{alias}.__ts" for alias in asked.aliases)
        found = duckdb_select(replace(asked, select=(*asked.select, f"greatest({times})")))
        rows: list[dict[str, Any]] = found.rename_columns(
            [*found.column_names[:-1], "t"]
        ).to_pylist()
        return rows


@st.composite
def streams(draw: st.DrawFn, count: int) -> list[wr.Stream]:
    """Tables of equal length, each in the order of time."""
    rows = draw(st.integers(1, 14))
    made = []
    for name in ("a", "b", "c")[:count]:
        steps = st.lists(st.integers(0, 4), min_size=rows, max_size=rows)
        start, times = draw(st.integers(-8, 3)), []
        for step in draw(steps):
            start += step
            times.append(start)

        def column(values: list[Any]) -> list[Any]:
            return draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))

        data = pa.table(
            {
                "k": pa.array(column([1, 1, 2, None]), pa.int64()),
                "v": pa.array(column([None, 1, 3, 7]), pa.int64()),
                "w": pa.array(column([None, 0.5, -2.25, 8.0]), pa.float64()),
                "s": pa.array(column([None, "x", "y"]), pa.string()),
                "t": pa.array(times, pa.timestamp("us")),
            }
        )
        made.append(wr.stream(data, name=name, key="k", time="t"))
    return made


@st.composite
def queries(draw: st.DrawFn, given_: list[wr.Stream], batches: int, closed: bool) -> Drawn:
    count = draw(st.integers(2, len(given_)))
    chosen = draw(st.permutations(given_))[:count]
    aliases = ALIASES[:count]

    def usable(texts: list[Any]) -> list[Any]:
        return [text for text in texts if count == 3 or "C." not in str(text)]

    window = draw(st.sampled_from([0, 1, 3, 6, 20]))
    where = draw(st.none() | st.sampled_from(usable(FILTERS)))
    asked = Asked(tuple(chosen), aliases, window, where=where, closed=closed)
    aggregates = st.sampled_from(usable(AGGREGATES))
    if window and draw(st.booleans()):
        asked = replace(
            asked,
            slide=draw(st.sampled_from([None, 1, 2, 5, 9])),
            aggregates=tuple(draw(st.lists(aggregates, min_size=1, max_size=3))),
            groups=tuple(draw(st.lists(st.sampled_from(usable(GROUPS)), max_size=2, unique=True))),
        )
    else:
        picked = st.lists(st.sampled_from(usable(SELECTS)), min_size=1, max_size=3)
        asked = replace(asked, select=tuple(draw(picked)))
    added = draw(st.integers(0, batches))
    dropped = draw(st.just(2**62) | st.integers(added, batches))
    return Drawn(asked, added, dropped)


@given(st.data())
def test_answers_are_those_of_sql(data: st.DataObject) -> None:
    given_ = data.draw(streams(data.draw(st.integers(2, 3))))
    rows = len(given_[0].data)
    size = data.draw(st.integers(1, rows))
    batches = -(-rows // size)
    closed = data.draw(st.booleans())
    drawn = data.draw(st.lists(queries(given_, batches - 1, closed), min_size=1, max_size=4))
    running = wr.ContinuousQueries(
        *given_,
        closed=closed,
        schedule=data.draw(st.sampled_from(["lwo", "swf", "mqt"])),
        budget=data.draw(st.none() | st.integers(1, 9)),
    )
    for batch in range(batches):
        for number, query in enumerate(drawn):
            if query.added == batch:
                running.add(query.sql, name=f"q{number}")
            if query.dropped == batch:
                running.drop(f"q{number}")
        found = running.run(size)
    for number, query in enumerate(drawn):
        query = replace(query, asked=replace(query.asked, batch_rows=size))
        first = complete_from(running, f"q{number}", query.asked)
        got, expected = plain(found[f"q{number}"]), query.expected()
        if query.added == query.dropped:
            assert got == []
        elif first is None:
            assert got == expected
        else:
            # Before, rows are missing that had come before the query.
            assert [r for r in got if r["t"] >= first] == [r for r in expected if r["t"] >= first]


@given(st.data())
def test_windows_of_rows_are_those_of_sql(data: st.DataObject) -> None:
    given_ = data.draw(streams(data.draw(st.integers(2, 3))))
    rows = len(given_[0].data)
    size = data.draw(st.integers(1, rows))
    batches = -(-rows // size)
    per = data.draw(st.sampled_from(["key", "stream"]))
    chosen = data.draw(st.permutations(given_))[: data.draw(st.integers(2, len(given_)))]
    usable = [text for text in FILTERS if len(chosen) == 3 or "C." not in text]
    drawn = []
    for number in range(data.draw(st.integers(1, 3))):
        asked = Asked(
            tuple(chosen),
            ALIASES[: len(chosen)],
            0,
            where=data.draw(st.none() | st.sampled_from(usable)),
            select=("A.v", "B.s"),
            rows=(data.draw(st.sampled_from([1, 2, 3, 8])) if number else 8, per),
            batch_rows=size,
        )
        # The one with the most rows runs all the time, so all that others want is there.
        added = data.draw(st.integers(0, batches - 1)) if number else 0
        ends = st.just(2**62) | st.integers(added, batches) if number else st.just(2**62)
        drawn.append(Drawn(asked, added, data.draw(ends)))
    running = wr.ContinuousQueries(*given_)
    for batch in range(batches):
        for number, query in enumerate(drawn):
            if query.added == batch:
                running.add(query.sql, name=f"q{number}")
            if query.dropped == batch:
                running.drop(f"q{number}")
        found = running.run(size)
    for number, query in enumerate(drawn):
        assert plain(found[f"q{number}"]) == query.expected(), query.sql


def complete_from(running: wr.ContinuousQueries, name: str, asked: Asked) -> int | None:
    """The time from which on a query has every answer."""
    assert running._local is not None
    since = running._local.queries[name][1].complete_from
    if since == BEGINNING:
        return None
    # An empty answer follows one that must be complete, too.
    return since + (asked.window + (asked.slide or 0)) * bool(asked.aggregates)


def plain(found: pa.Table) -> list[dict[str, Any]]:
    """Rows as DuckDB has them: times as numbers."""
    at = found.column_names.index("ts" if "ts" in found.column_names else "t")
    times = found.column(at).cast(pa.int64())
    rows: list[dict[str, Any]] = found.set_column(at, "t", times).to_pylist()
    return rows
