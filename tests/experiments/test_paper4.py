"""The figures of paper 4, scaled down: the driver by hand, claims against broken input."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from windrow import api, planning
from windrow.bar import Progress
from windrow.cost import paper4
from windrow.experiments import catalogue
from windrow.experiments.paper4 import (
    analytic,
    common,
    example,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
)
from windrow.experiments.paper4.common import ORDERS, Point, Response, Results, Setup
from windrow.experiments.paper4.driver import NEVER, ROW_S, ROW_T, STEP, TS, trace
from windrow.experiments.paper4.server import WallClock, Work, WorkClock, finished
from windrow.model import WindrowError
from windrow.workload.tables import timestamps

#: Two and a half minutes instead of twenty, half the window, and fewer prices.
SMALL = Setup(window=30, seconds=150)
LOADS = (0.06, 0.24, 0.3, 0.4, 0.6)
RATES, C = (0.1, 1.0), SMALL.cost(0.3)
APPROACHES = tuple(ORDERS)


def held(outcome) -> list[bool]:
    return [claim.held for claim in outcome.claims]


def all_finite(outcome) -> bool:
    return all(np.isfinite([*series.x, *series.y]).all() for series in outcome.series)


def plan_of(times, approach, keys=None, window=10, **more):
    """A join of streams with these times, in seconds."""
    streams = [
        api.stream(
            pa.table(
                {
                    "key": pa.array([0] * len(ts) if keys is None else keys[side], pa.int64()),
                    "time": timestamps(np.array(ts, np.int64) * 1_000_000),
                }
            ),
            name=name,
            key="key",
            time="time",
            window=f"{window} seconds",
        )
        for side, (name, ts) in enumerate(zip("st", times, strict=True))
    ]
    order = ORDERS.get(approach, approach)
    return planning.plan(*streams, order=order, algorithm="nested-loops", **more)


def micros(plan, lags) -> list[np.ndarray]:
    """When tuples arrive: lags (s) after their times."""
    return [
        stream.data["time"].cast(pa.int64()).to_numpy() + np.array(lag, np.int64) * 1_000_000
        for stream, lag in zip(plan.streams, lags, strict=True)
    ]


# -- the server and the driver ---------------------------------------------------------------


def test_a_step_waits_for_the_one_before() -> None:
    at, service = np.array([0.0, 1, 2, 10]), np.array([3.0, 0, 2, 1])
    assert finished(at, service).tolist() == [3, 3, 5, 11]


@pytest.mark.parametrize(
    ("approach", "c", "s", "t"),
    [
        # s1 waits for t2; t2 and t3 wait for s4, and compare with s1 then, one after the other.
        ("Sync-Filter", 0, [1, None], [2, 1]),
        ("Sync-Filter", 1, [1, None], [3, 3]),
        ("Sync-Filter", 2, [1, None], [4, 5]),
        # They compare with s1 at once; s4 finds the server free at 4, or only at 6.
        ("Filter-Order", 0, [1, None], [2, 1]),
        ("Filter-Order", 1, [1, None], [2, 1]),
        ("Filter-Order", 2, [1, None], [4, 3]),
    ],
)
def test_a_small_queue_by_hand(approach, c, s, t) -> None:
    found = trace(plan_of(([1, 4], [2, 3]), approach), WorkClock()).responses(WorkClock(c))
    assert [[None if np.isnan(x) else x for x in side] for side in found] == [s, t]


def test_late_arrivals_by_hand() -> None:
    """s2 comes at 5, when T has passed it: it waits for none, and t3 and t4 for s6."""
    plan = plan_of(([2, 6], [3, 4]), "Filter-Order")
    arrived = micros(plan, ([3, 0], [0, 0]))
    found = trace(plan, WorkClock(), arrived).responses(WorkClock(c=0.25))
    # s2 compares with t3 and t4.
    assert found[0][0] == 0.5
    assert found[1].tolist() == [3, 2]
    sync = plan_of(([2, 6], [3, 4]), "Sync-Filter")
    found = trace(sync, WorkClock(), arrived).responses(WorkClock(c=0.25))
    # s2 finds none; t3 and t4 compare with s2, one after the other.
    assert found[0][0] == 0
    assert found[1].tolist() == [3.25, 2.5]


def random_streams(seed: int):
    """Two streams, each in order, that lag behind one another by up to a few windows."""
    rng = np.random.default_rng(seed)
    times = [np.sort(rng.choice(60, n, replace=False)) for n in (12, 25)]
    lags = [np.maximum.accumulate(ts + rng.integers(0, 15, len(ts))) - ts for ts in times]
    keys = [rng.integers(0, 3, len(ts)) for ts in times]
    return times, lags, keys


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("approach", APPROACHES)
def test_results_leave_when_their_later_tuple_is_done(approach, seed) -> None:
    times, lags, keys = random_streams(seed)
    plan = plan_of(times, approach, keys, window=5)
    found = trace(plan, WorkClock(c=1e-3), micros(plan, lags))
    ts = [stream.data["time"].cast(pa.int64()).to_numpy() for stream in plan.streams]
    assert len(found.results) > 5
    assert (np.diff(found.results[:, TS]) >= 0).all()
    for row in found.results:
        s, t = row[ROW_S], row[ROW_T]
        later = max((ts[0][s], found.done[0][s]), (ts[1][t], found.done[1][t]))
        assert later[0] == row[TS]
        if ts[0][s] != ts[1][t]:
            assert later[1] == row[STEP]
    trigger = min(side[-1] for side in ts)
    near = np.abs(ts[0][:, None] - ts[1][None, :]) <= 5_000_000
    out = np.maximum(ts[0][:, None], ts[1][None, :]) <= trigger
    assert len(found.results) == (near & out & (keys[0][:, None] == keys[1][None, :])).sum()
    for side in range(2):
        assert ((found.done[side] != NEVER) == (ts[side] <= trigger)).all()


@pytest.mark.parametrize("approach", ["Sync-Filter", "Filter-Order"])
def test_the_work_is_what_the_other_window_holds(approach) -> None:
    setup = replace(SMALL, seconds=30, window=5)
    found = common.traced(setup, approach)
    one, two = (common.table(setup, side)["time"].cast(pa.int64()).to_numpy() for side in range(2))
    joined = [side[done != NEVER] for side, done in zip((one, two), found.done, strict=True)]
    if approach == "Filter-Order":
        joined = [one, two]
    expected = sum(
        int(((other < t) & (other >= t - 5_000_000)).sum())
        for own, other in ((joined[0], two), (joined[1], one))
        for t in own
    )
    assert found.work.comparisons.sum() == expected
    assert found.work.joined.sum() == sum(len(side) for side in joined)


@pytest.mark.parametrize("approach", APPROACHES)
def test_the_work_clock_is_deterministic(approach) -> None:
    setup, clock = replace(SMALL, seconds=30, window=10), WorkClock(3e-3)
    one, two = (trace(common.plan(setup, approach), clock) for _ in range(2))
    assert one.at.tolist() == two.at.tolist()
    assert one.work.comparisons.tolist() == two.work.comparisons.tolist()
    assert one.waits.tolist() == two.waits.tolist()
    assert one.results.tolist() == two.results.tolist()
    for a, b in zip(one.responses(clock), two.responses(clock), strict=True):
        assert np.array_equal(a, b, equal_nan=True)


def test_the_clocks() -> None:
    work = Work(np.array([2, 0]), np.array([1, 0]), np.array([0.5, 0.25]))
    assert WorkClock(c=3, tp=0.5).service(work).tolist() == [6.5, 0]
    assert WallClock(level=4).service(work).tolist() == [2, 1]


def test_adaptive_measures_with_the_clock_it_is_given() -> None:
    setup = replace(SMALL, seconds=20, window=5)
    shares = [
        common.measure(setup, "Adaptive", clock).overlapped
        for clock in (WorkClock(1e-6), WorkClock(1), WallClock(1e6))
    ]
    # The first ten tuples of the slow stream are no rate yet.
    assert shares[0] == 0
    assert min(shares[1:]) > 0.75


def test_only_ordered_streams_and_plans() -> None:
    with pytest.raises(WindrowError, match="stream 't' is not in order"):
        trace(plan_of(([1], [2, 2]), "Sync-Filter"), WorkClock())
    plan = plan_of(([1], [2, 3]), "Sync-Filter")
    with pytest.raises(WindrowError, match="stream 't' is not in order"):
        trace(plan, WorkClock(), micros(plan, ([0], [5, 0])))
    with pytest.raises(WindrowError, match="give one of the three approaches"):
        trace(plan_of(([1], [2]), "none"), WorkClock())


def test_a_stream_does_not_depend_on_the_other_rate() -> None:
    assert common.table(SMALL, 1).equals(common.table(replace(SMALL, rates=(0.1, 10)), 1))


# -- even gaps: the analysis, exactly --------------------------------------------------------

EVEN = Setup(window=10, seconds=40, even=True)


@pytest.mark.parametrize("load", [0.001, 0.1, 0.2, 0.3, 0.4])
def test_even_gaps_give_the_equations(load) -> None:
    c = EVEN.cost(load)
    sync, order = (common.steady(EVEN, a, WorkClock(c)) for a in ("Sync-Filter", "Filter-Order"))
    assert sync == pytest.approx(paper4.sync_filter_response(*EVEN.rates, EVEN.window, c), rel=1e-3)
    assert order == pytest.approx(paper4.filter_order_response(*EVEN.rates), rel=1e-3)
    assert 1 - order / sync == pytest.approx(paper4.improvement(*EVEN.rates, 10, c), rel=0.01)


@pytest.mark.parametrize(("load", "overlapped"), [(0.27, 0), (0.33, 1)])
def test_even_gaps_switch_at_alpha(load, overlapped) -> None:
    found = common.measure(EVEN, "Adaptive", WorkClock(EVEN.cost(load)))
    # A slow tuple more or less in the window is a tenth of its rate.
    assert found.overlapped == pytest.approx(overlapped, abs=0.05)


# -- the figures -----------------------------------------------------------------------------


def test_figures_are_listed() -> None:
    assert [i for i in catalogue() if i.startswith("4.")] == [f"4.{n}" for n in range(3, 11)]


@pytest.mark.parametrize("tp", [0.25, 0.01, 0.5])
def test_figures_3_and_4(tp) -> None:
    sync, order = figure_3.run(Progress(), tp), figure_4.run(Progress(), tp)
    assert held(sync) == [True] * 2
    assert held(order) == [True] * 3
    assert all_finite(sync)
    assert all_finite(order)


def test_figures_3_and_4_notice() -> None:
    sync, order = (example.traced(approach) for approach in ("Sync-Filter", "Filter-Order"))
    assert [c.held for c in figure_3.claims(order, 0.25)] == [False, False]
    assert [c.held for c in figure_4.claims(sync, sync, 0.25)] == [False, False, False]


def test_figures_5_and_6() -> None:
    for figure in (figure_5, figure_6):
        outcome = figure.run(Progress())
        assert all(held(outcome))
        assert all_finite(outcome)
        assert {series.kind for series in outcome.series} == {"modelled"}


def test_figures_5_and_6_notice() -> None:
    points = [analytic.Point(1, 10, 60, c) for c in (1e-3, 1e-4)]
    assert [c.held for c in figure_5.claims(points)] == [False, True, False]
    points = [analytic.Point(rate, 10, 60, 1e-3) for rate in (1.0, 0.2, 0.1)]
    assert [c.held for c in figure_6.claims(points)] == [False, False, True, False]


def test_figure_7() -> None:
    outcome = figure_7.run(Progress(), SMALL, LOADS)
    # Not flat up to 0.4, where arrivals queue; (5) is not for exponential gaps. The last claim is
    # a clock's.
    assert held(outcome)[:-1] == [True, False, True, True, True, True, True, True, False, True]
    assert all_finite(outcome)
    assert [panel.basis for panel in outcome.panels] == ["counted"] * 3 + ["wall time"]


def test_figure_7_notices() -> None:
    good = [
        point(0.001, 1, 1, 1),
        point(0.2, 1.2, 1, 1.2, overlapped=0),
        point(0.3, 1.4, 1.05, 1.2, overlapped=0.5),
        point(0.4, 1.8, 1.09, 1.09, overlapped=1),
        point(0.6, 90, 89, 89, overlapped=1, work=1.2, halves=(40, 120)),
    ]
    assert verdicts(figure_7, good) == [True] * 7
    assert verdicts(figure_7, changed(good, 1, order=1.3))[0] is False
    assert verdicts(figure_7, changed(good, 3, order=1.2, adaptive=1.2))[1:3] == [False, True]
    assert verdicts(figure_7, changed(good, 2, order=1.2))[1:3] == [False, False]
    assert verdicts(figure_7, [good[0], good[2]])[1:3] == [True, True]
    assert verdicts(figure_7, changed(good, 1, adaptive=1))[3] is False
    assert verdicts(figure_7, changed(good, 3, adaptive=1.8))[3] is False
    early = [good[0], point(0.2, 1.2, 1, 1.2, overlapped=0.9), *good[2:]]
    assert verdicts(figure_7, early)[4] is False
    assert verdicts(figure_7, [replace(p, adaptive=good[0].adaptive) for p in good])[4] is False
    keeps_up = [*good[:-1], point(0.6, 90, 89, 89, work=1.2, halves=(89, 90))]
    assert verdicts(figure_7, keeps_up)[5] is False
    assert verdicts(figure_7, good[:-1])[5] is False, "none tried"
    other = replace(good[1].order, results=Results(10, True, "other"))
    assert verdicts(figure_7, [good[0], replace(good[1], order=other), *good[2:]])[6] is False
    mixed = replace(good[0].sync, results=Results(10, False, "same"))
    unordered = [replace(p, sync=mixed, order=mixed, adaptive=mixed) for p in good]
    assert verdicts(figure_7, unordered)[6] is False


def test_figure_7_notices_wrong_equations() -> None:
    setup = SMALL
    exact = [
        figure_7.Pair(c, paper4.sync_filter_response(1, 10, 30, c), 0.55) for c in (1e-6, 5e-4)
    ]
    even = [point(0.001, 0.55, 0.55, 0.55, setup=setup)]
    assert [c.held for c in figure_7.analysed(even, exact)] == [True, True, False]
    expected = [point(0.001, 0.92, 0.92, 0.92, setup=setup)]
    off = [exact[0], replace(exact[1], order=0.6)]
    assert [c.held for c in figure_7.analysed(expected, off)] == [False, False, True]
    assert figure_7.on_time(exact).held
    assert not figure_7.on_time([replace(exact[0], sync=0.5)]).held


def test_figure_8() -> None:
    outcome = figure_8.run(Progress(), SMALL, LOADS)
    assert held(outcome) == [True, True, False], "both approaches fall behind beyond 0.5"
    assert all_finite(outcome)


def test_figure_8_notices() -> None:
    good = [point(0.3, 1.4, 1, 1.2), point(0.4, 1.8, 1, 1), point(0.6, 90, 40, 40)]
    assert verdicts(figure_8, good) == [True] * 3
    assert verdicts(figure_8, changed(good, 0, order=1.1)) == [False, True, True]
    assert verdicts(figure_8, changed(good, 1, adaptive=1.7)) == [True, False, True]
    assert verdicts(figure_8, changed(good, 2, order=89)) == [True, True, False]
    assert verdicts(figure_8, good[:1]) == [True, False, False], "none tried"


def test_figure_9() -> None:
    outcome = figure_9.run(Progress(), SMALL, RATES, C)
    assert held(outcome) == [False, True, True, True], "a tenth of a tuple a second is not so slow"
    assert all_finite(outcome)


def test_figure_9_notices() -> None:
    slow = replace(SMALL, rates=(0.01, 10))
    good = [
        point(0.003, 70, 69, 70, setup=slow),
        point(0.3, 1.4, 1, 1.2, overlapped=0.5),
    ]
    assert verdicts(figure_9, good) == [True] * 4
    assert verdicts(figure_9, changed(good, 0, order=50)) == [False, True, True, True]
    assert verdicts(figure_9, changed(good, 0, order=71)) == [True, False, True, True]
    assert verdicts(figure_9, changed(good, 0, adaptive=61)) == [True, True, False, True]
    never = [good[0], point(0.3, 1.4, 1, 1.4)]
    assert verdicts(figure_9, never) == [True, True, True, False]
    always = [point(0.003, 70, 69, 70, setup=slow, overlapped=0.5), good[1]]
    assert verdicts(figure_9, always) == [True, True, True, False]
    elsewhere = [good[0], point(0.27, 1.4, 1, 1.2, overlapped=0.5)]
    assert verdicts(figure_9, elsewhere) == [True, True, True, False]


def test_figure_10() -> None:
    outcome = figure_10.run(Progress(), SMALL, RATES, C)
    assert held(outcome) == [True, False, True], "15 slow tuples are too few"
    assert all_finite(outcome)


def test_figure_10_notices() -> None:
    slow = replace(SMALL, rates=(0.1, 10))
    good = [point(0.03, 10, 9.6, 10, setup=slow), point(0.3, 1.4, 1, 1.2)]
    assert verdicts(figure_10, good) == [True] * 3
    assert verdicts(figure_10, changed(good, 0, order=9.0)) == [False, True, True]
    assert verdicts(figure_10, changed(good, 0, order=9.8)) == [True, False, True], "by chance"
    assert verdicts(figure_10, changed(good, 1, order=1.2)) == [True, False, False]


def point(
    load, sync, order, adaptive, *, setup=SMALL, overlapped=0.0, work=0.5, halves=(1.0, 1.0)
) -> Point:
    """A point with these mean response times; only the adaptive approach switches."""

    def response(mean, share=0.0) -> Response:
        same = Results(10, True, "same")
        return Response(mean, (mean, mean), halves, work, share, 0, same)

    c = setup.cost(load)
    return Point(setup, c, response(sync), response(order), response(adaptive, overlapped))


def changed(points, at, **means) -> list[Point]:
    """The points, one of them with other mean response times."""
    wrong = {name: replace(getattr(points[at], name), mean=mean) for name, mean in means.items()}
    return [*points[:at], replace(points[at], **wrong), *points[at + 1 :]]


def verdicts(figure, points) -> list[bool]:
    return [claim.held for claim in figure.claims(points)]
