"""Held results in a bucket's log: row ids, written down by each batch that leaves them held.

What has left is not among them, because all of it was before the trigger.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.operators.arrivals import Rows
from windrow.operators.pipeline import Pipeline
from windrow.operators.results import hold
from windrow.spark.log.directory import NO_STREAM
from windrow.spark.log.log import Log

KIND = "held"


class Held:
    """Held results of a log, on behalf of the hold stage."""

    def __init__(self, log: Log, pipeline: Pipeline) -> None:
        assert isinstance(pipeline.results, hold.Hold)
        self.log = log
        self.hold = pipeline.results

    def write(self) -> None:
        """Write down what this batch has added to the hold buffer, and forget what has left."""
        log, plan, passed = self.log, self.log.plan, self.hold.left_before
        for delta in log.directory.deltas_of(KIND, NO_STREAM):
            if delta.newest_row < passed:
                log.drop_delta(delta)
        added = self.hold.take_added()
        if plan.order != "sync-filter" or any(plan.singles) or plan.punctuate:
            add(log, added)
        for level, run, _ in log.runs_of_deltas(KIND, 8 * self.hold.runs.width):
            together = np.concatenate([_results(log, log.read(delta)) for delta in run])
            for delta in run:
                log.drop_delta(delta)
            add(log, together[hold.times(together) >= passed], level + 1)

    def renumber(self, kept: Sequence[Rows]) -> None:
        """Write all down under the new ids of its rows: places in `kept`."""
        add(self.log, self.hold.renumber(kept))

    def restore(self) -> None:
        """The hold buffer as it was."""
        self.hold.load([logged(self.log)])


def add(log: Log, rows: Rows, merged: int = 0) -> None:
    """Write held results down.

    Two attempts at a micro-batch may hold an unmatched row one batch sooner or later than each
    other, so a number is taken even if there is nothing to write: blobs after it must have the
    same numbers in both.
    """
    if len(rows):
        log.add_delta(KIND, NO_STREAM, rows, len(rows), int(hold.times(rows).max()), merged)
    else:
        log.directory.number()


def logged(log: Log) -> Rows:
    """The held results that are written down."""
    found = [_results(log, log.read(d)) for d in log.directory.deltas_of(KIND, NO_STREAM)]
    return np.concatenate([_results(log, np.empty(0, np.int64)), *found])


def drop(log: Log) -> None:
    """Forget what is written down."""
    for delta in log.directory.deltas_of(KIND, NO_STREAM):
        log.drop_delta(delta)


def _results(log: Log, numbers: Rows) -> Rows:
    return numbers.reshape(-1, hold.width(len(log.streams)))
