"""The stateful operator: feeds one bucket's micro-batch to its join."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from windrow.model import JoinPlan
from windrow.spark import blobs
from windrow.spark.bucket import BucketJoin, Packed

OUTPUT_DDL = "blob BINARY"

#: States by token, for micro-batches that meet the same worker again. Never needed for the answer.
CACHE: dict[str, BucketJoin] = {}
#: Tokens are random, so a state nobody comes back for stays; this many do.
MOST_CACHED = 64


class SparkStore:
    """A bucket's log in Spark's state store."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._blobs = handle.getMapState("blobs", "number BIGINT", "blob BINARY")
        self._directory = handle.getValueState("directory", "text STRING")

    def read(self, number: int) -> bytes:
        found = self._blobs.getValue((number,))
        assert found is not None, f"the directory names blob {number}, which is not there"
        return bytes(found[0])

    def write(self, number: int, blob: bytes) -> None:
        self._blobs.updateValue((number,), (blob,))

    def remove(self, number: int) -> None:
        self._blobs.removeKey((number,))

    def directory(self) -> str | None:
        found = self._directory.get()
        return None if found is None else str(found[0])

    def set_directory(self, text: str) -> None:
        self._directory.update((text,))


class JoinProcessor(StatefulProcessor):
    """One per task; `handleInputRows` runs once per bucket and micro-batch."""

    def __init__(self, plan: JoinPlan, buckets: int, finite: bool) -> None:
        self.plan = plan
        self.buckets = buckets
        self.finite = finite

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.store = SparkStore(handle)

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        packed = [row for frame in rows for row in _packed(frame)]
        join = BucketJoin.open(self.plan, self.buckets, self.store, CACHE, self.finite)
        for batch in join.process(packed, self.store):
            yield pd.DataFrame({"blob": [blobs.encode(batch)]})
        while len(CACHE) >= MOST_CACHED:
            CACHE.pop(next(iter(CACHE)))
        join.keep(CACHE)

    def close(self) -> None:
        pass


def _packed(frame: pd.DataFrame) -> Iterator[Packed]:
    for row in frame.itertuples(index=False):
        yield Packed(
            int(row.side),
            None if row.blob is None else bytes(row.blob),
            None if pd.isna(row.newest) else int(row.newest),
            None if pd.isna(row.newest_beat) else int(row.newest_beat),
            int(row.bad),
            int(row.beats),
        )
