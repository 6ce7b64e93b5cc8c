"""What a micro-batch writes to its bucket's log: each keeper's part, and what it merges."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.operators.pipeline import Pipeline
from windrow.spark.log import merging, renew
from windrow.spark.log.keepers import Keepers
from windrow.spark.log.log import Log
from windrow.spark.log.tuples import Arrived


def write(
    log: Log,
    pipeline: Pipeline,
    keepers: Keepers,
    arrived: Sequence[Sequence[Arrived]],
    before: Sequence[int],
) -> None:
    """Append what came and what has changed, and remove what is over."""
    keepers.write(arrived, before)
    if log.plan.counted or log.plan.punctuated:
        renew.if_sparse(log, pipeline, keepers)
    merging.merge(log)
    log.directory.forget_changes()
