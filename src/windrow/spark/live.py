"""A running query in the terminal: its last micro-batches, renewed as they come.

>>> from windrow.spark.live import watch
>>> query = joined.writeStream.format("noop").start()               # doctest: +SKIP
>>> watch(query)                                                    # doctest: +SKIP
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from windrow.extras import needed
from windrow.model import BatchMetrics
from windrow.spark.book import BOOK

with needed("windrow.spark.live"):
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

#: Seconds between two looks.
PAUSE = 0.25
#: Micro-batches on the screen.
SHOWN = 15


def watch(query: StreamingQuery, console: Console | None = None) -> None:
    """Show a query's micro-batches until it ends; raises what it failed with.

    Without a terminal nothing is shown but one line at the end. Interrupting leaves the view; the
    query runs on.
    """
    console = console or Console(stderr=True)
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            while query.isActive:
                # What follows is the name of a Java class.
                doing = str(query.status["message"]).partition(" from ")[0]
                live.update(look(query, doing), refresh=True)
                time.sleep(PAUSE)
            live.update(look(query, ""), refresh=True)
    query.awaitTermination()
    console.print(summary(BOOK.of(query.id)), highlight=False)


def look(query: StreamingQuery, status: str) -> Table:
    """The query as it stands; below the table, what Spark says that it is doing."""
    table = view(BOOK.of(query.id), seconds(query))
    table.title, table.caption = Text(query.name or ""), Text(status)
    return table


def seconds(query: StreamingQuery) -> dict[int, float]:
    """How long each of the last micro-batches took, by the clock. The one that runs has none."""
    done = query.recentProgress
    return {each.batchId: each.batchDuration / 1000 for each in done if each.numInputRows}


def view(found: Sequence[BatchMetrics], took: Mapping[int, float]) -> Table:
    """The last micro-batches as a table; figures of several streams stand side by side."""
    shown = found[-SHOWN:]
    # One space between columns: two streams fit into 80 characters.
    table = Table(box=None, padding=(0, 1, 0, 0), title_justify="left", caption_justify="left")
    several = len({metrics.streams for metrics in shown}) > 1
    names = "/".join(shown[-1].streams) if shown and not several else ""
    days = {now.date() for metrics in shown for now in metrics.progress.values() if now}
    clock = "%H:%M:%S" if len(days) < 2 else "%m-%d %H:%M:%S"
    table.add_column("batch", justify="right")
    if several:
        table.add_column("join")
    for heading, note in (
        ("rows in", names),
        ("matches", ""),
        ("unmatched", ""),
        ("live rows", names),
        ("progress", "slowest"),
        ("lag", ""),
        ("arena", "hits"),
        ("time", ""),
    ):
        table.add_column(Text(f"{heading}\n{note}"), justify="right", no_wrap=True)
    for metrics in shown:
        join = [Text("/".join(metrics.streams))] if several else []
        table.add_row(str(metrics.batch), *join, *_cells(metrics, took.get(metrics.batch), clock))
    return table


def _cells(metrics: BatchMetrics, took: float | None, clock: str) -> list[str]:
    buckets = metrics.arena_hits + metrics.arena_rebuilds
    return [
        _beside(metrics.rows),
        f"{metrics.matches:,}",
        f"{metrics.unmatched:,}",
        _beside(metrics.live_rows),
        _slowest(metrics, clock),
        _furthest_behind(metrics),
        f"{metrics.arena_hits} of {buckets}" if buckets else "new",
        "..." if took is None else f"{took:.1f} s",
    ]


def _beside(per_stream: Mapping[str, int]) -> str:
    return "/".join(f"{number:,}" for number in per_stream.values())


def _slowest(metrics: BatchMetrics, clock: str) -> str:
    times = [moment for moment in metrics.progress.values() if moment is not None]
    # A stream that has not begun is behind all others.
    if len(times) < len(metrics.progress):
        return "-"
    return min(times).strftime(clock)


def _furthest_behind(metrics: BatchMetrics) -> str:
    known = [lag for lag in metrics.lag.values() if lag is not None]
    if len(known) < len(metrics.lag):
        return "-"
    return str(timedelta(seconds=round(max(known).total_seconds())))


def summary(found: Sequence[BatchMetrics]) -> str:
    """The micro-batches in one line."""
    batches = len({metrics.batch for metrics in found})
    if not batches:
        return "No figures of a join."
    rows = sum(sum(metrics.rows.values()) for metrics in found)
    matches = sum(metrics.matches for metrics in found)
    unmatched = sum(metrics.unmatched for metrics in found)
    stored = max(sum(metrics.live_rows.values()) for metrics in found)
    return (
        f"{batches:,} micro-batches: {rows:,} rows in, {matches:,} matches, {unmatched:,} "
        f"unmatched; at most {stored:,} rows kept from one to the next."
    )
