"""The demo on Spark: two streams of a data source, joined into a folder of Parquet files.

The file sink takes every micro-batch once, so the answer can be checked to the row.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

import windrow as wr
from windrow.demo import job
from windrow.workload import auctions
from windrow.workload.auctions import BIDS_PER_AUCTION

#: Micro-batches in which the streams come.
BATCHES = 10
#: More cores than these would only wait for each other.
MOST_CORES = 4


def run(
    count: int = job.AUCTIONS,
    *,
    batches: int = BATCHES,
    spark: Any = None,
    console: Console | None = None,
) -> bool:
    """Show the demo, on a new Spark in local mode if none is given; False if it was wrong."""
    from windrow.spark import live, quiet

    console = console or Console()
    opened, bids = auctions(count, seed=job.SEED)
    console.print(job.question(opened, bids))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="windrow-demo-")))
        began = time.perf_counter()
        if spark is None:
            cores = min(os.cpu_count() or 1, MOST_CORES)
            with console.status("starting Spark"):
                spark = stack.enter_context(quiet.local_session(folder, cores))
            console.print(
                f"Spark {spark.version} in local mode with {cores} cores, started in "
                f"{time.perf_counter() - began:.1f} s."
            )
        began = time.perf_counter()
        live.watch(start(spark, count, folder, batches), console)
        took = time.perf_counter() - began
        result = spark.read.parquet(str(folder / "joined")).toArrow().sort_by("ts")
    console.print(job.first_rows(result))
    unmatched = result["bid"].null_count
    console.print(
        f"{result.num_rows - unmatched:,} matches and {unmatched:,} auctions without a bid, "
        f"in {took:.1f} s (compiling the kernels, the first time, included)."
    )
    return job.check(console, result, opened, bids)


def start(spark: Any, count: int, folder: Path, batches: int) -> Any:
    """Begin the join of both streams into files; it ends when they do.

    The last bids come well over a window after the last auction, so every auction without a bid
    is known to be alone by then, and nothing is left undecided.
    """
    from windrow.spark import source

    source.register(spark)
    common = {"auctions": count, "seed": job.SEED}
    frames = [
        spark.readStream.format(source.NAME)
        .options(table=table, rows_per_batch=-(-rows // batches), **common)
        .load()
        for table, rows in (("auctions", count), ("bids", count * BIDS_PER_AUCTION))
    ]
    joined = wr.join(*job.streams(*frames), how="left")
    return (
        joined.writeStream.format("parquet")
        .queryName("auctions and their bids")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "joined"))
    )
