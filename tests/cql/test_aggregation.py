"""Aggregates against plain loops: windows, slides, groups, splits, and going on from a state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.cql import compile_query
from windrow.cql.answers import Aggregation
from windrow.model import END, Stream, WindrowError

pytestmark = pytest.mark.kernel

KINDS = {
    "i": pa.int64(),
    "small": pa.int8(),
    "u": pa.uint64(),
    "f": pa.float64(),
    "f32": pa.float32(),
    "d": pa.decimal128(20, 3),
    "s": pa.string(),
    "b": pa.bool_(),
    "t": pa.timestamp("ms"),
}
POOLS: dict[str, list[Any]] = {
    "i": [None, 0, 1, -1, 2**40, -(2**40) - 7],
    "small": [None, -128, 0, 127],
    "u": [None, 0, 1, 2**63, 2**63 - 1],
    "f": [None, 0.0, -0.0, 0.1, -3.5, 1e300, 5e-324, math.inf, -math.inf, math.nan],
    "f32": [None, 0.5, -2.25, math.nan],
    "d": [None, Decimal("0.001"), Decimal("-12345678901234567.890"), Decimal("99.5")],
    "s": [None, "", "a", "ä", "a\0"],
    "b": [None, False, True],
    "t": [None, 0, 1_700_000_000_000, -5],
}
FIELDS = {"k": pa.int64(), "at": pa.timestamp("us"), **KINDS}
STREAMS = [Stream(None, pa.schema(FIELDS), name, ("k",), "at") for name in ("A", "B")]
ASKED = [
    "COUNT(*)",
    *(f"COUNT(A.{c})" for c in KINDS),
    *(f"COUNT(DISTINCT A.{c})" for c in KINDS),
    *(f"{f}(A.{c})" for f in ("MIN", "MAX") for c in KINDS if c != "s"),
    *(f"{f}(A.{c})" for f in ("SUM", "AVG") for c in ("i", "small", "u", "f", "f32", "d")),
]


@dataclass(frozen=True)
class Result:
    """A result of the join: the times of its rows, and its values by column."""

    oldest: int
    newest: int
    values: dict[str, Any]


def results(most: int = 14) -> st.SearchStrategy[list[Result]]:
    """A few results, close together."""
    made = st.builds(
        lambda newest, age, values: Result(newest - age, newest, values),
        st.integers(-12, 40),
        st.integers(0, 12),
        st.fixed_dictionaries({name: st.sampled_from(pool) for name, pool in POOLS.items()}),
    )
    return st.lists(made, max_size=most)


def inputs(query: Any, found: Sequence[Result]) -> pa.RecordBatch:
    """What a compiled query makes of the results."""

    def column(_: int, path: str) -> pa.Array:
        return pa.array([each.values[path] for each in found], KINDS[path])

    batch: pa.RecordBatch = query.inputs(column, len(found))
    return batch


def expected(
    found: Sequence[Result], window: int, slide: int | None, groups: Sequence[str], asked: list[str]
) -> list[tuple[Any, ...]]:
    """All answers, by plain loops over times, groups and results."""
    keyed: dict[tuple[Any, ...], list[Result]] = {}
    for each in found:
        key = tuple(_same(each.values[name]) for name in groups)
        keyed.setdefault(key, []).append(each)
    rows = []
    for key, mine in keyed.items():
        if slide is None:
            times = sorted({each.newest for each in mine})
        else:
            span = range(min(e.oldest for e in mine) - 20, max(e.newest for e in mine) + 60)
            steps = [t for t in span if t % slide == 0]
            live = [t for t in steps if any(_in(e, t, window) for e in mine)]
            times = sorted({*live, *(t + slide for t in live)} if not groups else live)
        for t in times:
            inside = [each.values for each in mine if _in(each, t, window)]
            rows.append((*key, *(_aggregate(text, inside) for text in asked), t))
    return sorted(rows, key=lambda row: (row[-1], *(_rank(v) for v in row[: len(groups)])))


def _in(each: Result, t: int, window: int) -> bool:
    return each.oldest > t - window and each.newest <= t


def _same(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def _rank(value: Any) -> tuple[int, Any]:
    """Nulls last, NaN before them."""
    return (2, 0) if value is None else (1, 0) if value == "nan" else (0, value)


def _aggregate(text: str, rows: list[dict[str, Any]]) -> Any:
    function, _, rest = text.partition("(")
    name = rest.rstrip(")").rpartition(".")[2]
    if name == "*":
        return len(rows)
    values = [_same(row[name]) for row in rows if row[name] is not None]
    if function == "COUNT":
        return len(set(values)) if "DISTINCT" in text else len(values)
    if not values:
        return None
    if function in ("MIN", "MAX"):
        return (min if function == "MIN" else max)(values, key=_rank)
    total = _sum(values)
    if function == "SUM" or total == "nan":
        return total
    return float(total) / len(values)


def _sum(values: list[Any]) -> Any:
    if not isinstance(values[0], float) and "nan" not in values:
        return sum(values)
    infinite = {v for v in values if v in (math.inf, -math.inf)}
    if "nan" in values or len(infinite) > 1:
        return "nan"
    return infinite.pop() if infinite else math.fsum(values)


def plain(table: pa.Table) -> list[tuple[Any, ...]]:
    """A table's rows, comparable: times as numbers, NaN as a word."""
    columns = [
        column.cast(pa.int64()).to_pylist() if pa.types.is_timestamp(column.type)
        else [_same(value) for value in column.to_pylist()]
        for column in table.columns
    ]  # fmt: skip
    return list(zip(*columns, strict=True))


