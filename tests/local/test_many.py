"""Joins of many streams in one operator: kinds x ways, conditions, orders, and when rows leave."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.model import Algorithm, Invalidation
from windrow.operators.progress import of_the_others
from windrow.testing import (
    KEY_KINDS,
    assert_same_rows,
    duckdb_join,
    many_cases,
    naive_batches,
)

HOWS = ("inner", "left", "semi", "anti")
ORDERS = ("none", "sync-filter", "filter-order", "adaptive")
INVALIDATIONS = get_args(Invalidation)
NUMBERS = tuple(kind for kind in KEY_KINDS if kind != "none")


def stream(name, rows, window, **more):
    """Rows of (key, time) or (key, time, value); `n` is the row's number."""
    data = pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.int64()),
            "t": pa.array([row[1] for row in rows], pa.timestamp("us")),
            "v": pa.array([(*row, 0)[2] for row in rows], pa.int64()),
            "n": pa.array(range(len(rows)), pa.int64()),
        }
    )
    more = {"window": window if window is None else f"{window} microseconds", **more}
    return wr.stream(data, name=name, key="k", time="t", **more)


def numbers(result, streams):
    """The result as row numbers, None where there is none."""
    names = [each.name for each in streams if each.name in result.column_names]
    return [tuple(row[n] and row[n]["n"] for n in names) for row in result.to_pylist()]


# -- every kind in every way -----------------------------------------------------------------


@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=2 * settings().max_examples)
@given(
    case=many_cases() | many_cases(beats=True),
    algorithm=st.sampled_from(get_args(Algorithm)),
    invalidation=st.sampled_from(INVALIDATIONS),
    batch_rows=st.none() | st.integers(1, 8),
    buckets=st.none() | st.integers(1, 9),
)
def test_any_way_to_any_answer(how, same_as_oracle, case, **way):
    case = replace(case, how=how)
    if case.left.key is None:
        way["algorithm"] = "auto"
    if case.left.key is None or way["algorithm"] == "nested-loops":
        way["buckets"] = None
    same_as_oracle(case, way)


@pytest.mark.parametrize("how", HOWS)
@given(
    case=many_cases(count_windows=True),
    batch_rows=st.none() | st.integers(1, 8),
    order=st.sampled_from(ORDERS),
)
def test_count_windows(how, same_as_oracle, case, batch_rows, order):
    # A row that a count keeps may leave alone at any time: its order is refused.
    order = order if how == "inner" else "none"
    same_as_oracle(replace(case, how=how), {"batch_rows": batch_rows, "order": order})


@pytest.mark.parametrize("order", ORDERS[1:])
@given(case=many_cases(counts=[3, 4]), batch_rows=st.none() | st.integers(1, 8))
def test_in_order(order, join, case, batch_rows):
    result = join(case, order=order, batch_rows=batch_rows)
    assert_same_rows(result, duckdb_join(*case.streams, **case.options))
    times = result["ts"].cast(pa.int64()).to_pylist()
    assert times == sorted(times)


