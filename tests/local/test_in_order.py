"""Results in the order of their times: the three policies on streams that are not in step."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.model import BEGINNING, END
from windrow.operators.gate.rates import Rates
from windrow.operators.results.trigger import trigger
from windrow.testing import assert_same_rows, cases, duckdb_join

HOWS = ("inner", "left", "right", "full", "semi", "anti")
ORDERS = ("sync-filter", "filter-order", "adaptive")
SECOND = 1_000_000


def stream(name, times, keys=None, window="3 microseconds", **more):
    """Row numbers in `n`, times in microseconds."""
    data = pa.table(
        {
            "k": pa.array([1] * len(times) if keys is None else keys, pa.int64()),
            "t": pa.array(times, pa.timestamp("us")),
            "n": pa.array(range(len(times)), pa.int64()),
        }
    )
    return wr.stream(data, name=name, key="k", time="t", window=window, **more)


@st.composite
def asynchronous(draw):
    """Two streams, each in order, with stalls, bursts and ties, and how they arrive together.

    The second may be several windows behind the first: rows come in whatever shares are drawn.
    """
    sides = []
    for name in "ab":
        gaps = draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 4, 30]), max_size=14))
        keys = draw(st.lists(st.sampled_from([1, 1, 2, None]), min_size=14, max_size=14))
        window = draw(st.sampled_from([0, 1, 3, 10]))
        times = np.cumsum(gaps).tolist()
        sides.append(stream(name, times, keys[: len(times)], f"{window} microseconds"))
    shares = draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=8))
    return sides, shares


def batches(sides, shares):
    """What arrives together: (start, stop) of each side, and at last all that is left."""
    at = [0, 0]
    for share in [*shares, (100, 100)]:
        ranges = [(start, start + more) for start, more in zip(at, share, strict=True)]
        yield ranges
        at = [min(stop, len(side.data)) for (_, stop), side in zip(ranges, sides, strict=True)]


def number(struct):
    return -1 if struct is None else struct["n"]


def documented_order(rows, how):
    """By time; then matches before rows alone; then by the rows' numbers, a missing one first."""

    def place(row):
        ids = [number(row.get(name)) for name in "ab"]
        alone = how == "anti" or (how != "semi" and -1 in ids)
        return (row["ts"], alone, *ids)

    return sorted(rows, key=place)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=25)
@given(given_streams=asynchronous(), alpha=st.sampled_from([0.0, 1e-9, 0.3]))
def test_rows_leave_in_order_each_in_its_batch(how, order, given_streams, alpha):
    sides, shares = given_streams
    plan = wr.plan(*sides, how=how, order=order, alpha=alpha)
    join = local_join(plan)
    before, found = BEGINNING, []
    for ranges in batches(sides, shares):
        out = list(join.record_batches(join.batch(ranges)))
        after = trigger(plan, [progress.now for progress in join.progress])
        times = [t for part in out for t in part.column("ts").cast(pa.int64()).to_pylist()]
        assert all(before <= t < after for t in times)
        before = after
        found += [row for part in out for row in part.to_pylist()]
    expected = duckdb_join(*sides, how=how).to_pylist()
    assert found == documented_order(expected, how)
    assert (join.figures().held, sum(join.figures().waiting.values())) == (0, 0)


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=40)
@given(data=st.data())
def test_any_case_gives_the_oracles_rows_in_order(order, join, data):
    case = data.draw(cases())
    way = {"order": order, "batch_rows": data.draw(st.sampled_from([None, 1, 2, 5]))}
    result = join(case, **way)
    times = result["ts"].cast(pa.int64()).to_pylist()
    assert times == sorted(times)
    assert_same_rows(result, duckdb_join(*case.streams, **case.options))


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=25)
@given(data=st.data())
def test_late_rows_are_exempt_and_nothing_else_is(order, join, data):
    case = data.draw(cases(late=True, beats=True))
    rows = data.draw(st.sampled_from([1, 2, 4]))
    plain = join(case, late="keep", batch_rows=rows)
    result = join(case, late="keep", batch_rows=rows, order=order)
    assert_same_rows(result, plain)
    kept = result.filter(pa.compute.field("kind") != "late")["ts"].cast(pa.int64()).to_pylist()
    assert kept == sorted(kept)