@given(st.data())
def test_answers_are_those_of_plain_loops(data: st.DataObject) -> None:
    found = data.draw(results())
    window = data.draw(st.sampled_from([1, 2, 5, 12, 13]))
    slide = data.draw(st.sampled_from([None, 1, 2, 3, 7, 20]))
    groups = data.draw(
        st.lists(st.sampled_from(["i", "f", "s", "d", "b"]), max_size=2, unique=True)
    )
    asked = data.draw(st.lists(st.sampled_from(ASKED), max_size=4, unique=True))
    asked = asked or ["COUNT(*)"]
    by = ", ".join(f"A.{name}" for name in groups)
    items = ", ".join([*(f"A.{n} AS g_{n}" for n in groups), *(f"{t} AS `{t}`" for t in asked)])
    query = compile_query(
        f"SELECT {items} FROM A, B WHERE A.k = B.k {'GROUP BY ' * bool(by)}{by} "
        f"WINDOW {window} us" + (f" SLIDE {slide} us" if slide else ""),
        "q",
        STREAMS,
    )
    wanted = expected(found, window, slide, groups, asked)
    if any(isinstance(value, int) and value >= 2**64 for row in wanted for value in row):
        with pytest.raises(WindrowError, match="does not fit uint64"):
            answers(data, query, found)
    else:
        assert plain(answers(data, query, found)) == wanted


def answers(data: st.DataObject, query: Any, found: list[Result]) -> pa.Table:
    """The answers to results that come in some order and batches, with restarts between."""
    left = data.draw(st.permutations(found))
    aggregation = Aggregation(query)
    batches: list[pa.RecordBatch] = []
    while left:
        count = data.draw(st.integers(1, len(left)))
        now, left = left[:count], left[count:]
        aggregation.add(
            inputs(query, now),
            np.array([each.oldest for each in now]),
            np.array([each.newest for each in now]),
        )
        progress = min((each.newest for each in left), default=60)
        batches += aggregation.advance(progress - data.draw(st.integers(0, 5)))
        if data.draw(st.booleans()):
            aggregation = Aggregation.resume(query, aggregation.state(), aggregation.standing())
    batches += aggregation.advance(END)
    assert len(aggregation) == 0
    return pa.Table.from_batches(batches, query.schema)


def count(window: int, slide: int | None = None) -> Aggregation:
    text = f"SELECT COUNT(*) AS n FROM A, B WHERE A.k = B.k WINDOW {window} us"
    return Aggregation(compile_query(text + (f" SLIDE {slide} us" if slide else ""), "q", STREAMS))


def answered(aggregation: Aggregation, progress: int) -> list[tuple[int, int]]:
    table = pa.Table.from_batches(aggregation.advance(progress), aggregation.query.schema)
    return plain(table)  # type: ignore[return-value]