@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=max(settings().max_examples // 10, 3))
@given(data=st.data())
def test_every_key_type(kind, same_as_oracle, data):
    case = data.draw(many_cases(counts=[3], key_kinds=[kind]))
    same_as_oracle(case, {}, {"batch_rows": 2, "buckets": 3}, {"algorithm": "nested-loops"})


@given(
    case=many_cases(counts=[3, 4], late=True) | many_cases(counts=[3], late=True, beats=True),
    batch_rows=st.integers(1, 4),
    order=st.sampled_from(ORDERS),
    bad=st.sampled_from(["drop", "keep"]),
)
def test_late_and_bad_rows_are_kept(join, case, batch_rows, order, bad):
    """With an order, too."""
    kept = {"late": "keep", "bad": bad, "batch_rows": batch_rows}
    expected, late = naive_batches(*case.streams, how=case.how, closed=case.closed, **kept)
    result = join(case, order=order, **kept)
    assert_same_rows(result, expected)
    times = result.filter(pc.is_in(result["kind"], pa.array(["match", "unmatched"])))["ts"]
    if order != "none":
        assert times.cast(pa.int64()).to_pylist() == sorted(times.cast(pa.int64()).to_pylist())
    assert wr.metrics(result).late == {name: len(rows) for name, rows in late.items()}


# -- batches by hand ------------------------------------------------------------------------


@st.composite
def valued(draw, windows=(0, 1, 3, 20)):
    """Three streams in order with a value each, and the shares in which they arrive."""
    sides = []
    for name in "abc":
        gaps = draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 5]), max_size=9))
        rows = [
            (draw(st.sampled_from([1, 1, 1, 2])), int(t), draw(st.integers(0, 3)))
            for t in np.cumsum(gaps)
        ]
        sides.append(stream(name, rows, draw(st.sampled_from(windows))))
    share = st.tuples(*[st.integers(0, 5)] * 3)
    return sides, draw(st.lists(share, max_size=6))


def fed(join, shares):
    """What leaves in each batch: the rows that are left come last."""
    at = [0] * len(join.tables)
    for share in [*shares, (100,) * len(at)]:
        ranges = [(start, start + more) for start, more in zip(at, share, strict=True)]
        yield pa.Table.from_batches(join.record_batches(join.batch(ranges)), join.schema)
        at = [min(stop, len(t)) for (_, stop), t in zip(ranges, join.tables, strict=True)]


# -- when rows of the first stream leave alone -----------------------------------------------


def gone_by(sides, arrived, progress):
    """The unmatched rows of s1 that can be in no result any more, by the definition.

    One other stream has no tuple for such a row that can still be in a result, and sends none; or
    all others have passed its reach.
    """
    reaches = [side.window.micros for side in sides]
    rows = [
        [(r["k"], r["t"], r["n"]) for r in plain_rows(side)[:count]]
        for side, count in zip(sides, arrived, strict=True)
    ]

    def fits(x, y, other):
        apart = y[1] - x[1]
        return x[0] == y[0] and -reaches[other] <= apart <= reaches[0]

    found = set()
    for x in rows[0]:
        if x[1] + reaches[0] < of_the_others(progress, 0):
            found.add(x[2])
        for other in range(1, len(sides)):
            passed = of_the_others(progress, other)
            alive = [y for y in rows[other] if y[1] + reaches[other] >= passed]
            silent = progress[other] > x[1] + reaches[0]
            if silent and not any(fits(x, y, other) for y in alive):
                found.add(x[2])
    return found


def plain_rows(side):
    return side.data.set_column(1, "t", side.data["t"].cast(pa.int64())).to_pylist()


@pytest.mark.parametrize("how", ["left", "anti"])
@pytest.mark.parametrize("algorithm", ["hash", "nested-loops"])
@settings(max_examples=3 * settings().max_examples)
@given(drawn=valued())
def test_a_row_leaves_alone_as_soon_as_it_can(how, algorithm, drawn):
    """In the batch in which it is known: none before, none after, none twice."""
    sides, shares = drawn
    join = local_join(wr.plan(*sides, how=how, algorithm=algorithm))
    matched = {row[0] for row in numbers(wr.join(*sides, how="semi"), sides)}
    left, arrived = [], [0, 0, 0]
    for share, out in zip([*shares, (100,) * 3], fed(join, shares), strict=True):
        left += [row["a"]["n"] for row in out.to_pylist() if how == "anti" or row["b"] is None]
        arrived = [
            min(at + more, len(side.data))
            for at, more, side in zip(arrived, share, sides, strict=True)
        ]
        progress = [each.now for each in join.progress]
        assert set(left) == gone_by(sides, arrived, progress) - matched
    assert len(left) == len(set(left))


