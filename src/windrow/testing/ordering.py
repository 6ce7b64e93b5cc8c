"""How streams are ordered, exactly and with hindsight: paper 5 (Wu et al.), section 2, as loops.

Every definition is written down as the paper has it, over streams that have ended, so a virtual
index or a next-of-kin may be a tuple that came long after the moment that is asked about. What
watches streams while they come is tested against this.

    arrivals    1:<63>  2:<61>  1:<66>  2:<65> ..     (stream, join key) in order of arrival
    stream 1    <63> <66> ..                          its keys; PI is the place, from 1
                {2}  {4}                              VI: the places in the sorted stream

Keys ascend in the long run. `ascending` turns descending ones round (footnote 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from hypothesis import strategies as st

#: (stream, join key), in order of arrival.
Arrivals = Sequence[tuple[int, Any]]


def ascending(arrivals: Arrivals) -> list[tuple[int, int]]:
    """Descending keys as ascending ones, which meet the same partners (footnote 2).

    >>> ascending([(0, 9), (1, 9), (0, 7), (1, 8)])
    [(0, 0), (1, 0), (0, 2), (1, 1)]
    """
    order = sorted({key for _, key in arrivals}, reverse=True)
    return [(stream, order.index(key)) for stream, key in arrivals]


def keys_of(arrivals: Arrivals, stream: int) -> list[Any]:
    """The keys of one stream, by PI - 1."""
    return [key for which, key in arrivals if which == stream]


# -- a stream: sections 2.1 and 2.2 ----------------------------------------------------------


def is_totally_ordered(keys: Sequence[Any]) -> bool:
    """Definition 2.1: keys ascend, and none comes twice."""
    places = range(len(keys))
    return all(keys[a] < keys[b] for a, b in product(places, places) if a < b)


def scrambling_factor(keys: Sequence[Any]) -> int:
    """k of Definition 2.2: how far apart two tuples are that are not in ascending order.

    Equal keys count as if they were out of order.

    >>> [scrambling_factor(keys) for keys in ([1, 2, 3], [1, 1, 2], [2, 3, 1], [5, 1, 2, 5])]
    [0, 1, 2, 3]
    """
    places = range(1, len(keys) + 1)
    pairs = product(places, places)
    return max((a - b for a, b in pairs if keys[a - 1] <= keys[b - 1]), default=0)


def multiplicity(keys: Sequence[Any]) -> int:
    """Mul, section 3.2: the most tuples of one key.

    >>> multiplicity([4, 5, 4, 4])
    3
    """
    return max((sum(key == other for other in keys) for key in keys), default=0)


def virtual_index(keys: Sequence[Any]) -> list[range]:
    """VI of Definition 2.5 by PI - 1: the places that a key takes in the sorted stream.

    >>> [list(places) for places in virtual_index([7, 5, 7])]
    [[2, 3], [1], [2, 3]]
    """
    return [
        range(sum(other < key for other in keys) + 1, sum(other <= key for other in keys) + 1)
        for key in keys
    ]


# -- two streams: section 2.3 ----------------------------------------------------------------


def next_of_kin(key: Any, keys: Sequence[Any]) -> int | None:
    """A next-of-kin of `key` as its PI, Definition 2.3: of the largest key that is not larger.

    >>> next_of_kin(64, [63, 66, 61]), next_of_kin(60, [63, 66, 61])
    (1, None)
    """
    not_larger = [other for other in keys if other <= key]
    return keys.index(max(not_larger)) + 1 if not_larger else None


def arrived(arrivals: Arrivals, stream: int, after: int) -> int:
    """The PI of a stream's latest tuple after so many arrivals; 0 if it has none."""
    return len(keys_of(arrivals[:after], stream))


def lag_of_ordered(arrivals: Arrivals, i: int, j: int, after: int) -> int | None:
    """L from S_i to S_j of Definition 2.4, after so many arrivals: of totally ordered streams.

    None where S_j has not begun, or where there is no next-of-kin. Before the first tuple of S_i
    its latest PI counts as 0.
    """
    s_i, s_j = arrived(arrivals, i, after), arrived(arrivals, j, after)
    if not s_j:
        return None
    kin = next_of_kin(keys_of(arrivals, j)[s_j - 1], keys_of(arrivals, i))
    return None if kin is None else s_i - kin


