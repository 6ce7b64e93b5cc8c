"""Stored tuples in a bucket's log: chunks as they came, and which of their rows have met a partner.

*Time windows*: chunks are appended in the order they came, each batch in time order, and what has
expired is dropped. *Count windows*: which tuples are left follows from the tuples themselves, so
they run through the join again, with the results thrown away. *Input that waits* is in its chunk
too, and the gate tells it from its times. Either way no unmatched row leaves twice.

Where the adaptive policy has joined at once, its lists can be out of order, by a lateness, in a way
that the log does not tell; there a state that is made again is in time order, and rows may leave it
sooner. That makes no difference to what comes out, because whatever leaves is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from windrow.model import BEGINNING
from windrow.operators.admit import admit
from windrow.operators.arrivals import Arrivals
from windrow.operators.columns import Columns
from windrow.operators.pipeline import Pipeline
from windrow.operators.progress import of_the_others
from windrow.spark.log.chunks import Chunk, ids_of
from windrow.spark.log.directory import Change, Entry, before
from windrow.spark.log.log import Log
from windrow.spark.log.stored import ORDER, stored_in_order, stored_rows

MATCHED, REMOVED = "matched", "removed"


@dataclass(frozen=True)
class Arrived:
    """A chunk of this micro-batch, with the blob it came in."""

    chunk: Chunk
    blob: bytes
    columns: Columns


class Tuples:
    """The chunks of a log, on behalf of gate and join."""

    def __init__(self, log: Log, pipeline: Pipeline) -> None:
        self.log = log
        self.pipeline = pipeline
        self.streams = range(len(log.streams))

    # -- writing ---------------------------------------------------------------------------

    def write(self, arrived: Sequence[Sequence[Arrived]], progress: Sequence[int]) -> None:
        """Append this batch's chunks and matches, and remove what it freed.

        `progress` is that before the batch.
        """
        log = self.log
        for stream in self.streams:
            for part in arrived[stream]:
                self._append_if_stored(stream, part, progress)
            log.forget(self._over(stream))
            if wants_matches(log, stream):
                log.log_rows(MATCHED, stream, self.pipeline.join.flags.news(stream))
            if not log.plan.punctuated:
                log.log_rows(REMOVED, stream, self.pipeline.join.take_removed(stream))

    def _append_if_stored(self, stream: int, part: Arrived, progress: Sequence[int]) -> None:
        """Log a chunk. One of which nothing was stored (all late, say) is of no use."""
        log, chunk, directory = self.log, part.chunk, self.log.directory
        entry = Entry(
            chunk.number, stream, chunk.first, chunk.rows, directory.batch, 0, 0, len(part.blob),
            progress[stream], _without(progress, stream), _without(directory.progress, stream),
        )  # fmt: skip
        stored = stored_rows(log, entry, part.columns, directory.reaches[stream])
        if log.plan.punctuated:
            stored = np.union1d(stored, part.columns.punctuations(log.streams[stream].unique))
        if log.plan.ordered:
            # One that was not stored may be in a result that is held, or wait for its turn alone.
            in_time = part.columns.ts >= progress[stream]
            stored = np.union1d(stored, np.flatnonzero(in_time & part.columns.are_tuples()))
        if not len(stored):
            log.payloads[stream].drop(chunk.first)
            return
        ts = part.columns.ts[stored]
        newest = judged(self.pipeline, int(ts.max()))
        log.keep(replace(entry, oldest=int(ts.min()), newest=newest), part.blob)

    def _over(self, stream: int) -> list[Entry]:
        """The chunks of a stream that nothing needs any more."""
        return before(self.log.directory, stream, self._bound(stream))

    def _bound(self, stream: int) -> int:
        """The time before which no stored tuple, flag or result of a stream is in the log."""
        plan, directory = self.log.plan, self.log.directory
        reach, span = directory.reaches[stream], plan.span if plan.punctuated else None
        released = self.pipeline.results.released
        if released is not None:
            # What is held, or is to come, names rows for as long as they may be in a result. Where
            # input does not wait, a tuple may sit behind one that is later by the lateness.
            disorder = 0 if plan.order == "sync-filter" else plan.streams[stream].lateness
            return released - max(reach, span or 0, 0) - disorder
        if span is not None:
            return min(directory.progress) - span
        # Where input waits, it is needed until all have passed it.
        return self.pipeline.join.needed_from(stream, self.pipeline.gate.joined)

    # -- reading ---------------------------------------------------------------------------

    def restore(self) -> None:
        """Matched flags, stored tuples, and those that wait."""
        self._restore_flags()
        gate = self.pipeline.gate
        if self.log.plan.counted:
            self._replay()
        elif self.log.plan.waits:
            gate.tuples.keep([self._restore_waiting(stream) for stream in self.streams])
        else:
            for stream in self.streams:
                self._restore_lists(stream)

    def _restore_flags(self) -> None:
        join, directory = self.pipeline.join, self.log.directory
        if not join.config.flagged:
            return
        oldest = [directory.oldest_row(stream) for stream in self.streams]
        join.flags.covers(directory.next_rows)
        join.flags.cover(oldest)
        for stream in self.streams:
            rows = self.log.rows(MATCHED, stream)
            join.flags.set(stream, rows[rows >= oldest[stream]])
        for stream in self.streams:
            # They are in the log already.
            join.flags.news(stream)

    def _restore_lists(self, stream: int) -> None:
        """Append what was stored, in the order it was; drop what has expired since.

        Between two changes of the windows the old ones apply.
        """
        directory, state = self.log.directory, self.pipeline.join.state
        entries = directory.of(stream)
        removed = self.log.rows(REMOVED, stream)
        last = Change(directory.batch, directory.reaches, directory.progress)
        after = -1
        for change in [*directory.changes, last]:
            reach = change.reaches[stream]
            stored = [
                stored_in_order(self.log, list(batch), reach)
                for _, batch in groupby(
                    [entry for entry in entries if after < entry.batch <= change.batch],
                    key=lambda entry: entry.batch,
                )
            ]
            found = Arrivals.concatenate(stored)
            found = found.chosen(~np.isin(found.row, removed))
            state.fill(stream, found.ts, found.key, found.row)
            state.drop_expired(stream, reach, of_the_others(change.progress, stream))
            after = change.batch

    def _come(self, stream: int) -> Arrivals:
        """A stream's tuples that are in the log, in the order of arrival."""
        entries = groupby(self.log.directory.of(stream), key=lambda entry: entry.batch)
        return Arrivals.concatenate(
            [stored_in_order(self.log, list(batch), 0) for _, batch in entries]
        )

    def _restore_waiting(self, stream: int) -> Arrivals:
        """Stored tuples into their lists; returns those that wait."""
        log, gate = self.log, self.pipeline.gate
        stored = [stored_in_order(log, [entry], 0) for entry in log.directory.of(stream)]
        found = Arrivals.concatenate(stored)
        found = found.chosen(~np.isin(found.row, log.rows(REMOVED, stream)))
        waits = gate.tuples_wait(stream, found.row, found.ts, log.directory.progress)
        left = found.chosen(~waits & self._alive(stream, found))
        left = left.chosen(np.lexsort((left.row, left.ts)))
        self.pipeline.join.state.fill(stream, left.ts, left.key, left.row)
        return found.chosen(waits)

    def _alive(self, stream: int, found: Arrivals) -> NDArray[np.bool_]:
        """Which joined tuples are still stored, or may be."""
        plan, pipeline = self.log.plan, self.pipeline
        passed = of_the_others(pipeline.gate.joined, stream)
        alive: NDArray[np.bool_] = found.ts + self.log.directory.reaches[stream] >= passed
        if not plan.singles[stream] or plan.order == "sync-filter":
            return alive
        # One that has expired may have waited in its list behind others, and not left yet.
        met = pipeline.join.flags.get(stream, found.row)
        left = np.isin(found.row, pipeline.results.alone(stream))
        released = pipeline.results.released
        return alive | ((found.ts >= (BEGINNING if released is None else released)) & ~met & ~left)

    def _replay(self) -> None:
        """Run the tuples of the log through the join again; nothing of it leaves."""
        gate, join = self.pipeline.gate, self.pipeline.join
        figures = join.matches, join.unmatched, join.candidates
        none = [Arrivals.empty() for _ in self.streams]
        tuples = [self._tuples(stream) for stream in self.streams]
        for _ in join.process(gate.pass_on(tuples, none, self.log.directory.progress)):
            pass
        join.matches, join.unmatched, join.candidates = figures

    def _tuples(self, stream: int) -> Arrivals:
        """The tuples of a stream that are in the log and were not late."""
        parts = []
        removed = self.log.rows(REMOVED, stream)
        for entry in self.log.directory.of(stream):
            batch = self.log.rows_of(entry)
            part = admit(self.log.columns_of(entry), 0, entry.rows, entry.own_before)
            taken = self.pipeline.arrivals(stream, part)
            if entry.merged:
                taken = taken.chosen(batch.column(ORDER).to_numpy()[taken.row] >= 0)
            ids = ids_of(batch, entry.first)[taken.row]
            parts.append(Arrivals(taken.ts, taken.key, ids).chosen(~np.isin(ids, removed)))
        return Arrivals.concatenate(parts)


def wants_matches(log: Log, stream: int) -> bool:
    """Does it matter later which rows of a stream were matched?"""
    return log.plan.preserved[stream] or (log.plan.how == "semi" and stream == 0)


def judged(pipeline: Pipeline, newest: int) -> int:
    """The time by which a chunk is judged, given the largest of its rows.

    A punctuation that comes late ends its key no sooner than what has left already.
    """
    released = pipeline.results.released
    return newest if released is None or not pipeline.plan.punctuate else max(newest, released)


def _without(progress: Sequence[int], stream: int) -> list[int]:
    """The progress of the other streams."""
    return [now for other, now in enumerate(progress) if other != stream]
