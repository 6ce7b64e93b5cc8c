"""Figure 9: 30 queries, of which 80 % have one window and the others are spread over the rest.

"The MQT has the lowest average response time in all cases. When 80% of the queries are clustered
at small windows we expect that SWF performs better than LWO [...] When the majority of the
queries are clustered at large window, LWO performs better than SWF" (section 5.3). LWO and SWF do
not look at how many queries a window has, so they run once; what changes is who counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, claim
from windrow.experiments.paper2 import common
from windrow.experiments.paper2.common import PAPER, Setup, said
from windrow.experiments.paper2.figure_5 import SETUP

QUERIES, SHARE = 30, 0.8
#: How many of the windows, from each end, are small and large ones: 1 to 15 s, 510 to 600 s.
ENDS = 3


def run(progress: Progress, setup: Setup = SETUP) -> Outcome:
    """Let most queries have each window in turn."""
    lwo, swf = common.measure(setup, "lwo"), common.measure(setup, "swf")
    times = []
    for queries in progress.track([skewed(setup, at) for at in range(len(setup.windows))]):
        mqt = common.measure(replace(setup, queries=queries), "mqt")
        times.append([each.weighted(queries) for each in (lwo, swf, mqt)])
    return Outcome(
        parameters={
            "queries": QUERIES,
            "windows (s)": list(setup.windows),
            **setup.parameters(),
        },
        panels=(
            common.averages(
                f"window of {SHARE:.0%} of the queries (s)",
                setup.windows,
                times,
                "Small-Large, each query once",
            ),
        ),
        claims=claims(times),
    )


def skewed(setup: Setup, at: int) -> tuple[int, ...]:
    """Queries by window.

    >>> skewed(SETUP, 0)
    (24, 1, 1, 1, 1, 1, 1)
    """
    many = round(QUERIES * SHARE)
    others = len(setup.windows) - 1
    return tuple(many if n == at else (QUERIES - many) // others for n in range(len(setup.windows)))


def claims(times: Sequence[Sequence[float]]) -> tuple[Claim, ...]:
    """What the paper says of Figure 9; `times` are LWO's, SWF's and MQT's by skew."""
    small, large = times[:ENDS], times[-ENDS:]
    return (
        claim(
            "MQT has the lowest average for every skew",
            all(mqt < min(lwo, swf) for lwo, swf, mqt in times),
            "LWO / SWF / MQT: " + "; ".join(said(three) for three in times),
        ),
        claim(
            "With queries at small windows SWF is ahead of LWO",
            all(swf < lwo for lwo, swf, _ in small),
            "; ".join(said(three[:2]) for three in small),
        ),
        claim(
            "With queries at large windows LWO is ahead of SWF",
            all(lwo < swf for lwo, swf, _ in large),
            "; ".join(said(three[:2]) for three in large),
        ),
    )


EXPERIMENT = Experiment("2.9", "Where most queries are", f"{PAPER}, Figure 9", run)
