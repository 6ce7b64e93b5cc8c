"""I-Nodes: which keys a stream has punctuated. Paper 3, section 4.1.

A stream's I-Nodes are a list with hash chains like its tuples', one per cell, in the order in
which the punctuations acted. A record holds (time of the punctuation, key, row id and flag, link);
a key that no punctuation names has no I-Node, because the tuples' own chains index it already.

    none        no I-Node, or an emptied one: the matching punctuation has come
    punctuated  this stream sends no tuple of the key up to its time plus the span
    propagated  and has none stored either, so that no further match can have the key

A flag is about the key's *life* around its time t: tuples up to t + span, the longest window. A
tuple after that is of a new life, whatever the old flag says, and the flag itself can go once
all streams have passed that time.
"""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined
from windrow.kernels.task import NEVER

#: An I-Node's flag takes the lowest bit of its record's row id.
PUNCTUATED, PROPAGATED = range(2)
FLAG_BITS = 1
FLAG_MASK = (1 << FLAG_BITS) - 1


@inlined
def value_of(row: int, flag: int) -> int:
    """What an I-Node holds: the row id of its punctuation, and its flag."""
    return (row << FLAG_BITS) | flag


@inlined
def flag_of(value: int) -> int:
    """Its flag."""
    return value & FLAG_MASK


@inlined
def row_of(value: int) -> int:
    """The row id of its punctuation."""
    return value >> FLAG_BITS


@inlined
def find(nodes: ls.ListArrays, lst: int, key: int, earliest: int, latest: int) -> int:
    """The earliest I-Node of a key with a time in [earliest, latest]; or -1.

    Several lives of a key may be open where one stream runs ahead, and it is the first end that a
    tuple has not passed which is the end of its own life.
    """
    found, first = -1, NEVER
    seq = -1
    if nodes.meta[lst, ls.LOW] < nodes.meta[lst, ls.NEXT]:
        seq = ls.newest(nodes, lst, key)
    while seq >= 0:
        seq, t, _, link, _ = ls.probe(nodes, lst, key, earliest, latest, seq)
        if seq >= 0:
            if t < first:
                found, first = seq, t
            seq = link
    return found


@inlined
def last_stored(s: ls.ListArrays, lst: int, key: int, latest: int) -> int:
    """The last stored tuple of a key with a time up to `latest`; -1 if there is none."""
    found, _, _, _, _ = ls.probe(s, lst, key, -NEVER, latest, ls.newest(s, lst, key))
    return found
