"""The systems that are measured: how each one's session is set up, and its join."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.spark.session import FILE_MANAGER, LOCAL_FILE_MANAGER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    #: Fewer micro-batches than the setting has, for what is too slow for all of them.
    most_batches: int | None = None


SYSTEMS = {
    "windrow": System("windrow", native=False),
    "no-join": System("windrow's path, join left out", native=False, joins=False),
    "sync-filter": System("windrow, sync-filter", native=False, order="sync-filter"),
    "filter-order": System("windrow, filter-order", native=False, order="filter-order"),
    "adaptive": System("windrow, adaptive", native=False, order="adaptive"),
    "tuned": System(
        "Spark, RocksDB tuned",
        native=True,
        conf={
            **ROCKSDB,
            # One store with column families, values ordered by time: the newest format.
            "spark.sql.streaming.join.stateFormatVersion": "4",
            f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
            f"{STATE_STORE}.rocksdb.trackTotalNumberOfRows": "false",
        },
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


def joined(name: str, a: DataFrame, b: DataFrame, window_seconds: int) -> DataFrame:
    """The system's join of two streams on `key`, with `ts` at most the window apart."""
    if SYSTEMS[name].native:
        return _native(a, b, window_seconds)
    import windrow as wr

    streams = [
        wr.stream(frame, name=side, key="key", time="ts", window=f"{window_seconds} seconds")
        for frame, side in ((a, "a"), (b, "b"))
    ]
    if name == "no-join":
        from benchmarks.spark import without_join

        return without_join.path(*streams)
    result: DataFrame = wr.join(*streams, order=SYSTEMS[name].order)
    return result


def _native(a: DataFrame, b: DataFrame, window_seconds: int) -> DataFrame:
    from pyspark.sql import functions

    window = functions.expr(f"INTERVAL {window_seconds} SECONDS")
    left = a.withWatermark("ts", "0 seconds").alias("a")
    right = b.withWatermark("ts", "0 seconds").alias("b")
    time_a, time_b = functions.col("a.ts"), functions.col("b.ts")
    return left.join(
        right,
        (functions.col("a.key") == functions.col("b.key"))
        & (time_a >= time_b - window)
        & (time_a <= time_b + window),
    )
