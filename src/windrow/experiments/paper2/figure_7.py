"""Figure 7: average response time over the expected size of bursts, for Small-Large.

"The MQT scheduling outperforms all other scheduling for all of the burst sizes"; "the improvement
of MQT over LWO and SWF is as high as 60% and 30%, respectively, (in the case of burst size of
three)" (section 5.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim
from windrow.experiments.paper2 import common, wall
from windrow.experiments.paper2.common import (
    FITTED,
    PAPER,
    SCHEDULES,
    Setup,
    Three,
    said,
    saving,
)
from windrow.experiments.paper2.wall import WallSetup

SETUP = Setup()
BURSTS = (1, 2, 3, 4, 5)
#: Fewer on the wall clock.
ON_THE_WALL = (1, 3, 5)

#: What MQT saves of LWO's and SWF's times at bursts of three, and how near that is.
SAVED, NEAR = (0.6, 0.3), 0.1
#: How near LWO is to what the unit cost was fitted to.
FIT = 0.25


def run(
    progress: Progress,
    setup: Setup = SETUP,
    bursts: Sequence[float] = BURSTS,
    on_the_wall: WallSetup = wall.SETUP,
    walls: Sequence[float] = ON_THE_WALL,
) -> Outcome:
    """Measure the three schedules with every size of bursts."""
    found = [
        common.all_three(replace(setup, burst=size))
        for size in progress.track(bursts, label=lambda size: f"bursts of {size:g}")
    ]
    timed = [
        [run.mean for run in wall.all_three(wall.bursty(size, on_the_wall)).values()]
        for size in progress.track(walls, label=lambda size: f"bursts of {size:g}, wall clock")
    ]
    return Outcome(
        parameters={
            "windows (s)": list(setup.windows),
            **setup.parameters(),
            "wall clock": on_the_wall.parameters(),
        },
        panels=panels(bursts, found, walls, timed),
        claims=(*claims(bursts, found), on_time(walls, timed)),
    )


def averages(found: Sequence[Three]) -> list[list[float]]:
    """The three schedules' averages, by size."""
    return [[three[s].mean for s in SCHEDULES] for three in found]


def panels(
    bursts: Sequence[float],
    found: Sequence[Three],
    walls: Sequence[float],
    timed: Sequence[Sequence[float]],
) -> tuple[Panel, ...]:
    """By the simulated clock and by the wall clock."""
    x = "expected size of a burst (tuples)"
    clocked = common.averages(x, bursts, averages(found), "Small-Large, each window once")
    walled = common.averages(x, walls, timed, "80 % load, each window once")
    return clocked, replace(walled, basis="wall time")


def claims(bursts: Sequence[float], found: Sequence[Three]) -> tuple[Claim, ...]:
    """What the paper says of Figure 7."""
    times = averages(found)
    behind = [lwo - mqt for lwo, _, mqt in times]
    each = "; ".join(f"{size:g}: {said(three)}" for size, three in zip(bursts, times, strict=True))
    shares = [(saving(mqt, lwo), saving(mqt, swf)) for lwo, swf, mqt in times]
    saved = "; ".join(
        f"{size:g}: {lwo:.0%} and {swf:.0%}"
        for size, (lwo, swf) in zip(bursts, shares, strict=True)
    )
    three = shares[list(bursts).index(3)] if 3 in bursts else (0.0, 0.0)
    fit = times[-1][0]
    return (
        claim(
            "MQT is best with bursts of every size",
            all(mqt < min(lwo, swf) for lwo, swf, mqt in times),
            f"LWO / SWF / MQT at {each}",
        ),
        claim(
            "Its margin grows with the size of bursts",
            all(a < b for a, b in pairwise(behind)),
            f"{said(behind)} ahead of LWO",
        ),
        claim(
            "At bursts of three it saves about 60 % of LWO's time and 30 % of SWF's, each within "
            f"{NEAR:.0%}",
            all(abs(got - said) <= NEAR for got, said in zip(three, SAVED, strict=True)),
            f"{three[0]:.0%} and {three[1]:.0%}; at {saved}",
        ),
        claim(
            f"LWO's average at bursts of {bursts[-1]:g} is about {FITTED:g} s, to which the unit "
            "cost was fitted (ours)",
            abs(fit - FITTED) <= FIT * FITTED,
            f"{fit:.2f} s, standard error {found[-1]['lwo'].error:.2f} s; the server is busy "
            f"{found[-1]['lwo'].busy:.0%} of the time",
        ),
    )


def on_time(walls: Sequence[float], timed: Sequence[Sequence[float]]) -> Claim:
    """By the wall clock."""
    return claim(
        "On the wall clock, at 80 % load, MQT is best with bursts of every size",
        all(mqt < min(lwo, swf) for lwo, swf, mqt in timed),
        "; ".join(f"{size:g}: {said(three)}" for size, three in zip(walls, timed, strict=True)),
    )


EXPERIMENT = Experiment("2.7", "Bursts of arrivals", f"{PAPER}, Figure 7", run)
