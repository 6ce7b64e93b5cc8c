"""The keepers of a bucket's log: each writes one part of it, and restores that part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from windrow.operators.pipeline import Pipeline
from windrow.spark.log.finals import PartialRows
from windrow.spark.log.held import Held
from windrow.spark.log.latest import LatestTuples, Seen
from windrow.spark.log.log import Log
from windrow.spark.log.punctuations import Punctuations
from windrow.spark.log.shared import HeldBack, SharedTuples
from windrow.spark.log.tuples import Arrived, Tuples


class Keeper(Protocol):
    """A part of a log, on behalf of a stage."""

    def write(self) -> None:
        """Write down what a batch has changed, and forget what it freed."""

    def restore(self) -> None:
        """Make it again, in a stage that has begun with nothing."""


def _tuples(log: Log, pipeline: Pipeline) -> Tuples:
    """The keeper of stored tuples."""
    if log.plan.memory is not None:
        return LatestTuples(log, pipeline)
    shared = log.plan.schedule is not None and not log.plan.counted
    return SharedTuples(log, pipeline) if shared else Tuples(log, pipeline)


class Keepers:
    """The keepers of a pipeline's log, each after those that it rests on."""

    def __init__(self, log: Log, pipeline: Pipeline) -> None:
        plan = log.plan
        shared = plan.schedule is not None and not plan.counted
        self.tuples = _tuples(log, pipeline)
        self.seen = Seen(log, pipeline) if plan.memory is not None else None
        self.held_back = HeldBack(log, pipeline) if shared else None
        self.held = Held(log, pipeline) if plan.ordered else None
        self.punctuations = Punctuations(log, pipeline) if plan.punctuated else None
        self.partials = PartialRows(log, pipeline) if plan.finals else None

    def _beside(self) -> list[Keeper]:
        """All but the tuples'."""
        found: list[Keeper | None] = [
            self.punctuations, self.partials, self.held, self.held_back, self.seen,
        ]  # fmt: skip
        return [keeper for keeper in found if keeper is not None]

    def write(self, arrived: Sequence[Sequence[Arrived]], before: Sequence[int]) -> None:
        """Write a batch down; `before` is the progress before it."""
        self.tuples.write(arrived, before)
        for keeper in self._beside():
            keeper.write()

    def restore(self) -> None:
        """Make the join again from its log."""
        self.restore_rows()
        if self.partials is not None:
            self.partials.restore()

    def restore_rows(self) -> None:
        """The same but for partial rows of finals, which are numbered apart."""
        if self.held is not None:
            # What is held tells which stored tuples have left alone.
            self.held.restore()
        self.tuples.restore()
        if self.punctuations is not None:
            self.punctuations.restore()
        if self.seen is not None:
            self.seen.restore()
        if self.held_back is not None:
            # Whether a result is still held, the arrivals tell.
            self.held_back.restore()

    def attached(self) -> None:
        """The stages' arrays are at hand; what is in blobs is found there."""
        if self.partials is not None:
            self.partials.find()
