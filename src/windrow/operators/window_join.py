"""The window join of two streams: batches of arrivals in, row ids of results out.

    arrivals --> sort, split by cell --> kernel: invalidate, probe, insert --> verify --> pieces
                                          |  ^                                  |
                                        state  matched flags  <-----------------+

The kernel hands back candidate pairs and rows that left the state. Where hashes are exact and
there is no condition ("settled"), candidates are matches and the kernel keeps the matched flags
itself. Otherwise `verify` is asked, in bulk, and the flags follow its verdict; a row that left
is unmatched only after every pair before it has been judged, which is the order here.

With clock times, both windows 10 minutes, a left join of A and B:

    12:00 a1 stored                                12:07 b1 finds a1: a match
    12:11 b2: A's list expires against B's progress 12:11: a1 (12:00 + 10 min < 12:11) leaves
          and was matched, so nothing is emitted; an unmatched a1 would leave here, once
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import buckets as buckets_kernel
from windrow.kernels import cursor as c
from windrow.model import How, Invalidation, WindrowError
from windrow.operators.arrivals import Arrivals, Piece
from windrow.operators.flags import Flags
from windrow.operators.synchronise import Synchronise
from windrow.state.join_state import STREAMS, JoinState
from windrow.state.lists import Snapshot, check_format
from windrow.state.room import Room

FORMAT = 2
Verify = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]

STRATEGIES: dict[Invalidation, int] = {
    "probe": buckets_kernel.PROBE,
    "probe-insert": buckets_kernel.PROBE_INSERT,
    "probe-all": buckets_kernel.PROBE_ALL,
    "all": buckets_kernel.ALL,
    "time-list": buckets_kernel.ALL,
}

#: Pairs the kernel may emit before it hands them over: enough to pay for the visit, few enough
#: to stay in the cache.
BUFFER_ROWS = 1 << 17


@dataclass(frozen=True)
class JoinConfig:
    """What the operator needs to know of a plan."""

    how: How
    reaches: tuple[int, int]
    preserved: tuple[bool, bool]
    invalidation: Invalidation = "time-list"
    verify: Verify | None = None

    @property
    def flagged(self) -> bool:
        """Does this kind need to know which tuples were matched?"""
        return self.how != "inner"


class WindowJoin:
    """The operator. One `process` call per batch; results come as pieces while it runs."""

    def __init__(self, config: JoinConfig, state: JoinState) -> None:
        self.config = config
        self.state = state
        self.flags = Flags(state.lists.room)
        self.cursor = np.zeros(c.CURSOR_SCALARS, np.int64)
        #: Where tuples wait that will come with row ids from before, if they do.
        self.waiting: Synchronise | None = None
        self.matches = 0
        self.unmatched = 0
        self.candidates = 0
        self._tuples = np.empty((0, 3), np.int64)
        self._out = c.Buffers(
            np.empty((4, BUFFER_ROWS), np.int64), np.empty((3, BUFFER_ROWS), np.int64)
        )

    # -- a batch ---------------------------------------------------------------------------

    def process(
        self, arrivals: Sequence[Arrivals], before: Sequence[int], after: Sequence[int]
    ) -> Iterator[Piece]:
        """Join a batch. `before` and `after`: each stream's progress around it."""
        if self.config.flagged:
            self._cover(arrivals)
        yield from self._run(
            self._arrange([side.in_time_order() for side in arrivals]), before, after
        )

    def _run(self, batch: c.Batch, before: Sequence[int], after: Sequence[int]) -> Iterator[Piece]:
        """Run a batch through the kernel, handing results over whenever a buffer is full."""
        asked = self._asked(before, after)
        cur = self.cursor
        cur[c.PART] = 0
        cur[c.STEP] = c.ARRIVED
        status = c.FULL
        while status == c.FULL:
            status = self._visit(asked, batch)
            yield from self._drain()

    def _visit(self, asked: NDArray[np.int64], batch: c.Batch) -> int:
        """Let the kernel go on from where the cursor stands."""
        return self.state.run(self.cursor, asked, batch, self._out)

    def _arrange(self, sides: Sequence[Arrivals]) -> c.Batch:
        """Lay the tuples out by cell, side and time."""
        cells = self.state.cells
        counts = np.zeros((STREAMS, cells), np.int64)
        for side, count in zip(sides, counts, strict=True):
            c.count_parts(side.key, count)
        lengths = counts.T.ravel()
        end = np.cumsum(lengths)
        at = end - lengths
        if len(self._tuples) < end[-1]:
            self._tuples = np.empty((int(end[-1]), 3), np.int64)
        for stream, side in enumerate(sides):
            c.scatter_parts(side.ts, side.key, side.row, at[stream::STREAMS].copy(), self._tuples)
        return c.Batch(self._tuples, at, end, self.flags.matched)

    def _asked(self, before: Sequence[int], after: Sequence[int]) -> NDArray[np.int64]:
        config = self.config
        asked = np.zeros(c.ASKED_SCALARS, np.int64)
        for stream in range(STREAMS):
            asked[c.REACH_ONE + stream] = config.reaches[stream]
            asked[c.BEFORE_ONE + stream] = before[stream]
            asked[c.AFTER_ONE + stream] = after[stream]
            asked[c.PRESERVED_ONE + stream] = config.preserved[stream]
            asked[c.FLAGS_ONE + stream] = self.flags.shift(stream)
            asked[c.BASE_ONE + stream] = self.flags.base[stream]
        settled = config.verify is None
        asked[c.MARK] = settled and config.flagged
        if settled and config.how in ("semi", "anti"):
            asked[c.EMIT] = c.EMIT_NOTHING if config.how == "anti" else c.EMIT_FIRST
        asked[c.STRATEGY] = STRATEGIES[config.invalidation]
        return asked

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
        if self.waiting is None:
            return stored
        return np.concatenate([stored, self.waiting.rows(stream)])

    # -- results ---------------------------------------------------------------------------

    def _drain(self) -> Iterator[Piece]:
        """Empty the buffers: judge the pairs first, then the rows that left."""
        cur = self.cursor
        pairs = self._out.pairs[:, : cur[c.PAIRS]]
        gone = self._out.gone[:, : cur[c.GONE]]
        cur[c.PAIRS] = cur[c.GONE] = 0
        if pairs.shape[1]:
            yield from self._matched(pairs)
        for stream in range(STREAMS):
            if gone.shape[1] and self.config.preserved[stream]:
                yield from self._left(stream, gone[:2, gone[2] == stream])

    def _matched(self, pairs: NDArray[np.int64]) -> Iterator[Piece]:
        self.candidates += pairs.shape[1]
        how = self.config.how
        if self.config.verify is not None:
            pairs = pairs[:, self.config.verify(pairs[0], pairs[1])]
            if how == "semi":
                _, first = np.unique(pairs[0], return_index=True)
                pairs = pairs[:, first]
                pairs = pairs[:, ~self.flags.get(0, pairs[0])]
            if self.config.flagged:
                for stream in range(STREAMS):
                    self.flags.set(stream, pairs[stream])
        if how == "anti" or not pairs.shape[1]:
            return
        self.matches += pairs.shape[1]
        if how == "semi":
            yield Piece("match", (pairs[0].copy(), None), pairs[2].copy())
        else:
            yield Piece("match", (pairs[0].copy(), pairs[1].copy()), np.maximum(pairs[2], pairs[3]))

    def _left(self, stream: int, gone: NDArray[np.int64]) -> Iterator[Piece]:
        gone = gone[:, ~self.flags.get(stream, gone[0])]
        if gone.shape[1]:
            self.unmatched += gone.shape[1]
            rows: list[NDArray[np.int64] | None] = [None] * STREAMS
            rows[stream] = gone[0]
            yield Piece("unmatched", tuple(rows), gone[1])

    # -- figures ---------------------------------------------------------------------------

    def stored(self, stream: int) -> tuple[int, int]:
        """Tuples of a stream inserted and invalidated so far."""
        cur = self.cursor
        return int(cur[c.INSERTED_ONE + stream]), int(cur[c.DROPPED_ONE + stream])

    def work(self) -> tuple[int, int]:
        """Stored tuples looked at so far: by probes, by invalidation."""
        return int(self.cursor[c.COMPARISONS]), int(self.cursor[c.CHECKS])

    # -- memory that outlives a process ----------------------------------------------------

    def parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The operator between two batches: its arrays as they are, and what else it must know."""
        flags = self.flags
        arrays = {**self.state.lists.parts(), "cursor": self.cursor}
        arrays |= {"flags": flags.bytes, "pinned": flags.pinned}
        facts = {
            "parts": self.state.parts,
            "base": flags.base,
            "ends": flags.ends,
            "size": flags.size,
        }
        return arrays, facts

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `parts`, in place."""
        self.state = JoinState.attach(self.state.structure, facts["parts"], arrays, room)
        self.flags = Flags(room)
        self.flags.base, self.flags.ends = list(facts["base"]), list(facts["ends"])
        self.flags.size, self.flags.bytes = list(facts["size"]), arrays["flags"]
        self.flags.pinned = arrays["pinned"]
        self.cursor = arrays["cursor"]

    # -- snapshot --------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The operator between two batches, as plain data."""
        return {
            "format": FORMAT,
            "how": self.config.how,
            "reaches": list(self.config.reaches),
            "flags": self.flags.snapshot(),
            "state": self.state.snapshot(),
        }

    def resume(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot. The question must be the same."""
        check_format("join", snapshot.get("format"), FORMAT)
        for name, mine in (("how", self.config.how), ("reaches", list(self.config.reaches))):
            if snapshot.get(name) != mine:
                raise WindrowError(
                    f"this snapshot is of a join with {name} {snapshot.get(name)!r} and cannot go "
                    f"on with {mine!r}"
                )
        state = type(self.state).restore(snapshot["state"])
        flags = Flags.restore(snapshot["flags"])
        if state.structure != self.state.structure:
            raise WindrowError(
                f"this snapshot has the structure {state.structure!r} and cannot go on as "
                f"{self.state.structure!r}"
            )
        if self.config.flagged and not all(flags.has(s, state.rows(s)) for s in range(STREAMS)):
            raise WindrowError("this join snapshot is damaged: stored rows have no matched flag")
        self.state, self.flags = state, flags
