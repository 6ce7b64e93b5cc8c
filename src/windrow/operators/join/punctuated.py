"""The window join with punctuations: paper 3's PWJoin, and PJoin where there is no window.

    tuples --------+
                   +--> kernel: invalidate, probe, insert, purge --> pieces, ends
    punctuations --+       tuples  I-Nodes

A punctuation (k, t) acts once its stream's progress reaches t, after the tuples up to t; until
then the gate keeps it. Inside the batch where it acts it takes its place in time order.

Keys are hashes here. Where equal hashes are not proof enough, each thing that a flag does to a row
is checked on the key columns, and a collision stops the join: better than a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import ends as key_ends
from windrow.kernels.task import Batch, Task
from windrow.model import BEGINNING, END, WindrowError
from windrow.operators.arrivals import Arrivals, Kind, Piece
from windrow.operators.gate import Passed
from windrow.operators.join.window import BUFFER_ROWS, Coming, JoinConfig, WindowJoin
from windrow.operators.stage import Figures, Handover
from windrow.state.flags import REMOVED, VIOLATED, WIDTH, Changes, Deeds, told
from windrow.state.join_state import Layout, cells_of
from windrow.state.room import HEAP, Room

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
    fail: whether a violation is an error.
    same: compares keys; None where equal hashes are equal keys.

    Where there is a log, it wants to know which rows flags keep out of the state or throw out of it
    (`take_removed`), and what becomes of flags (`take_changes`).
    """

    span: int
    early: tuple[bool, ...]
    fail: bool = False
    same: SameRows | None = None