def lag(arrivals: Arrivals, i: int, j: int, after: int) -> int | None:
    """L from S_i to S_j of Definition 2.6, after so many arrivals; None as above."""
    s_i, s_j = arrived(arrivals, i, after), arrived(arrivals, j, after)
    if not s_j:
        return None
    keys_i, keys_j = keys_of(arrivals, i), keys_of(arrivals, j)
    # The tuple that would have come in this place, were the stream in order.
    in_its_place = next(
        key for key, places in zip(keys_j, virtual_index(keys_j), strict=True) if s_j in places
    )
    kin = next_of_kin(in_its_place, keys_i)
    return None if kin is None else s_i - max(virtual_index(keys_i)[kin - 1])


def is_synchronised(lag: int) -> bool:
    """Equation (3).

    >>> [is_synchronised(lag) for lag in (-1, 0, 1, 2)]
    [False, True, True, False]
    """
    return 0 <= lag <= 1


# -- a join: sections 3.1 and 3.2 ------------------------------------------------------------


def arrivals_over(arrivals: Arrivals, i: int, j: int, count: int) -> int:
    """The most tuples of S_i that arrive while at most `count` of S_j do: r_i * k_j / r_j.

    A stretch begins after an arrival of S_j and ends with one.

    >>> arrivals_over([(1, 0), (0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (0, 3)], 0, 1, count=1)
    2
    """
    marks = [at for at, (stream, _) in enumerate(arrivals) if stream == j]
    return max(
        (
            sum(stream == i for stream, _ in arrivals[begin:end])
            for a, begin in enumerate(marks)
            for end in marks[a : a + count + 1]
        ),
        default=0,
    )


@dataclass(frozen=True)
class Match:
    """Tuples of S_i and S_j, by PI, that join when the one of S_j arrives."""

    i: int
    j: int
    #: How many arrivals there are with the one of S_j.
    after: int
    #: How many of the latest tuples of S_i there must still be, the partner included.
    needs: int


def matches(arrivals: Arrivals, i: int, j: int) -> Iterator[Match]:
    """All matches that need a stored tuple of S_i, found by the arrival of one of S_j."""
    for at, (stream, key) in enumerate(arrivals):
        if stream != j:
            continue
        before = keys_of(arrivals[:at], i)
        for place, other in enumerate(before, start=1):
            if other == key:
                number = arrived(arrivals, j, at + 1)
                yield Match(place, number, at + 1, len(before) - place + 1)


def arrival_of(arrivals: Arrivals, stream: int, number: int) -> int:
    """How many arrivals there are with the tuple of that PI."""
    return [at for at, (s, _) in enumerate(arrivals, start=1) if s == stream][number - 1]


def joined(arrivals: Arrivals, streams: int) -> list[tuple[int, Any]]:
    """The output of an MJoin: (number of the arrival that completes it, key), as it is produced."""
    found = []
    for at, (stream, key) in enumerate(arrivals, start=1):
        before = arrivals[: at - 1]
        partners = [before.count((other, key)) for other in range(streams) if other != stream]
        found += [(at, key)] * prod(partners)
    return found


# -- cases -----------------------------------------------------------------------------------


@st.composite
def scrambled(draw: st.DrawFn, *, streams: int = 2, most: int = 9) -> list[tuple[int, int]]:
    """Arrivals of streams that are ordered in the long run: scrambled, lagged, bursty.

    A stream's keys ascend by small steps, and some come twice or more. Each tuple comes a few
    places late. Gaps between arrivals are drawn too, and how late the stream begins.
    """
    timed = []
    for stream in range(streams):
        steps = draw(st.lists(st.sampled_from([1, 0, 1, 2]), max_size=most))
        late = draw(st.sampled_from([0, 1, 2, 6]))
        keys = [sum(steps[: at + 1]) for at in range(len(steps))]
        places = [at + draw(st.integers(0, late)) for at in range(len(keys))]
        keys = [key for _, key in sorted(zip(places, keys, strict=True), key=lambda each: each[0])]
        time, gaps = draw(st.integers(0, 6)), draw(st.sampled_from([[1], [0, 1, 4], [2]]))
        for key in keys:
            time += draw(st.sampled_from(gaps))
            timed.append((time, stream, key))
    return [(stream, key) for _, stream, key in sorted(timed, key=lambda each: each[:2])]
