"""I-Nodes: which keys a stream has punctuated. Paper 3, section 4.1.

A stream's I-Nodes are a list with hash chains like its tuples', one per cell, in the order in
which the punctuations acted. A record holds (time of the punctuation, key, row id and flag, link);
a key that no punctuation names has no I-Node, because the tuples' own chains index it already.

    none        no I-Node, or an emptied one: the matching punctuation has come
    punctuated  this stream sends no tuple of the key up to its time plus the span
    propagated  and has none stored either, so that no further match can have the key

A flag is about the key's *life* around its time t: tuples up to t + span, the longest window. A
tuple after that is of a new life, whatever the old flag says, and the flag itself can go once
both streams have passed that time.
"""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined

#: An I-Node's flag takes the lowest bit of its record's row id.
PUNCTUATED, PROPAGATED = range(2)
FLAG_BITS = 1
FLAG_MASK = (1 << FLAG_BITS) - 1

#: In place of a row id: the record was emptied, and waits to be dropped.
EMPTY = -1
#: Beside a tuple's row id: it is the last one stored of a punctuated key, and its leaving
#: propagates the punctuation (the paper's ring, from the tail of the value list to the I-Node).
RING = 1 << 60
#: Longer than any distance between two times.
FOREVER = 1 << 62


@inlined
def find(n: ls.ListArrays, lst: int, key: int, ts: int, span: int, back: int) -> int:
    """The earliest I-Node of a key that is at most `span` before `ts` or `back` after it; or -1.

    Several lives of a key may be open where one stream runs ahead, and it is the first end that a
    tuple has not passed which is the end of its own life.
    """
    low = n.meta[lst, ls.LOW]
    found = -1
    earliest = FOREVER
    if low < n.meta[lst, ls.NEXT]:
        seq = n.heads[n.meta[lst, ls.HEADS_AT] + (key & (n.meta[lst, ls.HEADS] - 1))]
        while seq >= low:
            t, its, value, link = ls.read(n, lst, seq)
            if its == key and value != EMPTY and ts <= t + span and t <= ts + back and t < earliest:
                found, earliest = seq, t
            seq = link
    return found


@inlined
def newest(s: ls.ListArrays, lst: int, key: int, latest: int) -> int:
    """The last stored tuple of a key with a time up to `latest`; -1 if there is none."""
    low = s.meta[lst, ls.LOW]
    found = -1
    seq = s.heads[s.meta[lst, ls.HEADS_AT] + (key & (s.meta[lst, ls.HEADS] - 1))]
    while seq >= low and found < 0:
        ts, its, row, link = ls.read(s, lst, seq)
        if its == key and row != EMPTY and ts <= latest:
            found = seq
        seq = link
    return found


@inlined
def remove(n: ls.ListArrays, lst: int, seq: int) -> None:
    """Take an I-Node out; its record is dropped later."""
    ls.set_row(n, lst, seq, EMPTY)
    n.meta[lst, ls.DEAD] += 1
