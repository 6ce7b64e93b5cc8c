"""Python's side of the block lists: allocation, growth, going on with an earlier one's.

The kernels in `windrow.kernels.lists` work on the arrays; here they are made, replaced by
larger ones when a kernel reports that it lacks room, and taken over from an earlier process.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import contents
from windrow.kernels import lists as ls
from windrow.model import BEGINNING
from windrow.state.room import HEAP, Room


class Lists:
    """A set of lists on one pool.

    Parameters
    ----------
    count: how many lists.
    bits: a block holds 2**bits records.
    chained: how many of them, the first ones, have hash chains; the others can only be scanned.
    expected: live records to make room for from the start; growth takes care of the rest.
    room: where the arrays are made.
    """

    def __init__(
        self, count: int, *, bits: int, chained: int, expected: int = 0, room: Room = HEAP
    ) -> None:
        self.chained = chained
        self.room = room
        each = expected // max(count, 1)
        # Each list ends in a block that is half full on average, and begins in another one.
        blocks = 8 + count + ((expected + expected // 16) >> bits)
        self.records = room.empty((blocks << bits, ls.COLUMNS))
        self.old = np.empty((1, ls.COLUMNS), np.int64)
        self.follow = room.empty((blocks,))
        self._meta_room = self.meta = room.empty((count, ls.LIST_COLUMNS))
        self.meta[:] = 0
        self.meta[:, ls.NEWEST] = BEGINNING
        self.pool = np.zeros(ls.POOL_SCALARS, np.int64)
        self.pool[ls.FREE] = -1
        self.pool[ls.BITS] = bits
        heads = _power_of_two(max(each, 64))
        self.meta[:chained, ls.HEADS] = heads
        self.meta[:chained, ls.HEADS_AT] = np.arange(chained) * heads
        self.heads = room.empty((chained * heads,))
        self.heads[:] = ls.NO_LINK
        segments = _power_of_two(max((each >> bits) + 2, 4))
        self.meta[:, ls.SEGMENTS] = segments
        self.meta[:, ls.SEGMENTS_AT] = np.arange(count) * segments
        self.segments = room.empty((count * segments,))
        self.pool[ls.HEADS_USED] = len(self.heads)
        self.pool[ls.SEGMENTS_USED] = len(self.segments)

    def arrays(self) -> ls.ListArrays:
        """What a kernel takes. To be asked for anew after `make_room`."""
        return ls.ListArrays(
            self.records, self.old, self.follow, self.segments, self.heads, self.meta, self.pool
        )

    # -- the arrays themselves -------------------------------------------------------------

    def handover(self) -> dict[str, NDArray[Any]]:
        """Every array by name: what `attach` needs to go on with the very same memory."""
        return {**self.arrays()._asdict(), "meta_room": self._meta_room}

    @classmethod
    def attach(cls, parts: dict[str, NDArray[Any]], chained: int, room: Room) -> Lists:
        """Lists on arrays that others of this class left; nothing is copied."""
        lists = cls.__new__(cls)
        lists.chained, lists.room = chained, room
        for name in ls.ListArrays._fields:
            setattr(lists, name, parts[name])
        lists._meta_room = parts["meta_room"]
        return lists

    # -- size ------------------------------------------------------------------------------

    def live(self) -> NDArray[np.int64]:
        """Live records of each list, stale ones included."""
        counts: NDArray[np.int64] = self.meta[:, ls.NEXT] - self.meta[:, ls.LOW]
        return counts

    def add(self, count: int) -> None:
        """Append so many empty lists without chains."""
        first, last = len(self.meta), len(self.meta) + count
        if last > len(self._meta_room):
            larger = self.room.empty((max(last, 2 * first), ls.LIST_COLUMNS))
            larger[:first] = self.meta
            self._meta_room = larger
        self.meta = self._meta_room[:last]
        self.meta[first:] = 0
        start = int(self.pool[ls.SEGMENTS_USED])
        self.meta[first:, ls.NEWEST] = BEGINNING
        self.meta[first:, ls.SEGMENTS] = 1
        self.meta[first:, ls.SEGMENTS_AT] = np.arange(start, start + count)
        self.pool[ls.SEGMENTS_USED] += count
        if start + count > len(self.segments):
            larger = self.room.empty((2 * (start + count),))
            larger[: len(self.segments)] = self.segments
            self.segments = larger

    # -- growth ----------------------------------------------------------------------------

    def make_room(self) -> None:
        """A kernel found no room: replace whichever array is full."""
        if self.pool[ls.FREE] < 0 and self.pool[ls.FRESH] == len(self.follow):
            self._grow_pool()
        self.heads = self._compact(self.heads, ls.HEADS_AT, ls.HEADS, ls.HEADS_USED)
        self.segments = self._compact(self.segments, ls.SEGMENTS_AT, ls.SEGMENTS, ls.SEGMENTS_USED)

    def _grow_pool(self) -> None:
        """Start moving to a pool a quarter larger; the kernels move the blocks bit by bit."""
        contents.finish_move(self.arrays())
        blocks, bits = len(self.follow), int(self.pool[ls.BITS])
        larger = blocks + max(blocks // 4, 16)
        self.old = self.records
        self.records = self.room.empty((larger << bits, ls.COLUMNS))
        follow = self.room.empty((larger,))
        follow[:blocks] = self.follow
        self.follow = follow
        self.pool[ls.MOVED] = 0
        self.pool[ls.SPLIT] = blocks

    def _compact(self, flat: NDArray[np.int64], at: int, size: int, used: int) -> NDArray[np.int64]:
        """Close the gaps that regions left when they moved, with room for the largest to double."""
        sizes = self.meta[:, size]
        largest = int(sizes.max(initial=0))
        if largest == 0 or self.pool[used] + 2 * largest <= len(flat):
            return flat
        total = int(sizes.sum())
        fresh = self.room.empty((total + max(total // 4, 2 * largest),))
        starts = np.cumsum(sizes) - sizes
        contents.move_regions(flat, fresh, self.meta[:, at].copy(), starts, sizes)
        self.meta[:, at] = starts
        self.pool[used] = total
        return fresh

    def forget_old(self) -> None:
        """Let go of the old records once all have moved."""
        if len(self.old) > 1 and self.pool[ls.MOVED] >= self.pool[ls.SPLIT]:
            self.old = np.empty((1, ls.COLUMNS), np.int64)
            self.pool[ls.MOVED] = self.pool[ls.SPLIT] = 0

    # -- contents --------------------------------------------------------------------------

    def live_records(self, lst: int) -> NDArray[np.int64]:
        """A copy of one list's live records (time, key, row id, link), oldest first."""
        return self.live_records_of(lst, len(self.meta))

    def live_records_of(self, first: int, step: int) -> NDArray[np.int64]:
        """The same of lists first, first + step, ..., one after the other."""
        out = np.empty((int(self.live()[first::step].sum()), ls.COLUMNS), np.int64)
        contents.copy_live(self.arrays(), first, step, out)
        return out

    def append(self, lst: int, records: NDArray[np.int64]) -> None:
        """Append records in the order given, growing as needed."""
        done = 0
        while (done := contents.append_all(self.arrays(), lst, records, done)) < len(records):
            self.make_room()
        self.forget_old()

    def drop_expired(self, lst: int, reach: int, bound: int) -> NDArray[np.int64]:
        """Drop from the old end what `bound` has passed; returns the row ids."""
        records = self.live_records(lst)
        kept = np.flatnonzero(records[:, ls.TS] + reach >= bound)
        gone = records[: kept[0] if len(kept) else len(records), ls.ROW]
        contents.drop(self.arrays(), lst, len(gone))
        return gone

    def probe(self, lst: int, key: int) -> NDArray[np.int64]:
        """The live rows of one key, newest first."""
        rows = np.empty(self._length(lst), np.int64)
        return rows[: contents.rows_of_key(self.arrays(), lst, key, rows)]

    def _length(self, lst: int) -> int:
        return int(self.meta[lst, ls.NEXT] - self.meta[lst, ls.LOW])


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()
