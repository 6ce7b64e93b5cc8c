"""The demo on Spark: two streams of a data source, joined into a folder of Parquet files.

The file sink takes every micro-batch once, so the answer can be checked to the row.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
    from windrow.spark import live

    console = console or Console()
    opened, bids = auctions(count, seed=job.SEED)
    console.print(job.question(opened, bids))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="windrow-demo-")))
        if spark is None:
            spark = stack.enter_context(new_spark(folder, console))
        began = time.perf_counter()
        live.watch(start(joined(spark, count, batches), folder), console)
        took = time.perf_counter() - began
        result = spark.read.parquet(str(folder / "joined")).toArrow().sort_by("ts")
    console.print(job.first_rows(result))
    unmatched = result["bid"].null_count
    console.print(
        f"{result.num_rows - unmatched:,} matches and {unmatched:,} auctions without a bid, "
        f"in {took:.1f} s."
    )
    return job.check(console, result, opened, bids)


@contextmanager
def new_spark(folder: Path, console: Console) -> Iterator[Any]:
    """A Spark of our own in local mode."""
    from windrow.spark.tools import quiet

    began = time.perf_counter()
    cores = min(os.cpu_count() or 1, MOST_CORES)
    with ExitStack() as stack:
        stack.enter_context(compiling())
        with console.status("starting Spark"):
            spark = stack.enter_context(quiet.local_session(folder, cores))
        console.print(
            f"Spark {spark.version} in local mode with {cores} cores, started in "
            f"{time.perf_counter() - began:.1f} s."
        )
        yield spark


@contextmanager
def compiling() -> Iterator[None]:
    """Compile the kernels beside the block, where the workers will find them: in numba's cache.

    Without it every worker compiles them at the same time. It may take longer than the block or
    fail; then they do.
    """
    few = "from windrow.demo import on_spark; on_spark.join_a_few()"
    command, nowhere = [sys.executable, "-c", few], subprocess.DEVNULL
    with subprocess.Popen(command, stdout=nowhere, stderr=nowhere) as process:
        try:
            yield
        finally:
            process.kill()


def join_a_few() -> None:
    """The demo's join on a few rows, in process."""
    wr.join(*job.streams(*auctions(100, seed=job.SEED)), how="left")


def joined(spark: Any, count: int, batches: int) -> Any:
    """The join of both streams.

    The last bids come well over a window after the last auction, so every auction without a bid
    is known to be alone by then, and nothing is left undecided.
    """
    from windrow.spark import auction_source

    auction_source.register(spark)
    common = {"auctions": count, "seed": job.SEED}
    frames = [
        spark.readStream.format(auction_source.NAME)
        .options(table=table, rows_per_batch=-(-rows // batches), **common)
        .load()
        for table, rows in (("auctions", count), ("bids", count * BIDS_PER_AUCTION))
    ]
    return wr.join(*job.streams(*frames), how="left")


def start(frame: Any, folder: Path) -> Any:
    """Begin to write it into files; it ends when the streams do."""
    return (
        frame.writeStream.format("parquet")
        .queryName("auctions and their bids")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "joined"))
    )