def add(aggregation: Aggregation, *times: tuple[int, int]) -> None:
    none = inputs(aggregation.query, [Result(0, 0, {})] * len(times))
    oldest, newest = np.array(times).T
    aggregation.add(none, oldest, newest)


def test_an_answer_leaves_once_progress_has_passed_its_time() -> None:
    aggregation = count(10)
    add(aggregation, (5, 7), (6, 7))
    assert answered(aggregation, 7) == []
    assert answered(aggregation, 8) == [(2, 7)]
    assert answered(aggregation, END) == []


def test_a_result_of_the_window_s_age_is_in_no_answer() -> None:
    aggregation = count(10)
    add(aggregation, (0, 10), (1, 10))
    assert answered(aggregation, END) == [(1, 10)]
    alone = count(10)
    add(alone, (0, 10))
    assert answered(alone, END) == [(0, 10)]
    sliding = count(10, 5)
    add(sliding, (0, 10))
    assert answered(sliding, END) == []


def test_after_each_stretch_of_answers_an_empty_one_follows() -> None:
    aggregation = count(10, 5)
    add(aggregation, (9, 10), (41, 42))
    assert answered(aggregation, 20) == [(1, 10), (1, 15)]
    # The interval up to 20 is (10, 20], which does not hold 9.
    assert answered(aggregation, 21) == [(0, 20)]
    assert answered(aggregation, END) == [(1, 45), (1, 50), (0, 55)]


def test_multiples_before_1970_are_multiples_too() -> None:
    aggregation = count(10, 4)
    add(aggregation, (-7, -6))
    assert answered(aggregation, END) == [(1, -4), (1, 0), (0, 4)]


def test_memory_follows_live_results() -> None:
    aggregation = count(10)
    for start in range(0, 20_000, 1000):
        times = [(t, t) for t in range(start, start + 1000)]
        add(aggregation, *times)
        answered(aggregation, start + 1000)
        assert len(aggregation) < 12
        assert aggregation._arrays.slots < 4200
    answered(aggregation, END)
    assert (len(aggregation), aggregation._arrays.slots) == (0, 256)


def test_groups_that_are_gone_are_forgotten() -> None:
    query = compile_query(
        "SELECT A.s, COUNT(DISTINCT A.s) AS n FROM A, B WHERE A.k = B.k GROUP BY A.s WINDOW 2 us",
        "q",
        STREAMS,
    )
    aggregation = Aggregation(query)
    rows = []
    for t in range(0, 5000, 500):
        found = [Result(u, u, {"s": str(u)}) for u in range(t, t + 500)]
        times = np.arange(t, t + 500)
        aggregation.add(inputs(query, found), times, times)
        rows += plain(pa.Table.from_batches(aggregation.advance(t + 500), query.schema))
        assert aggregation._groups is not None
        assert len(aggregation._groups) < 3
        assert len(aggregation._codes[0]) < 3
    rows += plain(pa.Table.from_batches(aggregation.advance(END), query.schema))
    assert rows == [(str(t), 1, t) for t in range(5000)]


def test_a_sum_that_does_not_fit_is_refused() -> None:
    query = compile_query(
        "SELECT SUM(A.i) AS total FROM A, B WHERE A.k = B.k WINDOW 10 us", "q", STREAMS
    )
    aggregation = Aggregation(query)
    largest = {"i": 2**63 - 1}
    two = inputs(query, [Result(1, 1, largest), Result(2, 2, {"i": 1})])
    aggregation.add(two, np.array([1, 2]), np.array([1, 2]))
    with pytest.raises(WindrowError, match=r"total at 1970-01-01 .* does not fit int64"):
        list(aggregation.advance(END))


def test_what_has_left_a_sum_leaves_nothing_behind() -> None:
    query = compile_query(
        "SELECT SUM(A.f) AS total FROM A, B WHERE A.k = B.k WINDOW 2 us", "q", STREAMS
    )
    aggregation = Aggregation(query)
    found = [Result(t, t, {"f": f}) for t, f in enumerate([1e300, 0.1, 0.2, 1e-300, 3.0])]
    times = np.arange(5)
    aggregation.add(inputs(query, found), times, times)
    (batch,) = aggregation.advance(END)
    assert batch.column(0).to_pylist() == [1e300, 1e300, 0.1 + 0.2, 0.2, 3.0]