def test_a_row_without_a_partner_in_one_stream_does_not_wait_for_the_slowest():
    """b has passed row 0 of a, with nothing for it; c is still at the beginning."""
    a, b = stream("a", [(1, 0), (2, 1)], 10), stream("b", [(2, 2), (3, 11)], 10)
    c = stream("c", [(9, 0), (9, 50)], 10)
    join = local_join(wr.plan(a, b, c, how="left"))
    assert numbers(next(fed(join, [(2, 2, 1)])), (a, b, c)) == [(0, None, None)]
    assert join.figures().live_rows["a"] == 1


# -- order of probing ------------------------------------------------------------------------


def test_the_stream_with_fewest_matches_is_probed_first():
    """c has a match for one key in fifty, b ten for each: c is asked first, b for what is left."""
    keys = range(5000)
    a = stream("a", [(key % 500, 10 * at) for at, key in enumerate(keys)], 5)
    b = stream("b", [(at % 500, at) for at in range(0, 50_000, 10)], 500_000)
    c = stream("c", [(50 * (at % 10), at) for at in range(0, 50_000, 1000)], 500_000)
    result = wr.join(a, b, c, batch_rows=100)
    figures = wr.metrics(result)
    assert figures.probe_order[-1] == "b"
    assert figures.probes["c"] > 3 * figures.probes["b"]
    assert_same_rows(result, duckdb_join(a, b, c))


@pytest.mark.parametrize("how", HOWS)
def test_the_order_that_explain_says_is_the_one_used(how):
    """Of the first row on: c is asked first, or s1 where one result of its rows is enough."""
    keys = [(key % 20, key) for key in range(1000)]
    a, b = stream("a", keys, 500), stream("b", keys, 1000)
    c = stream("c", keys[::100], 1000)
    expected = {"inner": "cab", "left": "cab", "semi": "acb", "anti": "acb"}[how]
    said = str(wr.explain(a, b, c, how=how))
    order = [said.index(f"{name} (", said.index("probing: ")) for name in expected]
    assert order == sorted(order)
    join = local_join(wr.plan(a, b, c, how=how))
    next(fed(join, [(1, 1, 1)]))
    used = ["".join("abc"[stream] for stream in row) for row in join.join._task.probing.order]
    assert used == [name + expected.replace(name, "") for name in "abc"]


def test_explain_has_no_order_of_probing_for_two():
    a, b = stream("a", [(1, 1)], 10), stream("b", [(1, 1)], 10)
    assert "probing" not in str(wr.explain(a, b))


@pytest.mark.parametrize("known", [True, False])
def test_a_wrong_order_costs_few_comparisons(known):
    """Half of c has the hot key, but far too late: what is expected is soon put right.

    So it is where nothing is expected.
    """
    hot = [(1, at) for at in range(1000)]
    a, b = stream("a", hot, 1000), stream("b", hot[::8], 1000)
    c = stream("c", [(2, at) for at in range(1000)] + [(1, 5000)] * 1000, 1000)
    join = local_join(wr.plan(a, b, c))
    assert join.join.search.expected[1] < join.join.search.expected[2]
    if not known:
        join.join.search.expected = (0.0,) * 3
    assert join.run().num_rows == 0
    assert join.figures().comparisons < 2000


# -- bounds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("condition", [None, "a.v = b.v"], ids=["settled", "judged"])
def test_any_fan_out_fits_the_buffers(how, condition):
    """A product of 60 x 60 x 60 x 2 of one key, through buffers of 128 rows."""
    sides = [stream(name, [(1, at, at) for at in range(60)], 1000) for name in "abc"]
    sides.append(stream("d", [(1, 30), (1, 31)], 1000))
    join = local_join(wr.plan(*sides, how=how, condition=condition))
    out = join.join._task.out
    small = {name: array[:, :128] for name, array in out._asdict().items()}
    join.join._task = join.join._task._replace(out=out._replace(**small))
    result = join.run()
    pairs = 60 if condition else 60 * 60
    assert result.num_rows == {"inner": 2 * 60 * pairs, "left": 2 * 60 * pairs, "semi": 60}.get(
        how, 0
    )


