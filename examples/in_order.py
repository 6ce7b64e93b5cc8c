"""A stream in total order out of two that are not in step, on Spark.

    python examples/in_order.py

Auctions run ahead of their bids by some micro-batches. The join holds back what might still be
overtaken, each micro-batch's rows are all after those of the one before, and `wr.ordered` sorts
within: what `write` gets is in order from the first row to the last.
"""

from __future__ import annotations

import tempfile

from pyspark.sql import DataFrame, SparkSession

import windrow as wr
from windrow.spark import auction_source

AUCTIONS = 20_000


class Checked:
    """Takes the micro-batches in turn and looks whether they are in order."""

    def __init__(self) -> None:
        self.rows = 0
        self.last = ""
        self.in_order = True

    def __call__(self, batch: DataFrame, number: int) -> None:
        times = [f"{row['ts']:%H:%M:%S.%f}" for row in batch.select("ts").collect()]
        if times:
            self.in_order &= times == sorted(times) and self.last <= times[0]
            self.rows, self.last = self.rows + len(times), times[-1]
            print(f"micro-batch {number}: {len(times):6,} rows, {times[0]} to {times[-1]}")


def main() -> None:
    """Run the query on Spark in local mode."""
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[2]").appName("in order")
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
            run(spark, folder)
        finally:
            spark.stop()


def run(spark: SparkSession, folder: str) -> None:
    """The query, from the two streams to a sink that wants its rows in order."""
    auction_source.register(spark)

    def stream(table: str, rows: int) -> DataFrame:
        options = {"table": table, "auctions": AUCTIONS, "seed": 7, "rows_per_batch": rows}
        return spark.readStream.format(auction_source.NAME).options(**options).load()

    # A fifth of the auctions in each micro-batch, but only a tenth of the bids.
    auction = wr.stream(
        stream("auctions", AUCTIONS // 5),
        name="auction",
        key="auction_id",
        time="opened_at",
        window="5 minutes",
    )
    bid = wr.stream(
        stream("bids", AUCTIONS // 2),
        name="bid",
        key="auction_id",
        time="bid_at",
        window="0 seconds",
    )
    joined = wr.join(auction, bid, how="left", order="adaptive")

    checked = Checked()
    query = (
        joined.writeStream.foreachBatch(wr.ordered(checked))
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    waited = max(sum(batch.peak_waiting.values()) + batch.peak_held for batch in wr.metrics(query))
    words = "all in order" if checked.in_order else "NOT in order"
    print(f"{checked.rows:,} rows, {words}; at most {waited:,} tuples and results waited.")


if __name__ == "__main__":
    main()
