"""The main job: auctions and their bids, joined while they stream in, checked at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import windrow as wr
from windrow.api import local_join
from windrow.progress import progress_bar
from windrow.workload import auctions

AUCTIONS = 20_000
#: Event time of a batch.
STEP = 120_000_000
SHOWN = 6


def run() -> bool:
    """Show the demo; False if the answer was wrong."""
    console = Console()
    opened, bids = auctions(AUCTIONS, seed=7)
    auc = wr.stream(opened, name="auc", key="auction_id", time="opened_at", window="5 minutes")
    bid = wr.stream(bids, name="bid", key="auction_id", time="bid_at", window="0 seconds")
    console.print(
        f"{opened.num_rows:,} auctions, {bids.num_rows:,} bids; every bid of an auction's first "
        "5 minutes, and the auctions that got none (a left join)."
    )
    began = time.perf_counter()
    job = local_join(wr.plan(auc, bid, how="left"))
    pieces = []
    with progress_bar("joining") as progress:
        for ranges in progress.track(list(by_time(opened["opened_at"], bids["bid_at"]))):
            pieces += [job.record_batch(piece) for piece in job.batch(ranges)]
            live = sum(job.join.state.live_rows(stream) for stream in (0, 1))
            progress.note(f"{job.join.matches:,} matches, {live:,} rows stored")
    result = pa.Table.from_batches(pieces, job.schema)
    took = time.perf_counter() - began
    console.print(_rows(result))
    figures = job.figures()
    console.print(
        f"{figures.matches:,} matches and {figures.unmatched:,} auctions without a bid, "
        f"in {took:.2f} s (compiling the kernels, the first time, included)."
    )
    console.print(
        f"At most {figures.peak_rows['auc']:,} auctions and {figures.peak_rows['bid']:,} bids were "
        f"stored at a time, of {opened.num_rows + bids.num_rows:,} rows."
    )
    return _check(console, result, auc, bid)


def by_time(*columns: pa.ChunkedArray) -> Iterator[list[tuple[int, int]]]:
    """Row ranges of each table that bring the same minutes of event time, as live streams would."""
    times = [column.cast(pa.int64()).to_numpy() for column in columns]
    last = max(int(ts[-1]) for ts in times)
    borders = np.arange(min(int(ts[0]) for ts in times), last + STEP, STEP) + STEP
    cuts = [np.searchsorted(ts, borders) for ts in times]
    for i in range(len(borders)):
        yield [(int(cut[i - 1]) if i else 0, int(cut[i])) for cut in cuts]


def _rows(result: pa.Table) -> Table:
    table = Table("auction", "opened at", "reserve", "bidder", "price", "bid at")
    for row in result.slice(0, SHOWN).to_pylist():
        auc, bid = row["auc"], row["bid"] or {}
        table.add_row(
            str(auc["auction_id"]),
            f"{auc['opened_at']:%H:%M:%S}",
            f"{auc['reserve']:.2f}",
            bid.get("bidder", "-"),
            f"{bid['price']:.2f}" if bid else "-",
            f"{bid['bid_at']:%H:%M:%S}" if bid else "-",
        )
    return table


def _check(console: Console, result: pa.Table, auc: wr.Stream, bid: wr.Stream) -> bool:
    """Compare with DuckDB's answer to the same question."""
    try:
        from windrow.testing import duckdb_join, rows
    except ImportError as missing:
        console.print(f"The answer was not checked: {missing}")
        return True
    same = rows(result) == rows(duckdb_join(auc, bid, how="left"))
    console.print(
        "The same rows as DuckDB's range join." if same else "NOT the rows of DuckDB's range join!"
    )
    return same
