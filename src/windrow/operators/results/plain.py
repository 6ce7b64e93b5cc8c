"""Results that leave as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from windrow.model import JoinPlan
from windrow.operators.arrivals import Piece, Result
from windrow.operators.stage import Figures, Parts
from windrow.state.room import HEAP, Room


class Plain:
    """Holds nothing."""

    def __init__(self, plan: JoinPlan) -> None:
        self.plan = plan

    def expect(self, after: Sequence[int]) -> None:
        """A batch begins; its progress is known."""

    def take(self, piece: Piece) -> Iterator[Result]:
        """What leaves of it."""
        if reaches_output(piece, self.plan):
            yield piece

    def finish(self) -> Iterator[Result]:
        """The batch has been joined."""
        yield from ()

    def begin(self, room: Room = HEAP) -> Plain:
        """There is nothing to begin with."""
        return self

    def parts(self) -> Parts:
        """None."""
        return {}, {}

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Nothing to attach."""

    def figures(self) -> Figures:
        """None."""
        return {}, {}

    def forget_peaks(self) -> None:
        """There are none."""

    def standing(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def stand(self, standing: dict[str, Any]) -> None:
        """Nothing to take over."""


def reaches_output(piece: Piece, plan: JoinPlan) -> bool:
    """Is a piece a result? An end is one if it is asked for, a lapse never is."""
    return piece.kind != "lapse" and (piece.kind != "end" or plan.punctuate)
