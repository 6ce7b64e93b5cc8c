"""Small chunks become one, so that the directory does not grow with the batches in a window.

Eight of a kind become one: each row is written again once for every eightfold. Chunks of some size
stay as they are, since rewriting them would cost more than they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np
import pyarrow as pa

from windrow.model import BEGINNING
from windrow.operators.sizes import bounded, cuts
from windrow.spark.log.chunks import ROW, ids_of
from windrow.spark.log.directory import Entry
from windrow.spark.log.log import Log
from windrow.spark.log.stored import ORDER, stored_in_order


def merge(log: Log) -> None:
    """Merge what is small and many."""
    for stream in range(len(log.streams)):
        for run in list(runs_of_chunks(log, stream)):
            merge_chunks(log, run)


def runs_of_chunks(log: Log, side: int) -> Iterator[list[Entry]]:
    """Stretches of small chunks that were merged equally often, eight or more of them.

    A stretch never crosses a change of the windows, because what was dropped then depends on it.
    """
    entries = log.directory.of(side)
    changes = [change.batch for change in log.directory.changes]
    # A batch is merged as a whole, because it was stored in time order as a whole.
    large = {entry.batch for entry in entries if entry.bytes >= log.SMALL_BYTES}

    def kind(entry: Entry) -> tuple[int, int, bool]:
        return entry.merged, sum(entry.batch > b for b in changes), entry.batch not in large

    for (_, _, small), run in groupby(entries, key=kind):
        if small:
            yield from (part for part in _handy(run) if len(part) >= log.MERGED_AT_ONCE)


def _handy(stretch: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Parts of a stretch that are not too large to be read at once. Batches stay whole."""
    batches = [list(group) for _, group in groupby(stretch, key=lambda entry: entry.batch)]
    sizes = np.array([sum(entry.bytes for entry in batch) for batch in batches], np.float64)
    for start, stop in cuts(sizes, len(batches)):
        yield [entry for batch in batches[start:stop] for entry in batch]


def merge_chunks(log: Log, entries: list[Entry]) -> None:
    """Make one chunk of these. Row ids stay as they are."""
    first, side = entries[0], entries[0].stream
    opened = [log.rows_of(entry) for entry in entries]
    ids = np.concatenate([ids_of(r, e.first) for r, e in zip(opened, entries, strict=True)])
    order = np.full(len(ids), -1, np.int64)
    place = 0
    for _, group in groupby(entries, key=lambda entry: entry.batch):
        batch = list(group)
        reach = _reach_at(log, batch[0].batch, side)
        rows = stored_in_order(log, batch, reach).row
        order[np.searchsorted(ids, rows)] = np.arange(place, place + len(rows))
        place += len(rows)
    names = log.plan.streams[side].schema.names
    places = np.split(order, np.cumsum([batch.num_rows for batch in opened])[:-1])
    merged = [
        pa.RecordBatch.from_arrays(
            [*(batch.column(name) for name in names), pa.array(mine)], [*names, ORDER]
        )
        for batch, mine in zip(opened, places, strict=True)
    ]
    at = log.directory.chunks.index(first)
    log.forget(entries)
    there = len(log.directory.chunks)
    entry = replace(
        entries[-1],
        oldest=min(entry.oldest for entry in entries),
        newest=max(entry.newest for entry in entries),
        own_before=BEGINNING,
        merged=first.merged + 1,
    )
    for part in bounded(merged):
        mine, ids = ids[: part.num_rows], ids[part.num_rows :]
        if mine[-1] - mine[0] >= len(mine):
            # A chunk between these was not logged.
            part = part.append_column(ROW, pa.array(mine - mine[0]))
        log.write_rows(replace(entry, first=int(mine[0])), part)
    # Where its parts were: the order of chunks is the order of their batches.
    chunks = log.directory.chunks
    chunks[at:] = chunks[there:] + chunks[at:there]


def _reach_at(log: Log, batch: int, side: int) -> int:
    """How far tuples of a stream reached when that batch came."""
    for change in log.directory.changes:
        if batch <= change.batch:
            return change.reaches[side]
    return log.directory.reaches[side]
