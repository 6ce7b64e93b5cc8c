"""How streams are ordered, watched while they come: paper 5 (Wu et al.), section 2.

A *track* is a ring for each stream: of each of its latest tuples the key, the largest key up to it
(its top) and when it came, counted over all streams. A tuple's position is its PI.

    position   5   6   7   8   9         k = 2, and <63> comes as position 10
    key       61  64  62  66  65         top of 10 - 1 - 2 = 7 is 64, and 63 <= 64: k rises
    top       61  64  64  66  66         first top that is not below 63: position 6, so k = 10 - 6

*Scrambling factor.* Tops never fall, so one look at the top k + 1 places back tells whether the
tuple is out of order with one further back than k: a compare for each tuple, and a binary search
for each of those that raise k.

*What a stream is past.* All that S_j sends after position q is above the top of position q - k_j:
by Definition 2.2 that stretch comes before anything as large as itself.

*Lag.* When q tuples of S_j have come, places up to v = q - k_j of the sorted S_j are final (Theorem
2.1), and their tuples came at v - k_j to v + k_j = q. So the key of place v is one of the last
2 k_j + 1: a quickselect. Its next-of-kin's place in S_i is a count of keys up to it: all those
below the first top above it, and a few of the k_i + 1 from there on. So the lag is known exactly,
k_j tuples of S_j after its moment, once S_i is as far, too; and that is the lag that the memory
model asks for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.hashing import mix
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.task import DONE, GROW, NEVER

#: Of a tuple in a ring.
KEY, TOP, WHEN = range(3)
#: Of a stream: tuples that came; its scrambling factor so far, and a bound that was given; the
#: oldest position that is in its ring, and the oldest that a partner still asks for; tuples that
#: came so late that the ring has forgotten how late, and the position of the first of them.
COUNT, K, GIVEN, FROM, NEEDED, BEYOND, FIRST_BEYOND = range(7)
#: The most tuples of one key, and how many keys have a place in the table that counts them.
MULTIPLICITY, USED = 7, 8
FIELDS = 9
#: Of all: the tuples that came, and how many positions a ring may have: then it forgets.
CLOCK, MOST = range(2)

#: Of a key that is counted: its tuples (0: the place is empty), and the position of the last one.
TIMES, LAST = 1, 2


class Track(NamedTuple):
    """What has been seen of all streams.

    rings: by stream and position (modulo their number, a power of two), KEY, TOP and WHEN.
    standing: by stream, COUNT to USED.
    whole: CLOCK and MOST.
    """

    rings: NDArray[np.int64]
    standing: NDArray[np.int64]
    whole: NDArray[np.int64]


@inlined
def watch(track: Track, stream: int, key: int) -> int:
    """Take a tuple in. GROW: nothing was done; give the rings room first."""
    standing, rings = track.standing, track.rings
    n, k = standing[stream, COUNT] + 1, standing[stream, K]
    size = rings.shape[1]
    status = DONE
    if size < track.whole[MOST] and (n - size >= standing[stream, NEEDED] or 2 * k + 2 > size):
        status = GROW
    else:
        top = key
        if n > 1:
            top = max(key, rings[stream, (n - 1) & (size - 1), TOP])
            back = n - 1 - k
            if back >= standing[stream, FROM] and key <= rings[stream, back & (size - 1), TOP]:
                out_of_order(track, stream, key, back)
        at = n & (size - 1)
        rings[stream, at, KEY], rings[stream, at, TOP] = key, top
        rings[stream, at, WHEN] = track.whole[CLOCK]
        track.whole[CLOCK] += 1
        standing[stream, COUNT] = n
        if n - standing[stream, FROM] >= size:
            standing[stream, FROM] = n - size + 1
    return status


@kernel
def out_of_order(track: Track, stream: int, key: int, back: int) -> None:
    """Raise k, because of a tuple out of order with position `back`, or with one before that."""
    mine, standing = track.rings[stream], track.standing[stream]
    n, oldest = standing[COUNT] + 1, standing[FROM]
    first = search(mine, oldest, back, TOP, key)
    if first == oldest and oldest > 1:
        # It may be as far back as nobody knows any more.
        if standing[BEYOND] == 0:
            standing[FIRST_BEYOND] = n
        standing[BEYOND] += 1
    standing[K] = min(n - first, mine.shape[0] - 1)


@kernel
def search(ring: NDArray[np.int64], low: int, high: int, column: int, value: int) -> int:
    """The first position in [low, high] with that `value` or more, else high + 1.

    The column is one that ascends: TOP or WHEN.
    """
    mask = ring.shape[0] - 1
    high += 1
    while low < high:
        middle = (low + high) >> 1
        if ring[middle & mask, column] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def observe(track: Track, streams: NDArray[np.int64], keys: NDArray[np.int64], begin: int) -> int:
    """Take tuples in, in order of arrival; returns the first that was not, for want of room."""
    at, status = begin, DONE
    while at < keys.shape[0] and status == DONE:
        status = watch(track, streams[at], keys[at])
        if status == DONE:
            at += 1
    return at


@kernel
def observe_past(
    track: Track,
    streams: NDArray[np.int64],
    keys: NDArray[np.int64],
    begin: int,
    past: NDArray[np.int64],
) -> int:
    """The same, and what each stream was past when each of its tuples had come; -NEVER: nothing."""
    at, status = begin, DONE
    while at < keys.shape[0] and status == DONE:
        stream = streams[at]
        status = watch(track, stream, keys[at])
        if status == DONE:
            position = track.standing[stream, COUNT] - track.standing[stream, K]
            known = position >= track.standing[stream, FROM]
            ring = track.rings[stream]
            past[at] = ring[position & (ring.shape[0] - 1), TOP] if known else -NEVER
            at += 1
    return at


@kernel
def move(old: NDArray[np.int64], standing: NDArray[np.int64], fresh: NDArray[np.int64]) -> None:
    """Copy what rings hold to larger ones."""
    for stream in range(old.shape[0]):
        for position in range(standing[stream, FROM], standing[stream, COUNT] + 1):
            here, there = position & (old.shape[1] - 1), position & (fresh.shape[1] - 1)
            for column in range(3):
                fresh[stream, there, column] = old[stream, here, column]


# -- a stream and its partner ----------------------------------------------------------------


class Place(NamedTuple):
    """Where S_i stood when the tuple of place v came to S_j, and where its next-of-kin is.

    known: whether there is a next-of-kin, and the rings go back far enough.
    came: tuples of S_i that had come by then.
    kin: VI_max of the next-of-kin, among what has come of S_i.
    first: the first position of S_i whose key is above.
    """

    known: bool
    came: int
    kin: int
    first: int


@kernel
def place_of_kin(track: Track, i: int, j: int, scratch: NDArray[np.int64]) -> Place:
    """See `Place`. `scratch` has room for 2 k_j + 1 keys."""
    standing = track.standing
    mine, its = track.rings[i], track.rings[j]
    mask = mine.shape[0] - 1
    p, oldest = standing[i, COUNT], standing[i, FROM]
    q, k_j = standing[j, COUNT], standing[j, K]
    v = q - k_j
    low = max(1, v - k_j)
    if v < 1 or p < 1 or low < standing[j, FROM]:
        return Place(False, 0, 0, oldest)
    for position in range(low, q + 1):
        scratch[position - low] = its[position & mask, KEY]
    key = smallest(scratch, q - low + 1, v - low)
    came = search(mine, oldest, p, WHEN, its[v & mask, WHEN]) - 1
    first = search(mine, oldest, p, TOP, key + 1) if key < NEVER else p + 1
    if oldest > 1 and (came < oldest or first == oldest):
        return Place(False, came, 0, oldest)
    kin = first - 1
    for position in range(first, min(p, first + standing[i, K]) + 1):
        if mine[position & mask, KEY] <= key:
            kin += 1
    return Place(kin > 0, came, kin, first)


@kernel
def smallest(keys: NDArray[np.int64], count: int, rank: int) -> int:
    """The key of that rank (from 0) among the first `count`, which are moved about: quickselect."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) >> 1
        # The median of three, because what comes is nearly in order.
        a, b, c = keys[low], keys[middle], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        left, right = low, high
        while left <= right:
            while keys[left] < pivot:
                left += 1
            while keys[right] > pivot:
                right -= 1
            if left <= right:
                kept = keys[left]
                keys[left] = keys[right]
                keys[right] = kept
                left += 1
                right -= 1
        if rank <= right:
            high = right
        elif rank >= left:
            low = left
        else:
            low = high = rank
    return keys[rank]


