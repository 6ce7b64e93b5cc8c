"""What both demos ask, and how they show and check the answer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

import windrow as wr

AUCTIONS = 20_000
SEED = 7
WINDOW_MINUTES = 5
#: Rows of the result on the screen.
SHOWN = 6


def streams(opened: Any, bids: Any) -> tuple[wr.Stream, wr.Stream]:
    """The two sides, as tables or as DataFrames."""
    window = f"{WINDOW_MINUTES} minutes"
    return (
        wr.stream(opened, name="auc", key="auction_id", time="opened_at", window=window),
        wr.stream(bids, name="bid", key="auction_id", time="bid_at", window="0 seconds"),
    )


def question(opened: pa.Table, bids: pa.Table) -> str:
    """What is asked, in words."""
    return (
        f"{opened.num_rows:,} auctions, {bids.num_rows:,} bids; every bid of an auction's first "
        f"{WINDOW_MINUTES} minutes, and the auctions that got none (a left join)."
    )


def first_rows(result: pa.Table) -> Table:
    """The result's beginning."""
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


def check(console: Console, result: pa.Table, opened: pa.Table, bids: pa.Table) -> bool:
    """Compare with DuckDB's answer to the same question; False if they differ."""
    try:
        from windrow.testing import duckdb_join
    except ImportError as missing:
        console.print(f"The answer was not checked: {missing}")
        return True
    expected = duckdb_join(*streams(opened, bids), how="left")
    same = bool(in_order(result.cast(expected.schema)).equals(in_order(expected)))
    console.print(
        "The same rows as DuckDB's range join." if same else "NOT the rows of DuckDB's range join!"
    )
    return same


def in_order(result: pa.Table) -> pa.Table:
    """A result flat and sorted by all columns, so that the same rows are the same table."""
    flat = result.append_column("alone", pc.is_null(result["bid"])).flatten()
    return flat.sort_by([(name, "ascending") for name in flat.column_names])
