"""Keys whose buckets are known beforehand.

A join hashes its keys, and a hash puts 100 values into 100 buckets unevenly: about 37 stay empty
and some get three or four. Paper 1 counts on an even spread (section 3.1: a bucket holds 1/N of
the buffer), so calibration and experiments hand the operator keys that have one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Bits of a key below which variants of one value may differ and still share its bucket.
VARIANT_BITS = 8


def spread(
    values: NDArray[np.int64], distinct: int, variants: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Keys for values 0, ..., distinct - 1 that fall evenly into any number of buckets.

    A bucket is picked by the upper half of the key, read as a fraction of 2^32, times N. Value v
    gets the fraction (v + 1/2) / distinct, the middle of its share: as many values in each bucket
    when N divides `distinct`, and a bucket for each value once N >= distinct. The lower half is
    v itself, which spreads the chains of a time list as well.

    `variants`, numbers below 2^8, make different keys of one value that share its bucket and its
    chain, for N <= distinct and less than 2^20 distinct values.

    >>> keys = spread(np.arange(6), distinct=6)
    >>> upper = (keys >> 32) & 0xFFFFFFFF
    >>> [(upper * N >> 32).tolist() for N in (1, 3, 6, 18)]
    [[0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 4, 5], [1, 4, 7, 10, 13, 16]]
    """
    upper = ((2 * values.astype(np.uint64) + np.uint64(1)) << np.uint64(31)) // np.uint64(distinct)
    if variants is not None:
        mask = np.uint64((1 << VARIANT_BITS) - 1)
        upper = (upper & ~mask) | (variants.astype(np.uint64) & mask)
    # Unsigned throughout: the upper half of the values reads as negative keys, bit by bit the same.
    return ((upper << np.uint64(32)) | values.astype(np.uint64)).view(np.int64)
