"""Windrow's path on Spark with the join left out: what the join itself costs is the difference.

Everything around the join is the engine's own: pack, exchange, and what shapes the result. Only
the stateful operator is another one. It opens a bucket's blobs, writes them to the state store and
removes those whose time is over, as the real one does, and has no results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

import windrow as wr
from windrow.model import Stream
from windrow.spark import engine
from windrow.spark.log import blobs
from windrow.spark.processor import SparkStore
from windrow.spark.worker import begin_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class WithoutJoin(StatefulProcessor):
    """Keeps a bucket's blobs for as long as their rows could still be met."""

    def __init__(self, reaches: tuple[int, ...]) -> None:
        self.reaches = reaches

    def init(self, handle: StatefulProcessorHandle) -> None:
        begin_task()
        self.store = SparkStore(handle)

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        text = self.store.directory()
        # Blobs as (number, side, newest time in it); progress of either stream.
        kept, progress, number = json.loads(text) if text else ([], [None, None], 0)
        for frame in rows:
            for row in frame.itertuples(index=False):
                side, newest = int(row.side), int(row.newest)
                progress[side] = newest if progress[side] is None else max(newest, progress[side])
                if row.blob is not None and blobs.decode(row.blob).num_rows:
                    number += 1
                    self.store.write(number, row.blob)
                    kept.append((number, side, newest))
        live = []
        for entry in kept:
            other = progress[1 - entry[1]]
            if other is not None and entry[2] + self.reaches[entry[1]] < other:
                self.store.remove(entry[0])
            else:
                live.append(entry)
        self.store.set_directory(json.dumps([live, progress, number]))
        return iter(())

    def close(self) -> None:
        pass


@contextmanager
def operator(replacement: StatefulProcessor) -> Iterator[None]:
    """The engine with another stateful operator, for the time of the block."""
    original = vars(engine)["JoinProcessor"]
    setattr(engine, "JoinProcessor", lambda *_, **__: replacement)  # noqa: B010
    try:
        yield
    finally:
        setattr(engine, "JoinProcessor", original)  # noqa: B010


def path(*streams: Stream) -> DataFrame:
    """The join's DataFrame, without a join in it."""
    with operator(WithoutJoin(tuple(wr.plan(*streams).reaches))):
        result: DataFrame = wr.join(*streams)
    return result