class PunctuatedJoin(WindowJoin):
    """The operator."""

    def __init__(
        self,
        config: JoinConfig,
        layout: Layout,
        promises: Promises,
        names: Sequence[str],
        coming: Coming | None = None,
    ) -> None:
        super().__init__(config, layout, coming)
        self.promises = promises
        self.names = names
        asked, rules = self._task.asked, self._task.rules
        asked.early, rules.span = promises.early, promises.span
        rules.tell = config.logged or promises.same is not None or promises.fail
        self._ends = np.empty((4, BUFFER_ROWS // 8), np.int64)
        self._touched = np.empty((WIDTH, BUFFER_ROWS), np.int64)

    def begin(self, room: Room = HEAP) -> Self:
        """Start with an empty state and no punctuation."""
        super().begin(room)
        self._forget()
        return self

    def _forget(self) -> None:
        #: What became of flags since this was last emptied.
        self._changes: list[Changes] = []
        self._seen = BEGINNING
        self._plain = False
        #: Has any punctuation acted on this state?
        self._acted = False
        self._said = self._in_order([])

    # -- a batch ---------------------------------------------------------------------------

    def process(self, passed: Passed) -> Iterator[Piece]:
        """Join what has passed, and let its punctuations act."""
        self._said = self._in_order(passed.ends)
        for stream, (rows, promises) in enumerate(passed.breaches):
            self._broken(stream, rows, promises)
        # For the whole batch: the kernels cannot take over from each other in the middle.
        self._plain = self._is_plain()
        # A stream that has ended is at the end of time, which is no time that was seen.
        known = [now for now in passed.before if BEGINNING < now < END]
        newest = [int(side.ts.max()) for side in passed.tuples if len(side.ts)]
        self._seen = max([self._seen, *known, *newest])
        yield from super().process(passed)
        # They are flags now, or over: then the log may have let their rows go.
        self._said = self._in_order([])

    def _broken(self, stream: int, rows: NDArray[np.int64], promises: NDArray[np.int64]) -> None:
        """Count tuples that break promises which still wait."""
        if len(rows):
            what, own = np.full(len(rows), VIOLATED), np.full(len(rows), stream)
            self.counted[stream].violations += len(rows)
            self._check(Deeds(what, own, rows, own, promises))

    def _in_order(self, ends: Sequence[Arrivals]) -> key_ends.Punctuations:
        """Punctuations that act now: by cell, in time order."""
        cells = self.state.cells
        parts = [
            np.stack([now.ts, now.key, now.row, np.full(len(now.ts), stream, np.int64)], axis=1)
            for stream, now in enumerate(ends)
        ]
        events = np.concatenate([np.empty((0, 4), np.int64), *parts])
        cell = cells_of(events[:, 1], cells)
        events = np.ascontiguousarray(events[np.lexsort((events[:, 0], cell))])
        counts = np.bincount(cell, minlength=cells)
        end = np.cumsum(counts)
        return key_ends.Punctuations(
            self.state.nodes.arrays(), events, end - counts, end, self._ends, self._touched
        )

    def _visit(self, now: Task, batch: Batch) -> int:
        if self._plain:
            return super()._visit(now, batch)
        self._acted |= len(self._said.events) > 0
        return self.state.run_punctuated(now, batch, self._said)

    def _is_plain(self) -> bool:
        """Has nothing been punctuated? Then it is a window join like any other, at its price.

        Where there is a log, it must know what a semi or anti join does not store, and the plain
        kernel does not tell.

        The plain loop knows nothing of rings on stored tuples. There are some only while there are
        I-Nodes, or once a punctuation has acted.
        """
        unstored = self.config.logged and self.config.how in ("semi", "anti")
        flagged = self._acted or self.state.punctuated()
        return not (unstored or len(self._said.events) or flagged)

    def _ask(self, before: Sequence[int], after: Sequence[int]) -> None:
        super()._ask(before, after)
        self._task.rules.seen = self._seen

    # -- results ---------------------------------------------------------------------------

    def _drain(self) -> Iterator[Piece]:
        """Empty the buffers: what flags did is checked first; ends come last."""
        stand = self._task.stand[0]
        touched = self._said.touched[:, : stand.touched].copy()
        ends = self._said.ends[:, : stand.ends].copy()
        stand.touched = stand.ends = 0
        deeds, changes = told(touched)
        self._check(deeds)
        if self.config.logged:
            self._changes.append(changes)
        yield from super()._drain()
        lapsed = ends[3] == key_ends.LAPSED
        if any(self.promises.early):
            # The other stream's word is what ends a key then, and it will come.
            ends, lapsed = ends[:, ~lapsed], lapsed[~lapsed]
        streams = len(self.names)
        kinds: tuple[Kind, ...] = ("end", "lapse")
        for stream in range(streams):
            for kind in kinds:
                mine = ends[:, (ends[1] == stream) & (lapsed == (kind == "lapse"))]
                if mine.shape[1]:
                    yield Piece.alone(kind, streams, stream, mine[0], mine[2])
        # Finals wait for all that belongs together; an empty lapse says that this is it.
        yield Piece("lapse", (None,) * streams, np.empty(0, np.int64))

    def _check(self, deeds: Deeds) -> None:
        """Check what flags did, and keep what they removed."""
        if not len(deeds.what):
            return
        same = self.promises.same
        if same is not None and not same(*deeds[1:]).all():
            raise WindrowError(
                "two different keys have the same 64-bit hash, so a punctuation of one would act "
                "on the other; join on another type of key, such as a number, or leave out `ends` "
                "and `unique`"
            )
        broken = deeds.what == VIOLATED
        if self.promises.fail and broken.any():
            first = int(np.flatnonzero(broken)[0])
            name = self.names[int(deeds.stream[first])]
            raise WindrowError(
                f"stream {name!r}: {int(broken.sum())} tuples came after a punctuation had ended "
                f"their key (row {int(deeds.row[first])} is the first); correct `ends` or "
                "`unique`, or pass violations='drop'"
            )
        if self.config.logged:
            removed = (deeds.what == REMOVED) | broken
            for stream, mine in enumerate(self.removed):
                mine.append(deeds.row[removed & (deeds.stream == stream)])

    def take_changes(self) -> Changes:
        """What became of flags since this was last asked, in order."""
        parts, self._changes = self._changes, []
        return Changes.together(parts)

    def mark_rings(self) -> None:
        """Mark the last tuples of punctuated keys, in a state that was filled from outside."""
        self.state.mark_rings(self.promises.span)

    def promised(self, stream: int, before: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows and times of a stream's punctuations before a time that are flags or act now.

        While a batch is under way those that act in it are among them, whether they have or not.
        """
        acting = self._said.events
        flags, now = self.state.flags_before(stream, before), acting[acting[:, 3] == stream]
        return np.concatenate([flags.row, now[:, 2]]), np.concatenate([flags.ts, now[:, 0]])

    # -- figures ---------------------------------------------------------------------------

    def figures(self) -> Figures:
        """As of a window join, with what punctuations have done."""
        per_stream, whole = super().figures()
        counted, work, state = self.counted, self.work, self.state
        per_stream |= {
            "punctuations": counted.acted.tolist(),
            "violations": counted.violations.tolist(),
            "purged": counted.purged.tolist(),
            "discarded": counted.discarded.tolist(),
            "skipped": counted.skipped.tolist(),
            "flags": [state.live_flags(stream) for stream in range(state.streams)],
        }
        return per_stream, whole | {"ended": int(work.ended), "ended_early": int(work.early)}

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> Handover:
        """The operator between two batches: its arrays as they are, and what else it must know."""
        arrays, facts = super().handover()
        return arrays, {**facts, "acted": self._acted}

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place."""
        super().attach(arrays, facts, room)
        self._forget()
        self._acted = facts["acted"]

    def standing(self) -> dict[str, Any]:
        """The largest time seen: rows that had it may be gone, and progress is behind it."""
        return {"seen": self._seen}

    def stand(self, standing: dict[str, Any]) -> None:
        """Take it over."""
        self._seen = standing["seen"]
