"""Lists of records in arrival order, on one pool of blocks: the ground of both state structures.

A list is a circular buffer made of blocks. Its live records have the *absolute sequence
numbers* [LOW, NEXT); a small ring of block numbers (the list's segments) says where they sit:

    blocks of 4, list 0, LOW = 6, NEXT = 13            pool of blocks
    sequence   4 5 6 7 | 8 9 10 11 | 12                 0: other list   2: seq 4-7
    segment        1   |     2     |  3                 1: seq 8-11     3: seq 12-
    block          2   |     1     |  3                 4: free

    drop two: LOW = 8, block 2 is free again            append: NEXT = 14, still block 3

The time list (papers 2 and 3) adds a chain per hash bucket: each record links to the one before
it with the same bucket, newest first, by sequence number:

    sequence   7     8     9    10    11                LOW = 8, NEXT = 12
    key        a     b     a     c     a
    link      -1    -1     7    -1     9                heads: a -> 11, b -> 8, c -> 10

    probe(a) = 11, 9, then 7 < LOW: stop                drop one: LOW = 9, and b's head is dead

So expiry only moves LOW, and what it leaves behind in the chains ends a walk instead of
misleading it: paper 3's lazy deletion, for free.

Growth rehashes nothing. A full pool gets a successor a quarter larger, and each block handed out
later moves eight old blocks over, so the copy is done before the successor is full. Block and
sequence numbers do not change, so neither do links. A list's heads double by copying them
behind themselves: both halves start on the same old chain, whose records still carry their
whole key, and the mixture dies out as they expire.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import inlined, kernel

#: A record: event time, key, row id, and the link of its chain.
TS, KEY, ROW, LINK = range(4)
COLUMNS = 4
RECORD_BYTES = 8 * COLUMNS
#: Links that lead nowhere: the end of a chain, and a record that is in none.
NO_LINK, UNCHAINED = -1, -2
#: In place of a row id: the record was emptied, and waits to be dropped.
EMPTY = -1
#: A bit beside a row id: the tuple is the last one stored of a punctuated key, and its leaving
#: propagates the punctuation (paper 3's ring, from the tail of the value list to the I-Node).
RING = 1 << 60

#: Per list. From DISORDER on, times never decrease; NEWEST is the time appended last. DEAD counts
#: records in [LOW, NEXT) that a punctuation has emptied; PEAK is the most there were without them.
#: Its heads and its segments are regions of shared arrays: where they begin, how many (2^k). LOOKED
#: is where another list has been looked at on its behalf (`kernels.forsake`).
LOW, NEXT, DISORDER, NEWEST, PEAK, HEADS_AT, HEADS, SEGMENTS_AT, SEGMENTS, DEAD, LOOKED = range(11)
LIST_COLUMNS = 11

#: Per pool. Free blocks hang on FREE, never-used ones begin at FRESH; while the pool grows,
#: blocks [MOVED, SPLIT) still sit in the old records. A block has 2^BITS records.
FREE, FRESH, MOVED, SPLIT, BITS, HEADS_USED, SEGMENTS_USED = range(7)
POOL_SCALARS = 7

#: Old blocks that each new block moves: growth by a quarter needs at least four.
MOVES = 8


class ListArrays(NamedTuple):
    """What the kernels see of a set of lists."""

    records: NDArray[np.int64]
    old: NDArray[np.int64]
    follow: NDArray[np.int64]
    segments: NDArray[np.int64]
    heads: NDArray[np.int64]
    meta: NDArray[np.int64]
    pool: NDArray[np.int64]


@inlined
def place(s: ListArrays, lst: int, seq: int) -> int:
    """Where in the records a sequence number of a list sits."""
    bits = s.pool[BITS]
    segment = (seq >> bits) & (s.meta[lst, SEGMENTS] - 1)
    return (s.segments[s.meta[lst, SEGMENTS_AT] + segment] << bits) + (seq & ((1 << bits) - 1))


@inlined
def head_at(s: ListArrays, lst: int, key: int) -> int:
    """Where the head of a key's chain is, of a list that has chains."""
    return s.meta[lst, HEADS_AT] + (key & (s.meta[lst, HEADS] - 1))


@inlined
def in_old(s: ListArrays, at: int) -> bool:
    """Does this place still sit in the old records?"""
    block = at >> s.pool[BITS]
    return s.pool[MOVED] <= block < s.pool[SPLIT]


@inlined
def read(s: ListArrays, lst: int, seq: int) -> tuple[int, int, int, int]:
    """A record: time, key, row id, link."""
    i = place(s, lst, seq)
    if in_old(s, i):
        return s.old[i, TS], s.old[i, KEY], s.old[i, ROW], s.old[i, LINK]
    return s.records[i, TS], s.records[i, KEY], s.records[i, ROW], s.records[i, LINK]


@kernel
def move_old(s: ListArrays, blocks: int) -> None:
    """Move up to that many blocks from the old records to the new ones."""
    size = 1 << s.pool[BITS]
    last = min(s.pool[MOVED] + blocks, s.pool[SPLIT])
    for i in range(s.pool[MOVED] * size, last * size):
        for column in range(COLUMNS):
            s.records[i, column] = s.old[i, column]
    s.pool[MOVED] = last


@inlined
def drop_oldest(s: ListArrays, lst: int) -> None:
    """Move a list's low mark past its oldest record; a block left empty is free again."""
    bits = s.pool[BITS]
    low = s.meta[lst, LOW]
    s.meta[lst, LOW] = low + 1
    if (low + 1) & ((1 << bits) - 1) == 0:
        block = place(s, lst, low) >> bits
        s.follow[block] = s.pool[FREE]
        s.pool[FREE] = block


