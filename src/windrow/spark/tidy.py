"""At the driver: when a query ends, its arenas on this host are removed.

Best effort. Arenas on other hosts, and those of a driver that is killed, are removed by workers of
later queries (`arenas.py`), and so are those of queries on Spark Connect, which has no listener in
the driver's process.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from windrow.spark import arenas, session
from windrow.spark.listening import Listener
from windrow.spark.metrics.book import BOOK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_watched: WeakSet[SparkSession] = WeakSet()
#: Where arenas of this driver's queries go; None is the default.
_directories: set[str | None] = set()


def watch(spark: SparkSession, directory: str | None) -> None:
    """Listen to the queries of this session from now on."""
    if session.context_of(spark) is None:
        return
    _directories.add(directory)
    if spark not in _watched:
        _watched.add(spark)
        spark.streams.addListener(Tidier(spark))


class Tidier(Listener):
    """Hears of queries that start and end."""

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """A run begins; Spark waits for this before the first micro-batch."""
        with suppress(Exception):
            BOOK.started(str(event.id().toString()), str(event.runId().toString()))

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """A query has ended, unless it has been started again meanwhile."""
        with suppress(Exception):
            query = str(event.id().toString())
            BOOK.ended(query, str(event.runId().toString()))
            running = [active.id for active in self._spark.streams.active]
            keep = self._spark.conf.get(session.KEEP_ARENAS, "false")
            if query not in running and keep != "true":
                for directory in list(_directories):
                    arenas.remove_query(directory, query)
