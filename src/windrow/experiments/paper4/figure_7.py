"""Figure 7: average response time over the time to join two tuples.

"Filter-Order shows small or no variations in the average response time as we increase the
processing time", while in Sync-Filter tuples of the fast stream wait for the slow one and then
for each other's processing; "the Adaptive approach switches to the Filter-Order approach" where
c|w|λ_1λ_2 reaches α (section 7.2.1).

Equations (3) and (5) are drawn for the fast stream with even gaps, which the analysis assumes. With
exponential gaps, which the experiments use, a fast tuple falls into a long gap of the slow stream
more often than into a short one, and waits 1/λ_1 on average, not half of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from windrow.bar import Progress
from windrow.cost import paper4
from windrow.experiments.frame import (
    Claim,
    Experiment,
    Mark,
    Outcome,
    Panel,
    claim,
    measured,
    modelled,
)
from windrow.experiments.paper4 import adapting, common
from windrow.experiments.paper4.common import CLOSE, FAST, OVERLOAD, PAPER, WELL, Point, Setup
from windrow.experiments.paper4.server import WallClock, WorkClock

SETUP = Setup()
#: Loads c|w|λ_1λ_2; in the paper's set-up c is 1 µs to 1 ms.
LOADS = (0.0006, 0.006, 0.06, 0.12, 0.24, 0.27, 0.3, 0.33, 0.36, 0.4, 0.48, 0.6)
#: On the wall clock: what Filter-Order's work takes of the server's time.
BUSY = (0.1, 0.2, 0.3, 0.4, 0.5)

#: A response time that rises by as much at most is nearly flat.
FLAT = 0.1
#: How far the equations may be off: where they apply, and where they are put to the test.
EXACT, NEAR = 0.02, 0.15


def run(progress: Progress, setup: Setup = SETUP, loads: Sequence[float] = LOADS) -> Outcome:
    """Measure the three approaches at every c, and two with even gaps and on the wall clock."""
    progress.expect(2)
    points = [
        common.point(setup, setup.cost(load))
        for load in progress.track(loads, label=lambda load: f"c|w|λ_1λ_2 = {load:g}")
    ]
    # With even gaps the streams repeat themselves: one window after the first is enough.
    even = evenly(replace(setup, even=True, seconds=2 * setup.window), loads)
    progress.advance()
    timed = on_the_wall(setup)
    progress.advance()
    return Outcome(
        parameters={
            "rates of S and T (tuples/s)": list(setup.rates),
            "c (s)": [p.c for p in points],
            **setup.parameters(),
        },
        panels=panels(points, even, timed),
        claims=(*claims(points), *analysed(points, even), on_time(timed)),
    )


# -- beside the work clock with exponential gaps -------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """Two approaches at one place of a curve: c or a level of multiprogramming, and seconds."""

    x: float
    sync: float
    order: float


def evenly(setup: Setup, loads: Sequence[float]) -> list[Pair]:
    """The fast stream's response times with even gaps, as long as the server keeps up."""
    clocks = [WorkClock(setup.cost(load)) for load in loads if load <= WELL + CLOSE]
    return [
        Pair(
            clock.c,
            common.steady(setup, "Sync-Filter", clock),
            common.steady(setup, "Filter-Order", clock),
        )
        for clock in clocks
    ]


def on_the_wall(setup: Setup) -> list[Pair]:
    """Response times by the wall clock, at levels that keep the server as busy as `BUSY`."""
    once = common.measure(setup, "Filter-Order", WallClock()).work
    clocks = [WallClock(busy / once) for busy in BUSY]
    return [
        Pair(
            clock.level,
            common.measure(setup, "Sync-Filter", clock).mean,
            common.measure(setup, "Filter-Order", clock).mean,
        )
        for clock in clocks
    ]


# -- shown -------------------------------------------------------------------------------------


def panels(
    points: Sequence[Point], even: Sequence[Pair], timed: Sequence[Pair]
) -> tuple[Panel, ...]:
    """Response times: exponential gaps, even gaps beside the equations, and on the wall clock."""
    setup = points[0].setup
    x = [1e3 * p.c for p in points]
    c = [1e3 * one.x for one in even]
    fast = (
        measured("Sync-Filter", c, [one.sync for one in even]),
        measured("Filter-Order", c, [one.order for one in even]),
        modelled(
            "Sync-Filter",
            c,
            [paper4.sync_filter_response(*setup.rates, setup.window, one.x) for one in even],
        ),
        modelled("Filter-Order", c, [paper4.filter_order_response(*setup.rates) for _ in even]),
    )
    level = [one.x for one in timed]
    walls = (
        measured("Sync-Filter", level, [one.sync for one in timed]),
        measured("Filter-Order", level, [one.order for one in timed]),
    )
    alpha = Mark(1e3 * setup.cost(setup.alpha), f"alpha = {setup.alpha:g}")
    overload = Mark(1e3 * setup.cost(OVERLOAD), "overload")
    well = common.well(points)
    some, all_of = adapting.series(x[: len(well)], well), adapting.series(x, points)
    c_label, y = "c, time to join two tuples (ms)", "average response time (s)"
    return (
        Panel("counted", c_label, y, some, "Work clock, as long as it keeps up", marks=(alpha,)),
        Panel("counted", c_label, y, all_of, "Work clock", True, True, (overload,)),
        Panel("counted", c_label, f"{y}, fast", fast, "Work clock, even gaps, (3) and (5)"),
        Panel("wall time", "level of multiprogramming", y, walls, "Wall clock"),
    )