def test_a_key_that_one_stream_has_none_of_costs_no_product():
    """Of a hot key without a row of c, nothing of the pairs of a and b is enumerated."""
    hot = [(1, at) for at in range(2000)]
    a, b = stream("a", hot, 10_000), stream("b", hot, 10_000)
    c = stream("c", [(2, at) for at in range(2000)], 10_000)
    figures = wr.metrics(wr.join(a, b, c))
    assert figures.comparisons < 20_000
    assert figures.matches == 0


# -- both sides of every edge ----------------------------------------------------------------

EDGES = [
    pytest.param(times, closed, id=f"{times}-{'closed' if closed else 'open'}")
    for times, closed in product(product((0, 2, 3, 4), repeat=3), (True, False))
]


@pytest.mark.parametrize(("times", "closed"), EDGES)
def test_both_sides_of_every_edge(times, closed):
    """One row of each stream, windows 3, 2 and 4, in any order of arrival."""
    windows = (3, 2, 4)

    def reaches(x, y):
        gap, window = times[y] - times[x], windows[x]
        return gap <= 0 or gap < window or (closed and gap == window)

    fits = all(reaches(x, y) for x, y in product(range(3), repeat=2) if x != y)
    sides = [
        stream(name, [(1, at)], window)
        for name, at, window in zip("abc", times, windows, strict=True)
    ]
    join = local_join(wr.plan(*sides, closed=closed))
    assert join.run().num_rows == fits
    for late in range(3):
        # One stream comes after the others, whatever its time.
        join = local_join(wr.plan(*sides, closed=closed))
        shares = [tuple(int(at != late) for at in range(3))]
        assert sum(out.num_rows for out in fed(join, shares)) == fits


def test_two_older_rows_that_do_not_fit_each_other():
    """Each fits the newest, within windows of 5 and 20; the two are 6 apart."""
    a, b, c = stream("a", [(1, 0)], 5), stream("b", [(1, 6)], 20), stream("c", [(1, 5)], 20)
    assert wr.join(a, b, c).num_rows == 0
    assert wr.join(a, stream("b", [(1, 5)], 20), c).num_rows == 1


# -- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["right", "full"])
def test_kinds_of_two_streams_are_refused(how):
    sides = [stream(name, [], 1) for name in "abc"]
    with pytest.raises(wr.WindrowError, match=f"how='{how}' joins two streams, but got 3"):
        wr.join(*sides, how=how)


def test_between_is_of_two_streams():
    sides = [stream(name, [], None) for name in "abc"]
    with pytest.raises(wr.WindrowError, match="between is about the times of two streams"):
        wr.join(*sides, between=("0 seconds", "1 second"))


def test_too_many_streams_are_refused():
    sides = [stream(f"s{at}", [], 1) for at in range(9)]
    with pytest.raises(wr.WindrowError, match="8 streams at most, but got 9"):
        wr.join(*sides)
    assert wr.join(*sides[:8]).num_rows == 0


def test_names_and_keys_of_any_two_streams_must_go_together():
    a, b, c = (stream(name, [], 1) for name in "abA")
    with pytest.raises(wr.WindrowError, match="streams 'a' and 'A' differ in case only"):
        wr.join(a, b, c)
    other = wr.stream(a.data, name="c", key="v", time="t", window="1 second")
    text = wr.stream(
        a.data.set_column(0, "k", pa.array([], pa.string())), name="d", key="k", time="t",
        window="1 second",
    )  # fmt: skip
    assert wr.join(a, b, other).num_rows == 0
    with pytest.raises(wr.WindrowError, match="'d' is string"):
        wr.join(a, b, other, text)
