"""Payload comes out as it went in: every type, in matches and in unmatched rows."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow.local import payload as payloads
from windrow.model import How
from windrow.testing import assert_same_rows, duckdb_join

HOWS = get_args(How)
TIME = pa.timestamp("us")
DEEP = pa.struct(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("at", pa.struct([("x", pa.float32()), ("tags", pa.list_(pa.string()))])),
    ]
)
NOON = datetime(2026, 1, 1, 12)

#: Arrow type -> two values; a null is added, and a value again.
TYPES = {
    pa.null(): [None, None],
    pa.bool_(): [True, False],
    pa.int8(): [1, -128],
    pa.int64(): [2**63 - 1, -(2**63)],
    pa.uint64(): [2**64 - 1, 0],
    pa.float16(): [np.float16(1.5), np.float16(-2)],
    pa.float32(): [1.5, -0.0],
    pa.float64(): [1e300, float("inf")],
    pa.decimal32(9, 2): [Decimal("1.10"), Decimal("-1.10")],
    pa.decimal128(38, 10): [Decimal("1.1"), Decimal(10) ** 27],
    pa.decimal256(76, 0): [Decimal(10) ** 70, Decimal(1)],
    pa.string(): ["ä", ""],
    pa.large_string(): ["x", "y" * 100],
    pa.string_view(): ["x", "y" * 100],
    pa.binary(): [b"\x00", b""],
    pa.large_binary(): [b"\xff", b""],
    pa.binary_view(): [b"x", b"y" * 100],
    pa.binary(3): [b"abc", b"\x00\x00\x00"],
    pa.date32(): [date(2024, 2, 29), date(1, 1, 1)],
    pa.date64(): [date(2024, 2, 29), date(1970, 1, 1)],
    pa.time32("s"): [time(1), time(2)],
    pa.time64("ns"): [time(1), time(23, 59, 59, 999_999)],
    pa.timestamp("s"): [NOON, datetime(1900, 1, 1)],
    pa.timestamp("ns", "Asia/Tokyo"): [NOON, datetime(1970, 1, 1)],
    pa.duration("ns"): [timedelta(1), timedelta(microseconds=-1)],
    pa.month_day_nano_interval(): [(1, 2, 3), (-1, 0, 0)],
    pa.list_(pa.int32()): [[1, None, 3], []],
    pa.large_list(pa.string()): [["x"], [None]],
    pa.list_(pa.int8(), 2): [[1, 2], [3, None]],
    pa.list_view(pa.int8()): [[1, 2], []],
    pa.list_(pa.list_(DEEP)): [[[{"name": "x", "at": None}], []], [None]],
    pa.map_(pa.string(), pa.int64()): [[("x", 1), ("y", None)], []],
    pa.map_(pa.int8(), DEEP): [[(1, {"name": "x", "at": {"x": 1.0, "tags": ["y"]}})], []],
    pa.struct([]): [{}, {}],
    DEEP: [{"name": "x", "at": {"x": 1.5, "tags": ["a", None]}}, {"name": "y", "at": None}],
    pa.dictionary(pa.int8(), pa.string()): ["x", "y"],
    pa.dictionary(pa.int32(), pa.float64(), ordered=True): [1.5, 2.5],
    pa.uuid(): [b"0123456789abcdef", b"\x00" * 16],
    pa.json_(): ["{}", "[1]"],
}


def payload(kind) -> pa.Array:
    one, two = TYPES[kind]
    return pa.array([one, None, two, one], kind)


def streams(column, **given) -> list[wr.Stream]:
    """Four rows a side: keys 1 and 2 meet, the others are alone."""
    made = []
    for name, keys in (("a", [1, 2, 3, 4]), ("b", [2, 1, 5, 6])):
        data = pa.table(
            {"k": keys, "t": pa.array(range(4), TIME), "p": column, "n": pa.array(range(4))}
        )
        made.append(wr.stream(data, name=name, key="k", time="t", window="1 second", **given))
    return made


def assert_rows_of(result: pa.Table, stream: wr.Stream) -> None:
    """Each struct is the row of its number, with all its columns as they were."""
    structs = result.column(stream.name).combine_chunks()
    assert list(structs.type) == list(stream.data.schema)
    # Scalar by scalar, because Arrow neither gathers nor filters views.
    for name in stream.data.column_names:
        found = structs.field(structs.type.get_field_index(name))
        for number, row in enumerate(structs.field(structs.type.get_field_index("n")).to_pylist()):
            if not structs[number].is_valid:
                continue
            one, other = found[number], stream.data.column(name)[row]
            assert one.type == other.type
            if pa.types.is_dictionary(one.type):  # its scalars know their whole dictionary
                one, other = one.as_py(), other.as_py()
            assert one == other, name


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_every_type_comes_out_as_it_went_in(kind):
    a, b = streams(payload(kind))
    for batch_rows in (None, 1):
        result = wr.join(a, b, how="full", batch_rows=batch_rows)
        result.validate(full=True)
        assert result.num_rows == 6
        assert_rows_of(result, a)
        assert_rows_of(result, b)


@pytest.mark.parametrize("how", HOWS)
def test_every_kind_keeps_types(how):
    """All the types in one table, nulls of every type in unmatched rows."""
    taken = [kind for kind in TYPES if kind not in (pa.string_view(), pa.binary_view())]
    columns = {f"c{number}": payload(kind) for number, kind in enumerate(taken)}
    wide = pa.table({**columns, "k": [1, 2, 3, 4], "t": pa.array(range(4), TIME), "n": range(4)})
    other = wide.set_column(wide.column_names.index("k"), "k", pa.array([2, 1, 5, 6]))
    a, b = (
        wr.stream(data, name=name, key="k", time="t", window="1 second")
        for name, data in (("a", wide), ("b", other))
    )
    result = wr.join(a, b, how=how, batch_rows=3)
    result.validate(full=True)
    assert_rows_of(result, a)
    if how not in ("semi", "anti"):
        assert_rows_of(result, b)
    rows = {"inner": 2, "left": 4, "right": 4, "full": 6, "semi": 2, "anti": 2}
    assert result.num_rows == rows[how]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_chunks_and_slices_make_no_difference(kind):
    column = payload(kind)
    chunked = pa.chunked_array([column[:1], column[1:1], column[1:3], column[3:]])
    twice = pa.chunked_array([column, column]).slice(4)
    for given in (chunked, twice):
        a, b = streams(given)
        result = wr.join(a, b, how="full", batch_rows=2)
        assert_rows_of(result, a)
        assert_rows_of(result, b)


# -- more than offsets of 32 bits reach: here they end after a byte -----------------------------


@pytest.fixture
def long(monkeypatch):
    monkeypatch.setattr(payloads, "OFFSETS_END", 1)


def short_offsets(kind):
    """Has a type, or one inside it, offsets of 32 bits?"""
    inside = [kind.field(at).type for at in range(kind.num_fields)]
    is_short = (pa.types.is_string, pa.types.is_binary, pa.types.is_list)
    return any(test(kind) for test in is_short) or any(map(short_offsets, inside))


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_chunks_that_are_long_together(kind):
    column = payload(kind)
    a, b = streams(pa.chunked_array([column[:1], column[1:]]))
    for how in ("full", "semi"):
        result = wr.join(a, b, how=how)
        result.validate(full=True)
        assert_rows_of(result, a)


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize(
    "kind", [pa.string(), pa.binary(), DEEP, pa.list_(pa.list_(DEEP))], ids=str
)
def test_only_chunks_that_are_long_together_get_long_offsets(kind):
    column = payload(kind)
    (one, two), (whole, _) = streams(pa.chunked_array([column, column[:0]])), streams(column)
    for stream in (one, two):
        kept = payloads.TablePayload(stream)
        assert not short_offsets(kept.whole[2].type)
        if not pa.types.is_nested(kind):
            assert not short_offsets(kept.column("p", np.arange(2)).type)
    assert payloads.TablePayload(whole).whole[2].type == kind


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize(
    "condition",
    ["a.p = b.p", "a.p <= b.p AND upper(a.p) <> 'y'", "COALESCE(a.p, b.p, 'z') LIKE '%'"],
)
def test_conditions_about_one_table_that_is_long(condition):
    column = payload(pa.string())
    (a, _), (_, b) = streams(pa.chunked_array([column[:1], column[1:]])), streams(column)
    found = wr.join(a, b, how="full", condition=condition)
    assert_same_rows(found, duckdb_join(a, b, how="full", condition=condition))


def test_chunks_with_dictionaries_of_their_own():
    chunks = [pa.array(values).dictionary_encode() for values in (["x", "y"], ["y", "z"])]
    a, b = streams(pa.chunked_array(chunks))
    assert_rows_of(wr.join(a, b, how="full"), a)


# -- the shape of a result -----------------------------------------------------------------------


def plain(kind):
    """A struct type without its fields' nullability."""
    if not pa.types.is_struct(kind):
        return kind
    return pa.struct([field.with_nullable(True) for field in kind])