@kernel
def grow_heads(s: ListArrays, lst: int) -> bool:
    """Give a list twice the heads, at the end of the shared array; False if it has no room."""
    size, start, end = s.meta[lst, HEADS], s.meta[lst, HEADS_AT], s.pool[HEADS_USED]
    if end + 2 * size > s.heads.shape[0]:
        return False
    for i in range(size):
        s.heads[end + i] = s.heads[start + i]
        s.heads[end + size + i] = s.heads[start + i]
    s.meta[lst, HEADS_AT] = end
    s.meta[lst, HEADS] = 2 * size
    s.pool[HEADS_USED] = end + 2 * size
    return True


@kernel
def grow_segments(s: ListArrays, lst: int) -> bool:
    """Give a list twice the segments, at the end of the shared array; False if it has no room."""
    size, start, end = s.meta[lst, SEGMENTS], s.meta[lst, SEGMENTS_AT], s.pool[SEGMENTS_USED]
    if end + 2 * size > s.segments.shape[0]:
        return False
    first = s.meta[lst, LOW] >> s.pool[BITS]
    for segment in range(first, first + size):
        s.segments[end + (segment & (2 * size - 1))] = s.segments[start + (segment & (size - 1))]
    s.meta[lst, SEGMENTS_AT] = end
    s.meta[lst, SEGMENTS] = 2 * size
    s.pool[SEGMENTS_USED] = end + 2 * size
    return True


@kernel
def new_block(s: ListArrays, lst: int) -> bool:
    """Put a free block behind a list's last; False if there is none."""
    bits = s.pool[BITS]
    segment = s.meta[lst, NEXT] >> bits
    if segment - (s.meta[lst, LOW] >> bits) >= s.meta[lst, SEGMENTS] and not grow_segments(s, lst):
        return False
    block = s.pool[FREE]
    if block >= 0:
        s.pool[FREE] = s.follow[block]
    else:
        block = s.pool[FRESH]
        if block == s.follow.shape[0]:
            return False
        s.pool[FRESH] = block + 1
    if s.pool[MOVED] < s.pool[SPLIT]:
        move_old(s, MOVES)
    s.segments[s.meta[lst, SEGMENTS_AT] + (segment & (s.meta[lst, SEGMENTS] - 1))] = block
    return True


@inlined
def append(s: ListArrays, lst: int, ts: int, key: int, row: int, link: int) -> bool:
    """Append a record to a list; False, with nothing changed, if something must grow first.

    A list with heads chains it, unless `link` says UNCHAINED; a list without keeps `link`.
    """
    bits = s.pool[BITS]
    seq = s.meta[lst, NEXT]
    if (
        s.meta[lst, HEADS] > 0
        and seq - s.meta[lst, LOW] >= s.meta[lst, HEADS]
        and not grow_heads(s, lst)
    ):
        return False
    if seq & ((1 << bits) - 1) == 0 and not new_block(s, lst):
        return False
    i = place(s, lst, seq)
    if s.meta[lst, HEADS] > 0 and link != UNCHAINED:
        head = head_at(s, lst, key)
        link = s.heads[head]
        s.heads[head] = seq
    if in_old(s, i):
        s.old[i, TS], s.old[i, KEY], s.old[i, ROW], s.old[i, LINK] = ts, key, row, link
    else:
        s.records[i, TS], s.records[i, KEY], s.records[i, ROW], s.records[i, LINK] = (
            ts,
            key,
            row,
            link,
        )
    if ts < s.meta[lst, NEWEST]:
        s.meta[lst, DISORDER] = seq
    s.meta[lst, NEWEST] = ts
    s.meta[lst, NEXT] = seq + 1
    live = seq + 1 - s.meta[lst, LOW] - s.meta[lst, DEAD]
    s.meta[lst, PEAK] = max(s.meta[lst, PEAK], live)
    return True


@inlined
def set_row(s: ListArrays, lst: int, seq: int, row: int) -> None:
    """Write a record's row id anew."""
    i = place(s, lst, seq)
    if in_old(s, i):
        s.old[i, ROW] = row
    else:
        s.records[i, ROW] = row


@inlined
def empty(s: ListArrays, lst: int, seq: int) -> None:
    """Empty a record; it is dropped later."""
    set_row(s, lst, seq, EMPTY)
    s.meta[lst, DEAD] += 1


@inlined
def newest(s: ListArrays, lst: int, key: int) -> int:
    """The sequence number that a probe for a key begins with; below LOW if there is none.

    The newest of the key's chain, or of a list without chains the newest of all.
    """
    seq = s.meta[lst, NEXT] - 1
    if s.meta[lst, HEADS] > 0:
        seq = s.heads[head_at(s, lst, key)]
    return seq


@inlined
def probe(
    s: ListArrays, lst: int, key: int, earliest: int, latest: int, seq: int
) -> tuple[int, int, int, int, int]:
    """The next record of a key with a time in [earliest, latest], from a sequence number on.

    Records come newest first. Returns its sequence number (negative: there is none), its time, its
    row id, the number to go on with, and how many records were looked at. A chain in time order
    ends at the first record of the key that is too early; a list without chains is read whole.
    """
    low = s.meta[lst, LOW]
    chained = s.meta[lst, HEADS] > 0
    ordered = chained and low >= s.meta[lst, DISORDER]
    found, ts, row, following, looked = -1, 0, 0, seq, 0
    while following >= low and found < 0:
        seq = following
        looked += 1
        ts, its, row, link = read(s, lst, seq)
        following = link if chained else seq - 1
        if its == key and row != EMPTY:
            if ts < earliest:
                if ordered:
                    following = -1
            elif ts <= latest:
                found = seq
    return found, ts, row & ~RING, following, looked
