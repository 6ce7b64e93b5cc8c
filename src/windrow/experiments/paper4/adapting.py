"""What the measured figures share: the curves of the three approaches, and Adaptive's switch.

Rates that are drawn at random waver, and so does the load that the operator measures; around
alpha it goes back and forth. So the switch is where it spends half of the tuples in Filter-Order,
and away from it, by `MARGIN`, it must follow one of the two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.experiments.frame import Claim, Series, claim, measured
from windrow.experiments.paper4 import common
from windrow.experiments.paper4.common import Point

#: How far from alpha the measured load may be, by alpha, and Adaptive from what it follows.
MARGIN = 0.2
FOLLOWS = 0.05
#: How far from alpha the switch may be, by alpha.
AT_ALPHA = 0.1


def series(x: Sequence[float], points: Sequence[Point]) -> tuple[Series, ...]:
    """The average response times of the three approaches."""
    return (
        measured("Sync-Filter", x, [p.sync.mean for p in points]),
        measured("Filter-Order", x, [p.order.mean for p in points]),
        measured("Adaptive", x, [p.adaptive.mean for p in points]),
    )


def improvements(x: Sequence[float], points: Sequence[Point]) -> tuple[Series, ...]:
    """What two of them save of Sync-Filter's."""
    return (
        measured("Sync-Filter", x, [0.0 for _ in points]),
        measured("Filter-Order", x, [p.improvement for p in points]),
        measured("Adaptive", x, [p.adapted for p in points]),
    )


def below(points: Sequence[Point]) -> list[Point]:
    """Those clearly below the switch."""
    return [p for p in points if p.load <= (1 - MARGIN) * p.setup.alpha + common.CLOSE]


def above(points: Sequence[Point]) -> list[Point]:
    """Those clearly above it, as far as one server keeps up well."""
    return [p for p in common.well(points) if p.load >= (1 + MARGIN) * p.setup.alpha - common.CLOSE]


def follows(points: Sequence[Point]) -> Claim:
    """That Adaptive is like one of the two on each side of the switch."""
    low = [p.adaptive.mean / p.sync.mean - 1 for p in below(points)]
    high = [p.adaptive.mean / p.order.mean - 1 for p in above(points)]
    said = [
        f"at most {max(map(abs, off)):.1%} from {whom} {where}"
        for off, whom, where in (
            (low, "Sync-Filter", f"up to {1 - MARGIN:g} alpha"),
            (high, "Filter-Order", f"from {1 + MARGIN:g} alpha on"),
        )
        if off
    ]
    return claim(
        "Adaptive follows Sync-Filter below the switch"
        + (" and Filter-Order above" if high else "")
        + f", within {FOLLOWS:.0%}",
        max(map(abs, [*low, *high])) <= FOLLOWS,
        "; ".join(said),
    )


def switches_at_alpha(points: Sequence[Point]) -> Claim:
    """That the load at which half of the tuples are joined in Filter-Order is alpha."""
    alpha = points[0].setup.alpha
    shares = [p.adaptive.overlapped for p in points]
    middle = float(np.interp(0.5, shares, [p.load for p in points]))
    near = [p for p in points if abs(p.load / alpha - 1) <= 2 * MARGIN + common.CLOSE]
    return claim(
        f"The switch happens at c|w|λ_1λ_2 = alpha = {alpha:g}, within {AT_ALPHA:.0%}",
        min(shares) < 0.5 < max(shares) and abs(middle / alpha - 1) <= AT_ALPHA,
        f"half of the tuples in Filter-Order at {middle:.3f}; "
        + ", ".join(f"{p.adaptive.overlapped:.0%} at {p.load:.2g}" for p in near),
    )
