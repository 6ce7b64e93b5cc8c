"""The window join: batches of arrivals in, row ids of results out.

    arrivals --> sort, split by cell --> kernel: invalidate, probe, insert --> judges --> pieces
                                          |  ^                                  |
                                        state  matched flags  <-----------------+

The kernel hands back candidates and rows that left the state. Where hashes are exact and no
condition is about several streams ("settled"), candidates are matches and the kernel keeps the
matched flags itself. Otherwise the judges are asked, in bulk, and the flags follow their verdict; a
row that left is unmatched only after every candidate before it has been judged: the order here.

With clock times, both windows 10 minutes, a left join of A and B:

    12:00 a1 stored                                12:07 b1 finds a1: a match
    12:11 b2: A's list expires against B's progress 12:11: a1 (12:00 + 10 min < 12:11) leaves
          and was matched, so nothing is emitted; an unmatched a1 would leave here, once
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import cells, combine, task
from windrow.kernels.task import Batch, Task
from windrow.model import How, Invalidation
from windrow.operators.arrivals import Arrivals, Piece
from windrow.operators.gate import Passed
from windrow.operators.join.base import Join
from windrow.operators.join.flags import Flags
from windrow.operators.join.judging import Part, Verify
from windrow.operators.join.search import Owed, Search, bound_rows
from windrow.operators.progress import of_the_others
from windrow.operators.retention import Retention
from windrow.operators.stage import Figures, Handover
from windrow.state.join_state import JoinState, Layout
from windrow.state.room import HEAP, Room

#: The row ids of a stream that wait.
Coming = Callable[[int], NDArray[np.int64]]

STRATEGIES: dict[Invalidation, int] = {
    "probe": task.PROBE,
    "probe-insert": task.PROBE_INSERT,
    "probe-all": task.PROBE_ALL,
    "all": task.ALL,
    "time-list": task.ALL,
}

#: Candidates the kernel may emit before it hands them over: enough to pay for the visit, few enough
#: to stay in the cache.
BUFFER_ROWS = 1 << 17


@dataclass(frozen=True)
class JoinConfig:
    """What the operator needs to know of a plan.

    kept: what it keeps of each stream.
    same: compares the keys of candidates; None where equal hashes are equal keys.
    parts: the parts of the condition about several streams.
    logged: whether there is a log. It wants to know which rows leave the state before their time
        (`take_removed`).
    """

    how: How
    kept: tuple[Retention, ...]
    preserved: tuple[bool, ...]
    invalidation: Invalidation = "time-list"
    same: Verify | None = None
    parts: tuple[Part, ...] = ()
    logged: bool = False

    @property
    def settled(self) -> bool:
        """Is the kernel's word on candidates final?"""
        return self.same is None and not self.parts

    @property
    def flagged(self) -> bool:
        """Does this kind need to know which tuples were matched?"""
        return self.how != "inner"


