"""Figure 3(b): what a query pays for sharing a join under Shortest Window First.

"The average response time for small queries is greatly reduced at the expense of the average
response time for the larger queries" (section 3.2.1).

Equation (2) counts all results of a window from the end of its scan. The operator gives a tuple's
first results out while it scans, so it is a little faster. For MQT, of which the paper has no
equation, `cost.paper2.mqt_responses` follows the schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from windrow.bar import Progress
from windrow.cost.paper2 import M
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim
from windrow.experiments.paper2 import analytic
from windrow.experiments.paper2.analytic import SEVEN, Times
from windrow.experiments.paper2.common import PAPER, SCHEDULES, said
from windrow.experiments.paper2.figure_2b import parameters
from windrow.model import Schedule

#: A small window's time is greatly reduced if it is so many times less.
GREATLY = 100
#: How far the operator may be below the equations.
NEAR = 0.05

Both = Mapping[Schedule, tuple[Times, Times]]


def run(progress: Progress, windows: tuple[float, ...] = SEVEN, m: int = M) -> Outcome:
    """Evaluate Equations (1) and (2), and have the operator run the three schedules."""
    found = {
        schedule: (
            analytic.predicted(schedule, windows, m),
            analytic.operated(schedule, windows, m),
        )
        for schedule in progress.track(list(SCHEDULES), label=lambda name: SCHEDULES[name])
    }
    alone = analytic.predicted("isolated", windows, m)
    series = [curve for s, both in found.items() for curve in analytic.pair(SCHEDULES[s], *both)]
    series.append(analytic.pair("isolated", alone, alone)[1])
    return Outcome(
        parameters=parameters(windows, m),
        panels=(
            Panel(
                "counted",
                "window (s)",
                "average response time (s)",
                tuple(series),
                "Equations (1), (2) and ours for MQT, and the operator by a clock",
                y_log=True,
            ),
        ),
        claims=claims(found),
    )


def claims(found: Both) -> tuple[Claim, ...]:
    """What the paper says of Figure 3(b), and ours of MQT."""
    lwo, swf, mqt = (list(found[schedule][0].values()) for schedule in ("lwo", "swf", "mqt"))
    off = {
        s: [operator[w] / equation[w] - 1 for w in equation]
        for s, (equation, operator) in found.items()
    }
    return (
        claim(
            f"SWF greatly reduces the smallest window's time (to a {GREATLY}th or less of LWO's)",
            GREATLY * swf[0] <= lwo[0],
            f"{said([swf[0]])} for {said([lwo[0]])}",
        ),
        claim(
            "At the expense of larger windows",
            swf[-1] > lwo[-1],
            f"{said([swf[-1]])} for {said([lwo[-1]])} at the largest",
        ),
        claim(
            "Under SWF each window takes longer than the one before",
            all(a < b for a, b in pairwise(swf)),
            said(swf),
        ),
        claim(
            f"The operator is at Equation (2) or below it by at most {NEAR:.0%}",
            all(-NEAR <= share <= 1e-6 for share in off["swf"]),
            f"{min(off['swf']):+.2%} to {max(off['swf']):+.2%}",
        ),
        claim(
            f"For MQT it is at the followed schedule or at most {NEAR:.0%} below (ours)",
            all(-NEAR <= share <= 1e-6 for share in off["mqt"]),
            f"{min(off['mqt']):+.2%} to {max(off['mqt']):+.2%}",
        ),
        claim(
            "MQT has the lowest average over the windows (ours)",
            sum(mqt) < min(sum(lwo), sum(swf)),
            f"{said([sum(times) / len(times) for times in (lwo, swf, mqt)])} for LWO, SWF, MQT",
        ),
    )


EXPERIMENT = Experiment("2.3b", "SWF beside isolated execution", f"{PAPER}, Figure 3(b)", run)
