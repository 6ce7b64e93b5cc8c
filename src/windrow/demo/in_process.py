"""The demo without Spark: the same join on tables, fed two minutes of event time at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from rich.console import Console

import windrow as wr
from windrow.api import local_join
from windrow.bar import progress_bar
from windrow.demo import job
from windrow.workload import auctions

#: Event time of a batch.
STEP = 120_000_000


def run(count: int = job.AUCTIONS) -> bool:
    """Show the demo; False if the answer was wrong."""
    console = Console()
    opened, bids = auctions(count, seed=job.SEED)
    console.print(job.question(opened, bids))
    began = time.perf_counter()
    run = local_join(wr.plan(*job.streams(opened, bids), how="left"))
    pieces = []
    with progress_bar("joining") as progress:
        for ranges in progress.track(list(by_time(opened["opened_at"], bids["bid_at"]))):
            pieces += [run.record_batch(piece) for piece in run.batch(ranges)]
            live = sum(run.join.state.live_rows(stream) for stream in (0, 1))
            progress.note(f"{run.join.matches:,} matches, {live:,} rows stored")
    result = pa.Table.from_batches(pieces, run.schema)
    took = time.perf_counter() - began
    console.print(job.first_rows(result))
    figures = run.figures()
    console.print(
        f"{figures.matches:,} matches and {figures.unmatched:,} auctions without a bid, "
        f"in {took:.2f} s (compiling the kernels, the first time, included)."
    )
    console.print(
        f"At most {figures.peak_rows['auc']:,} auctions and {figures.peak_rows['bid']:,} bids were "
        f"stored at a time, of {opened.num_rows + bids.num_rows:,} rows."
    )
    return job.check(console, result, opened, bids)


def by_time(*columns: pa.ChunkedArray) -> Iterator[list[tuple[int, int]]]:
    """Row ranges of each table that bring the same minutes of event time, as live streams would."""
    times = [column.cast(pa.int64()).to_numpy() for column in columns]
    last = max(int(ts[-1]) for ts in times)
    borders = np.arange(min(int(ts[0]) for ts in times), last + STEP, STEP) + STEP
    cuts = [np.searchsorted(ts, borders) for ts in times]
    for i in range(len(borders)):
        yield [(int(cut[i - 1]) if i else 0, int(cut[i])) for cut in cuts]
