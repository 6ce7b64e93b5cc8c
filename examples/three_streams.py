"""Impressions, and the clicks and purchases that they led to, joined in one step.

    python examples/three_streams.py

A purchase counts for an impression if the same user clicked on it within ten minutes and bought
within half an hour of the click. Impressions that led to none leave alone, as soon as that is
known. One operator holds the rows of the three streams and nothing else: two joins in a row would
also hold each pair of an impression and a click until no purchase can come for it any more.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession, functions

import windrow as wr

IMPRESSIONS, USERS, BATCHES = 60_000, 5_000, 10
MINUTE = 60_000_000
#: Event time that the impressions cover (µs).
SPAN = 240 * MINUTE


def main() -> None:
    """Run the query on Spark in local mode, and show what it found and what it held."""
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[2]").appName("three streams")
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


def write(folder: Path) -> None:
    """Three streams as folders of files, one for each micro-batch."""
    chance = np.random.default_rng(7)
    user = chance.integers(0, USERS, IMPRESSIONS)
    shown = np.sort(chance.integers(0, SPAN, IMPRESSIONS))
    clicking = np.flatnonzero(chance.random(IMPRESSIONS) < 0.2)
    clicked = shown[clicking] + chance.integers(0, 15 * MINUTE, len(clicking))
    buying = np.flatnonzero(chance.random(len(clicking)) < 0.3)
    bought = clicked[buying] + chance.integers(0, 45 * MINUTE, len(buying))
    write_stream(folder / "impressions", "shown_at", user, shown)
    write_stream(folder / "clicks", "clicked_at", user[clicking], clicked)
    write_stream(folder / "purchases", "bought_at", user[clicking][buying], bought)


def write_stream(
    folder: Path, name: str, user: NDArray[np.int64], times: NDArray[np.int64]
) -> None:
    """One stream, in time order; each file has the rows of the same stretch of time."""
    folder.mkdir()
    order = np.argsort(times, kind="stable")
    times = pa.array(times[order], pa.timestamp("us", "UTC"))
    table = pa.table({"user_id": user[order], name: times})
    stretch = np.minimum(table[name].cast(pa.int64()).to_numpy() * BATCHES // SPAN, BATCHES - 1)
    for batch in range(BATCHES):
        pq.write_table(table.filter(pa.array(stretch == batch)), folder / f"{batch:03}.parquet")


def run(spark: SparkSession, folder: Path) -> None:
    """The query, from the three streams to a folder of results."""

    def stream(name: str) -> DataFrame:
        path = str(folder / name)
        reader = spark.readStream.schema(spark.read.parquet(path).schema)
        return reader.option("maxFilesPerTrigger", 1).parquet(path)

    # Forty minutes after an impression no purchase counts for it any more.
    imp = wr.stream(
        stream("impressions"), name="imp", key="user_id", time="shown_at", window="40 minutes"
    )
    clk = wr.stream(
        stream("clicks"), name="clk", key="user_id", time="clicked_at", window="30 minutes"
    )
    buy = wr.stream(
        stream("purchases"), name="buy", key="user_id", time="bought_at", window="0 seconds"
    )
    led = wr.join(
        imp,
        clk,
        buy,
        how="left",
        condition="clk.clicked_at >= imp.shown_at "
        "AND clk.clicked_at <= imp.shown_at + INTERVAL 10 MINUTES",
    )

    query = (
        led.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "led"))
    )
    query.awaitTermination()
    found = spark.read.parquet(str(folder / "led"))
    sold = found.filter("buy IS NOT NULL")
    minutes = functions.expr("round((unix_micros(ts) - unix_micros(imp.shown_at)) / 6e7, 1)")
    sold.select(
        "imp.user_id", "imp.shown_at", "clk.clicked_at", "buy.bought_at", minutes.alias("minutes")
    ).orderBy("ts").show(8, truncate=False)
    held = max(sum(batch.live_rows.values()) for batch in wr.metrics(query))
    print(
        f"{sold.count():,} results, and {found.count() - sold.count():,} impressions alone so far;"
    )
    print(f"at most {held:,} rows of the three streams were held at one time.")


if __name__ == "__main__":
    main()
