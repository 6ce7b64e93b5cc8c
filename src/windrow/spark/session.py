"""Settings that the join needs of a Spark session, and why."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError

from windrow.model import WindrowError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATE_STORE = "spark.sql.streaming.stateStore"
#: Where on each host the arenas go. Unset: memory if there is enough, else Spark's local directory.
ARENA = "spark.windrow.arena.dir"
#: Whether the arenas of a query that has ended stay for its next start.
KEEP_ARENAS = "spark.windrow.arena.keep"
#: Without these the join does not run.
NEEDED = {
    # The only state store that Python's stateful operator works with.
    f"{STATE_STORE}.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
#: Without these it runs slower.
WANTED = {
    # Write what changed, not whole snapshots.
    f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting would read the old value at every put, and a row of the state store is a chunk.
    f"{STATE_STORE}.rocksdb.trackTotalNumberOfRows": "false",
    # With any other limit Spark adds up the size of all columns again at every single row.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    # Pack puts them together again; this bounds the memory of wide rows instead.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    # Blobs of numbers gain little from it, and it costs more than the bytes it saves.
    "spark.shuffle.compress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
}
#: How Spark writes the files of a checkpoint.
FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
#: Through Hadoop's `FileSystem`. Spark's own choice, `FileContext`, starts some ten shell processes
#: (readlink, chmod) for each small file on a local disk, sixty a micro-batch; this one two a file.
LOCAL_FILE_MANAGER = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
CHECKPOINTS = "spark.sql.streaming.checkpointLocation"


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """The builder, with what windrow's join needs and wants set."""
    for name, value in {**NEEDED, **WANTED}.items():
        builder = builder.config(name, value)
    # Workers must run the Python that has windrow installed. A context started from Python reads
    # the environment, and not spark.pyspark.python, which belongs to spark-submit.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return builder


def prepare(session: SparkSession) -> None:
    """Make a session ready for a streaming join; refuse one that lacks what it needs."""
    _check(session)
    # Not in `configure`: a builder knows neither the cluster nor spark-defaults.conf.
    if _files_are_local(session) and _knows(session, LOCAL_FILE_MANAGER):
        session.conf.set(FILE_MANAGER, LOCAL_FILE_MANAGER)


def context_of(session: SparkSession) -> Any:
    """The JVM's context; None on Spark Connect, where the driver is another process."""
    return getattr(session, "_jsc", None)


def _files_are_local(session: SparkSession) -> bool:
    """Do tasks run here and checkpoints go to a local disk, and is the way to write them not set?

    On other file systems a retried task's file may not replace the first through `FileSystem`.
    """
    context = context_of(session)
    if context is None or not str(session.conf.get("spark.master", "")).startswith("local"):
        return False
    hadoop = context.hadoopConfiguration()
    if session.conf.get(FILE_MANAGER, None) or hadoop.get(FILE_MANAGER):
        return False
    place = session.conf.get(CHECKPOINTS, None) or ""
    scheme = urlsplit(place).scheme or urlsplit(hadoop.get("fs.defaultFS")).scheme
    return scheme == "file"


def _knows(session: SparkSession, name: str) -> bool:
    """Whether this Spark has a class: they move between versions."""
    try:
        session._jvm.java.lang.Class.forName(name)  # type: ignore[union-attr]
    except Py4JJavaError:
        return False
    return True


def _check(session: SparkSession) -> None:
    for name, value in NEEDED.items():
        found = session.conf.get(name, None)
        if found != value:
            raise WindrowError(
                f"the Spark session has {name}={found}, but a streaming join needs {value}; build "
                "it with windrow.configure(SparkSession.builder).getOrCreate(), or set it with "
                f"spark.conf.set({name!r}, {value!r})"
            )
