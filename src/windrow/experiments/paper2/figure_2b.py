"""Figure 2(b): what a query pays for sharing a join under Largest Window Only.

"The query with smallest window, i.e., Q1 (with w1 = 1 sec.) is severely penalized when using LWO"
(section 3.1.1): a new tuple waits until the old ones have scanned the largest window.
"""

from __future__ import annotations

from windrow.bar import Progress
from windrow.cost.paper2 import T_P, M
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim
from windrow.experiments.paper2 import analytic
from windrow.experiments.paper2.analytic import RATE, SEVEN, Times
from windrow.experiments.paper2.common import PAPER, said

#: Response times "could increase from milliseconds (in isolated execution) to seconds".
MILLISECONDS, SECONDS = 0.01, 1.0
#: Response times within as much are about the same; the operator's are the equations'.
FLAT, EXACT = 0.05, 1e-6


def run(progress: Progress, windows: tuple[float, ...] = SEVEN, m: int = M) -> Outcome:
    """Evaluate Equation (1) for queries alone and together, and have the operator do both."""
    progress.expect(2)
    shared = analytic.predicted("lwo", windows, m), analytic.operated("lwo", windows, m)
    progress.advance()
    alone = analytic.predicted("isolated", windows, m), analytic.alone(windows, m)
    progress.advance()
    return Outcome(
        parameters=parameters(windows, m),
        panels=(
            Panel(
                "counted",
                "window (s)",
                "average response time (s)",
                (*analytic.pair("LWO", *shared), *analytic.pair("isolated", *alone)),
                "Equation (1), and the operator by a clock",
                y_log=True,
            ),
        ),
        claims=claims(shared, alone),
    )


def parameters(windows: tuple[float, ...], m: int) -> dict[str, object]:
    """What a result says about the set-up."""
    return {
        "windows (s)": list(windows),
        "rate of each stream (tuples/s)": RATE,
        "m, tuples at once": m,
        "t_p (s)": T_P,
    }


def claims(shared: tuple[Times, Times], alone: tuple[Times, Times]) -> tuple[Claim, ...]:
    """What the paper says of Figure 2(b). Each pair is the equation's and the operator's."""
    lwo, isolated = list(shared[0].values()), list(alone[0].values())
    off = max(analytic.apart(*shared), analytic.apart(*alone))
    return (
        claim(
            "LWO takes the smallest window from milliseconds to seconds",
            isolated[0] < MILLISECONDS and lwo[0] > SECONDS,
            f"{said(isolated[:1])} alone, {said(lwo[:1])} shared",
        ),
        claim(
            f"Under LWO all windows take as long as the largest, within {FLAT:.0%}",
            max(lwo) - min(lwo) <= FLAT * max(lwo),
            f"{said(lwo)}; alone {said(isolated)}",
        ),
        claim(
            "The operator's response times are those of Equation (1), shared and alone",
            off <= EXACT,
            f"at most {off:.1g} of them apart",
        ),
    )


EXPERIMENT = Experiment("2.2b", "LWO beside isolated execution", f"{PAPER}, Figure 2(b)", run)
