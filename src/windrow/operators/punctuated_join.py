"""The window join with punctuations: paper 3's PWJoin, and PJoin where there is no window.

    arrivals ------------------+
                               +--> kernel: invalidate, probe, insert, purge --> pieces, ends
    punctuations --> pending --+       tuples  I-Nodes

A punctuation (k, t) acts once its stream's progress reaches t, after the tuples up to t; until
then it is pending. Inside the batch where it acts it takes its place in time order.

Keys are hashes here. Where equal hashes are not proof enough, each thing that a flag does to a row
is checked on the key columns, and a collision stops the join: better than a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import cursor as c
from windrow.kernels import ends as told
from windrow.kernels import inodes, purge
from windrow.kernels import lists as ls
from windrow.model import BEGINNING, END, WindrowError
from windrow.operators.arrivals import Arrivals, Piece
from windrow.operators.broken import broken
from windrow.operators.window_join import BUFFER_ROWS, JoinConfig, WindowJoin
from windrow.state.join_state import STREAMS, JoinState
from windrow.state.lists import Snapshot
from windrow.state.punctuated_state import PunctuatedState
from windrow.state.room import Room

#: Have these rows of these streams the keys of those rows of those? (stream, row, stream, row).
SameRows = Callable[
    [NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    NDArray[np.bool_],
]


@dataclass(frozen=True)
class Promises:
    """What the operator needs to know of a plan's punctuations.

    span: how long after its time a punctuation speaks of its key.
    early: by stream, whether its punctuations may propagate early.
    lateness: the longest of the streams'.
    fail: whether a violation is an error.
    same: compares keys; None where equal hashes are equal keys.
    told: whether `removed` keeps the rows that flags keep out of the state or throw out of it.
    """

    span: int
    early: tuple[bool, ...]
    lateness: int = 0
    fail: bool = False
    same: SameRows | None = None
    told: bool = False


class PunctuatedJoin(WindowJoin):
    """The operator. `announce` a batch's punctuations before its `process`."""

    state: PunctuatedState

    def __init__(
        self, config: JoinConfig, promises: Promises, state: JoinState, names: Sequence[str]
    ) -> None:
        if not isinstance(state, PunctuatedState):
            state = PunctuatedState(state.parts, 0, state.lists.room)
        super().__init__(config, state)
        self.promises = promises
        self.names = names
        self.pending = [Arrivals.empty() for _ in range(STREAMS)]
        #: By stream, the rows that flags have removed since this was last emptied.
        self.removed: list[list[NDArray[np.int64]]] = [[] for _ in range(STREAMS)]
        #: And what became of flags: (what, stream, row id, time, key, flag).
        self.flagged: list[NDArray[np.int64]] = []
        self._seen = BEGINNING
        self._plain = False
        self._ends = told.Ends(
            np.empty((4, BUFFER_ROWS // 8), np.int64), np.empty((6, BUFFER_ROWS), np.int64)
        )
        self._events = self._nothing_due()

    # -- a batch ---------------------------------------------------------------------------

    def announce(self, ends: Sequence[Arrivals]) -> None:
        """Punctuations that have come: times, key hashes, row ids."""
        self.pending = [
            Arrivals.concatenate([waiting, new])
            for waiting, new in zip(self.pending, ends, strict=True)
        ]

    def process(
        self, arrivals: Sequence[Arrivals], before: Sequence[int], after: Sequence[int]
    ) -> Iterator[Piece]:
        """Join a batch, and let the punctuations act that progress has reached."""
        self._events = self._due(after)
        arrivals = [self._kept(stream, side) for stream, side in enumerate(arrivals)]
        # For the whole batch: the kernels cannot take over from each other in the middle.
        self._plain = self._is_plain()
        # A stream that has ended is at the end of time, which is no time that was seen.
        known = [now + self.promises.lateness for now in before if BEGINNING < now < END]
        newest = [int(side.ts.max()) for side in arrivals if len(side.ts)]
        self._seen = max([self._seen, *known, *newest])
        yield from super().process(arrivals, before, after)
        # They are flags now, or over: then the log may have let their rows go.
        self._events = self._nothing_due()

    def _kept(self, stream: int, arrivals: Arrivals) -> Arrivals:
        """The tuples that break no promise which still waits. The others are violations."""
        waiting = self.pending[stream]
        places, promises = broken(arrivals, waiting, self.promises.span)
        if not len(places):
            return arrivals
        touched = np.zeros((6, len(places)), np.int64)
        touched[0], touched[1], touched[2] = told.VIOLATED, stream, arrivals.row[places]
        touched[3], touched[4] = stream, waiting.row[promises]
        self.cursor[c.VIOLATIONS_ONE + stream] += len(places)
        self._note(touched)
        kept = np.ones(len(arrivals.ts), np.bool_)
        kept[places] = False
        return arrivals.chosen(kept)

    def _due(self, after: Sequence[int]) -> told.Punctuations:
        """Take the punctuations that act now out of the pending ones: by cell, in time order."""
        cells = self.state.cells
        if not any(len(waiting.ts) for waiting in self.pending):
            return self._nothing_due()
        parts = []
        for stream in range(STREAMS):
            waiting = self.pending[stream]
            acts = waiting.ts <= after[stream]
            self.pending[stream] = waiting.chosen(~acts)
            now = waiting.chosen(acts)
            side = np.full(len(now.ts), stream, np.int64)
            parts.append(np.stack([now.ts, now.key, now.row, side], axis=1))
        events = np.concatenate(parts)
        cell = cell_of(events[:, 1], cells)
        order = np.lexsort((events[:, 0], cell))
        counts = np.bincount(cell, minlength=cells)
        end = np.cumsum(counts)
        return told.Punctuations(np.ascontiguousarray(events[order]), end - counts, end)

    def _nothing_due(self) -> told.Punctuations:
        none = np.zeros(self.state.cells, np.int64)
        return told.Punctuations(np.empty((0, 4), np.int64), none, none)

    def _visit(self, asked: NDArray[np.int64], batch: c.Batch) -> int:
        if self._plain:
            return super()._visit(asked, batch)
        return self.state.run_punctuated(
            self.cursor, asked, batch, self._events, self._out, self._ends
        )

    def _is_plain(self) -> bool:
        """Has nothing been punctuated? Then it is a window join like any other, at its price.

        Where a log is kept, what a semi join does not store must be told, so there it never is.
        """
        told_of = self.promises.told and self.config.how in ("semi", "anti")
        return not (told_of or len(self._events.events) or self._flagged())

    def _flagged(self) -> bool:
        """Has any punctuation acted on this state?"""
        acted = self.cursor[[c.ACTED_ONE, c.ACTED_TWO]].any()
        state = self.state
        return bool(acted or state.nodes.live().any() or state.lists.meta[:, ls.DEAD].any())

    def _asked(self, before: Sequence[int], after: Sequence[int]) -> NDArray[np.int64]:
        asked = super()._asked(before, after)
        promises = self.promises
        asked[c.SPAN] = promises.span
        asked[c.SEEN] = self._seen
        for stream in range(STREAMS):
            asked[c.EARLY_ONE_SIDE + stream] = promises.early[stream]
        asked[c.TELL] = promises.told or promises.same is not None or promises.fail
        return asked

    # -- results ---------------------------------------------------------------------------

    def _drain(self) -> Iterator[Piece]:
        """Empty the buffers: what flags did is checked first; ends come last."""
        cur = self.cursor
        touched = self._ends.touched[:, : cur[c.TOUCHED]].copy()
        ends = self._ends.ends[:, : cur[c.ENDS]].copy()
        cur[c.TOUCHED] = cur[c.ENDS] = 0
        self._note(touched)
        yield from super()._drain()
        lapsed = ends[3] == told.LAPSED
        if any(self.promises.early):
            # The other stream's word is what ends a key then, and it will come.
            ends, lapsed = ends[:, ~lapsed], lapsed[~lapsed]
        for stream in range(STREAMS):
            for kind in ("end", "lapse"):
                mine = ends[:, (ends[1] == stream) & (lapsed == (kind == "lapse"))]
                if mine.shape[1]:
                    rows: list[NDArray[np.int64] | None] = [None] * STREAMS
                    rows[stream] = mine[0]
                    yield Piece("lapse" if kind == "lapse" else "end", tuple(rows), mine[2])
        # Whoever waits for all that belongs together learns that this is it.
        yield Piece("lapse", (None,) * STREAMS, np.empty(0, np.int64))

    def _note(self, touched: NDArray[np.int64]) -> None:
        """Check what flags did, and keep what they removed."""
        if not touched.shape[1]:
            return
        what, side, row = touched[:3]
        removed = what <= told.VIOLATED
        by = touched[:, what <= told.ASKED]
        same = self.promises.same
        if same is not None and not same(by[1], by[2], by[3], by[4]).all():
            raise WindrowError(
                "two different keys have the same 64-bit hash, so a punctuation of one would act "
                "on the other; join on another type of key, such as a number, or leave out `ends` "
                "and `unique`"
            )
        broken = what == told.VIOLATED
        if self.promises.fail and broken.any():
            first = int(np.flatnonzero(broken)[0])
            name = self.names[int(side[first])]
            raise WindrowError(
                f"stream {name!r}: {int(broken.sum())} tuples came after a punctuation had ended "
                f"their key (row {int(row[first])} is the first); correct `ends` or `unique`, or "
                "pass violations='drop'"
            )
        if self.promises.told:
            for stream in range(STREAMS):
                self.removed[stream].append(row[removed & (side == stream)])
            self.flagged.append(touched[:, what >= told.FLAGGED])

    def take_removed(self, stream: int) -> NDArray[np.int64]:
        """The rows that flags have removed since this was last asked."""
        rows, self.removed[stream] = self.removed[stream], []
        return np.sort(np.concatenate([np.empty(0, np.int64), *rows]))

    def take_flagged(self) -> NDArray[np.int64]:
        """What became of flags since this was last asked, in order."""
        parts, self.flagged = self.flagged, []
        return np.concatenate([np.empty((6, 0), np.int64), *parts], axis=1)

    def mark_rings(self) -> None:
        """Mark the last tuples of punctuated keys, in a state that was filled from outside."""
        state = self.state
        purge.mark_rings(state.lists.arrays(), state.nodes.arrays(), self.promises.span)

    def promised(self, before: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """By stream, rows and times of the punctuations before a time that are flags or to act.

        While a batch is under way those that act in it are among them, whether they have or not.
        """
        found = []
        acting = self._events.events
        for stream in range(STREAMS):
            nodes = self.state.flags_before(stream, before)
            waiting, now = self.pending[stream], acting[acting[:, 3] == stream]
            rows = np.concatenate([row_of(nodes), waiting.row, now[:, 2]])
            ts = np.concatenate([nodes[:, ls.TS], waiting.ts, now[:, 0]])
            found.append((rows[ts < before], ts[ts < before]))
        return found

    # -- memory that outlives a process ----------------------------------------------------

    def parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The operator between two batches: its arrays as they are, and what else it must know."""
        arrays, facts = super().parts()
        arrays |= self.state.arrays()
        for stream, waiting in enumerate(self.pending):
            arrays[f"pending_{stream}"] = np.stack([waiting.ts, waiting.key, waiting.row])
        return arrays, {**facts, "seen": self._seen}

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `parts`, in place."""
        super().attach(arrays, facts, room)
        self.state = PunctuatedState.attach_arrays(facts["parts"], arrays, room)
        self.pending = [Arrivals(*arrays[f"pending_{stream}"]) for stream in range(STREAMS)]
        self._seen = facts["seen"]

    # -- snapshot --------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The operator between two batches, as plain data."""
        pending = [np.stack([waiting.ts, waiting.key, waiting.row]) for waiting in self.pending]
        return {**super().snapshot(), "pending": pending, "seen": self._seen}

    def resume(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot. The question must be the same."""
        if "pending" not in snapshot:
            raise WindrowError("this snapshot is of a join without punctuations")
        super().resume(snapshot)
        self.mark_rings()
        self.pending = [Arrivals(*waiting) for waiting in snapshot["pending"]]
        self._seen = snapshot["seen"]


def cell_of(keys: NDArray[np.int64], cells: int) -> NDArray[np.int64]:
    """The cell of each key, as the kernels place it."""
    return (((keys >> 32) & 0xFFFFFFFF) * cells) >> 32


def flag_of(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The flags of some I-Nodes."""
    flags: NDArray[np.int64] = nodes[:, ls.ROW] & inodes.FLAG_MASK
    return flags


def row_of(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The punctuations' row ids of some I-Nodes."""
    rows: NDArray[np.int64] = nodes[:, ls.ROW] >> inodes.FLAG_BITS
    return rows
