"""64-bit hashes of key columns.

`mix` is a bijection of 64-bit integers (the finisher that splitmix64 made common), so a single
key column of at most 64 bits is hashed without collisions: equal hashes *are* equal keys, and a
hash tells its key.
Bytes and several columns are folded with it, and there a collision is possible.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import inlined, kernel


@inlined
def mix(x: int) -> int:
    """A bijection that makes every output bit depend on every input bit."""
    u = np.uint64(x)
    u = (u ^ (u >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    u = (u ^ (u >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(u ^ (u >> np.uint64(31)))


@inlined
def unmix(x: int) -> int:
    """What `mix` has made this of."""
    u = np.uint64(x)
    u = u ^ (u >> np.uint64(31)) ^ (u >> np.uint64(62))
    u = u * np.uint64(0x319642B2D24D8EC3)
    u = u ^ (u >> np.uint64(27)) ^ (u >> np.uint64(54))
    u = u * np.uint64(0x96DE1B173F119089)
    return np.int64(u ^ (u >> np.uint64(30)) ^ (u >> np.uint64(60)))


@inlined
def word_of(key: int) -> int:
    """The word of which `hash_words` has made a key's hash."""
    return np.int64(unmix(key) - np.int64(0x1E3779B97F4A7C15))


@kernel
def words_of(keys: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    """The same of many."""
    for i in range(keys.shape[0]):
        out[i] = word_of(keys[i])


@kernel
def hash_words(words: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    """Hash one column of 64-bit words; a bijection of the words."""
    for i in range(words.shape[0]):
        out[i] = mix(words[i] + np.int64(0x1E3779B97F4A7C15))


@kernel
def fold(more: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    """Fold a further column's hashes into `out`; order matters."""
    for i in range(out.shape[0]):
        out[i] = mix((out[i] * np.int64(31)) ^ more[i])


@kernel
def hash_bytes(offsets: NDArray[np.int64], data: NDArray[np.uint8], out: NDArray[np.int64]) -> None:
    """Hash byte strings data[offsets[i] : offsets[i + 1]], eight bytes at a time."""
    for i in range(out.shape[0]):
        start, stop = offsets[i], offsets[i + 1]
        state = mix(stop - start)
        at = start
        while at < stop:
            word = np.int64(0)
            for k in range(min(8, stop - at)):
                word |= np.int64(data[at + k]) << np.int64(8 * k)
            state = mix(state ^ word) + np.int64(at - start)
            at += 8
        out[i] = state
