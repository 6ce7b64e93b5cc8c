"""What becomes of results: they leave as they come, in order, or as finals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from windrow.model import JoinPlan
from windrow.operators.arrivals import Piece
from windrow.operators.payload import Payload
from windrow.operators.results.finals import Finals, Promised
from windrow.operators.results.hold import Hold
from windrow.operators.results.plain import Plain
from windrow.operators.stage import Stage

__all__ = ["Finals", "Hold", "Plain", "Results", "results_of"]


class Results(Stage, Protocol):
    """The stage after the join."""

    def expect(self, after: Sequence[int]) -> None:
        """A batch begins; each stream's progress is `after` it."""

    def take(self, piece: Piece) -> Iterator[Any]:
        """Take results in; what may leave at once does, as pieces or as finished rows."""

    def finish(self) -> Iterator[Any]:
        """The batch has been joined: what may leave now does."""


def results_of(
    plan: JoinPlan,
    payloads: Sequence[Payload],
    promised: Promised,
    told: bool,
    open_blob: Callable[[int], pa.RecordBatch] | None,
) -> Results:
    """The stage that a plan asks for.

    `promised` knows the punctuations that finals rest on; `open_blob` reads what was written down.
    """
    if plan.finals:
        return Finals(plan, payloads, promised, told, open_blob)
    if plan.ordered:
        return Hold(plan, told)
    return Plain(plan)
