"""Results compared as multisets of rows."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest

from windrow.testing import assert_same_rows, rows


def one(values: list, kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"x": pa.array(values, kind)})


NESTED = pa.struct({"deep": pa.list_(pa.struct({"f": pa.float64()}))})


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, math.nan, None, math.inf], pa.float64()),
        ([1.5, math.nan, None], pa.float16()),
        ([[math.nan], [], None, [None, 1.0]], pa.list_(pa.float64())),
        ([[1, 2], None, [None, 2]], pa.list_(pa.int8(), 2)),
        ([[[1], None], [], None], pa.large_list(pa.list_(pa.int8()))),
        ([[("a", math.nan)], [], None, [("b", None)]], pa.map_(pa.string(), pa.float64())),
        ([{"deep": [{"f": math.nan}, None]}, {"deep": None}, None], NESTED),
        ([b"\x00", b"", None], pa.binary()),
        ([Decimal("1.10"), Decimal("-1.10"), None], pa.decimal128(10, 2)),
        ([1, -1, None], pa.timestamp("ns", "Asia/Tokyo")),
        ([1, -1, None], pa.duration("ns")),
        ([1, 2, None], pa.time64("ns")),
        ([1, -1, None], pa.date32()),
        ([True, False, None], pa.bool_()),
        ([None, None], pa.null()),
    ],
    ids=str,
)
def test_values_of_each_type(values, kind):
    table = one(values, kind)
    counted = rows(table)
    assert counted.total() == table.num_rows
    assert len(counted) == len({str(v) for v in values})
    # The same in another order, in chunks, and with a row more.
    turned = pa.concat_tables([table.slice(1), table.slice(0, 1)])
    assert_same_rows(turned, table)
    with pytest.raises(AssertionError, match="1 too many"):
        assert_same_rows(pa.concat_tables([table, table.slice(0, 1)]), table)


def test_physical_types_are_no_difference():
    assert_same_rows(one(["a", "b"], pa.large_string()), one(["b", "a"], pa.string()))
    assert_same_rows(one(["a", "a"]), pa.table({"x": pa.array(["a", "a"]).dictionary_encode()}))
    assert_same_rows(one([5], pa.timestamp("us")), one([5_000], pa.timestamp("ns", "UTC")))
    assert_same_rows(one([5], pa.duration("s")), one([5_000], pa.duration("ms")))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (one([1], pa.timestamp("ns")), one([2], pa.timestamp("ns"))),
        (one([None], pa.int64()), one([0], pa.int64())),
        (one([math.nan]), one([None], pa.float64())),
        (one([[]], pa.list_(pa.int8())), one([None], pa.list_(pa.int8()))),
        (one([{"a": None}], pa.struct({"a": pa.int8()})), one([None], pa.struct({"a": pa.int8()}))),
        (
            one([{"a": 1}], pa.struct({"a": pa.int8()})),
            one([{"b": 1}], pa.struct({"b": pa.int8()})),
        ),
        (one([1, 1, 2]), one([1, 2, 2])),
        (one([1]), one([], pa.int64())),
    ],
)
def test_differences_are_found_both_ways(left, right):
    for actual, expected in ((left, right), (right, left)):
        with pytest.raises(AssertionError):
            assert_same_rows(actual, expected)


def test_maps_have_no_order():
    kind = pa.map_(pa.string(), pa.int64())
    assert_same_rows(one([[("a", 1), ("b", 2)]], kind), one([[("b", 2), ("a", 1)]], kind))


def test_column_names_are_compared():
    with pytest.raises(AssertionError, match=r"columns \['x'\], expected \['y'\]"):
        assert_same_rows(one([1]), pa.table({"y": [1]}))


def test_rows_are_counted():
    assert rows(one([1, 2, 1])) == Counter({(("x", 1),): 2, (("x", 2),): 1})
    assert rows(one([], pa.int64())) == Counter()


def test_the_message_counts_and_shows_the_first_few():
    struct = pa.struct({"ad": pa.string(), "v": pa.int64()})

    def result(*numbers: int) -> pa.Table:
        return pa.table(
            {
                "imp": pa.array([{"ad": "x", "v": v} for v in numbers], struct),
                "clk": pa.nulls(len(numbers), struct),
                "ts": pa.array(numbers, pa.timestamp("us", "UTC")),
            }
        )

    with pytest.raises(AssertionError) as failure:
        assert_same_rows(result(1, 2, 2, 2), result(1, 3, 4, 5), show=2)
    assert str(failure.value).splitlines() == [
        "4 rows, expected 4: 3 missing, 3 too many",
        "missing:",
        "  imp={ad: 'x', v: 3}  clk=null  ts=1970-01-01 00:00:00.000003",
        "  imp={ad: 'x', v: 4}  clk=null  ts=1970-01-01 00:00:00.000004",
        "  ... and 1 more",
        "too many:",
        "  imp={ad: 'x', v: 2}  clk=null  ts=1970-01-01 00:00:00.000002  (3 times)",
    ]


def test_times_beyond_the_calendar_can_still_be_shown():
    with pytest.raises(AssertionError, match="2305843009213693952000 ns"):
        assert_same_rows(one([2**61], pa.timestamp("us")), one([1], pa.timestamp("ns")))