class WindowJoin(Join):
    """The operator. One `process` call per batch; results come as pieces while it runs."""

    def __init__(self, config: JoinConfig, layout: Layout, coming: Coming | None = None) -> None:
        self.config = config
        self.layout = layout
        #: The ids of rows of a stream that wait and will come yet.
        self.coming = coming
        self.matches = 0
        self.unmatched = 0
        self.candidates = 0
        self._tuples = np.empty((0, 3), np.int64)
        self._task = self._new_task()
        self.counted, self.work = self._task.counted, self._task.work[0]
        first = 0 if config.how in ("semi", "anti") else None
        # The next tuple may drive out what partial combinations need, or end their key.
        urgent = layout.structure == "counted" or layout.nodes
        self.search = Search(self._task, config.parts, urgent, first, layout.matches)

    def begin(self, room: Room = HEAP) -> Self:
        """Start with an empty state. What has been counted stays."""
        self.state = JoinState(self.layout, room)
        self.flags = Flags(self.layout.streams, room)
        #: By stream, the rows that have left before their time since this was last emptied.
        self.removed: list[list[NDArray[np.int64]]] = [[] for _ in self.config.kept]
        return self

    def _new_task(self) -> Task:
        config, made = self.config, task.new(self.layout.streams, BUFFER_ROWS)
        made.asked.preserved = config.preserved
        for asked, kept in zip(made.asked, config.kept, strict=True):
            kept.ask(asked)
        made.rules.mark = config.settled and config.flagged
        if config.settled and config.how in ("semi", "anti"):
            made.rules.emit = task.EMIT_NOTHING if config.how == "anti" else task.EMIT_FIRST
        made.rules.strategy = STRATEGIES[config.invalidation]
        streams = self.layout.streams
        if streams > 2:
            made.rules.once = config.how in ("semi", "anti")
            made.rules.forsake = config.preserved[0] and self.layout.structure != "counted"
            if config.parts:
                partials = np.empty((combine.width(streams), BUFFER_ROWS), np.int64)
                made = made._replace(out=made.out._replace(partials=partials))
        return made

    def invalidate(self, strategy: Invalidation) -> None:
        """Go on with another strategy."""
        self._task.rules.strategy = STRATEGIES[strategy]

    # -- a batch ---------------------------------------------------------------------------

    def process(self, passed: Passed) -> Iterator[Piece]:
        """Join what the gate has let through."""
        if self.config.flagged:
            self._cover(passed.tuples)
        yield from self._run(self._arrange(passed), passed.before, passed.after)

    def _run(self, batch: Batch, before: Sequence[int], after: Sequence[int]) -> Iterator[Piece]:
        """Run a batch through the kernel, handing results over whenever a buffer is full."""
        self._ask(before, after)
        stand = self._task.stand[0]
        stand.part, stand.step = 0, task.ARRIVED
        self._now = self._task._replace(matched=self.flags.matched)
        status, begun = task.FULL, False
        while status == task.FULL:
            if stand.step == task.ARRIVED and (not begun or stand.patience <= 0):
                live = [self.state.live_rows(stream) for stream in range(self.layout.streams)]
                self.search.choose(live)
            status, begun = self._visit(self._now, batch), True
            yield from self._drain()

    def _visit(self, now: Task, batch: Batch) -> int:
        """Let the kernel go on from where it stands."""
        return self.state.run(now, batch)

    def _arrange(self, passed: Passed) -> Batch:
        """Lay the tuples out by cell and stream; they are in time order."""
        sides = passed.tuples
        counts = np.zeros((len(sides), self.state.cells), np.int64)
        for side, count in zip(sides, counts, strict=True):
            cells.count_cells(side.key, count)
        lengths = counts.T.ravel()
        end = np.cumsum(lengths)
        at = end - lengths
        if len(self._tuples) < end[-1]:
            self._tuples = np.empty((int(end[-1]), 3), np.int64)
        for stream, side in enumerate(sides):
            places = at[stream :: len(sides)].copy()
            cells.scatter_cells(side.ts, side.key, side.row, places, self._tuples)
        return Batch(self._tuples, at, end)

    def _ask(self, before: Sequence[int], after: Sequence[int]) -> None:
        """What changes from batch to batch of what the kernel is asked."""
        asked = self._task.asked
        asked.before, asked.after = before, after
        asked.shift = [self.flags.shift(stream) for stream in range(len(after))]
        asked.first_row = self.flags.base

    def _cover(self, arrivals: Sequence[Arrivals]) -> None:
        """Give the new rows flags. Only when they need more room is the state looked through."""
        ends = [
            max(end, int(side.row.max(initial=-1)) + 1)
            for end, side in zip(self.flags.ends, arrivals, strict=True)
        ]
        if self.flags.covers(ends):
            return
        self.flags.cover_only(
            [
                np.concatenate([self._known(stream), side.row])
                for stream, side in enumerate(arrivals)
            ]
        )

    def _known(self, stream: int) -> NDArray[np.int64]:
        """The row ids from before that may still be asked for."""
        stored = self.state.rows(stream)
        if self.coming is None:
            return stored
        return np.concatenate([stored, self.coming(stream)])

    def needed_from(self, stream: int, progress: Sequence[int]) -> int:
        """A time that no stored tuple of a stream is before, at these progresses."""
        return self.config.kept[stream].bound(of_the_others(progress, stream))

    # -- results ---------------------------------------------------------------------------

    def _drain(self) -> Iterator[Piece]:
        """Empty the buffers: judge the candidates first, then the rows that left."""
        stand, out = self._task.stand[0], self._task.out
        gone = out.gone[:, : stand.gone]
        partials = out.partials[:, : stand.partials].copy()
        stand.gone = stand.partials = 0
        yield from self._found(self.config.parts)
        if partials.shape[1]:
            yield from self._extend_all(partials)
        for stream, preserved in enumerate(self.config.preserved):
            if gone.shape[1] and preserved:
                yield from self._left(stream, gone[:, gone[2] == stream])

    def _found(self, parts: Sequence[Part]) -> Iterator[Piece]:
        """Empty the buffer of matches, of which these parts of the condition are to be judged."""
        stand = self._task.stand[0]
        matches = self._task.out.matches[:, : stand.matches]
        stand.matches = 0
        if matches.shape[1]:
            yield from self._matched(matches, parts)

    def _extend_all(self, partials: NDArray[np.int64]) -> Iterator[Piece]:
        """Go on with partial combinations on which the condition holds so far, all at once.

        The kernel may have stopped in the middle of a search, to which it comes back afterwards.
        """
        stand, cursor = self._task.stand[0], self._task.cursor
        level, kept = int(stand.level), cursor.copy()
        streams = self.layout.streams
        arrived_on = partials[4 * streams + combine.ARRIVED_ON]
        for stream in range(streams):
            mine, at = partials[:, arrived_on == stream], self.search.next_level(stream, 0)
            if mine.shape[1] and at is not None:
                yield from self._extend(stream, at, mine)
        stand.level = level
        cursor[:] = kept

    def _extend(
        self, stream: int, level: int, block: NDArray[np.int64], owed: Owed = frozenset()
    ) -> Iterator[Piece]:
        """Go on with combinations of one arriving stream, bound up to one level.

        owed: parts of the condition that could not be asked at levels below.
        """
        asked = self.search.asked_at(stream, level)
        held, unsure = self.search.ask_early(asked, bound_rows(block, self.layout.streams))
        for these, still in ((held & ~unsure, owed), (unsure, owed | set(asked))):
            if these.any():
                yield from self._go_on(stream, level, block[:, these].copy(), still)

    def _go_on(
        self, stream: int, level: int, block: NDArray[np.int64], owed: Owed
    ) -> Iterator[Piece]:
        """Search on from partial combinations that have been asked about."""
        stand, out = self._task.stand[0], self._task.out
        further, left = self.search.next_level(stream, level), self.search.left(stream, level, owed)
        stand.extended, stand.level = 0, 0
        status = task.FULL
        while status == task.FULL:
            status = self.state.extend(self._now, block, level)
            yield from self._found(left)
            partials = out.partials[:, : stand.partials].copy()
            stand.partials = 0
            if partials.shape[1] and further is not None:
                stood, kept = (int(stand.extended), int(stand.level)), self._task.cursor.copy()
                yield from self._extend(stream, further, partials, owed)
                stand.extended, stand.level = stood
                self._task.cursor[:] = kept

    def _matched(self, matches: NDArray[np.int64], parts: Sequence[Part]) -> Iterator[Piece]:
        """Judge candidates, keep flags, and give out those that match."""
        self.candidates += matches.shape[1]
        how, streams = self.config.how, len(self.config.kept)
        if not self.config.settled:
            if self.config.same is not None:
                matches = matches[:, self.config.same(list(matches[:streams]))]
            verdict = self.search.holds(parts, list(matches[:streams]), matches.shape[1])
            matches = matches[:, verdict]
            if how == "semi":
                _, first = np.unique(matches[0], return_index=True)
                matches = matches[:, first]
                matches = matches[:, ~self.flags.get(0, matches[0])]
            if self.config.flagged:
                for stream in range(streams):
                    self.flags.set(stream, matches[stream])
        if how == "anti" or not matches.shape[1]:
            return
        self.matches += matches.shape[1]
        if how == "semi":
            yield Piece.alone("match", streams, 0, matches[0].copy(), matches[streams].copy())
            return
        # Of the buffer one copy, because the pages of small ones cost more than the copying.
        kept = matches.copy() if self.config.settled else np.ascontiguousarray(matches)
        rows, times = kept[:streams], kept[streams:]
        yield Piece("match", tuple(rows), times.max(axis=0), tuple(times))

    def _left(self, stream: int, gone: NDArray[np.int64]) -> Iterator[Piece]:
        """Give out the rows that have left, if they have met none."""
        if self.config.logged:
            self.removed[stream].append(gone[0, gone[3] != 0])
        gone = gone[:, ~self.flags.get(stream, gone[0])]
        if gone.shape[1]:
            self.unmatched += gone.shape[1]
            yield Piece.alone("unmatched", len(self.config.kept), stream, gone[0], gone[1])

    def take_removed(self, stream: int) -> NDArray[np.int64]:
        """The rows that have left before their time since this was last asked."""
        rows, self.removed[stream] = self.removed[stream], []
        return np.sort(np.concatenate([np.empty(0, np.int64), *rows]))

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> Handover:
        """The operator between two batches: its arrays as they are, and what else it must know."""
        arrays, facts = self.flags.handover()
        facts = {**facts, **self.search.facts(), "parts": self.state.parts}
        return {**self.state.arrays(), **arrays}, facts

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place."""
        self.state = JoinState.attach(self.layout, facts["parts"], arrays, room)
        self.flags = Flags.attach(arrays, facts, room)
        self.search.attach(facts)
        self.removed = [[] for _ in self.config.kept]

    def figures(self) -> Figures:
        """As of any join, with what was probed and what has left unmatched."""
        per_stream, whole = super().figures()
        per_stream |= {name: self.counted[name].tolist() for name in ("probes", "found")}
        return per_stream, whole | {"unmatched": self.unmatched}

    def standing(self) -> dict[str, Any]:
        """Nothing that the log does not have."""
        return {}

    def stand(self, standing: dict[str, Any]) -> None:
        """Nothing to take over."""
