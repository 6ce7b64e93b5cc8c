"""Bids per auction within 12 hours of its opening, reported when the auction closes.

    python examples/auctions.py

Two streams: auctions as they open, and bids, among them rows that say "this auction takes no more".
The report of an auction leaves as soon as nothing can be added to it: at its closing, or when its
12 hours are over, whichever comes first. Spark's own join would hold every auction for 12 hours,
and an aggregate behind it would wait for its watermark.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import windrow as wr
from windrow.spark import auction_source

AUCTIONS, BATCHES = 20_000, 12


def main() -> None:
    """Run the query on Spark in local mode, and show what it found and what it held."""
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[2]").appName("auctions")
        spark = (
            wr.configure(builder)
            .config("spark.sql.shuffle.partitions", 2)
            .config("spark.sql.warehouse.dir", folder)
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
        try:
            run(spark, Path(folder))
        finally:
            spark.stop()


def run(spark: SparkSession, folder: Path) -> None:
    """The query, from the two streams to a folder of reports."""
    auction_source.register(spark)

    def stream(table: str, rows: int) -> DataFrame:
        options = {"table": table, "auctions": AUCTIONS, "closing": "true", "seed": 7}
        reader = spark.readStream.format(auction_source.NAME).options(**options)
        return reader.option("rows_per_batch", -(-rows // BATCHES)).load()

    opened, bids = stream("auctions", AUCTIONS), stream("bids", 6 * AUCTIONS)

    # An auction's id occurs once, so no bid has to wait for another auction of that id.
    auction = wr.stream(
        opened, name="auction", key="auction_id", time="opened_at", window="12 hours", unique=True
    )
    bid = wr.stream(
        bids, name="bid", key="auction_id", time="bid_at", window="0 seconds", ends="closed"
    )
    report = wr.join(
        auction,
        bid,
        finals={"bids": "count(*)", "best": "max(bid.price)", "mean": "avg(bid.price)"},
    )

    query = (
        report.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "reports"))
    )
    query.awaitTermination()
    reports = spark.read.parquet(str(folder / "reports"))
    reports.orderBy("auction_id").show(8)
    held = max(sum(batch.live_rows.values()) for batch in wr.metrics(query))
    print(f"{reports.count():,} auctions with bids reported;")
    print(f"at most {held:,} of {7 * AUCTIONS:,} rows were held at one time.")


if __name__ == "__main__":
    main()
