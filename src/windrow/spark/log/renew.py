"""A log that is written anew once most of it is dead.

Under a count window one old tuple of a rare key can hold its chunk for ever, and punctuations take
tuples out of the middle of chunks. So, beside what time frees, when the log has twice the rows that
are live, or rows that must not come back, the live ones become one chunk (several if they are
wide), with new row ids, and the stages are made again from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from windrow.model import BEGINNING
from windrow.operators.arrivals import Rows
from windrow.operators.columns import columns_of
from windrow.operators.pipeline import Pipeline
from windrow.operators.sizes import cuts
from windrow.operators.stage import Stage
from windrow.spark.log import finals, ranges
from windrow.spark.log.directory import Entry
from windrow.spark.log.keepers import Keepers
from windrow.spark.log.log import Log
from windrow.spark.log.stored import ORDER
from windrow.spark.log.tuples import MATCHED, judged, wants_matches

#: A log with fewer rows than this is not worth it.
LEAST_RENEWED = 1000
#: Deltas that do not name rows of the log.
APART = (finals.KIND, ranges.RANGES, ranges.SAID)


def if_sparse(log: Log, pipeline: Pipeline, keepers: Keepers) -> None:
    """Write the log of live rows only, with new row ids, and make the stages again from it."""
    directory, join, streams = log.directory, pipeline.join, range(len(log.streams))
    logged = sum(entry.rows for entry in directory.chunks)
    live = sum(_live(pipeline, stream) for stream in streams)
    if logged <= max(LEAST_RENEWED, 2 * live) and not join.outgrown:
        return
    join.outgrown = False
    kept = [_live_rows(pipeline, stream) for stream in streams]
    matched = [_matched(pipeline, stream, rows) for stream, rows in enumerate(kept)]
    batches = [list(_gathered(log, pipeline, s, rows)) for s, rows in enumerate(kept)]
    flags = [join.state.flags(stream) for stream in streams]
    log.forget(list(directory.chunks))
    for delta in [delta for delta in directory.deltas if delta.kind not in APART]:
        log.drop_delta(delta)
    for stream, parts in enumerate(batches):
        directory.next_rows[stream] = len(kept[stream])
        _write(log, pipeline, stream, parts)
        if wants_matches(log, stream):
            log.add_rows(MATCHED, stream, matched[stream])
    if keepers.punctuations is not None:
        keepers.punctuations.renumber(flags, kept)
    if keepers.held is not None:
        keepers.held.renumber(kept)
    pipeline.gate.renumber(kept)
    pipeline.join.renumber(kept)
    _begin(log, pipeline)
    keepers.restore_rows()


def _begin(log: Log, pipeline: Pipeline) -> None:
    """Empty all stages that name rows; where they stand stays."""
    stages: list[Stage] = [pipeline.gate, pipeline.join]
    if not log.plan.finals:
        # Finals name rows that are numbered apart.
        stages.append(pipeline.results)
    for stage in stages:
        standing = stage.standing()
        stage.begin(log.room)
        stage.stand(standing)


def _gathered(log: Log, pipeline: Pipeline, stream: int, rows: Rows) -> Iterator[pa.RecordBatch]:
    """These rows of a stream, in batches of a bounded size; with places where lists have some."""
    payload, names = log.payloads[stream], log.plan.streams[stream].schema.names
    places = _in_list_order(pipeline, stream, rows) if log.plan.punctuated else None
    for start, stop in cuts(payload.sizes(rows), len(rows)):
        batch = pa.RecordBatch.from_arrays(payload.columns(rows[start:stop]), names)
        if places is not None:
            batch = batch.append_column(ORDER, pa.array(places[start:stop]))
        yield batch


def _write(log: Log, pipeline: Pipeline, stream: int, batches: Sequence[pa.RecordBatch]) -> None:
    """Log the rows; all their chunks speak of the same times, so they stay and go together."""
    if not batches:
        return
    times = [columns_of(log.streams[stream], batch).ts for batch in batches]
    unknown = [BEGINNING] * (len(log.streams) - 1)
    entry = Entry(
        0, stream, 0, 0, log.directory.batch, min(int(ts.min()) for ts in times),
        judged(pipeline, max(int(ts.max()) for ts in times)), 0, BEGINNING, unknown, unknown,
        int(log.plan.punctuated),
    )  # fmt: skip
    for batch in batches:
        log.write_rows(entry, batch)
        entry = replace(entry, first=entry.first + batch.num_rows)


def _live(pipeline: Pipeline, stream: int) -> int:
    """How many rows of a stream must be kept, at most."""
    state = pipeline.join.state
    stored = state.live_rows(stream) + state.live_flags(stream)
    return stored + pipeline.gate.held(stream) + len(pipeline.results)


def _live_rows(pipeline: Pipeline, stream: int) -> Rows:
    """The row ids that are stored, held or wait, or say that a key is over, as they came."""
    state = pipeline.join.state
    parts = [state.rows(stream), state.flags(stream).row]
    parts += [pipeline.gate.rows(stream), pipeline.results.row_ids(stream)]
    return np.unique(np.concatenate(parts))


def _matched(pipeline: Pipeline, stream: int, rows: Rows) -> Rows:
    """The places of those rows that have met a partner: of stored ones, for others it is over."""
    join = pipeline.join
    if not join.config.flags_matches:
        return np.empty(0, np.int64)
    stored = np.flatnonzero(np.isin(rows, join.state.rows(stream)))
    return stored[join.flags.get(stream, rows[stored])]


def _in_list_order(pipeline: Pipeline, stream: int, kept: Rows) -> Rows:
    """The rows' places in the lists; -1 for those that are in none."""
    order = np.full(len(kept), -1, np.int64)
    # Those that wait lie in runs, which are other runs after a rebuild.
    waiting = np.sort(pipeline.gate.tuples.rows(stream))
    stored = np.concatenate([pipeline.join.state.rows(stream), waiting])
    order[np.searchsorted(kept, stored)] = np.arange(len(stored))
    return order