def test_an_outer_result_of_strict_schemas_can_be_written(tmp_path):
    schema = pa.schema(
        [
            pa.field("k", pa.int64(), nullable=False),
            pa.field("t", pa.timestamp("us"), nullable=False),
        ]
    )
    one, two = (
        wr.stream(
            pa.table({"k": [k], "t": [0]}, schema), name=name, key="k", time="t", window="1 day"
        )
        for k, name in ((1, "a"), (2, "b"))
    )
    result = wr.join(one, two, how="full")
    pq.write_table(result, tmp_path / "result.parquet")
    assert pq.read_table(tmp_path / "result.parquet").num_rows == 2


def test_schema():
    data = pa.table(
        {
            "k": pa.array([1], pa.int32()),
            "at": pa.array([0], pa.timestamp("ns", "Asia/Tokyo")),
            "p": ["x"],
        },
        schema=pa.schema(
            [
                pa.field("k", pa.int32(), nullable=False),
                pa.field("at", pa.timestamp("ns", "Asia/Tokyo")),
                pa.field("p", pa.string(), metadata={"unit": "EUR"}),
            ]
        ),
    )
    utc = data.set_column(1, "at", data["at"].cast(pa.timestamp("ms", "UTC")))
    one = wr.stream(data, name="imp", key="k", time="at", window="1 second")
    two = wr.stream(utc, name="clk", key="k", time="at", window="1 second")
    expected = [
        pa.field("imp", pa.struct(list(data.schema))),
        pa.field("clk", pa.struct(list(utc.schema))),
        # The first stream's zone, in microseconds.
        pa.field("ts", pa.timestamp("us", "Asia/Tokyo")),
    ]
    assert list(wr.join(one, two).schema) == expected
    kind = pa.field("kind", pa.string())
    # What may be null as a whole has nullable fields, or Parquet would refuse it.
    found = wr.join(one, two, how="full", late="keep").schema
    assert all(field.nullable for struct in found.types[:2] for field in struct)
    assert [(f.name, plain(f.type)) for f in found] == [
        (f.name, plain(f.type)) for f in [*expected, kind]
    ]
    for how in ("semi", "anti"):
        assert list(wr.join(one, two, how=how).schema) == [expected[0], expected[2]]
        assert list(wr.join(one, two, how=how, late="keep").schema) == [
            expected[0],
            expected[2],
            kind,
        ]
    assert wr.join(two, one).schema.field("ts").type == pa.timestamp("us", "UTC")


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York", "+05:30"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_ts_is_the_larger_time_in_the_first_zone(unit, zone):
    kind = pa.timestamp(unit, zone)
    data = [
        pa.table({"k": [1], "t": pa.array([second], pa.timestamp("s", zone)).cast(kind)})
        for second in (100, 107)
    ]
    a, b = (
        wr.stream(table, name=name, key="k", time="t", window="9 seconds")
        for name, table in zip("ab", data, strict=True)
    )
    for one, two in ((a, b), (b, a)):
        found = wr.join(one, two).column("ts")
        assert found.type == pa.timestamp("us", zone)
        assert found.cast(pa.int64()).to_pylist() == [107_000_000]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("late", ["drop", "keep"])
