"""Hashes of key columns: a bijection of words, and bytes that only count as what they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.kernels import hashing

pytestmark = [
    pytest.mark.kernel,
    # Interpreted, numpy warns of the overflow that the kernels are made of.
    pytest.mark.filterwarnings("ignore:overflow encountered"),
]

words = st.integers(-(2**63), 2**63 - 1)
MASK = 2**64 - 1


def hash_words(values) -> list[int]:
    out = np.empty(len(values), np.int64)
    hashing.hash_words(np.array(values, np.int64), out)
    return out.tolist()


def hash_bytes(values, before=b"", after=b"") -> list[int]:
    """Hashes of byte strings that lie one after the other, between some others."""
    data = np.frombuffer(before + b"".join(values) + after, np.uint8)
    ends = np.cumsum([len(before), *map(len, values)])
    out = np.empty(len(values), np.int64)
    hashing.hash_bytes(ends.astype(np.int64), data, out)
    return out.tolist()


def fold(columns) -> list[int]:
    out = np.array(columns[0], np.int64)
    for more in columns[1:]:
        hashing.fold(np.array(more, np.int64), out)
    return out.tolist()


# -- words -------------------------------------------------------------------------------------


def unhash(hashed: int) -> int:
    """splitmix64's finisher and the offset before it, undone step by step."""
    u = hashed & MASK
    u = unshift(u, 31) * pow(0x94D049BB133111EB, -1, 2**64) & MASK
    u = unshift(u, 27) * pow(0xBF58476D1CE4E5B9, -1, 2**64) & MASK
    u = unshift(u, 30) - 0x1E3779B97F4A7C15 & MASK
    return u - 2**64 if u >= 2**63 else u


def unshift(u: int, bits: int) -> int:
    """The x of u = x ^ (x >> bits)."""
    x = u
    for _ in range(64 // bits):
        x = u ^ (x >> bits)
    return x


@given(st.lists(words, min_size=1, max_size=20))
def test_a_hash_of_a_word_can_be_undone(values):
    """So no two words share a hash: equal hashes are equal keys."""
    assert [unhash(hashed) for hashed in hash_words(values)] == values


@pytest.mark.parametrize("value", [0, 1, -1, 2**63 - 1, -(2**63), 2**32, -(2**32), 2**62])
def test_extreme_words(value):
    assert unhash(*hash_words([value])) == value


def test_neighbours_part_ways_in_both_halves():
    """Lists pick their heads by lower bits, cells and buckets by the upper half."""
    hashes = np.array(hash_words(range(1000)))
    for bits in (hashes & 0xFF, hashes >> 56):
        _, counts = np.unique(bits, return_counts=True)
        assert len(counts) > 240
        assert counts.max() < 16


def test_hashes_stay_what_they_are():
    """A stored state holds hashes: other ones need another version of its format."""
    assert hash_words([0, 1]) == [5196802822362493915, -2582264382503396822]
    assert hash_bytes([b"a", b"b", b""]) == [6754272901643539897, 1114274585189131075, 0]
    assert hash_bytes([b"twenty-one bytes long"]) == [1529440731668099405]
    assert fold([[1, 2], [3, 4]]) == [-2339327221930255454, -7356632148616775304]


# -- bytes -------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=30), max_size=8), st.binary(max_size=9), st.binary(max_size=9))
def test_only_the_bytes_themselves_count(values, before, after):
    """Not where they lie, nor what lies around them."""
    alone = [hash_bytes([value])[0] for value in values]
    assert hash_bytes(values, before, after) == alone


def test_lengths_and_places_count():
    """Zeros at the end, blocks of eight that repeat or change places."""
    tempting = {b"\x00" * n for n in range(40)} | {b"a" * n for n in range(40)}
    one, two = b"12345678", b"abcdefgh"
    tempting |= {one + two, two + one, one + one, one + b"\x00" * 8, b"\x00" * 8 + one}
    values = sorted(tempting)
    assert len(set(hash_bytes(values))) == len(values)


@given(st.lists(st.binary(max_size=20), unique=True, max_size=50))
def test_different_bytes_differ(values):
    """A collision is possible in 64 bits, and finding one would be news."""
    assert len(set(hash_bytes(values))) == len(values)


# -- several columns ---------------------------------------------------------------------------


@given(words, words)
def test_the_order_of_columns_counts(one, two):
    """Of hashed columns: raw words that differ in their highest bit only would fold alike."""
    folded = fold([hash_words([one, two]), hash_words([two, one])])
    assert (folded[0] == folded[1]) == (one == two)


@given(st.lists(st.tuples(words, words, words), max_size=10))
def test_rows_are_folded_each_by_itself(rows):
    together = fold(list(zip(*rows, strict=True))) if rows else []
    assert together == [fold([[part] for part in row])[0] for row in rows]
