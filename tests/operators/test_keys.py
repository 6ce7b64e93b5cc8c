"""Key columns of every type: equal values are equal keys, however Arrow lays them out."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.operators.keys import hash_keys

NAN = float("nan")

#: Arrow type -> values, all of them different keys.
TYPES = {
    pa.bool_(): [True, False],
    pa.int8(): [0, 1, -1, 127, -128],
    pa.int16(): [0, 1, -1, 2**15 - 1, -(2**15)],
    pa.int32(): [0, 1, -1, 2**31 - 1, -(2**31)],
    pa.int64(): [0, 1, -1, 2**63 - 1, -(2**63), 2**32],
    pa.uint8(): [0, 1, 255],
    pa.uint16(): [0, 1, 2**16 - 1],
    pa.uint32(): [0, 1, 2**32 - 1, 2**31],
    pa.uint64(): [0, 1, 2**64 - 1, 2**63],
    pa.float16(): [np.float16(x) for x in (0.0, 1.5, -1.5, np.inf, np.nan)],
    pa.float32(): [0.0, 1.5, -1.5, float("inf"), float("-inf"), NAN],
    pa.float64(): [0.0, 1.5, -1.5, 5e-324, float("inf"), float("-inf"), NAN],
    pa.date32(): [date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29)],
    pa.date64(): [date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29)],
    pa.time32("s"): [time(0), time(23, 59, 59)],
    pa.time32("ms"): [time(0), time(0, 0, 0, 1000)],
    pa.time64("us"): [time(0), time(23, 59, 59, 999_999)],
    pa.time64("ns"): [time(0), time(23, 59, 59, 999_999)],
    pa.timestamp("s"): [datetime(1970, 1, 1), datetime(1969, 12, 31)],
    pa.timestamp("ms"): [datetime(1970, 1, 1), datetime(2024, 2, 29)],
    pa.timestamp("us", "UTC"): [datetime(1970, 1, 1), datetime(2024, 2, 29)],
    pa.timestamp("ns", "Asia/Tokyo"): [datetime(1970, 1, 1), datetime(2024, 2, 29)],
    pa.duration("us"): [timedelta(0), timedelta(microseconds=-1), timedelta(days=9)],
    pa.decimal32(9, 2): [Decimal("0.00"), Decimal("1.10"), Decimal("-1.10")],
    pa.decimal64(18, 2): [Decimal("0.00"), Decimal("1.10"), Decimal("-1.10")],
    pa.decimal128(38, 2): [Decimal("0.00"), Decimal("1.10"), Decimal(10) ** 35],
    pa.decimal256(70, 2): [Decimal("0.00"), Decimal("1.10"), Decimal(10) ** 60],
    pa.string(): ["", "a", "A", "a ", "ä", "a\u0308", "x" * 100, "\x00", "\x00\x00"],
    pa.large_string(): ["", "a", "A", "x" * 100],
    pa.string_view(): ["", "a", "A", "x" * 100],
    pa.binary(): [b"", b"\x00", b"\x00\x00", b"\xff", b"x" * 100],
    pa.large_binary(): [b"", b"\x00", b"\x00\x00"],
    pa.binary_view(): [b"", b"\x00", b"x" * 100],
    pa.binary(4): [b"\x00\x00\x00\x00", b"abcd", b"\x00abc"],
}
every_type = pytest.mark.parametrize("kind", TYPES, ids=str)


def hashes(column) -> list[int]:
    return hash_keys([column], len(column)).hashes.tolist()


@every_type
def test_different_values_are_different_keys(kind):
    column = pa.array(TYPES[kind], kind)
    assert len(set(hashes(column))) == len(column)


@every_type
def test_layouts_make_no_difference(kind):
    """Slices, chunks, nulls in between: the same values, the same hashes."""
    values = TYPES[kind]
    expected = hashes(pa.array(values, kind))
    padded = pa.array([*reversed(values), *values, *values], kind)
    assert hashes(padded.slice(len(values), len(values))) == expected
    chunks = pa.chunked_array([pa.array([v], kind) for v in values])
    assert hashes(chunks) == expected
    sliced = pa.chunked_array([padded, padded]).slice(len(values), len(values))
    assert hashes(sliced) == expected
    assert hashes(pa.chunked_array([padded[:0], pa.array(values, kind), padded[:0]])) == expected
    with_nulls = pa.array([x for value in values for x in (None, value)], kind)
    found = hash_keys([with_nulls], len(with_nulls))
    assert found.hashes[1::2].tolist() == expected
    assert found.null.tolist() == [True, False] * len(values)
    assert hashes(with_nulls.slice(1, 1)) == expected[:1]


#: Arrow has no dictionaries of these.
UNENCODED = (
    pa.float16(),
    pa.string_view(),
    pa.binary_view(),
    pa.decimal32(9, 2),
    pa.decimal64(18, 2),
)


@pytest.mark.parametrize("kind", [kind for kind in TYPES if kind not in UNENCODED], ids=str)
def test_dictionaries_make_no_difference(kind):
    plain = pa.array([*TYPES[kind], None, *TYPES[kind]], kind)
    encoded = plain.dictionary_encode()
    expected = hash_keys([plain], len(plain))
    for column in (encoded, pa.chunked_array([encoded.slice(0, 1), encoded.slice(1)])):
        found = hash_keys([column], len(column))
        assert found.null.tolist() == expected.null.tolist()
        assert found.hashes[~found.null].tolist() == expected.hashes[~found.null].tolist()
        assert found.exact == expected.exact


@every_type
def test_no_rows_and_nothing_but_nulls(kind):
    for empty in (pa.array([], kind), pa.chunked_array([], kind), pa.array(TYPES[kind], kind)[:0]):
        found = hash_keys([empty], 0)
        assert found.hashes.tolist() == []
        assert found.null is None
    nulls = hash_keys([pa.nulls(3, kind)], 3)
    assert nulls.null.tolist() == [True] * 3
    assert nulls.is_null(np.array([2, 0])).tolist() == [True, True]


@every_type
def test_keys_are_compared_by_their_values(kind):
    """Row by row, across two streams laid out differently."""
    values = TYPES[kind]
    one = hash_keys([pa.array([None, *values], kind)], len(values) + 1)
    two = hash_keys([pa.array([*values, None, *values], kind).slice(1)], 2 * len(values))
    of_two = [*values[1:], None, *values]
    rows = [(i, j) for i in range(len(values) + 1) for j in range(2 * len(values))]
    left, right = (np.array(side) for side in zip(*rows, strict=True))
    verdict = one.equal(left, two, right)
    if not one.exact:
        expected = [i > 0 and values[i - 1] == of_two[j] for i, j in rows]
        assert verdict.tolist() == expected
    # Nulls aside, equal hashes and equal keys are the same thing.
    known = ~(one.is_null(left) | two.is_null(right))
    same = one.hashes[left] == two.hashes[right]
    assert (same == verdict)[known].all()


@pytest.mark.parametrize(
    ("kind", "exact"),
    [
        (pa.int64(), True),
        (pa.uint64(), True),
        (pa.bool_(), True),
        (pa.float64(), True),
        (pa.timestamp("ns"), True),
        (pa.dictionary(pa.int32(), pa.int64()), True),
        (pa.string(), False),
        (pa.decimal128(38, 2), False),
        (pa.binary(4), False),
    ],
    ids=str,
)
def test_hashes_of_one_word_need_no_second_look(kind, exact):
    assert hash_keys([pa.nulls(1, kind)], 1).exact is exact


def test_no_key_is_one_key():
    found = hash_keys([], 3)
    assert found.exact
    assert found.null is None
    assert len(set(found.hashes.tolist())) == 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (pa.string(), pa.large_string()),
        (pa.string(), pa.string_view()),
        (pa.string(), pa.dictionary(pa.int8(), pa.string())),
        (pa.large_string(), pa.dictionary(pa.int32(), pa.large_string())),
        (pa.binary(), pa.large_binary()),
        (pa.binary(), pa.binary_view()),
    ],
    ids=str,
)
def test_encodings_of_one_type_are_equal_keys(one, two):
    values = ["a", None, "", "a", "long enough to live outside of a view"]
    if not pa.types.is_string(one) and not pa.types.is_large_string(one):
        values = [value and value.encode() for value in values]
    mine = hash_keys([pa.array(values, one)], 5)
    other = hash_keys([pa.array(values, two)], 5)
    rows = np.arange(5)
    assert mine.hashes[[0, 2, 3, 4]].tolist() == other.hashes[[0, 2, 3, 4]].tolist()
    assert mine.null.tolist() == other.null.tolist() == [False, True, False, False, False]
    assert mine.equal(rows, other, rows).tolist() == [True, False, True, True, True]


def test_dictionaries_count_as_their_values():
    """Whatever numbers the values have, repeated or null values of the dictionary included."""
    plain = pa.array(["b", "a", "b", None, None])
    one = pa.DictionaryArray.from_arrays([0, 1, 0, None, 2], ["b", "a", None])
    two = pa.DictionaryArray.from_arrays([2, 1, 0, None, None], ["b", "a", "b", "unused"])
    expected = hash_keys([plain], 5)
    for encoded in (one, two, pa.chunked_array([one[:2], two[2:]])):
        found = hash_keys([encoded], 5)
        assert found.hashes[:3].tolist() == expected.hashes[:3].tolist()
        assert found.null.tolist() == expected.null.tolist()


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_nan_equals_nan_and_zero_has_no_sign(kind):
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001], np.uint64)
    with np.errstate(invalid="ignore"):
        nans = bits.view(np.float64).astype(kind.to_pandas_dtype())
    assert len(set(hashes(pa.array(nans, kind, from_pandas=False)))) == 1
    assert len(set(hashes(pa.array([0.0, -0.0], kind)))) == 1
    column = pa.chunked_array([pa.array([NAN, 0.0, 1.0], kind), pa.array([NAN, -0.0, -1.0], kind)])
    keys = hash_keys([column, pa.array(["x"] * 6)], 6)
    rows = np.arange(3)
    assert keys.equal(rows, keys, rows + 3).tolist() == [True, True, False]


# -- several columns ---------------------------------------------------------------------------

parts = st.tuples(
    st.sampled_from([None, 0, 1, -1]), st.sampled_from([None, "", "a", "b"]), st.booleans()
)


@given(st.lists(parts, min_size=1, max_size=12), st.lists(parts, min_size=1, max_size=12))
def test_composite_keys_are_equal_part_by_part(one, two):
    kinds = (pa.int32(), pa.string(), pa.bool_())

    def keys(rows):
        columns = zip(*rows, strict=True)
        return hash_keys(
            [pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)], len(rows)
        )

    mine, its = keys(one), keys(two)
    assert not mine.exact
    assert mine.is_null(np.arange(len(one))).tolist() == [None in row for row in one]
    pairs = [(i, j) for i in range(len(one)) for j in range(len(two))]
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    known = ~(mine.is_null(left) | its.is_null(right))
    expected = np.array([one[i] == two[j] for i, j in pairs])
    assert mine.equal(left, its, right)[known].tolist() == expected[known].tolist()
    same_hash = mine.hashes[left] == its.hashes[right]
    assert same_hash[known].tolist() == expected[known].tolist()


def test_the_order_of_parts_counts():
    one = hash_keys([pa.array([1, 2]), pa.array([2, 1])], 2)
    assert one.hashes[0] != one.hashes[1]
    assert not one.equal(np.array([0]), one, np.array([1]))[0]


def test_text_does_not_run_over_into_the_next_column():
    keys = hash_keys([pa.array(["ab", "a"]), pa.array(["c", "bc"])], 2)
    assert keys.hashes[0] != keys.hashes[1]
