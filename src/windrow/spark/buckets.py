"""How many buckets a query has, and under which ids Spark spreads them over its partitions."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from pyspark import TaskContext

#: How many partitions a query's state has: fixed by its checkpoint, whatever the session says now.
PINNED = "spark.sql.streaming.internal.stateStore.partitions"
#: In versions of Spark without that, this is the query's own copy, which the checkpoint sets.
PARTITIONS = "spark.sql.shuffle.partitions"


def of_task(otherwise: int) -> int:
    """As many buckets as the running query's state has partitions.

    The driver cannot know that when it builds the join, because the checkpoint is named later.
    """
    task = TaskContext.get()
    for name in (PINNED, PARTITIONS):
        found = task.getLocalProperty(name) if task is not None else None
        if found is not None and found.isdigit():
            return int(found)
    return otherwise


@lru_cache(maxsize=16)
def bucket_ids(buckets: int) -> tuple[int, ...]:
    """Ids that Spark's own hash spreads evenly over as many partitions as there are buckets.

    They follow from the number of buckets alone, because the state is kept under them: a restart
    finds them again, whatever its partitions. Id 0 is always one of them, so a restart with
    another number of buckets finds a directory that says so.
    """
    found = np.full(buckets, -1, np.int64)
    drawn, step = 0, max(1024, 4 * buckets)
    while (found < 0).any():
        ids = np.arange(drawn, drawn + step, dtype=np.int64)
        places, first = np.unique(spark_hash(ids) % buckets, return_index=True)
        new = found[places] < 0
        found[places[new]] = ids[first[new]]
        drawn += step
    return tuple(found.tolist())


def spark_hash(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """What `functions.hash` makes of integers of 32 bits: murmur3 with the seed 42."""
    with np.errstate(over="ignore"):
        mixed = numbers.astype(np.uint32) * np.uint32(0xCC9E2D51)
        mixed = _turned(mixed, 15) * np.uint32(0x1B873593)
        mixed = _turned(mixed ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
        mixed ^= np.uint32(4)
        mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        mixed = (mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        mixed ^= mixed >> np.uint32(16)
    return mixed.view(np.int32).astype(np.int64)


def _turned(numbers: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    return (numbers << np.uint32(bits)) | (numbers >> np.uint32(32 - bits))
