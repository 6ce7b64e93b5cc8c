"""A listener to a session's queries that gets the events as the JVM has them.

What Spark puts between the two would read every figure of a progress first, some 100 calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryListener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Listener(StreamingQueryListener):
    """Heeds no event by itself. Those that do keep their errors to themselves."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @property
    def _jlistener(self) -> Any:
        if not hasattr(self, "_jlistenerobj"):
            jvm: Any = self._spark._jvm
            self._jlistenerobj = jvm.PythonStreamingQueryListenerWrapper(self)
        return self._jlistenerobj

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        pass

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)