@pytest.mark.parametrize("batch_rows", [None, 2])
def test_tables_without_rows(how, late, batch_rows):
    a, b = streams(payload(DEEP))
    asked = {"how": how, "late": late, "batch_rows": batch_rows}
    full = wr.join(a, b, **asked)
    for one, two in ((True, True), (True, False), (False, True)):
        empty = [
            wr.stream(
                s.data.slice(0, 0) if without else s.data,
                name=s.name,
                key="k",
                time="t",
                window="1 second",
            )
            for s, without in ((a, one), (b, two))
        ]
        found = wr.join(*empty, **asked)
        assert found.schema == full.schema
        kept = {"left": (1, 0), "right": (0, 1), "full": (1, 1), "anti": (1, 0)}.get(how, (0, 0))
        assert found.num_rows == 4 * (kept[0] * (not one) + kept[1] * (not two))
        assert_same_rows(
            found.select([n for n in found.column_names if n != "kind"]),
            duckdb_join(*empty, how=how),
        )


def test_a_table_of_no_chunks():
    schema = pa.schema({"k": pa.string(), "t": TIME, "p": DEEP})
    a, b = (
        wr.stream(
            schema.empty_table(), name=name, key="k", time="t", window="1 second", beats="k = 'x'"
        )
        for name in "ab"
    )
    assert wr.join(a, b, how="full", condition="a.k < b.k").num_rows == 0


def test_columns_that_share_a_name_with_a_stream():
    data = pa.table({"k": [1], "t": pa.array([0], TIME), "a": ["mine"], "ts": [5], "kind": ["x"]})
    a, b = (wr.stream(data, name=n, key="k", time="t", window="1 second") for n in "ab")
    row = wr.join(a, b, late="keep", condition="a.a = b.a").to_pylist()[0]
    assert (row["a"]["a"], row["b"]["ts"], row["b"]["kind"], row["kind"]) == (
        "mine",
        5,
        "x",
        "match",
    )


def test_the_input_is_left_alone():
    a, b = streams(payload(pa.dictionary(pa.int8(), pa.string())))
    before = [s.data.to_pylist() for s in (a, b)]
    wr.join(a, b, how="full", batch_rows=1)
    assert [s.data.to_pylist() for s in (a, b)] == before
