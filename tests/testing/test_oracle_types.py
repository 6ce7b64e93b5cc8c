"""Types: no key, time or payload type may show in an oracle's answer."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from windrow.model import Stream, TimeWindow
from windrow.testing import assert_same_rows, duckdb_join, naive_join


@pytest.fixture(params=[duckdb_join, naive_join], ids=["duckdb", "naive"])
def join(request):
    return request.param


def stream(name: str, key: str | None = "k", micros: int = 0, **columns: pa.Array) -> Stream:
    data = pa.table(columns)
    keys = None if key is None else tuple(key.split())
    return Stream(data, data.schema, name, keys, "t", TimeWindow(micros))


def keyed(name: str, *keys: pa.Array) -> Stream:
    """Tuples of these key columns, all at time 0, numbered in `v`."""
    count = len(keys[0])
    columns = {f"k{i}": key for i, key in enumerate(keys)}
    t = pa.array([0] * count, pa.timestamp("us"))
    return stream(name, " ".join(columns), t=t, v=pa.array(range(count)), **columns)


def pairs(result: pa.Table) -> list[tuple[int, int]]:
    """(a.v, b.v) of each row; only `v`, because Python has no nanoseconds."""
    a, b = (result.column(name).combine_chunks().field("v").to_pylist() for name in "ab")
    return sorted(zip(a, b, strict=True))


# ---- keys -----------------------------------------------------------------------------------


def test_double_keys_match_as_in_spark(join):
    keys = pa.array([0.0, -0.0, math.nan, -math.nan, 1.0, None])
    zeros = [(x, y) for x in (0, 1) for y in (0, 1)]
    nans = [(x, y) for x in (2, 3) for y in (2, 3)]
    expected = [*zeros, *nans, (4, 4)]
    assert pairs(join(keyed("a", keys), keyed("b", keys))) == expected
    floats = keys.cast(pa.float32())
    assert pairs(join(keyed("a", floats), keyed("b", floats))) == expected


@pytest.mark.parametrize(
    "keys",
    [
        pa.array([1, 2, None], pa.uint64()),
        pa.array([2**64 - 1, 2**63, None], pa.uint64()),
        pa.array([True, False, None]),
        pa.array(["a", "b", None], pa.large_string()),
        pa.array(["a", "b", None]).dictionary_encode(),
        pa.array([b"\0", b"\1", None], pa.binary(1)),
        pa.array([Decimal("1.5"), Decimal("2.5"), None], pa.decimal256(60, 1)),
        pa.array([1, 2, None], pa.timestamp("ns", "Asia/Tokyo")),
        pa.array([1, 2, None], pa.timestamp("s")),
        pa.array([1, 2, None], pa.time64("ns")),
        pa.array([1, 2, None], pa.duration("ns")),
        pa.array([date(2024, 2, 29), date(1969, 1, 1), None], pa.date64()),
        pa.array([1.5, 2.5, None], pa.float16()),
        pa.array([{"x": 1}, {"x": 2}, None], pa.struct({"x": pa.int8()})),
    ],
    ids=lambda keys: str(keys.type),
)
def test_keys_of_each_type(join, keys):
    assert pairs(join(keyed("a", keys), keyed("b", keys))) == [(0, 0), (1, 1)]


def test_composite_keys_match_in_every_part_or_not_at_all(join):
    a = keyed("a", pa.array([1, 1, 2, None]), pa.array(["x", None, "x", "x"]))
    b = keyed("b", pa.array([1, 1, 2, None]), pa.array(["x", None, "y", "x"]))
    assert pairs(join(a, b)) == [(0, 0)]


def test_a_dotted_key_is_a_field_of_a_struct(join):
    geo = pa.array([{"city": "Ulm"}, {"city": None}, None], pa.struct({"city": pa.string()}))
    deep = pa.array([{"geo": g} for g in geo.to_pylist()], pa.struct({"geo": geo.type}))
    t, v = pa.array([0] * 3, pa.timestamp("us")), pa.array(range(3))
    a = stream("a", "geo.city", geo=geo, t=t, v=v)
    b = stream("b", "at.geo.city", at=deep, t=t, v=v)
    assert pairs(join(a, b)) == [(0, 0)]


# ---- times ----------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_each_unit_and_zone(join, unit, zone):
    seconds = [-(10**9), 0, 1_700_000_000]
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    numbers = pa.array([s * per_second for s in seconds], pa.int64())
    a = stream("a", None, t=numbers.cast(pa.timestamp(unit, zone)), v=pa.array(range(3)))
    micros = pa.array([s * 10**6 for s in seconds], pa.timestamp("us", zone))
    b = stream("b", None, t=micros, v=pa.array(range(3)))
    result = join(a, b)
    assert pairs(result) == [(0, 0), (1, 1), (2, 2)]
    assert result.column("ts").cast(pa.int64()).to_pylist() == [s * 10**6 for s in seconds]
    assert result.schema.field("ts").type == pa.timestamp("us", zone)


def test_nanoseconds_are_rounded_down(join):
    a = stream("a", None, t=pa.array([-1, 0, 999, 1000], pa.timestamp("ns")), v=pa.array(range(4)))
    b = stream("b", None, t=pa.array([-1, 0, 1], pa.timestamp("us")), v=pa.array(range(3)))
    assert pairs(join(a, b)) == [(0, 0), (1, 1), (2, 1), (3, 2)]


# ---- payload and conditions -----------------------------------------------------------------


def test_payload_of_any_type_comes_back_as_it_was(join):
    payload = {
        "when": pa.array([1_500, None], pa.timestamp("ns", "Europe/Berlin")),
        "price": pa.array([Decimal("1.10"), None], pa.decimal256(60, 2)),
        "tags": pa.array([["x", None], None], pa.large_list(pa.string())),
        "more": pa.array([[("k", {"deep": [1.5]})], None], pa.map_(pa.string(), _deep())),
        "kind": pa.array(["a", None]).dictionary_encode(),
        "half": pa.array([1.5, None], pa.float16()),
        "span": pa.array([pa.MonthDayNano([1, 2, 3]), None]),
        "none": pa.nulls(2),
    }
    t = pa.array([0, 5], pa.timestamp("us"))
    a = stream("a", None, t=t, **payload)
    b = stream("b", None, t=pa.array([0, 7], pa.timestamp("us")), **payload)
    result = join(a, b, how="full")
    assert result.num_rows == 3
    for name, table in (("a", a.data), ("b", b.data)):
        struct = result.column(name).combine_chunks()
        assert struct.type == pa.struct(list(table.schema))
        assert struct.null_count == 1
        back = pa.Table.from_struct_array(struct.drop_null())
        assert_same_rows(back, table)


def _deep() -> pa.DataType:
    return pa.struct({"deep": pa.list_(pa.float64())})


def test_chunked_inputs(join):
    chunks = pa.chunked_array([[0], [1], []], pa.timestamp("us"))
    keys = pa.chunked_array([["x", "y"], []], pa.string())
    a, b = (stream(name, t=chunks, k=keys, v=pa.array([0, 1])) for name in "ab")
    assert pairs(join(a, b)) == [(0, 0), (1, 1)]


PRICE = pa.struct({"net": pa.int64()})


@pytest.mark.parametrize(
    ("sql", "loop"),
    [
        ("a.v < b.v", lambda a, b: a["v"] < b["v"]),
        (
            "a.price.net + 1 = B.price.net",
            lambda a, b: a["price"] and b["price"] and a["price"]["net"] + 1 == b["price"]["net"],
        ),
        ("NULL", lambda a, b: None),
        ("a.odd IS NULL AND b.v IN (0, 2)", lambda a, b: a["odd"] is None and b["v"] in (0, 2)),
    ],
)
@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_conditions_over_structs(sql, loop, key, how):
    columns = {
        "k": pa.array([1, 1, 2]),
        "t": pa.array([0, 0, 0], pa.timestamp("us")),
        "v": pa.array([0, 1, 2]),
        "odd": pa.array([None, True, None]),
        "price": pa.array([{"net": 1}, {"net": 2}, None], PRICE),
    }
    a, b = stream("a", key, **columns), stream("b", key, **columns)
    by_sql = duckdb_join(a, b, how=how, condition=sql)
    assert_same_rows(by_sql, naive_join(a, b, how=how, condition=loop))


def test_a_false_condition_leaves_rows_unmatched(join):
    a, b = keyed("a", pa.array([1])), keyed("b", pa.array([1]))
    never = "a.v > b.v" if join is duckdb_join else lambda a, b: a["v"] > b["v"]
    assert join(a, b, how="full", condition=never).num_rows == 2
    assert join(a, b, how="anti", condition=never).num_rows == 1


def test_stream_names_may_be_words_of_sql():
    a, b = keyed("select", pa.array([1])), keyed("order", pa.array([1]))
    assert duckdb_join(a, b).column_names == ["select", "order", "ts"]
    assert duckdb_join(a, b, condition='"select".v = "order".v').num_rows == 1


def test_heartbeats_are_left_out_where_their_predicate_is_true(join):
    a = keyed("a", pa.array([1, 1, None]))
    a = Stream(a.data, a.schema, "a", a.key, "t", a.window, beats="k0 = 1 AND v > 0")
    b = keyed("b", pa.array([1]))
    # Row 1 is a heartbeat; on row 2 the predicate is null, so it is a tuple with a null key.
    assert join(a, b, how="left").column("a").combine_chunks().field("v").to_pylist() == [0, 2]
