"""The systems that are measured: how each one's session is set up, and its join."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.spark.session import FILE_MANAGER, LOCAL_FILE_MANAGER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from windrow.model import Stream

STATE_STORE = "spark.sql.streaming.stateStore"
PROVIDERS = "org.apache.spark.sql.execution.streaming.state"
ROCKSDB = {f"{STATE_STORE}.providerClass": f"{PROVIDERS}.RocksDBStateStoreProvider"}
IN_MEMORY = {f"{STATE_STORE}.providerClass": f"{PROVIDERS}.HDFSBackedStateStoreProvider"}


@dataclass(frozen=True)
class System:
    """A way to run the join."""

    title: str
    native: bool
    conf: dict[str, str] = field(default_factory=dict)
    #: Whether it has results at all, and in which order they leave.
    joins: bool = True
    order: str = "none"
    #: Whether more than two streams are joined two by two, as Spark's own join always does.
    chained: bool = False
    #: Whether the number of rows in its state can be believed.
    counted: bool = True
    #: Fewer micro-batches than the setting has, for what is too slow for all of them.
    most_batches: int | None = None


#: One store with column families, values ordered by time: the newest format.
TUNED = {
    **ROCKSDB,
    "spark.sql.streaming.join.stateFormatVersion": "4",
    f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{STATE_STORE}.rocksdb.trackTotalNumberOfRows": "false",
}

SYSTEMS = {
    "windrow": System("windrow", native=False),
    "chained": System("windrow, chained joins", native=False, chained=True),
    "no-join": System("windrow's path, join left out", native=False, joins=False),
    "sync-filter": System("windrow, sync-filter", native=False, order="sync-filter"),
    "filter-order": System("windrow, filter-order", native=False, order="filter-order"),
    "adaptive": System("windrow, adaptive", native=False, order="adaptive"),
    "tuned": System("Spark, RocksDB tuned", native=True, conf=TUNED, counted=False),
    "tuned-counted": System(
        "Spark, RocksDB tuned, rows counted",
        native=True,
        conf={**TUNED, f"{STATE_STORE}.rocksdb.trackTotalNumberOfRows": "true"},
    ),
    "in-memory": System("Spark, in memory", native=True, conf=IN_MEMORY),
    # With what a join of windrow sets for itself when checkpoints are on a local disk.
    "few-processes": System(
        "Spark, in memory, few processes",
        native=True,
        conf={**IN_MEMORY, FILE_MANAGER: LOCAL_FILE_MANAGER},
    ),
    "rocksdb": System("Spark, RocksDB default", native=True, conf=ROCKSDB, most_batches=6),
}

#: The same for every system.
COMMON = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.numRecentProgressUpdates": "10000",
    "spark.log.level": "ERROR",
}


def session(name: str, cores: int, memory: str, folder: str) -> SparkSession:
    """The system's Spark session."""
    from pyspark.sql import SparkSession

    import windrow as wr

    system = SYSTEMS[name]
    builder = SparkSession.builder.master(f"local[{cores}]").appName(f"windrow bench: {name}")
    if not system.native:
        builder = wr.configure(builder)
    conf = {**COMMON, "spark.driver.memory": memory, "spark.local.dir": folder, **system.conf}
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@contextmanager
def arena_of_its_own(name: str) -> Iterator[dict[str, str]]:
    """Where windrow keeps its states meanwhile: in the usual place, but nothing is left there."""
    if SYSTEMS[name].native:
        yield {}
        return
    from windrow.spark import arenas
    from windrow.spark import session as settings

    place = arenas.default_directory()
    with tempfile.TemporaryDirectory(prefix="windrow-bench-arena-", dir=place) as folder:
        yield {settings.ARENA: folder}


def joined(name: str, frames: Mapping[str, DataFrame], window: str) -> DataFrame:
    """The system's join of streams, by name, on `key`, with all `ts` at most the window apart."""
    if SYSTEMS[name].native:
        return _native(frames, window)
    import windrow as wr

    streams = [
        wr.stream(frame, name=side, key="key", time="ts", window=window)
        for side, frame in frames.items()
    ]
    if name == "no-join":
        from benchmarks.spark import without_join

        return without_join.path(*streams)
    if SYSTEMS[name].chained:
        return _chained(streams, window)
    result: DataFrame = wr.join(*streams, order=SYSTEMS[name].order)
    return result


def _chained(streams: Sequence[Stream], window: str) -> DataFrame:
    """Windrow's joins of two streams, each on what the one before it has found.

    A found row has the largest time of what is in it, and stays for a window from there. That what
    comes later is within the earlier ones' windows too is left to a condition.
    """
    import windrow as wr

    one, two, *others = streams
    found: DataFrame = wr.join(one, two)
    paths = [f"found.{one.name}", f"found.{two.name}"]
    for other in others:
        key = f"{paths[0].removeprefix('found.')}.key"
        before = wr.stream(found, name="found", key=key, time="ts", window=window)
        within = [f"{other.name}.ts <= {path}.ts + INTERVAL {window}" for path in paths]
        found = wr.join(before, other, condition=" AND ".join(within))
        paths = [f"found.{path}" for path in (*paths, other.name)]
    return found


def _native(frames: Mapping[str, DataFrame], window: str) -> DataFrame:
    """Spark's own joins, each with the range of every pair.

    A stream that is joined may have one event time only. So of what a join has found, the first
    stream's is kept as such, and the others are times like any other.
    """
    from pyspark.sql import functions
    from pyspark.sql.functions import col

    near = functions.expr(f"INTERVAL {window}")
    first, *others = frames
    result, before = _prefixed(frames[first], first), [first]
    for name in others:
        condition = col(f"{first}_key") == col(f"{name}_key")
        for other in before:
            its, mine = col(f"{other}_ts"), col(f"{name}_ts")
            condition = condition & (its >= mine - near) & (its <= mine + near)
        if len(before) > 1:
            plain = functions.timestamp_micros(functions.unix_micros(f"{before[-1]}_ts"))
            result = result.withColumn(f"{before[-1]}_ts", plain)
        result = result.join(_prefixed(frames[name], name), condition)
        before.append(name)
    return result


def _prefixed(frame: DataFrame, name: str) -> DataFrame:
    """A stream with its watermark, and its columns called after it."""
    renamed = frame.toDF(*(f"{name}_{column}" for column in frame.columns))
    return renamed.withWatermark(f"{name}_ts", "0 seconds")
