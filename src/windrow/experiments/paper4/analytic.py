"""What Figures 5 and 6 share: Equations (3) and (5) at a point, and (7) up to its limit (8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.cost import paper4
from windrow.experiments.frame import Claim, Panel, claim, modelled

#: Section 5.2's window, seconds.
DAY = 86_400


@dataclass(frozen=True)
class Point:
    """Rates, window and c, and what the equations make of them."""

    λ_1: float
    λ_2: float
    w: float
    c: float

    @property
    def sync(self) -> float:
        """Equation (3)."""
        return paper4.sync_filter_response(self.λ_1, self.λ_2, self.w, self.c)

    @property
    def order(self) -> float:
        """Equation (5)."""
        return paper4.filter_order_response(self.λ_1, self.λ_2)

    @property
    def improvement(self) -> float:
        """What (5) saves of (3)."""
        return 1 - self.order / self.sync

    @property
    def predicted(self) -> float:
        """Equation (7)."""
        return paper4.improvement(self.λ_1, self.λ_2, self.w, self.c)

    @property
    def load(self) -> float:
        """c|w|λ_1λ_2."""
        return paper4.load(self.λ_1, self.λ_2, self.w, self.c)


def panels(x_label: str, x: Sequence[float], points: Sequence[Point]) -> tuple[Panel, ...]:
    """Response times, and what Filter-Order saves."""
    times = (
        modelled("Sync-Filter, (3)", x, [p.sync for p in points]),
        modelled("Filter-Order, (5)", x, [p.order for p in points]),
    )
    saved = (modelled("what (5) saves of (3)", x, [p.improvement for p in points]),)
    return (
        Panel(
            "counted",
            x_label,
            "average response time (s)",
            times,
            "Response time, no clock: equations",
            x_log=True,
            y_log=True,
        ),
        Panel("counted", x_label, "relative improvement", saved, "Improvement", x_log=True),
    )


def claims(points: Sequence[Point]) -> tuple[Claim, ...]:
    """That (7) is what (3) and (5) come to, and (8) its limit; the last point is the limit."""
    apart = max(abs(p.improvement - p.predicted) for p in points)
    *below, limit = points
    return (
        claim(
            "The improvement is Equation (7)'s",
            apart < 1e-9,
            f"{below[0].predicted:.2%} to {below[-1].predicted:.1%}, at most {apart:.0e} apart",
        ),
        claim(
            "It stays below 0.5 and reaches it where Equation (1) does not hold any more",
            max(p.improvement for p in below) < paper4.MOST_IMPROVEMENT
            and abs(limit.improvement - paper4.MOST_IMPROVEMENT) < 1e-9,
            f"{below[-1].improvement:.3f} at c|w|λ_1λ_2 = {below[-1].load:.3f}, "
            f"{limit.improvement:.3f} at {limit.load:.3f}",
        ),
    )