# -- when a row leaves -------------------------------------------------------------------------


def leaves(order, how, a, b, **more):
    """The times of the rows that leave after these rows of each stream, before the end."""
    sides = stream("a", [*a, 10**6], **more), stream("b", [*b, 10**6])
    join = local_join(wr.plan(*sides, how=how, order=order))
    out = join.record_batches(join.batch([(0, len(a)), (0, len(b))]))
    return [t for part in out for t in part.column("ts").cast(pa.int64()).to_pylist()]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("slower", "left"), [(9, []), (10, []), (11, [10])])
def test_a_row_at_the_trigger_waits_for_company(order, slower, left):
    """The match at 10 leaves once both streams are after 10: at 10 there may come another."""
    assert leaves(order, "inner", [10, 20], [10, slower]) == left
    assert leaves(order, "inner", [10, slower], [10, 20]) == left


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("other", "left"), [(12, []), (13, []), (14, [10])])
def test_a_row_alone_leaves_when_the_other_stream_has_passed_its_window(order, other, left):
    """The window of a is 3: a partner may still come at 13."""
    assert leaves(order, "left", [10, 50], [0, other], keys=[2, 2, 1]) == left


@pytest.mark.parametrize(
    ("order", "left"), [("sync-filter", []), ("filter-order", [10]), ("adaptive", [])]
)
def test_where_input_waits_a_row_alone_waits_for_its_own_stream_too(order, left):
    """Stream b is far ahead and has nothing for a: filter-order knows, sync-filter does not."""
    assert leaves(order, "left", [10, 11], [50], keys=[2, 2, 1]) == left
    assert leaves(order, "left", [10, 14], [50], keys=[2, 2, 1]) == [10]


@pytest.mark.parametrize("order", ORDERS)
def test_a_list_out_of_order_by_its_lateness_lets_rows_go_later(order):
    """a: 15 before 10, lateness 5. The row at 10 sits behind the one at 15 in its list."""
    plan = wr.plan(
        stream("a", [], lateness="5 microseconds"), stream("b", []), how="left", order=order
    )
    delay = 3 if order == "sync-filter" else 8
    assert trigger(plan, [100, 100]) == 100 - delay


def test_the_trigger_has_no_bounds_before_the_beginning_and_after_the_end():
    plan = wr.plan(stream("a", []), stream("b", []), how="full", order="filter-order")
    assert trigger(plan, [BEGINNING, 5]) == BEGINNING
    assert trigger(plan, [END, END]) == END
    assert trigger(plan, [END, 100]) == 97


def test_between_that_excludes_the_tie():
    """b 5 to 9 after a: a row of a alone leaves 9 later, one of b at once, in its turn."""
    sides = [
        wr.stream(s.data, name=s.name, key="k", time="t")
        for s in (stream("a", [0, 10, 40]), stream("b", [1, 15, 40]))
    ]
    asked = {"how": "full", "between": ("5 microseconds", "9 microseconds")}
    for order in ORDERS:
        found = wr.join(*sides, **asked, order=order, batch_rows=1).to_pylist()
        assert [row["ts"].microsecond for row in found] == [0, 1, 15, 40, 40]
        bounds = {"how": "full", "between": (5, 9)}
        expected = duckdb_join(*sides, **bounds).to_pylist()
        assert found == documented_order(expected, "full")