# -- multiplicity ----------------------------------------------------------------------------


@kernel
def tally(
    standing: NDArray[np.int64], keys: NDArray[np.int64], begin: int, table: NDArray[np.int64]
) -> int:
    """Count the tuples of each key; returns the first that was not counted, for want of room.

    `keys` are a stream's latest, which the track has taken in. The table is open, with linear
    probing, and never more than half full.
    """
    mask, at, room = table.shape[0] - 1, begin, True
    while at < keys.shape[0] and room:
        key = keys[at]
        place = mix(key) & mask
        while table[place, TIMES] > 0 and table[place, KEY] != key:
            place = (place + 1) & mask
        if table[place, TIMES] == 0:
            room = 2 * standing[USED] < table.shape[0]
            if room:
                standing[USED] += 1
                table[place, KEY] = key
        if room:
            times = table[place, TIMES] + 1
            table[place, TIMES] = times
            table[place, LAST] = standing[COUNT] - keys.shape[0] + at + 1
            standing[MULTIPLICITY] = max(standing[MULTIPLICITY], times)
            at += 1
    return at


@kernel
def refill(
    old: NDArray[np.int64], oldest: int, fresh: NDArray[np.int64], standing: NDArray[np.int64]
) -> None:
    """Put keys into an empty table, those that came at `oldest` or later."""
    mask, used = fresh.shape[0] - 1, 0
    for at in range(old.shape[0]):
        if old[at, TIMES] > 0 and old[at, LAST] >= oldest:
            place = mix(old[at, KEY]) & mask
            while fresh[place, TIMES] > 0:
                place = (place + 1) & mask
            for column in range(3):
                fresh[place, column] = old[at, column]
            used += 1
    standing[USED] = used
