"""The state structures of a join of two streams, behind one face.

*Time list* (papers 2 and 3, the default): per cell and stream one list in time order with hash
chains. *Buckets* (paper 1): per hash bucket and stream one circular buffer that is scanned; one
bucket is nested loops. *Counted* (count windows): one list per key and stream, which grow in
number, behind one time list per stream. All are block lists, with list 2p + s for stream s of
part p, so that growth, size, contents and snapshot are one piece of code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import buckets, counted, cursor, time_list
from windrow.kernels import lists as ls
from windrow.model import WindrowError
from windrow.state.lists import Lists, Snapshot
from windrow.state.room import HEAP, Room

Structure = Literal["time-list", "buckets", "counted"]
JoinKernel = Callable[
    [NDArray[np.int64], NDArray[np.int64], cursor.Batch, ls.ListArrays, cursor.Buffers], int
]

STREAMS = 2
#: Records in a block: buckets hold few tuples each, so their blocks are small.
BLOCK_BITS: dict[Structure, int] = {"time-list": 6, "buckets": 4, "counted": 3}
KERNELS: dict[Structure, JoinKernel] = {
    "time-list": time_list.join_time_lists,
    "buckets": buckets.join_buckets,
    "counted": counted.join_counted,
}


def chained_lists(structure: Structure, parts: int) -> int:
    """How many of a state's lists have hash chains."""
    return {"time-list": STREAMS * parts, "buckets": 0, "counted": STREAMS}[structure]


class JoinState:
    """The stored tuples of both streams.

    Parameters
    ----------
    structure: "time-list", "buckets" or "counted".
    parts: cells of a time list (a matter of cache only), paper 1's number of buckets, or one
        more than the number of keys seen, for count windows.
    expected: live tuples to make room for at once.
    room: where the arrays are made.
    """

    def __init__(
        self, structure: Structure, parts: int = 1, expected: int = 0, room: Room = HEAP
    ) -> None:
        self.structure: Structure = structure
        self.parts = parts
        self.lists = Lists(
            STREAMS * parts,
            bits=BLOCK_BITS[structure],
            chained=chained_lists(structure, parts),
            expected=expected,
            room=room,
        )

    @classmethod
    def attach(
        cls, structure: Structure, parts: int, arrays: dict[str, NDArray[Any]], room: Room
    ) -> JoinState:
        """The state that is in these arrays."""
        state = cls.__new__(cls)
        state.structure, state.parts = structure, parts
        state.lists = Lists.attach(arrays, chained_lists(structure, parts), room)
        return state

    @property
    def cells(self) -> int:
        """How many parts a batch is split into. Buckets take it whole, in global time order."""
        return self.parts if self.structure == "time-list" else 1

    def run(
        self,
        cur: NDArray[np.int64],
        asked: NDArray[np.int64],
        batch: cursor.Batch,
        out: cursor.Buffers,
    ) -> int:
        """Run a batch on this state until it is done or an output buffer is full."""
        kernel = KERNELS[self.structure]
        while (status := kernel(cur, asked, batch, self.lists.arrays(), out)) == cursor.GROW:
            self.lists.make_room()
        self.lists.forget_old()
        return status

    def add_parts(self, count: int) -> None:
        """Make room for the tuples of so many more keys (count windows)."""
        self.parts += count
        self.lists.add(STREAMS * count)

    # -- size and contents -----------------------------------------------------------------

    def live_rows(self, stream: int) -> int:
        """Stored tuples of a stream, stale ones included."""
        return int(self.lists.live()[stream::STREAMS].sum())

    def peak_rows(self, stream: int) -> int:
        """The most a stream ever stored, added up over its lists."""
        return int(self.lists.meta[stream::STREAMS, ls.PEAK].sum())

    def live_flags(self, stream: int) -> int:
        """I-Nodes of a stream: there are none without punctuations."""
        return 0

    def live_bytes(self, stream: int) -> int:
        """The bytes of the records that a stream's tuples and I-Nodes have."""
        return ls.RECORD_BYTES * (self.live_rows(stream) + self.live_flags(stream))

    def stale_rows(self, stream: int, reach: int, bound: int) -> int:
        """Stored tuples that could be gone already."""
        return self.lists.stale(stream, STREAMS, reach, bound)

    def rows(self, stream: int) -> NDArray[np.int64]:
        """The row ids stored for a stream."""
        return self.lists.live_records_of(stream, STREAMS)[:, ls.ROW]

    # -- snapshot --------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Plain arrays and scalars, enough to go on elsewhere."""
        return {"structure": self.structure, "parts": self.parts, **self.lists.snapshot()}

    @classmethod
    def restore(cls, snapshot: Snapshot) -> JoinState:
        """The state a snapshot was taken of."""
        structure = str(snapshot.get("structure"))
        if structure not in KERNELS:
            raise WindrowError(f"a snapshot names the unknown state structure {structure!r}")
        state = cls.__new__(cls)
        state.structure = next(known for known in KERNELS if known == structure)
        state.parts = int(snapshot["parts"])
        state.lists = Lists.restore(snapshot)
        return state