# -- count windows -----------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_count_windows_are_in_order_too(order):
    rng = np.random.default_rng(1)
    sides = [
        stream(name, np.sort(rng.integers(0, 40, 50)), rng.integers(0, 3, 50), window)
        for name, window in (("a", wr.rows(3)), ("b", "4 microseconds"))
    ]
    plain = wr.join(*sides, batch_rows=4)
    found = wr.join(*sides, batch_rows=4, order=order)
    assert found.to_pylist() == documented_order(plain.to_pylist(), "inner")
    # Rows of b alone are known by time, rows of a alone never.
    found = wr.join(*sides, how="right", batch_rows=4, order=order)
    plain = wr.join(*sides, how="right", batch_rows=4)
    assert found.to_pylist() == documented_order(plain.to_pylist(), "right")
    with pytest.raises(wr.WindrowError, match=r"'a' stays alone.*a count window"):
        wr.join(*sides, how="left", order=order)


# -- what waits --------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "waiting"), [("sync-filter", 91), ("filter-order", 0)])
def test_metrics_show_what_waits_and_at_most(order, waiting):
    """Stream a stops at 9 while b goes on to 99: b's tuples wait, or the matches they make."""
    sides = stream("a", [*range(10), 1000]), stream("b", [*range(100), 1000])
    join = local_join(wr.plan(*sides, order=order))
    for _ in join.batch([(0, 10), (0, 10)]), join.batch([(10, 10), (10, 100)]):
        list(_)
    figures = join.figures()
    assert figures.waiting == {"a": 1 * (waiting > 0), "b": waiting}
    assert all(figures.waiting_bytes[name] == 24 * n for name, n in figures.waiting.items())
    assert figures.held_bytes >= 32 * figures.held
    if order == "filter-order":
        # Matches at 9 and later: with 9, 8, 7 and 6 of a at 9, and one less with each step on.
        assert figures.held == (4 + 3) + 3 + 2 + 1
    assert figures.peak_waiting["b"] >= waiting
    list(join.batch([(10, 11), (100, 101)]))
    assert (join.figures().held, join.figures().waiting) == (0, {"a": 0, "b": 0})
    assert join.figures().peak_waiting["b"] >= waiting


# -- adaptive ----------------------------------------------------------------------------------


class WorkClock:
    """Seconds by the comparisons that the join has made: the same in every run."""

    def __init__(self, c):
        self.c = c
        self.join = None

    def __call__(self):
        return 0.0 if self.join is None else self.c * self.join.join.looked_at()[0]


def test_adaptive_crosses_the_threshold_ten_times_and_loses_nothing():
    """A rate that is twenty times higher in every other minute; c is a millisecond."""
    rng = np.random.default_rng(3)
    times = []
    for name in "ab":
        at = 0
        mine = []
        for minute in range(12):
            rate = 10 if minute % 2 else 0.5
            gaps = rng.exponential(SECOND / rate, int(60 * rate)).astype(np.int64)
            mine.append(at + np.cumsum(gaps))
            at = (minute + 1) * 60 * SECOND
        times.append((name, np.sort(np.concatenate(mine))))
    sides = [
        stream(name, mine, rng.integers(0, 40, len(mine)), "5 seconds") for name, mine in times
    ]
    plan = wr.plan(*sides, how="full", order="adaptive", algorithm="nested-loops")
    clock = WorkClock(0.001)
    join = local_join(plan, clock=clock)
    clock.join = join
    found, modes = [], []
    # By the second, as the rows would come.
    cuts = [
        [int(np.searchsorted(mine, second * SECOND)) for _, mine in times]
        for second in range(1, 12 * 60 + 120, 2)
    ]
    for start, stop in pairwise([[0, 0], *cuts]):
        out = join.batch(list(zip(start, stop, strict=True)))
        found += [row for part in join.record_batches(out) for row in part.to_pylist()]
        modes.append(join.gate.synchronised)
    assert found == documented_order(duckdb_join(*sides, how="full").to_pylist(), "full")
    assert join.figures().switches >= 10
    assert join.figures().switches == sum(one != two for one, two in pairwise([True, *modes]))


def test_adaptive_switches_where_the_load_reaches_alpha():
    """10 and 1 tuples a second, a window of a minute: at alpha 0.3, where c is half a ms."""
    for c, filters in ((0.00045, False), (0.00055, True)):
        rates = Rates([60 * SECOND, 60 * SECOND])
        for second in range(400):
            rates.observe([10, 1], second * SECOND, c * (10 * 60 + 1 * 600), 10 * 60 + 1 * 600)
        assert (rates.load() >= 0.3) is filters
        assert rates.load() == pytest.approx(c * 60 * 10, rel=0.01)


