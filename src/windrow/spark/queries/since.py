"""From which `ts` on each query has all its answers: what the workers tell the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.accumulators import Accumulator, AccumulatorParam

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: By query's id. It is the latest of the buckets'.
Times = dict[int, int]


class Latest(AccumulatorParam[Times]):
    """Keeps the latest time of each, so a task that runs twice changes nothing."""

    def zero(self, value: Times) -> Times:
        return {}

    def addInPlace(self, value1: Times, value2: Times) -> Times:  # noqa: N802
        for query, time in value2.items():
            value1[query] = max(value1.get(query, time), time)
        return value1


def accumulator(spark: SparkSession) -> Accumulator[Times]:
    """One for a join."""
    return spark.sparkContext.accumulator({}, Latest())
