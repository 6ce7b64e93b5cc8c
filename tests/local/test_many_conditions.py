"""Conditions on many streams: asked early, in bulk, and again where asking early failed."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.model import TimeWindow
from windrow.testing import assert_same_rows, naive_join

from .test_many import HOWS, ORDERS, fed, numbers, stream, valued

CONDITIONS = (
    ("a.v < b.v", lambda a, b, c: a["v"] < b["v"]),
    ("a.v <> 2 AND c.v > 0", lambda a, b, c: a["v"] != 2 and c["v"] > 0),
    ("(a.v <= b.v AND (b.v <= c.v)) AND a.v >= 1", lambda a, b, c: 1 <= a["v"] <= b["v"] <= c["v"]),
    ("a.v + b.v = c.v OR a.v = c.v", lambda a, b, c: c["v"] in (a["v"], a["v"] + b["v"])),
    ("b.v = 1 AND a.v <> c.v AND b.v < a.v", lambda a, b, c: b["v"] == 1 < a["v"] != c["v"]),
    ("FALSE AND a.v = b.v", lambda a, b, c: False),
)


by_condition = pytest.mark.parametrize(
    ("text", "holds"), CONDITIONS, ids=[text for text, _ in CONDITIONS]
)
half = settings(max_examples=max(settings().max_examples // 2, 5))


def cramped(plan):
    """A join that asks early whatever it costs, about few partial combinations at a time.

    Its search stops everywhere, because there is room for few matches, too.
    """
    join = local_join(plan)
    out = join.join._task.out
    out = out._replace(matches=out.matches[:, :2], partials=out.partials[:, :2])
    join.join._task = join.join._task._replace(out=out)
    join.join.search.worthwhile = 0
    return join


@by_condition
@pytest.mark.parametrize("how", HOWS)
@half
@given(
    drawn=valued(),
    order=st.sampled_from(ORDERS),
    algorithm=st.sampled_from(["hash", "nested-loops"]),
)
def test_conditions(how, text, holds, drawn, order, algorithm):
    sides, shares = drawn
    plan = wr.plan(*sides, how=how, condition=text, order=order, algorithm=algorithm)
    result = pa.concat_tables(list(fed(cramped(plan), shares)))
    assert_same_rows(result, naive_join(*sides, how=how, condition=holds))


@by_condition
@pytest.mark.parametrize("how", HOWS)
@half
@given(
    drawn=valued(),
    counts=st.tuples(*[st.none() | st.integers(1, 4)] * 3).filter(any),
    per=st.sampled_from(["key", "stream"]),
    order=st.sampled_from(ORDERS),
    early=st.booleans(),
)
def test_over_count_windows(how, text, holds, drawn, counts, per, order, early):
    """Beside windows of time, too; asked early, or at the end."""
    sides, shares = drawn
    # A row that a count keeps may leave alone at any time.
    order = order if how == "inner" else "none"
    sides = [
        side if n is None else replace(side, window=wr.rows(n, per))
        for side, n in zip(sides, counts, strict=True)
    ]
    plan = wr.plan(*sides, how=how, condition=text, order=order)
    join = cramped(plan) if early else local_join(plan)
    result = pa.concat_tables(list(fed(join, shares)))
    assert_same_rows(result, naive_join(*sides, how=how, condition=holds))


@pytest.mark.parametrize("per", ["key", "stream"])
@pytest.mark.parametrize("how", HOWS)
@given(drawn=valued(windows=[None]), counts=st.tuples(*[st.integers(1, 3)] * 3))
def test_mute_rows_count(how, per, drawn, counts):
    """A row that fails the part of the condition about its stream has its place in its window."""
    sides, shares = drawn
    windows = [*(wr.rows(n, per) for n in counts[:2]), TimeWindow(counts[2])]
    sides = [replace(side, window=window) for side, window in zip(sides, windows, strict=True)]
    join = local_join(wr.plan(*sides, how=how, condition="a.v <> 1 AND b.v < 2 AND c.v <= a.v"))
    result = pa.concat_tables(list(fed(join, shares)))
    holds = lambda a, b, c: a["v"] != 1 and b["v"] < 2 and c["v"] <= a["v"]  # noqa: E731
    assert_same_rows(result, naive_join(*sides, how=how, condition=holds))


def test_a_part_about_one_stream_is_asked_once_a_row():
    """Rows that fail it are not stored and do not probe."""
    sides = [stream(name, [(1, at, at % 4) for at in range(100)], 1000) for name in "abc"]
    result = wr.join(*sides, condition="a.v = 0 AND b.v = 1 AND c.v = 2")
    figures = wr.metrics(result)
    assert figures.inserted == {"a": 25, "b": 25, "c": 25}
    assert figures.tuples == {"a": 100, "b": 100, "c": 100}
    assert figures.candidates == figures.matches == result.num_rows == 25**3


@pytest.mark.parametrize("algorithm", ["hash", "nested-loops"])
def test_a_part_about_two_streams_is_asked_before_the_third_is_searched(algorithm):
    """200 rows of one key in each stream would make eight million candidates; 200 pairs hold."""
    rows = [(1, at, at) for at in range(200)]
    sides = [stream(name, rows, 1000) for name in "abc"]
    result = wr.join(*sides, condition="a.v = b.v AND b.v = c.v", algorithm=algorithm)
    assert sorted(numbers(result, sides)) == [(at, at, at) for at in range(200)]
    assert wr.metrics(result).candidates < 3 * 200 * 200


WAYS = {
    "time": [{}, {}, {}],
    "count": [{"window": wr.rows(200)}, {}, {}],
    "ends": [{}, {}, {"ends": "v < 0"}],
}
in_each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@in_each_way
def test_no_product_of_all_streams_is_asked_about(way):
    """Also under count windows and punctuations, once a tuple finds many combinations."""
    rows = [(1, at, at) for at in range(200)]
    sides = [stream(name, rows, 1000) for name in "abc"]
    sides = [replace(side, **more) for side, more in zip(sides, way, strict=True)]
    join = local_join(wr.plan(*sides, condition="a.v = b.v AND b.v = c.v"))
    join.join.search.worthwhile = min(join.join.search.worthwhile, 1000)
    assert sorted(numbers(join.run(), sides)) == [(at, at, at) for at in range(200)]
    assert join.figures().candidates < 200**3 / 10


# -- parts that fail -------------------------------------------------------------------------

BIG = 2**62


@in_each_way
@half
@given(
    drawn=valued(windows=[20]),
    how=st.sampled_from(["inner", "left"]),
    streams=st.permutations("abc"),
    early=st.booleans(),
)
def test_a_part_fails_only_on_whole_combinations(way, drawn, how, streams, early):
    """The product overflows for some pairs of a and b: that counts where c has a row for them."""
    sides, shares = drawn
    sides = [
        replace(side, data=enlarged(side.data), **more)
        for side, more in zip(sides, way, strict=True)
    ]
    if how == "inner":
        sides = [next(side for side in sides if side.name == name) for name in streams]
    asked = {"how": how, "condition": "a.v * b.v > 0"}
    plan = wr.plan(*sides, **asked)
    join = cramped(plan) if early else local_join(plan)
    whole = naive_join(*sides).to_pylist()
    if any(row["a"]["v"] * row["b"]["v"] >= 2**63 for row in whole):
        with pytest.raises(wr.WindrowError, match="overflow"):
            list(fed(join, shares))
        return

    def holds(**row):
        return row["a"]["v"] * row["b"]["v"] > 0

    expected = naive_join(
        *sides,
        how=how,
        condition=lambda *rows: holds(**dict(zip((s.name for s in sides), rows, strict=True))),
    )
    assert_same_rows(pa.concat_tables(list(fed(join, shares))), expected)


def enlarged(data):
    """Values of 3 become too big to multiply."""
    values = [BIG if value == 3 else value for value in data["v"].to_pylist()]
    return data.set_column(data.column_names.index("v"), "v", pa.array(values, pa.int64()))


@in_each_way
def test_where_one_pair_fails_the_others_are_still_asked_early(way):
    """Of 40,000 pairs of one key one overflows; no row of c fits it."""
    rows = [(1, at, at + 1) for at in range(200)]
    a = stream("a", [*rows, (1, 1999, BIG)], 1000)
    b = stream("b", [*rows, (1, 1999, BIG)], 1000)
    c = stream("c", [*rows, (2, 5000, 1)], 1000)
    sides = [replace(side, **more) for side, more in zip((a, b, c), way, strict=True)]
    join = local_join(wr.plan(*sides, condition="a.v * b.v = 1 AND c.v = b.v"))
    join.join.search.worthwhile = 0
    # a, then b, then c, whatever is expected.
    join.join.search.expected = (1.0, 1.0, 1e6)
    assert numbers(join.run(), sides) == [(0, 0, 0)]
    assert join.figures().candidates < 200**3 / 10
