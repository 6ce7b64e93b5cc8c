"""How often each value is among the live results of a group: an open table that forgets.

An entry that is no longer needed is taken out, and those after it that would not be found across
the gap move up, so the table never holds more than what is live.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.answers.numbers import MEASURE, MORE, OWNER, TIMES, WORD
from windrow.kernels.hashing import mix
from windrow.kernels.jit import inlined, kernel

Ints = NDArray[np.int64]


@inlined
def home(entries: Ints, owner: int, measure: int, word: int, more: int) -> int:
    """Where an entry would best be."""
    found = mix(mix(mix(owner * 31 + measure) ^ word) ^ more)
    result: int = found & (entries.shape[0] - 1)
    return result


@inlined
def is_entry(entries: Ints, at: int, owner: int, measure: int, word: int, more: int) -> bool:
    """Is it the entry of this value?"""
    result: bool = (
        entries[at, OWNER] == owner
        and entries[at, MEASURE] == measure
        and entries[at, WORD] == word
        and entries[at, MORE] == more
    )
    return result


@kernel
def raise_entry(entries: Ints, owner: int, measure: int, word: int, more: int) -> bool:
    """One result more has the value; returns whether it is the first."""
    size = entries.shape[0]
    at = home(entries, owner, measure, word, more)
    while entries[at, TIMES] != 0 and not is_entry(entries, at, owner, measure, word, more):
        at = (at + 1) & (size - 1)
    fresh = entries[at, TIMES] == 0
    if fresh:
        entries[at, OWNER], entries[at, MEASURE] = owner, measure
        entries[at, WORD], entries[at, MORE] = word, more
    entries[at, TIMES] += 1
    return fresh


@kernel
def lower_entry(entries: Ints, owner: int, measure: int, word: int, more: int) -> bool:
    """One result less has the value; returns whether it was the last."""
    size = entries.shape[0]
    at = home(entries, owner, measure, word, more)
    while not is_entry(entries, at, owner, measure, word, more) or entries[at, TIMES] == 0:
        at = (at + 1) & (size - 1)
    entries[at, TIMES] -= 1
    if entries[at, TIMES] != 0:
        return False
    gap = at
    following = (at + 1) & (size - 1)
    while entries[following, TIMES] != 0:
        best = home(
            entries,
            entries[following, OWNER],
            entries[following, MEASURE],
            entries[following, WORD],
            entries[following, MORE],
        )
        # Is the gap between its best place and where it is?
        if ((following - best) & (size - 1)) >= ((following - gap) & (size - 1)):
            for column in range(entries.shape[1]):
                entries[gap, column] = entries[following, column]
            entries[following, TIMES] = 0
            gap = following
        following = (following + 1) & (size - 1)
    return True


@kernel
def copy_entries(old: Ints, new: Ints) -> None:
    """Put all entries into a larger table."""
    size = new.shape[0]
    for k in range(old.shape[0]):
        if old[k, TIMES] != 0:
            at = home(new, old[k, OWNER], old[k, MEASURE], old[k, WORD], old[k, MORE])
            while new[at, TIMES] != 0:
                at = (at + 1) & (size - 1)
            for column in range(old.shape[1]):
                new[at, column] = old[k, column]
