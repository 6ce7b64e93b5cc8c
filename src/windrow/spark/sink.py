"""The last step of an ordered join on Spark: micro-batches in turn, each in the order of `ts`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from windrow.model import WindrowError
from windrow.spark.output import is_unordered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Write = Callable[["DataFrame", int], None]


def ordered(write: Write) -> Write:
    """Hands each micro-batch to `write` in the order of `ts`.

    A micro-batch's rows are all after those of the one before it, and sorted in each bucket, so
    sorting what there is makes a stream that is in order from its first row to its last.
    """

    def in_turn(batch: DataFrame, number: int) -> None:
        if "ts" not in batch.columns:
            raise WindrowError(
                f"these rows have no column ts to be in the order of, only "
                f"{', '.join(batch.columns)}; keep the join's ts"
            )
        if is_unordered(batch, ["ts"]):
            raise WindrowError(
                "these rows come from a join with order='none', so micro-batches overlap and "
                "sorting each does not put them in order; give the join an order"
            )
        # Sorting reads its input twice, to find the borders of its partitions. Without this the
        # join would run twice, and its second run would find that the first has moved the state.
        batch.persist()
        try:
            write(batch.orderBy("ts"), number)
        finally:
            batch.unpersist()

    return in_turn