def claims(points: Sequence[Point]) -> tuple[Claim, ...]:
    """What the paper says of Figure 7, as far as one server keeps up, and what happens beyond."""
    setup, well = points[0].setup, common.well(points)
    behind = [p for p in points if p.load > OVERLOAD]
    calm = [p for p in well if p.load <= setup.alpha + CLOSE]
    outcomes = {one.results for p in points for one in (p.sync, p.order, p.adaptive)}
    some = points[0].sync.results
    return (
        claim(
            f"Filter-Order is at or below Sync-Filter, up to c|w|λ_1λ_2 = {WELL:g}",
            all(p.order.mean <= p.sync.mean for p in well),
            ", ".join(
                f"{p.order.mean:.2f} / {p.sync.mean:.2f} s at {p.load:.2g}"
                for p in well
                if p.load >= setup.alpha / 5 - CLOSE
            ),
        ),
        _flat(f"up to c|w|λ_1λ_2 = {WELL:g}", well),
        _flat(f"up to alpha = {setup.alpha:g} (ours)", calm),
        adapting.follows(points),
        adapting.switches_at_alpha(points),
        claim(
            f"Beyond {OVERLOAD:g} one server is overloaded, though Equation (1) holds (ours)",
            bool(behind)
            and all(
                paper4.keeps_up(*setup.rates, setup.window, p.c)
                and one.work > 1
                and one.halves[1] > 2 * one.halves[0]
                for p in behind
                for one in (p.sync, p.order)
            ),
            "; ".join(
                f"at {p.load:.2g} {one.work:.2f} s of work a second, {one.halves[0]:.0f} s on "
                f"average in the first half of the run, {one.halves[1]:.0f} s in the second"
                for p in behind
                for one in (p.order,)
            ),
        ),
        claim(
            "All approaches give the same results, in the order of their times",
            len(outcomes) == 1 and some.ordered,
            f"{some.count:,} results",
        ),
    )


def _flat(where: str, points: Sequence[Point]) -> Claim:
    """That Filter-Order hardly rises while Sync-Filter does."""
    order, sync = (
        max(getattr(p, name).mean for p in points) / getattr(points[0], name).mean - 1
        for name in ("order", "sync")
    )
    flat = bool(order <= FLAT)
    return claim(
        f"Filter-Order is nearly flat in c (rises by {FLAT:.0%} at most) while Sync-Filter rises, "
        f"{where}",
        flat and sync > 2 * FLAT,
        f"{order:+.0%} and {sync:+.0%}; the server is busy {points[-1].order.work:.0%} of the time "
        f"at {points[-1].load:.2g}" + ("" if flat else ", so that random arrivals queue"),
    )


def analysed(points: Sequence[Point], even: Sequence[Pair]) -> tuple[Claim, ...]:
    """What Equations (3) and (5) are worth: with even gaps, and with exponential ones."""
    setup = points[0].setup
    λ_1, λ_2 = setup.rates
    equation = paper4.filter_order_response(λ_1, λ_2)
    # Of λ_1 + λ_2 tuples, λ_2 wait for the slow stream and λ_1 for the fast one.
    exponential = (λ_2 / λ_1 + λ_1 / λ_2) / (λ_1 + λ_2)
    least = points[0].order
    off = [
        abs(found / predicted - 1)
        for p in even
        for found, predicted in (
            (p.sync, paper4.sync_filter_response(λ_1, λ_2, setup.window, p.x)),
            (p.order, equation),
        )
    ]
    return (
        claim(
            f"With even gaps the fast stream's response times are (3)'s and (5)'s, up to {WELL:g}, "
            f"within {EXACT:.0%}",
            max(off) <= EXACT,
            f"at most {max(off):.2%} off",
        ),
        claim(
            f"Equation (5) predicts the fast stream's response time with exponential gaps, within "
            f"{NEAR:.0%}",
            abs(least.streams[FAST] / equation - 1) <= NEAR,
            f"{least.streams[FAST]:.2f} s for small c, predicted {equation:.2f} s: a fast tuple "
            f"waits 1/λ_1 = {1 / λ_1:g} s on average, not half of it",
        ),
        claim(
            "With exponential gaps 1/λ_1 and 1/λ_2 predict the mean of all tuples for small c, "
            f"within two standard errors, {setup.chance:.0%} (ours)",
            abs(least.mean / exponential - 1) <= setup.chance,
            f"{least.mean:.3f} s, predicted {exponential:.3f} s",
        ),
    )


def on_time(timed: Sequence[Pair]) -> Claim:
    """What the wall clock says."""
    return claim(
        "On the wall clock too, Filter-Order is at or below Sync-Filter",
        all(p.order <= p.sync for p in timed),
        ", ".join(f"{p.order:.2f} / {p.sync:.2f} s at level {p.x:.0f}" for p in timed),
    )


EXPERIMENT = Experiment("4.7", "Response time over the processing time", f"{PAPER}, Figure 7", run)
