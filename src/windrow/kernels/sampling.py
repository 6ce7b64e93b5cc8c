"""How complete results are, by a sample of the keys: what was produced, of what could have been.

Of a key that is drawn every tuple is counted, by stream, for as long as the join runs. One that
arrives could make a result with each combination of the others that have come; it makes one with
each combination of those that are still stored.

    key 7     came    stored     one of the third stream arrives
    stream 1  2       1          could make 2 * 3 = 6 results,
    stream 2  3       3          makes 1 * 3 = 3

A key is drawn by its hash, so all its tuples are or none. The sample is a table with open
addressing. Once it is half full, one in two of its keys goes, and of those to come, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.lists import ListArrays
from windrow.kernels.task import NEVER

#: Of a key that was drawn; behind it its tuples so far, by stream. Its results.
KEY = 0
PRODUCED, PRODUCIBLE = range(2)
#: Of all: one in 2^LEVEL keys is drawn; how many have a place.
LEVEL, USED = range(2)


class Sample(NamedTuple):
    """Keys that were drawn, and another table for the time when one in two goes."""

    keys: NDArray[np.int64]
    results: NDArray[np.float64]
    other_keys: NDArray[np.int64]
    other_results: NDArray[np.float64]
    whole: NDArray[np.int64]


@inlined
def drawn(sample: Sample, key: int) -> bool:
    """Is this one of the keys that are counted?"""
    return key & ((1 << sample.whole[LEVEL]) - 1) == 0


@inlined
def is_free(keys: NDArray[np.int64], at: int) -> bool:
    """Has no key this place?"""
    free = True
    for stream in range(1, keys.shape[1]):
        free = free and keys[at, stream] == 0
    return free


@inlined
def find(keys: NDArray[np.int64], key: int) -> int:
    """The place of a key, or the one that it would have."""
    mask = keys.shape[0] - 1
    # The lower bits are those that it was drawn by.
    at = (key >> 24) & mask
    while not is_free(keys, at) and keys[at, KEY] != key:
        at = (at + 1) & mask
    return at


@inlined
def move(sample: Sample, at: int, to: int) -> None:
    """Copy a place of the other table to one of the table, which is cleared if `at` is negative."""
    for column in range(sample.keys.shape[1]):
        sample.keys[to, column] = sample.other_keys[at, column] if at >= 0 else 0
    for column in range(2):
        sample.results[to, column] = sample.other_results[at, column] if at >= 0 else 0.0


@kernel
def halve(sample: Sample) -> None:
    """Let one in two keys go."""
    sample.whole[LEVEL] += 1
    for at in range(sample.keys.shape[0]):
        for column in range(sample.keys.shape[1]):
            sample.other_keys[at, column] = sample.keys[at, column]
        for column in range(2):
            sample.other_results[at, column] = sample.results[at, column]
        move(sample, -1, at)
    used = 0
    for old in range(sample.keys.shape[0]):
        if not is_free(sample.other_keys, old) and drawn(sample, sample.other_keys[old, KEY]):
            move(sample, old, find(sample.keys, sample.other_keys[old, KEY]))
            used += 1
    sample.whole[USED] = used


@inlined
def stored(s: ListArrays, lst: int, key: int) -> int:
    """How many tuples of a key a list has."""
    count, seq = 0, ls.newest(s, lst, key)
    while seq >= 0:
        seq, _, _, link, _ = ls.probe(s, lst, key, -NEVER, NEVER, seq)
        if seq >= 0:
            count += 1
            seq = link
    return count


@kernel
def count(sample: Sample, s: ListArrays, stream: int, key: int) -> None:
    """Count a tuple of a key that is drawn, before it is stored. List l is stream l's."""
    at = find(sample.keys, key)
    if is_free(sample.keys, at):
        sample.keys[at, KEY] = key
        sample.whole[USED] += 1
    produced = producible = 1.0
    for other in range(sample.keys.shape[1] - 1):
        if other != stream and producible > 0:
            producible *= sample.keys[at, 1 + other]
            produced *= stored(s, other, key) if producible > 0 else 0
    sample.results[at, PRODUCED] += produced if producible > 0 else 0
    sample.results[at, PRODUCIBLE] += producible
    sample.keys[at, 1 + stream] += 1
    while 2 * sample.whole[USED] >= sample.keys.shape[0]:
        halve(sample)
