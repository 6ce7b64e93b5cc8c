"""Sums without rounding: what is added can be taken out again, and nothing of it stays.

A sum is kept as limbs, each 32 bits of it, in 64-bit numbers that leave room for 2**31 values
before anything has to be carried. A double is 53 bits somewhere between 2**-1074 and 2**1024, so it
touches three limbs; `BASE` says which limb is the lowest that any value has needed yet. Only an
answer is rounded, once. So a sum is a function of the values that are in it: not of the order in
which they came, nor of those that have left.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.answers.numbers import (
    BASE,
    COLUMN,
    FLAVOR,
    FLOATING,
    LIMB,
    LIMBS,
    MASK,
    SECOND,
    SIGNED,
    SPECIALS,
    WIDE,
)
from windrow.kernels.jit import inlined, kernel

Ints = NDArray[np.int64]

#: The exponent of the lowest bit that a double can have.
LOWEST = -1074
SIGN = -(2**63)


@inlined
def add(limbs: Ints, group: int, measure: Ints, words: Ints, slot: int, sign: int) -> None:
    """Add a slot's value to a group's sum (sign 1), or take it out (sign -1)."""
    at = measure[LIMB]
    word = words[slot, measure[COLUMN]]
    if measure[FLAVOR] == FLOATING:
        add_double(limbs, group, at, measure[BASE], word, sign)
    elif measure[FLAVOR] == WIDE:
        # The upper half of a 128-bit number comes first; the lower one compares as a signed word.
        low = words[slot, measure[SECOND]] ^ SIGN
        limbs[group, at] += sign * (low & MASK)
        limbs[group, at + 1] += sign * ((low >> 32) & MASK)
        limbs[group, at + 2] += sign * (word & MASK)
        limbs[group, at + 3] += sign * (word >> 32)
    elif measure[FLAVOR] == SIGNED:
        limbs[group, at] += sign * (word & MASK)
        limbs[group, at + 1] += sign * (word >> 32)
    else:
        # An unsigned word compares as a signed one with its highest bit turned over.
        word = word ^ SIGN
        limbs[group, at] += sign * (word & MASK)
        limbs[group, at + 1] += sign * ((word >> 32) & MASK)


@inlined
def add_double(limbs: Ints, group: int, at: int, base: int, word: int, sign: int) -> None:
    """Add a double, given as a word that compares like it."""
    bits = word ^ ((word >> 63) & 0x7FFFFFFFFFFFFFFF)
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & 0xFFFFFFFFFFFFF
    if exponent == 0x7FF:
        special = 0 if mantissa != 0 else (1 if bits >= 0 else 2)
        limbs[group, at + special] += sign
    else:
        if exponent > 0:
            mantissa |= 0x10000000000000
            exponent -= 1
        if bits < 0:
            sign = -sign
        place = exponent - 32 * base
        limb = at + SPECIALS + (place >> 5)
        shift = place & 31
        low = (mantissa & MASK) << shift
        high = (mantissa >> 32) << shift
        limbs[group, limb] += sign * (low & MASK)
        limbs[group, limb + 1] += sign * ((low >> 32) & MASK) + sign * (high & MASK)
        limbs[group, limb + 2] += sign * (high >> 32)


@inlined
def carried(limbs: Ints, group: int, first: int, count: int, digits: Ints, sign: int) -> int:
    """The sum (or with sign -1 its opposite) as digits of 32 bits; returns what is above them."""
    carry = np.int64(0)
    for k in range(count):
        total = sign * limbs[group, first + k] + carry
        digits[k] = total & MASK
        carry = total >> 32
    return carry


@kernel
def total(limbs: Ints, group: int, measure: Ints, scratch: Ints) -> float:
    """The sum as the double that is nearest to it."""
    first, count, lowest = measure[LIMB], measure[LIMBS], 0
    if measure[FLAVOR] == FLOATING:
        nan, plus, minus = limbs[group, first], limbs[group, first + 1], limbs[group, first + 2]
        if nan > 0 or (plus > 0 and minus > 0):
            return np.nan
        if plus > 0 or minus > 0:
            return np.inf if plus > 0 else -np.inf
        first, count = first + SPECIALS, count - SPECIALS
        lowest = LOWEST + 32 * measure[BASE]
    sign = 1
    top = carried(limbs, group, first, count, scratch, sign)
    if top < 0:
        sign = -1
        top = carried(limbs, group, first, count, scratch, sign)
    scratch[count], scratch[count + 1] = top & MASK, top >> 32
    return sign * nearest(scratch, count + 2, lowest)


@kernel
def nearest(digits: Ints, count: int, lowest: int) -> float:
    """The double nearest to a number in digits of 32 bits, ties to even."""
    high = count - 1
    while high >= 0 and digits[high] == 0:
        high -= 1
    if high < 0:
        return 0.0
    length = 0
    while digits[high] >> length:
        length += 1
    # The 64 highest bits, and whether there is a one below them.
    second = digits[high - 1] if high >= 1 else 0
    third = digits[high - 2] if high >= 2 else 0
    upper = (np.uint64(digits[high]) << np.uint64(64 - length)) | (
        np.uint64(second) << np.uint64(32 - length)
    )
    upper |= np.uint64(third) >> np.uint64(length)
    below = third & ((1 << length) - 1)
    for k in range(high - 2):
        below |= digits[k]
    kept = np.int64(upper >> np.uint64(11))
    rest = np.int64(upper & np.uint64(0x7FF))
    if rest > 0x400 or (rest == 0x400 and (below != 0 or kept & 1)):
        kept += 1
    return math.ldexp(float(kept), int(32 * high + length - 64 + 11 + lowest))


@inlined
def exact(limbs: Ints, group: int, measure: Ints, out: Ints, row: int, at: int) -> None:
    """The sum of whole numbers as digits of 32 bits, the highest with the sign and all that is
    above it."""
    count = measure[LIMBS]
    carry = np.int64(0)
    for k in range(count):
        digit = limbs[group, measure[LIMB] + k] + carry
        out[row, at + k] = digit if k == count - 1 else digit & MASK
        carry = digit >> 32
