"""Where is the transmitter? Four sensors by epoch, with no window (paper 5, section 1).

    python examples/tracking.py

Each sensor measures a signal's strength once in an epoch. Packets take different ways to where they
are joined: they arrive out of order, one sensor's two seconds late, and another's way is
congested for a while. Nobody says how late packets may be. The join finds out: buffers grow while a
sensor falls behind, and accuracy says how complete results are.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, functions
from rich.console import Console
from rich.table import Table

import windrow as wr
from windrow.workload import epochs
from windrow.workload.epochs import Change

SECONDS, BATCHES = 120, 12
#: Of each sensor: where it is, how scrambled its packets arrive, how late (s), and what happens.
SENSORS = {
    "s1": ((0, 0, 3), 40, 0.0, ()),
    "s2": ((50, 0, 3), 120, 0.0, (Change(1 / 4, start=20, seconds=20), Change(4, 60, 5))),
    "s3": ((0, 50, 3), 10, 2.0, ()),
    "s4": ((50, 50, 3), 80, 0.5, ()),
}
GAP = 0.01
MICROS = 1_000_000
#: When the first file was written, seconds since 1970.
WRITTEN = 1_700_000_000


def main() -> None:
    """Run the query on Spark in local mode, and show how it follows the data."""
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[2]").appName("tracking")
        spark = (
            wr.configure(builder)
            .config("spark.sql.shuffle.partitions", 2)
            .config("spark.sql.warehouse.dir", folder)
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
        try:
            write(Path(folder))
            run(spark, Path(folder))
        finally:
            spark.stop()


def packets(seed: int, name: str) -> pa.Table:
    """A sensor's packets in the order in which they arrive."""
    place, scrambling, lag, changes = SENSORS[name]
    found = epochs(
        SECONDS,
        scrambling=scrambling,
        multiplicity=1,
        lag=lag,
        changes=changes,
        gap=GAP,
        seed=seed,
    )
    for at, axis in enumerate("xyz"):
        found = found.append_column(axis, pa.repeat(float(place[at]), found.num_rows))
    return found


def write(folder: Path) -> None:
    """Four streams as folders of files, each with what arrives in the same ten seconds."""
    for seed, name in enumerate(SENSORS):
        (folder / name).mkdir()
        table = packets(seed, name)
        times = table["time"].cast(pa.int64()).to_numpy()
        start = times[0] // (SECONDS * MICROS) * SECONDS * MICROS
        stretch = (times - start) * BATCHES // (SECONDS * MICROS)
        for batch in range(BATCHES):
            part = table.filter(pa.array(stretch == batch))
            path = folder / name / f"{batch:03}.parquet"
            pq.write_table(part, path)
            # Spark takes files in the order of these times, which is the order of arrival here.
            os.utime(path, (WRITTEN + batch, WRITTEN + batch))


def run(spark: SparkSession, folder: Path) -> None:
    """The query, from the four streams to a folder of results."""

    def stream(name: str) -> DataFrame:
        path = str(folder / name)
        reader = spark.readStream.schema(spark.read.parquet(path).schema)
        return reader.option("maxFilesPerTrigger", 1).parquet(path)

    sensors = [wr.stream(stream(name), name=name, key="epoch", time="time") for name in SENSORS]
    joined = wr.join(*sensors, memory="data")

    # The transmitter is nearest to the sensor that hears it best.
    strongest = functions.greatest(*(f"{name}.val" for name in SENSORS))
    located = joined.select(functions.col("s1.epoch").alias("epoch"), strongest.alias("val"), "ts")
    query = (
        located.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "located"))
    )
    query.awaitTermination()

    table = Table(title="packets kept after each ten seconds, of each sensor", title_justify="left")
    for column in ("batch", *SENSORS, "accuracy"):
        table.add_column(column, justify="right")
    batches = wr.metrics(query)
    for batch in batches:
        kept = [f"{batch.live_rows[name]:,}" for name in SENSORS]
        accuracy = "-" if batch.accuracy is None else f"{batch.accuracy:.2%}"
        table.add_row(str(batch.batch), *kept, accuracy)
    console = Console(width=88)
    console.print(table)
    found = spark.read.parquet(str(folder / "located")).count()
    console.print(
        f"{found:,} of {complete(spark, folder):,} epochs that all four sensors have seen."
    )


def complete(spark: SparkSession, folder: Path) -> int:
    """The epochs for which there are packets of all sensors, exactly."""
    seen = [spark.read.parquet(str(folder / name)).select("epoch") for name in SENSORS]
    found = seen[0]
    for other in seen[1:]:
        found = found.join(other, "epoch")
    return found.count()


if __name__ == "__main__":
    main()
