"""Codes for hashes: an open table that can hold several codes of one hash, and forget each.

What has equal hashes is compared outside. A row that is not what the first code of its hash stands
for asks for the second one (`skips`), and so on, until it is found or gets a code of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.hashing import mix
from windrow.kernels.jit import inlined, kernel

Ints = NDArray[np.int64]

#: Codes in use, codes that have ever been, and codes that are free again.
USED, EVER, FREE = range(3)
SCALARS = 3


@inlined
def home(table: Ints, key: int) -> int:
    """Where a hash would best be."""
    found: int = mix(key) & (table.shape[0] - 1)
    return found


@kernel
def find_or_add(
    table: Ints, keys: Ints, free: Ints, meta: Ints, asked: Ints, skips: Ints, out: Ints, start: int
) -> int:
    """The code of each hash from `start` on, or a new one; returns how far there was room.

    `table` has code + 1, or 0; `keys` the hash of each code.
    """
    mask = table.shape[0] - 1
    for k in range(start, asked.shape[0]):
        if 2 * meta[USED] >= table.shape[0]:
            return k
        if meta[FREE] == 0 and meta[EVER] == keys.shape[0]:
            return k
        at = home(table, asked[k])
        skip = skips[k]
        found = -1
        while found < 0 and table[at] != 0:
            if keys[table[at] - 1] == asked[k]:
                if skip == 0:
                    found = table[at] - 1
                skip -= 1
            at = (at + 1) & mask
        if found < 0:
            if meta[FREE] > 0:
                meta[FREE] -= 1
                found = free[meta[FREE]]
            else:
                found = meta[EVER]
                meta[EVER] += 1
            meta[USED] += 1
            keys[found] = asked[k]
            table[at] = found + 1
        out[k] = found
    return asked.shape[0]


@kernel
def forget(table: Ints, keys: Ints, free: Ints, meta: Ints, codes: Ints) -> None:
    """Free these codes. Those behind them in the table move up, in their order."""
    mask = table.shape[0] - 1
    for k in range(codes.shape[0]):
        code = codes[k]
        gap = home(table, keys[code])
        while table[gap] != code + 1:
            gap = (gap + 1) & mask
        table[gap] = 0
        following = (gap + 1) & mask
        while table[following] != 0:
            best = home(table, keys[table[following] - 1])
            if ((following - best) & mask) >= ((following - gap) & mask):
                table[gap] = table[following]
                table[following] = 0
                gap = following
            following = (following + 1) & mask
        free[meta[FREE]] = code
        meta[FREE] += 1
        meta[USED] -= 1


@kernel
def fill_table(old: Ints, table: Ints, keys: Ints) -> None:
    """Put all codes into an empty table, each after those of its hash that came before it."""
    mask = table.shape[0] - 1
    # From a place that is empty on, so that a stretch across the end is read from its beginning.
    first = 0
    while old[first] != 0:
        first += 1
    for k in range(old.shape[0]):
        code = old[(first + k) & (old.shape[0] - 1)]
        if code != 0:
            at = home(table, keys[code - 1])
            while table[at] != 0:
                at = (at + 1) & mask
            table[at] = code
