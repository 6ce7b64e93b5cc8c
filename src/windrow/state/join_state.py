"""The state structures of a join, behind one face.

*Time list* (papers 2 and 3, the default): per cell and stream one list in time order with hash
chains. *Buckets* (paper 1): per hash bucket and stream one circular buffer that is scanned; one
bucket is nested loops. *Counted* (count windows): one list per key and stream, which grow in
number, behind one time list per stream. All are block lists, with list n * p + s for stream s of
n and part p, so that growth, size and contents are one piece of code. With punctuations
there is a list of I-Nodes beside each list of tuples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import combine, contents, inodes, manager, purge
from windrow.kernels import lists as ls
from windrow.kernels.ends import Punctuations
from windrow.kernels.loops import (
    buckets,
    counted,
    many_buckets,
    many_counted,
    many_punctuated,
    many_time_lists,
    oblivious,
    punctuated,
    shared,
    time_lists,
)
from windrow.kernels.sharing import Sharing
from windrow.kernels.task import GROW, Batch, Task
from windrow.state.lists import Lists
from windrow.state.memory import MemoryManager
from windrow.state.room import HEAP, Room

#: Of a stored tuple, without its row.
RECORD_BYTES = ls.RECORD_BYTES

Structure = Literal["time-list", "buckets", "counted"]

#: Records in a block: buckets hold few tuples each, so their blocks are small.
BLOCK_BITS: dict[Structure, int] = {"time-list": 6, "buckets": 4, "counted": 3}
#: I-Nodes in a block: most cells have few.
NODE_BITS = 4
#: The loops over two streams.
LOOPS: dict[Structure, Callable[[Task, Batch], int]] = {
    "time-list": time_lists.join_time_lists,
    "buckets": buckets.join_buckets,
    "counted": counted.join_counted,
}
#: And over more.
MANY: dict[Structure, Callable[[Task, Batch], int]] = {
    "time-list": many_time_lists.join_many_time_lists,
    "buckets": many_buckets.join_many_buckets,
    "counted": many_counted.join_many_counted,
}
NODES = "nodes_"


@dataclass(frozen=True)
class Layout:
    """How a state is laid out: the one decision that engines and operators share.

    streams: how many.
    structure: "time-list", "buckets" or "counted".
    parts: cells of a time list (a matter of cache only), paper 1's number of buckets, or one
        more than the number of keys seen, for count windows.
    expected: live tuples to make room for at once.
    nodes: whether there are I-Nodes beside the tuples.
    matches: of many streams, how many tuples a probe of each is expected to find, if that is known.
    part: whether other states have other keys of the same streams.
    """

    streams: int
    structure: Structure
    parts: int = 1
    expected: int = 0
    nodes: bool = False
    matches: tuple[float, ...] = ()
    part: bool = False

    @property
    def chained(self) -> int:
        """How many of its lists have hash chains."""
        found = {"time-list": self.streams * self.parts, "buckets": 0, "counted": self.streams}
        return found[self.structure]


class JoinState:
    """The stored tuples of all streams, and which keys each has punctuated."""

    def __init__(self, layout: Layout, room: Room = HEAP) -> None:
        self._lay_out(layout)
        self.lists = Lists(
            layout.streams * layout.parts,
            bits=BLOCK_BITS[layout.structure],
            chained=layout.chained,
            expected=layout.expected,
            room=room,
        )
        nodes = layout.streams * layout.parts if layout.nodes else 0
        # Without punctuations there are none, which is no reason for arrays in a room.
        self.nodes = Lists(nodes, bits=NODE_BITS, chained=nodes, room=room if nodes else HEAP)

    def _lay_out(self, layout: Layout) -> None:
        self.layout = layout
        self.streams, self.structure = layout.streams, layout.structure
        #: It grows with the keys under a count window.
        self.parts = layout.parts

    @property
    def cells(self) -> int:
        """How many parts a batch is split into. Buckets take it whole, in global time order."""
        return self.parts if self.structure == "time-list" else 1

    # -- a batch ---------------------------------------------------------------------------

    def run(self, task: Task, batch: Batch) -> int:
        """Run a batch on this state until it is done or an output buffer is full.

        The task's own lists are replaced by this state's.
        """
        loop = (LOOPS if self.streams == 2 else MANY)[self.structure]
        while (status := loop(task._replace(lists=self.lists.arrays()), batch)) == GROW:
            self.lists.make_room()
        self.lists.forget_old()
        return status

    def run_shared(self, task: Task, sharing: Sharing) -> int:
        """Serve the tuples of a shared join until none waits or an output buffer is full."""
        while (
            status := shared.join_shared(task._replace(lists=self.lists.arrays()), sharing)
        ) == GROW:
            self.lists.make_room()
        self.lists.forget_old()
        return status

    def run_oblivious(self, task: Task, batch: Batch, memory: MemoryManager) -> int:
        """Run a batch of a join without windows, on one part."""
        status = GROW
        while status in (GROW, oblivious.FORGETFUL):
            now = task._replace(lists=self.lists.arrays())
            status = oblivious.join_oblivious(now, batch, memory.arrays())
            if status == GROW:
                self.lists.make_room()
            elif status == oblivious.FORGETFUL:
                memory.make_room()
        self.lists.forget_old()
        return status

    def cut_to_limits(self, task: Task, memory: MemoryManager) -> None:
        """Evict what new limits do not allow."""
        manager.cut_to_limits(task._replace(lists=self.lists.arrays()), memory.arrays())

    def cut_to_past(self, task: Task, memory: MemoryManager, past: NDArray[np.int64]) -> None:
        """Evict what streams that are past a key, each, cannot ask for."""
        manager.cut_to_past(task._replace(lists=self.lists.arrays()), memory.arrays(), past)

    def extend(self, task: Task, partials: NDArray[np.int64], level: int) -> int:
        """Go on with partial combinations, bound up to a level, until a buffer is full."""
        now, ties = task._replace(lists=self.lists.arrays()), self.structure == "counted"
        return combine.extend(now, partials, level, ties)

    def run_punctuated(self, task: Task, batch: Batch, said: Punctuations) -> int:
        """The same with punctuations, whose I-Nodes are this state's too."""
        loop = punctuated.join_punctuated
        if self.streams > 2:
            loop = many_punctuated.join_many_punctuated
        status = GROW
        while status == GROW:
            status = loop(
                task._replace(lists=self.lists.arrays()),
                batch,
                said._replace(nodes=self.nodes.arrays()),
            )
            if status == GROW:
                self.lists.make_room()
                self.nodes.make_room()
        self.lists.forget_old()
        self.nodes.forget_old()
        return status

    def add_parts(self, count: int) -> None:
        """Make room for the tuples of so many more keys (count windows)."""
        self.parts += count
        self.lists.add(self.streams * count)

    def append(self, stream: int, part: int, records: NDArray[np.int64]) -> None:
        """Store records of a stream in a part, in this order, as they are."""
        self.lists.append(self.streams * part + stream, records)

    def fill(
        self, stream: int, ts: NDArray[np.int64], keys: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> None:
        """Put tuples into the lists of their cells, in this order, from outside a join."""
        self._fill(self.lists, stream, ts, keys, rows)

    def fill_flags(self, stream: int, flags: Flagged) -> None:
        """The same with I-Nodes."""
        self._fill(self.nodes, stream, flags.ts, flags.key, flags.values())

    def _fill(
        self, lists: Lists, stream: int, ts: NDArray[np.int64], keys: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> None:  # fmt: skip
        records = np.zeros((len(ts), ls.COLUMNS), np.int64)
        records[:, ls.TS], records[:, ls.KEY], records[:, ls.ROW] = ts, keys, rows
        cells = cells_of(keys, self.parts)
        for cell in np.unique(cells):
            lists.append(self.streams * int(cell) + stream, records[cells == cell])

    def drop_expired(self, stream: int, reach: int, bound: int) -> None:
        """Drop a stream's tuples that `bound` has passed, from the old end of each list."""
        for lst in range(stream, len(self.lists.meta), self.streams):
            self.lists.drop_expired(lst, reach, bound)

    def mark_rings(self, span: int) -> None:
        """Mark the last tuples of punctuated keys, in a state that was filled from outside."""
        purge.mark_rings(self.lists.arrays(), self.nodes.arrays(), span)

    # -- size ------------------------------------------------------------------------------

    def live_rows(self, stream: int) -> int:
        """Stored tuples of a stream, stale ones included, without those that were purged."""
        return self._live(self.lists, stream)

    def appended(self, stream: int) -> int:
        """How many tuples of a stream have come, where all of them are in one list."""
        return int(self.lists.meta[stream, ls.NEXT])

    def oldest_row(self, stream: int) -> int | None:
        """The row id of a stream's oldest tuple, where all of them are in one list."""
        if not self.lists.live()[stream]:
            return None
        return int(contents.oldest_row(self.lists.arrays(), stream))

    def live_flags(self, stream: int) -> int:
        """I-Nodes of a stream."""
        return self._live(self.nodes, stream)

    def _live(self, lists: Lists, stream: int) -> int:
        mine = slice(stream, None, self.streams)
        return int(lists.live()[mine].sum() - lists.meta[mine, ls.DEAD].sum())

    def punctuated(self) -> bool:
        """Is there any trace of a punctuation?"""
        return bool(self.nodes.live().any() or self.lists.meta[:, ls.DEAD].any())

    def peak_rows(self, stream: int) -> int:
        """The most a stream ever stored, added up over its lists."""
        return int(self.lists.meta[stream :: self.streams, ls.PEAK].sum())

    def live_bytes(self, stream: int) -> int:
        """The bytes of the records that a stream's tuples and I-Nodes have."""
        return ls.RECORD_BYTES * (self.live_rows(stream) + self.live_flags(stream))

    def stale_rows(self, stream: int, reach: int, bound: int) -> int:
        """Stored tuples that could be gone already."""
        return int(np.sum(self.records(stream)[:, ls.TS] + reach < bound))

    # -- contents --------------------------------------------------------------------------

    def records(self, stream: int) -> NDArray[np.int64]:
        """A stream's tuples (time, key, row id, link), list by list, oldest first."""
        found = self.lists.live_records_of(stream, self.streams)
        records: NDArray[np.int64] = found[found[:, ls.ROW] != ls.EMPTY]
        records[:, ls.ROW] &= ~np.int64(ls.RING)
        return records

    def rows(self, stream: int) -> NDArray[np.int64]:
        """The row ids stored for a stream."""
        return self.records(stream)[:, ls.ROW]

    def flags(self, stream: int) -> Flagged:
        """A stream's I-Nodes, list by list, oldest first."""
        return _flagged(self.nodes.live_records_of(stream, self.streams))

    def flags_before(self, stream: int, bound: int) -> Flagged:
        """A stream's I-Nodes with a time before `bound`."""
        nodes = self.nodes
        out = np.empty((int(nodes.live()[stream :: self.streams].sum()), ls.COLUMNS), np.int64)
        count = contents.copy_before(nodes.arrays(), stream, self.streams, bound, out)
        return _flagged(out[:count])

    # -- memory that outlives a process ----------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array by name."""
        found = self.lists.handover()
        if self.layout.nodes:
            found |= {NODES + name: array for name, array in self.nodes.handover().items()}
        return found

    @classmethod
    def attach(
        cls, layout: Layout, parts: int, arrays: dict[str, NDArray[Any]], room: Room
    ) -> JoinState:
        """The state that is in these arrays, which has so many parts by now."""
        state = cls.__new__(cls)
        state._lay_out(layout)
        state.parts = parts
        state.lists = Lists.attach(arrays, layout.chained, room)
        own = {n.removeprefix(NODES): a for n, a in arrays.items() if n.startswith(NODES)}
        count = layout.streams * parts
        state.nodes = Lists.attach(own, count, room) if own else Lists(0, bits=NODE_BITS, chained=0)
        return state


@dataclass(frozen=True)
class Flagged:
    """I-Nodes: their punctuations' times, keys and row ids, and their flags."""

    ts: NDArray[np.int64]
    key: NDArray[np.int64]
    row: NDArray[np.int64]
    flag: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ts)

    def values(self) -> NDArray[np.int64]:
        """What their records hold in place of a row id."""
        return (self.row << inodes.FLAG_BITS) | self.flag


def cells_of(keys: NDArray[np.int64], cells: int) -> NDArray[np.int64]:
    """The cell of each key, as the kernels place it."""
    return (((keys >> 32) & 0xFFFFFFFF) * cells) >> 32


def _flagged(records: NDArray[np.int64]) -> Flagged:
    kept = records[records[:, ls.ROW] != ls.EMPTY]
    value = kept[:, ls.ROW]
    rows, flags = value >> inodes.FLAG_BITS, value & inodes.FLAG_MASK
    return Flagged(kept[:, ls.TS], kept[:, ls.KEY], rows, flags)
