"""What `windrow inspect` prints: a checkpoint's joins as tables, or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from windrow import duration
from windrow.duration import moment

if TYPE_CHECKING:
    from rich.console import RenderableType

    from windrow.spark.tools.inspection import (
        Inspection,
        KeptJoin,
        KeptStream,
        Remembered,
        Stored,
    )

#: Columns of text where there is no terminal to ask: enough for a bucket in one line.
WIDTH = 132


def show(found: Inspection, as_json: bool) -> None:
    """Print it on standard output."""
    if as_json:
        print(json.dumps(asdict(found), indent=2))
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(tables(found))


def tables(found: Inspection) -> RenderableType:
    """For people."""
    parts: list[RenderableType] = [Text(f"{found.checkpoint} after batch {found.batch}")]
    for join in found.joins:
        names = " and ".join(stream.name for stream in join.streams)
        heading = (
            f"{join.kind} join of {names} (operator {join.operator}, format {join.format}, "
            f"{join.all_buckets} buckets)"
        )
        parts += [Text(), Text(heading, "bold"), _streams(join), Text(), _buckets(join)]
        parts += [Text(f"\n{warning}", "yellow") for warning in join.warnings]
    for operator in found.waiting:
        parts += [Text(), Text(f"the join of operator {operator} has not had a row yet")]
    return Group(*parts)


def _streams(join: KeptJoin) -> Table:
    table = _table("stream", "key", "time", "window")
    for stream in join.streams:
        key = "(none)" if stream.key is None else ", ".join(stream.key)
        table.add_row(Text(stream.name), Text(key), Text(stream.time), window(stream))
    return table


def _buckets(join: KeptJoin) -> Table:
    table = _table("bucket", "stream", "oldest", "newest", "progress")
    for heading in ("live", "rows", "chunks", "bytes"):
        table.add_column(heading, justify="right")
    if join.memory is not None:
        for heading in ("scrambling", "to stay"):
            table.add_column(heading, justify="right")
    for bucket in join.buckets:
        for name, stored in bucket.stored.items():
            known = _remembered(bucket.remembered.get(name))
            table.add_row(str(bucket.bucket), Text(name), *_figures(stored), *known)
    for stream in join.streams:
        table.add_row("all", Text(stream.name), *_figures(stream.total), style="bold")
    return table


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading)
    return table


def _figures(stored: Stored) -> tuple[str, ...]:
    times = (moment(at) for at in (stored.oldest, stored.newest, stored.progress))
    counts = (f"{n:,}" for n in (stored.live, stored.rows, stored.chunks))
    return (*times, *counts, decimal(stored.bytes))


def _remembered(found: Remembered | None) -> tuple[str, ...]:
    """What is known of a stream where memory follows the data."""
    if found is None:
        return ()
    return f"{found.scrambling:,}", "all" if found.memory is None else f"{found.memory:,}"


def window(stream: KeptStream) -> str:
    """A stream's window in words."""
    if stream.reach is None and stream.count is None:
        return "follows the data"
    if stream.reach is None:
        return f"{stream.count:,} rows per {stream.per}"
    return duration.show(stream.reach)
