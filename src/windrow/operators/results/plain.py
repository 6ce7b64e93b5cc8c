"""Results that leave as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from windrow.model import JoinPlan
from windrow.operators.arrivals import Piece, Rows
from windrow.operators.stage import Figures, Handover
from windrow.state.room import HEAP, Room


class Plain:
    """Holds nothing. Other results stages are like it but for what they say."""

    #: Everything before this time has left, in order; None: there is no order.
    left_before: int | None = None

    def __init__(self, plan: JoinPlan) -> None:
        self.plan = plan

    def expect(self, after: Sequence[int]) -> None:
        """A batch begins; its progress is known."""

    def take(self, piece: Piece) -> Iterator[Any]:
        """What leaves of it."""
        if reaches_output(piece, self.plan):
            yield piece

    def finish(self) -> Iterator[Any]:
        """The batch has been joined."""
        yield from ()

    def alone(self, stream: int) -> Rows:
        """The rows of a stream that are held unmatched."""
        return np.empty(0, np.int64)

    def row_ids(self, stream: int) -> Rows:
        """The row ids of a stream that results here have."""
        return np.empty(0, np.int64)

    def __len__(self) -> int:
        """Results that are held."""
        return 0

    def begin(self, room: Room = HEAP) -> Self:
        """There is nothing to begin with."""
        return self

    def handover(self) -> Handover:
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