def test_rates_begin_when_there_is_something_to_go_by():
    """Two tuples within 10 ms are no rate of a hundred a second."""
    rates = Rates([60 * SECOND, 60 * SECOND])
    rates.observe([1, 0], 0, 0.0, 0)
    rates.observe([1, 1], 10_000, 0.000001, 1)
    assert rates.load() == 0


def test_a_stream_that_has_ended_does_not_stop_the_clock():
    sides = [
        stream(name, np.arange(0, seconds * SECOND, SECOND // 50), window="10 seconds")
        for name, seconds in (("a", 20), ("b", 100))
    ]
    join = local_join(wr.plan(*sides, order="adaptive"))
    for start in range(0, 4800, 200):
        list(join.batch([(start, start + 200)] * 2))
    assert join.gate.rates.per_second()[1] == pytest.approx(50, rel=0.1)


def test_the_largest_of_the_pairs_counts_where_windows_differ():
    rates = Rates([60 * SECOND, 20 * SECOND])
    for second in range(400):
        rates.observe([10, 1], second * SECOND, 0.001 * 100, 100)
    assert rates.load() == pytest.approx(0.001 * 60 * 10, rel=0.01)


def test_the_load_of_three_streams_is_the_sum_over_their_pairs():
    """10, 1 and 2 tuples a second: c times 60 * 10 + 60 * 20 + 40 * 2."""
    c, rates = 0.0002, Rates([60 * SECOND, 20 * SECOND, 40 * SECOND])
    for second in range(400):
        rates.observe([10, 1, 2], second * SECOND, c * 100, 100)
    assert rates.load() == pytest.approx(c * (600 + 1200 + 80), rel=0.01)


# -- in words ----------------------------------------------------------------------------------


def test_explain_names_idle_and_beats():
    data = pa.table({"k": [1], "t": pa.array([0], pa.timestamp("us")), "beat": [False]})
    asked = {"key": "k", "time": "t", "window": "1 minute"}
    a = wr.stream(data, name="a", **asked, idle="90 seconds", lateness="1s")
    text = str(wr.explain(a, wr.stream(data, name="b", **asked, beats="beat")))
    ways = (
        "lateness 1 second, idle after 1 minute 30 seconds of silence (never: this input is whole)"
    )
    assert f"a: key k, time t, window 1 minute, {ways}\n" in text
    late = "lateness 0 seconds by default"
    assert f"b: key k, time t, window 1 minute, {late}, beats where beat\n" in text


def test_explain_says_what_waits_and_what_is_predicted():
    a = stream("a", range(0, 60 * SECOND, SECOND), window="1 minute")
    b = stream("b", range(0, 60 * SECOND, SECOND // 10), window="1 minute")
    text = str(wr.explain(a, b, order="adaptive", alpha=0.25))
    assert "order: adaptive, input waits, or results do, by what is measured" in text
    assert "predicted response: sync-filter 0.54" in text
    assert "adaptive switches at 0.25, where c is 4" in text
    assert "longer" not in text
    text = str(wr.explain(a, b, how="left", order="filter-order"))
    assert "every row waits 1 minute longer, because only then is it known" in text
    assert "order" not in str(wr.explain(a, b))


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"finals": {"n": "count(*)"}}, "finals leave when their key ends"),
        ({"how": "left"}, "known whether a row of stream 'a' stays alone.*no window"),
    ],
)
def test_an_order_that_cannot_hold_is_refused(choices, message):
    data = stream("a", [1]).data
    a = wr.stream(data, name="a", key="k", time="t", unique=True)
    b = wr.stream(data, name="b", key="k", time="t", window="1 second", unique=True)
    with pytest.raises(wr.WindrowError, match=message):
        wr.plan(a, b, order="sync-filter", **choices)
