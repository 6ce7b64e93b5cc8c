"""The state of a join with punctuations: time lists of tuples, and lists of I-Nodes beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import contents, cursor, ends, inodes, punctuated
from windrow.kernels import lists as ls
from windrow.state.join_state import STREAMS, JoinState
from windrow.state.lists import Lists, Snapshot
from windrow.state.room import HEAP, Room

#: I-Nodes in a block: most cells have few.
NODE_BITS = 4


class PunctuatedState(JoinState):
    """The stored tuples of both streams, and which keys each has punctuated."""

    def __init__(self, parts: int = 1, expected: int = 0, room: Room = HEAP) -> None:
        super().__init__("time-list", parts, expected, room)
        self.nodes = Lists(STREAMS * parts, bits=NODE_BITS, chained=STREAMS * parts, room=room)

    @classmethod
    def adopt(cls, state: JoinState, nodes: Lists) -> PunctuatedState:
        """A plain state's tuples, with these I-Nodes."""
        adopted = cls.__new__(cls)
        adopted.structure, adopted.parts, adopted.lists = state.structure, state.parts, state.lists
        adopted.nodes = nodes
        return adopted

    def run_punctuated(
        self,
        cur: NDArray[np.int64],
        asked: NDArray[np.int64],
        batch: cursor.Batch,
        punctuations: ends.Punctuations,
        out: cursor.Buffers,
        told: ends.Ends,
    ) -> int:
        """Run a batch on this state until it is done or an output buffer is full."""
        status = cursor.GROW
        while status == cursor.GROW:
            status = punctuated.join_punctuated(
                cur, asked, batch, punctuations,
                self.lists.arrays(), self.nodes.arrays(), out, told,
            )  # fmt: skip
            if status == cursor.GROW:
                self.lists.make_room()
                self.nodes.make_room()
        self.lists.forget_old()
        self.nodes.forget_old()
        return status

    # -- contents --------------------------------------------------------------------------

    def live_rows(self, stream: int) -> int:
        """Stored tuples of a stream, without those that punctuations have purged."""
        return super().live_rows(stream) - int(self.lists.meta[stream::STREAMS, ls.DEAD].sum())

    def live_flags(self, stream: int) -> int:
        """I-Nodes of a stream."""
        removed = self.nodes.meta[stream::STREAMS, ls.DEAD].sum()
        return int(self.nodes.live()[stream::STREAMS].sum() - removed)

    def stale_rows(self, stream: int, reach: int, bound: int) -> int:
        """Stored tuples that could be gone already."""
        return int(np.sum(self.records(stream)[:, ls.TS] + reach < bound))

    def rows(self, stream: int) -> NDArray[np.int64]:
        """The row ids stored for a stream."""
        return self.records(stream)[:, ls.ROW]

    def records(self, stream: int) -> NDArray[np.int64]:
        """A stream's tuples (time, key, row id, link), list by list, oldest first."""
        found = self.lists.live_records_of(stream, STREAMS)
        records: NDArray[np.int64] = found[found[:, ls.ROW] != inodes.EMPTY]
        records[:, ls.ROW] &= ~np.int64(inodes.RING)
        return records

    def flags(self, stream: int) -> NDArray[np.int64]:
        """A stream's I-Nodes (time, key, row id and flag, link), list by list, oldest first."""
        found = self.nodes.live_records_of(stream, STREAMS)
        nodes: NDArray[np.int64] = found[found[:, ls.ROW] != inodes.EMPTY]
        return nodes

    def flags_before(self, stream: int, bound: int) -> NDArray[np.int64]:
        """A stream's I-Nodes with a time before `bound`."""
        nodes = self.nodes
        most = int(nodes.live()[stream::STREAMS].sum())
        out = np.empty((most, ls.COLUMNS), np.int64)
        return out[: contents.copy_before(nodes.arrays(), stream, STREAMS, bound, out)]

    # -- memory that outlives a process ----------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array by name."""
        nodes = {f"nodes_{name}": array for name, array in self.nodes.parts().items()}
        return {**self.lists.parts(), **nodes}

    @classmethod
    def attach_arrays(
        cls, parts: int, arrays: dict[str, NDArray[Any]], room: Room
    ) -> PunctuatedState:
        """The state that is in these arrays."""
        own = {
            name.removeprefix("nodes_"): array
            for name, array in arrays.items()
            if name.startswith("nodes_")
        }
        tuples = JoinState.attach("time-list", parts, arrays, room)
        return cls.adopt(tuples, Lists.attach(own, STREAMS * parts, room))

    # -- snapshot --------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Plain arrays and scalars, enough to go on elsewhere. Rings are made anew there."""
        found = {**super().snapshot(), "nodes": self.nodes.snapshot()}
        rows = found["records"][:, ls.ROW]
        rows[rows != inodes.EMPTY] &= ~np.int64(inodes.RING)
        return found

    @classmethod
    def restore(cls, snapshot: Snapshot) -> PunctuatedState:
        """The state a snapshot was taken of."""
        state = cls.adopt(JoinState.restore(snapshot), Lists.restore(snapshot["nodes"]))
        for lists in (state.lists, state.nodes):
            lists.count_empty()
        return state
