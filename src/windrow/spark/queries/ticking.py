"""At the driver: hears of each micro-batch that ends, so that work that it left is not forgotten.

Spark runs no micro-batch without input. What a budget has left goes on when data come; should the
sources fall silent, a tick in the control stream is the input.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from windrow.spark.listening import Listener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Ticker(Listener):
    """Calls `finished` with the id of each query that has ended a micro-batch."""

    def __init__(self, spark: SparkSession, finished: Callable[[str], None]) -> None:
        super().__init__(spark)
        self._finished = finished

    def begin(self) -> None:
        """Listen."""
        self._spark.streams.addListener(self)

    def end(self) -> None:
        """Listen no more."""
        self._spark.streams.removeListener(self)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """A micro-batch has ended."""
        with suppress(Exception):
            self._finished(str(event.progress().id().toString()))
