"""SQL conditions, with keys and without, in every kind: a null verdict is a no."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.model import How, Stream
from windrow.testing import assert_same_rows, cases, duckdb_join

HOWS = get_args(How)
CONDITIONS = (
    "a.v < b.v",
    "NOT (a.v < b.v)",
    "a.v = b.v OR a.v IS NULL",
    "a.v + b.v > 3 AND b.v IN (1, 2, 3)",
    "a.v IS NOT NULL AND b.v IS NULL",
    "a.v % 2 = 0",
    "a.v > 1 OR b.v > 1",
    "TRUE",
    "FALSE",
    "NULL",
    "a.v < NULL",
)
TIMES = ("a.t <= b.t", "b.t - a.t > INTERVAL 2 MICROSECONDS")
FEW = max(settings().max_examples // 6, 3)


def with_nulls(stream: Stream, drawn: st.DataObject) -> Stream:
    """The same with values of which some are null."""
    values = st.lists(
        st.none() | st.integers(0, 4),
        min_size=stream.data.num_rows,
        max_size=stream.data.num_rows,
    )
    column = pa.array(drawn.draw(values), pa.int64())
    data = stream.data.set_column(stream.schema.get_field_index("v"), "v", column)
    return replace(stream, data=data, schema=data.schema)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("keyed", [True, False], ids=["key", "no key"])
@settings(max_examples=FEW)
@given(data=st.data())
def test_conditions(how, keyed, same_as_oracle, data):
    kinds = ("int64", "string", "composite") if keyed else ("none",)
    case = data.draw(cases(hows=[how], key_kinds=kinds))
    case = replace(case, left=with_nulls(case.left, data), right=with_nulls(case.right, data))
    ways = [{}, {"batch_rows": 1}, {"batch_rows": 3, "algorithm": "nested-loops"}]
    buckets = {"buckets": 2} if keyed else {}
    ways.append({"batch_rows": 2, "invalidation": "probe", **buckets})
    for condition in data.draw(st.sets(st.sampled_from(CONDITIONS), min_size=3, max_size=4)):
        same_as_oracle(case, *ways, condition=condition)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("condition", [*CONDITIONS, *TIMES])
@pytest.mark.parametrize("key", ["k", None])
def test_every_condition_in_every_kind(how, condition, key):
    """Values that meet each other and nulls, several partners each, over some batches."""
    streams = [
        wr.stream(
            pa.table(
                {
                    "k": [n % 2 for n in range(12)],
                    "t": pa.array([shift + 2 * n for n in range(12)], pa.timestamp("us")),
                    "v": pa.array([None if n % 4 == 3 else n % 5 for n in range(12)], pa.int64()),
                }
            ),
            name=name,
            key=key,
            time="t",
            window="6 microseconds",
        )
        for name, shift in (("a", 0), ("b", 1))
    ]
    expected = duckdb_join(*streams, how=how, condition=condition)
    for batch_rows in (None, 1, 5):
        found = wr.join(*streams, how=how, condition=condition, batch_rows=batch_rows)
        assert_same_rows(found, expected)


def events(name, *rows, key="k") -> wr.Stream:
    """Rows of (k, t, price)."""
    k, t, price = zip(*rows, strict=True)
    data = pa.table(
        {
            "k": pa.array(k, pa.int64()),
            "t": pa.array(t, pa.timestamp("us")),
            "price": pa.array(price, pa.int64()),
        }
    )
    return wr.stream(data, name=name, key=key, time="t", window="9 microseconds")


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", [(10, 15)]),
        ("left", [(10, 15), (11, None), (None, None)]),
        ("right", [(10, 15), (None, 9), (None, None)]),
        ("full", [(10, 15), (11, None), (None, None), (None, 9), (None, None)]),
        ("semi", [(10,)]),
        ("anti", [(11,), (None,)]),
    ],
)
def test_a_null_verdict_is_a_no(how, expected):
    """An offer that has no price, and a bid of none: neither is a match, both are unmatched."""
    offer = events("offer", (1, 0, 10), (1, 1, None), (2, 1, 11))
    bid = events("bid", (1, 2, 15), (1, 3, None), (1, 4, 9))
    for batch_rows in (None, 1):
        found = wr.join(
            offer, bid, how=how, condition="offer.price < bid.price", batch_rows=batch_rows
        )
        names = found.column_names[:-1]
        rows = [tuple(row[n] and row[n]["price"] for n in names) for row in found.to_pylist()]
        assert sorted(rows, key=str) == sorted(expected, key=str)


def test_without_key_and_condition_time_alone_joins():
    one, two = events("one", (1, 0, 1), (2, 5, 2), key=None), events("two", (3, 9, 3), key=None)
    assert wr.join(one, two).num_rows == 2
    assert wr.join(one, two, how="left", condition="one.k = two.k").num_rows == 2


def test_names_in_any_case_and_fields_of_structs():
    data = pa.table(
        {
            "k": [1, 1],
            "t": pa.array([0, 1], pa.timestamp("us")),
            "geo": [{"Zip": 10}, {"Zip": None}],
        }
    )
    one, two = (
        wr.stream(data, name=name, key="k", time="t", window="1 second") for name in ("One", "Two")
    )
    found = wr.join(one, two, condition="one.GEO.zip = TWO.geo.ZIP")
    assert found.num_rows == 1


def test_a_condition_that_fails_on_the_data_says_so():
    one, two = events("one", (1, 0, 2**62)), events("two", (1, 0, 2**62))
    with pytest.raises(wr.WindrowError, match=r"cannot compute 'one.price \+ two.price > 0'"):
        wr.join(one, two, condition="one.price + two.price > 0")
