"""Rows held for the auction join: Windrow with punctuations beside Spark's own, on the same data.

    python -m benchmarks.spark.auctions

Bids within 12 hours of their auction's opening. Both run in one session, one after the other; what
counts is the most rows that either holds after a micro-batch, which no noise touches.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

import windrow as wr
from benchmarks.measure import CONSOLE, show
from windrow.spark.tools import quiet
from windrow.workload import closing_auctions

AUCTIONS, BATCHES, HOURS = 60_000, 24, 12
#: Spark's own join is to hold at least so many times as many rows.
WANTED = 5.0
#: After a micro-batch. Spark counts rows only if it is told to.
COUNTED = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"


def write(folder: Path) -> int:
    """One file a micro-batch, both streams by time; returns how many results there are."""
    opened, bids = closing_auctions(AUCTIONS, seed=1)
    last = bids["bid_at"].cast("int64")[-1].as_py()
    first = opened["opened_at"].cast("int64")[0].as_py()
    for name, table, time in (("auctions", opened, "opened_at"), ("bids", bids, "bid_at")):
        (folder / name).mkdir(parents=True)
        times = table[time].cast("int64").to_numpy()
        for batch in range(BATCHES):
            low, high = (first + (last - first) * n // BATCHES for n in (batch, batch + 1))
            rows = (times >= low) & (times < high + (batch == BATCHES - 1))
            path = folder / name / f"{batch:03d}.parquet"
            pq.write_table(table.filter(rows), path)
            # The file source takes the oldest file first.
            os.utime(path, (1_700_000_000 + 10 * batch,) * 2)
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT count(*) FROM read_parquet($a) a JOIN read_parquet($b) b USING (auction_id) "
            f"WHERE NOT closed AND bid_at BETWEEN opened_at AND opened_at + INTERVAL {HOURS} HOURS",
            {"a": str(folder / "auctions/*.parquet"), "b": str(folder / "bids/*.parquet")},
        ).fetchone()
    assert found is not None
    return int(found[0])


def ours(auctions: Any, bids: Any) -> Any:
    """An id occurs once among the auctions; bids say when an auction closes."""
    return wr.join(
        wr.stream(
            auctions, name="a", key="auction_id", time="opened_at", window=f"{HOURS} hours",
            unique=True,
        ),
        wr.stream(
            bids, name="b", key="auction_id", time="bid_at", window="0 seconds", ends="closed"
        ),
    )  # fmt: skip


def native(auctions: Any, bids: Any) -> Any:
    """Spark's join has no use for a closing, so it gets the bids only."""
    from pyspark.sql import functions

    a = auctions.withWatermark("opened_at", "0 seconds").alias("a")
    b = bids.filter("NOT closed").withWatermark("bid_at", "0 seconds").alias("b")
    return a.join(
        b,
        functions.expr(
            "a.auction_id = b.auction_id AND b.bid_at >= a.opened_at AND "
            f"b.bid_at <= a.opened_at + INTERVAL {HOURS} HOURS"
        ),
    )


def main() -> int:
    rows = []
    held: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="windrow-bench-auctions-") as name:
        folder = Path(name)
        expected = write(folder)
        with quiet.local_session(folder, 2) as spark:
            for title, build in (("windrow, with punctuations", ours), ("Spark's own", native)):
                spark.conf.set(COUNTED, str(build is native).lower())
                frames = [
                    spark.readStream.schema(spark.read.parquet(str(folder / stream)).schema)
                    .option("maxFilesPerTrigger", 1)
                    .parquet(str(folder / stream))
                    for stream in ("auctions", "bids")
                ]
                query = (
                    build(*frames)
                    .writeStream.format("noop")
                    .option("checkpointLocation", str(folder / build.__name__))
                    .trigger(availableNow=True)
                    .start()
                )
                assert query.awaitTermination(300), "stopped at its limit of 300 s"
                progress = [json.loads(each.json) for each in query.recentProgress]
                results = sum(int(each["sink"]["numOutputRows"]) for each in progress)
                if build is native:
                    states = [state for each in progress for state in each["stateOperators"]]
                    held[title], flags = max(state["numRowsTotal"] for state in states), 0
                else:
                    figures = wr.metrics(query)
                    held[title] = max(sum(batch.live_rows.values()) for batch in figures)
                    flags = max(sum(batch.flags.values()) for batch in figures)
                right = "yes" if results == expected else "NO"
                rows.append([title, f"{held[title]:,}", f"{flags:,}", f"{results:,}", right])
    show(
        f"{AUCTIONS:,} auctions, {HOURS} hours each at most, and their bids, in {BATCHES} "
        "micro-batches",
        ["", "most rows held", "most flags", "results", "as DuckDB"],
        rows,
        [],
    )
    mine, its = held.values()
    word = "met" if its >= WANTED * mine else "NOT met"
    CONSOLE.print(f"  {its / mine:.1f} times fewer rows, at least {WANTED:g} wanted: {word}\n")
    return 0 if all(row[-1] == "yes" for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
