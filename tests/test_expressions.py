"""SQL conditions: tables of (text, expected verdicts), DuckDB as the oracle, every refusal."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.expressions import Expression, condition, extract, predicate, resolve
from windrow.model import WindrowError

GEO = pa.struct({"lat": pa.float64(), "at": pa.struct({"cell": pa.int32()})})
SCHEMA = pa.schema(
    {
        "n": pa.int64(),
        "small": pa.int8(),
        "big": pa.uint64(),
        "x": pa.float64(),
        "price": pa.decimal128(10, 2),
        "s": pa.string(),
        "code": pa.dictionary(pa.int8(), pa.string()),
        "ok": pa.bool_(),
        "day": pa.date32(),
        "naive": pa.timestamp("us"),
        "aware": pa.timestamp("ms", "Europe/Berlin"),
        "wait": pa.duration("s"),
        "geo": GEO,
        "tags": pa.list_(pa.string()),
    }
)
ROWS = [
    {
        "n": 1,
        "small": 1,
        "big": 2**64 - 1,
        "x": 1.5,
        "price": Decimal("1.50"),
        "s": "a",
        "code": "u",
        "ok": True,
        "day": dt.date(2024, 1, 1),
        "naive": dt.datetime(2024, 1, 1, 12),
        "aware": dt.datetime(2024, 1, 1, 23, 30, tzinfo=dt.UTC),
        "wait": dt.timedelta(seconds=90),
        "geo": {"lat": 1.0, "at": {"cell": 7}},
        "tags": ["t"],
    },
    {
        "n": -7,
        "small": 3,
        "big": 0,
        "x": math.nan,
        "price": Decimal("0.10"),
        "s": "b",
        "code": "v",
        "ok": False,
        "day": dt.date(2024, 1, 2),
        "naive": dt.datetime(2024, 1, 2),
        "aware": dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC),
        "wait": dt.timedelta(seconds=60),
        "geo": {"lat": None, "at": None},
        "tags": [],
    },
    dict.fromkeys(SCHEMA.names),
]
TABLE = pa.Table.from_pylist(ROWS, SCHEMA)
CLK = pa.schema({"bid": pa.float64(), "Tag": pa.string(), "tag": pa.string(), "ON": pa.bool_()})
SCHEMAS = {"imp": SCHEMA, "clk": CLK}


def verdicts(expression: Expression, table: pa.Table = TABLE) -> list[bool]:
    columns = {ref: extract(table, ref[1]) for ref in expression.columns}
    result = expression.evaluate(columns, table.num_rows)
    assert isinstance(result, pa.BooleanArray)
    assert result.null_count == 0
    return list(result.to_pylist())


# The third row is all null: what is true of it is true of nulls.
CASES = {
    "comparison": [
        ("n = 1", [True, False, False]),
        ("n == 1", [True, False, False]),
        ("n <> 1", [False, True, False]),
        ("n != 1", [False, True, False]),
        ("n < small", [False, True, False]),
        ("n <= small", [True, True, False]),
        ("n > -7", [True, False, False]),
        ("n >= -7", [True, True, False]),
        ("n <=> NULL", [False, False, True]),
        ("n <=> small", [True, False, True]),
        ("NOT n <=> 1", [False, True, True]),
        ("n = NULL", [False, False, False]),
        ("s < 'b'", [True, False, False]),
        ("code = 'u'", [True, False, False]),
        ("code < s", [False, False, False]),
        ("ok = true", [True, False, False]),
        ("ok", [True, False, False]),
    ],
    "mixed numbers": [
        ("x > n", [True, True, False]),
        ("price = 1.5", [True, False, False]),
        ("price > n", [True, True, False]),
        ("price = x", [True, False, False]),
        ("small < 1e0", [False, False, False]),
        ("big > n", [True, True, False]),
        ("big = 18446744073709551615", [True, False, False]),
        ("big - 1 > 18446744073709551613", [True, False, False]),
        ("n < 9223372036854775808", [True, True, False]),
        ("n = 1L AND x = 1.5D", [True, False, False]),
    ],
    "NaN equals itself and is the largest": [
        ("x = CAST('NaN' AS DOUBLE)", [False, True, False]),
        ("x <> CAST('NaN' AS DOUBLE)", [True, False, False]),
        ("x < CAST('NaN' AS DOUBLE)", [True, False, False]),
        ("x <= CAST('NaN' AS DOUBLE)", [True, True, False]),
        ("x > 1e300", [False, True, False]),
        ("x <= 1e300", [True, False, False]),
    ],
    "logic": [
        ("n = 1 AND ok", [True, False, False]),
        ("n = 1 OR s = 'b'", [True, True, False]),
        ("NOT ok", [False, True, False]),
        ("NOT (ok AND n = 1)", [False, True, False]),
        ("NULL OR n IS NULL", [False, False, True]),
        ("NOT (NULL AND n = 1)", [False, True, False]),
        ("ok IS TRUE", [True, False, False]),
        ("ok IS NOT TRUE", [False, True, True]),
        ("ok IS FALSE", [False, True, False]),
        ("ok IS NOT FALSE", [True, False, True]),
        ("n IS NULL", [False, False, True]),
        ("tags IS NOT NULL", [True, True, False]),
        ("ok = (n = 1)", [True, True, False]),
    ],
    "constants": [
        ("true", [True, True, True]),
        ("1 = 1", [True, True, True]),
        ("2 IN (1, 3)", [False, False, False]),
        ("NULL", [False, False, False]),
        ("NULL = NULL", [False, False, False]),
        ("NULL <=> NULL", [True, True, True]),
        ("7 % 4 = 3 AND 7.5e0 % 2 = 1.5", [True, True, True]),
    ],
    "IN and BETWEEN": [
        ("n IN (1, 2)", [True, False, False]),
        ("n NOT IN (1, 2)", [False, True, False]),
        ("n IN (1, NULL)", [True, False, False]),
        ("n NOT IN (1, NULL)", [False, False, False]),
        ("(n IN (1, NULL)) IS NULL", [False, True, True]),
        ("n IN (NULL)", [False, False, False]),
        ("price IN (1.5, 2)", [True, False, False]),
        ("x IN (1.5, CAST('NaN' AS DOUBLE))", [True, True, False]),
        ("x - 1.5 IN (0)", [True, False, False]),
        ("code IN ('u', 'w')", [True, False, False]),
        ("day IN ('2024-01-02')", [False, True, False]),
        ("naive IN (TIMESTAMP '2024-01-02', NULL)", [False, True, False]),
        ("wait IN (INTERVAL 1 MINUTE)", [False, True, False]),
        ("n BETWEEN -7 AND 0.5", [False, True, False]),
        ("n NOT BETWEEN -7 AND 0", [True, False, False]),
        ("n NOT BETWEEN 2 AND NULL", [True, True, False]),
    ],
    "arithmetic": [
        ("n + small = 2", [True, False, False]),
        ("-n = 7", [False, True, False]),
        ("n / 2 = 0.5", [True, False, False]),
        ("n / 2 = -3.5", [False, True, False]),
        ("n % 4 = -3", [False, True, False]),
        ("n % 0 IS NULL AND n / 0 IS NULL", [True, True, True]),
        ("x / 0 IS NULL AND x % 0 IS NULL", [True, True, True]),
        ("price / 0 IS NULL AND price % 0 IS NULL", [True, True, True]),
        ("price / 3 = 0.5", [True, False, False]),
        ("price % 0.4 = 0.3", [True, False, False]),
        ("price + 0.2 = 0.3", [False, True, False]),
        ("price * n * 2 = 3", [True, False, False]),
        ("x % 1 = 0.5", [True, False, False]),
        ("small * 100 = 300", [False, True, False]),
        ("-(n - 1) * 2 = 16", [False, True, False]),
        ("n + NULL IS NULL", [True, True, True]),
    ],
    "time": [
        ("naive < TIMESTAMP '2024-01-01 12:00:01'", [True, False, False]),
        ("aware = TIMESTAMP '2024-01-01 12:00:00'", [False, True, False]),
        ("aware = '2024-01-01T13:00:00+01:00'", [False, True, False]),
        ("naive = '2024-01-02'", [False, True, False]),
        ("naive < aware", [True, False, False]),
        ("day = '2024-01-01'", [True, False, False]),
        ("day = DATE '2024-01-01'", [True, False, False]),
        ("day < naive", [True, False, False]),
        ("aware - naive > INTERVAL '11' HOURS", [True, False, False]),
        ("aware - naive < INTERVAL -11 HOURS", [False, True, False]),
        ("naive + INTERVAL 12 HOURS = '2024-01-02'", [True, False, False]),
        ("INTERVAL 1 DAY + day = '2024-01-02'", [True, False, False]),
        ("aware - INTERVAL 1 MICROSECOND < aware", [True, True, False]),
        ("day - DATE '2024-01-01' = INTERVAL 1 DAY", [False, True, False]),
        ("wait > INTERVAL 1 MINUTE 5 SECONDS", [True, False, False]),
        ("wait = INTERVAL 1.5 MINUTES", [True, False, False]),
        ("-wait < INTERVAL 0 SECONDS", [True, True, False]),
        ("wait + wait = INTERVAL '2' MINUTE", [False, True, False]),
        ("INTERVAL 1 WEEK = INTERVAL 7 DAYS", [True, True, True]),
        ("INTERVAL 1 SECOND = INTERVAL 1000 MILLISECONDS", [True, True, True]),
        ("naive BETWEEN '2024-01-01' AND '2024-01-01 12:00:00'", [True, False, False]),
    ],
    "CAST": [
        ("CAST(x > 1 AS INT) = 1", [True, True, False]),
        ("CAST(n AS BOOLEAN)", [True, True, False]),
        ("CAST(price AS BOOLEAN)", [True, True, False]),
        ("CAST(ok AS DECIMAL(3, 1)) = 1", [True, False, False]),
        ("CAST(n / 2 AS INT) = -3", [False, True, False]),
        ("CAST(price AS BIGINT) = 1", [True, False, False]),
        ("CAST(price AS DECIMAL(3, 1)) = 0.1", [False, True, False]),
        ("CAST(9.95 AS DECIMAL(3, 1)) = 10.0", [True, True, True]),
        ("CAST(n AS DECIMAL) = 1", [True, False, False]),
        ("CAST(n AS DECIMAL(2, 1)) = 1", [True, False, False]),
        ("CAST(n AS STRING) = '-7'", [False, True, False]),
        ("CAST(' 12 ' AS INT) = 12", [True, True, True]),
        ("CAST(CAST(n AS STRING) AS FLOAT) = n", [True, True, False]),
        ("CAST(day AS STRING) = '2024-01-01'", [True, False, False]),
        ("CAST(naive AS STRING) = '2024-01-01 12:00:00'", [True, False, False]),
        ("CAST(aware AS DATE) = '2024-01-01'", [True, True, False]),
        ("CAST(day AS TIMESTAMP) = naive", [False, True, False]),
        ("CAST(CAST(aware AS STRING) AS TIMESTAMP) = aware", [True, True, False]),
        ("CAST('2024-01-01T12:00Z' AS TIMESTAMP) = naive", [True, False, False]),
        ("CAST(NULL AS DATE) IS NULL", [True, True, True]),
        ("n::DOUBLE = 1", [True, False, False]),
    ],
    "names": [
        ("N = 1", [True, False, False]),
        ("imp.n = 1", [True, False, False]),
        ("`imp`.`n` = 1", [True, False, False]),
        ("geo.lat = 1", [True, False, False]),
        ("GEO.At.Cell = 7", [True, False, False]),
        ("imp.geo.at.cell = 7", [True, False, False]),
        ("geo.at.cell IS NULL", [False, True, True]),
        ("geo IS NULL", [False, False, True]),
        ("n = 1; -- one statement", [True, False, False]),
    ],
}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [pytest.param(*case, id=case[0]) for each in CASES.values() for case in each],
)
def test_verdicts(sql: str, expected: list[bool]) -> None:
    assert verdicts(predicate(sql, "imp", SCHEMA)) == expected


def test_a_condition_reads_each_column_once_as_the_schema_spells_it() -> None:
    sql = "IMP.N < Clk.Bid AND imp.GEO.lat < clk.bid AND clk.on AND clk.Tag = clk.tag"
    expression = condition(sql, SCHEMAS)
    assert expression.sql == sql
    assert expression.columns == (
        ("imp", "n"),
        ("clk", "bid"),
        ("imp", "geo.lat"),
        ("clk", "ON"),
        ("clk", "Tag"),
        ("clk", "tag"),
    )


def test_a_condition_over_two_streams() -> None:
    expression = condition("imp.price * 2 < clk.bid OR clk.bid IS NULL", SCHEMAS)
    prices = pa.array([Decimal("1.00"), Decimal("2.00"), None, None], pa.decimal128(10, 2))
    bids = pa.array([2.5, 2.5, 2.5, None])
    columns = {("imp", "price"): prices, ("clk", "bid"): bids}
    assert expression.evaluate(columns, 4).to_pylist() == [True, False, False, True]


def test_a_qualifier_wins_over_a_struct_of_the_same_name() -> None:
    schema = pa.schema({"imp": pa.struct({"n": pa.int64(), "m": pa.int64()}), "n": pa.int64()})
    assert predicate("imp.n = 1", "imp", schema).columns == (("imp", "n"),)
    assert predicate("imp.m = 1", "imp", schema).columns == (("imp", "imp.m"),)
    assert predicate("imp.imp.n = 1", "imp", schema).columns == (("imp", "imp.n"),)


def test_structs_nest_to_any_depth() -> None:
    depth = 9
    type_: pa.DataType = pa.int64()
    value: object = 1
    for _ in range(depth):
        type_, value = pa.struct({"f": type_}), {"f": value}
    schema = pa.schema({"f": type_})
    table = pa.Table.from_pylist([{"f": value}], schema)
    assert verdicts(condition("imp" + ".f" * (depth + 1) + " = 1", {"imp": schema}), table) == [
        True
    ]


def test_constants_fill_any_length() -> None:
    assert condition("1 < 2", {}).evaluate({}, 0).to_pylist() == []
    assert condition("1 < 2", {}).evaluate({}, 3).to_pylist() == [True] * 3


def test_chunked_sliced_and_encoded_columns() -> None:
    schema = pa.schema({"s": pa.string_view(), "h": pa.float16(), "l": pa.large_string()})
    words = pa.chunked_array([["a", "b"], [], ["a", None]]).dictionary_encode()
    columns = {
        ("imp", "s"): words,
        ("imp", "h"): pa.array([9, 1, 2, 1, 1], pa.float16())[1:],
        ("imp", "l"): pa.chunked_array([["a"], ["b", "c", "d"]], pa.large_string()),
    }
    expression = predicate("s <=> l OR h = 2", "imp", schema)
    assert expression.evaluate(columns, 4).to_pylist() == [True, True, False, False]
    assert predicate("s = 'a' AND h < 2", "imp", schema).evaluate(columns, 4).to_pylist() == [
        True,
        False,
        True,
        False,
    ]
    empty = pa.chunked_array([], pa.string())
    assert predicate("s = 'a'", "imp", schema).evaluate({("imp", "s"): empty}, 0).to_pylist() == []


def test_long_chains_do_not_nest() -> None:
    sql = " OR ".join(f"n = {i}" for i in range(2_000))
    assert verdicts(predicate(sql, "imp", SCHEMA)) == [True, False, False]


# --- columns of tables


def test_extract_carries_the_nulls_of_every_parent() -> None:
    inner = pa.StructArray.from_arrays(
        [pa.array([1, 2, 3, 4])], ["c"], mask=pa.array([False, True, False, False])
    )
    outer = pa.StructArray.from_arrays([inner], ["b"], mask=pa.array([True, False, False, False]))
    table = pa.table({"a": pa.chunked_array([outer, outer[2:]])})
    assert extract(table, "a.b.c").to_pylist() == [None, None, 3, 4, 3, 4]
    batch = pa.record_batch({"a": outer[1:]})
    assert extract(batch, "a.b.c").to_pylist() == [None, 3, 4]
    assert extract(batch, "a").type == outer.type


def test_a_name_with_a_dot_wins_over_a_nested_field() -> None:
    table = pa.table({"a": [{"b": 1, "c": 2}], "a.b": ["top"], "d.e": [{"f": 3}]})
    assert extract(table, "a.b").to_pylist() == ["top"]
    assert extract(table, "a.c").to_pylist() == [2]
    assert extract(table, "d.e.f").to_pylist() == [3]
    assert resolve(table.schema, "a.b") == pa.string()
    assert verdicts(
        predicate("`a.b` = 'top' AND a.c = 2 AND `d.e`.f = 3", "imp", table.schema), table
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [("n", pa.int64()), ("geo", GEO), ("geo.at.cell", pa.int32())]
    + [(path, None) for path in ("", "N", "geo.", "geo.cell", "n.x", "tags.t", ".n")],
)
def test_resolve(path: str, expected: pa.DataType | None) -> None:
    assert resolve(SCHEMA, path) == expected


def test_extract_names_the_columns_there_are() -> None:
    with pytest.raises(WindrowError, match=r"no column 'geo\.x'; the columns are n, small"):
        extract(TABLE, "geo.x")


# --- refusals

UNSUPPORTED = {
    "upper(imp.s) = 'A'": "uses UPPER(...)",
    "foo(imp.n) = 1": "uses FOO(...)",
    "count(*) > 1": "uses COUNT(...)",
    "coalesce(imp.ok, true)": "uses COALESCE(...)",
    "current_timestamp() > imp.naive": "uses CURRENT_TIMESTAMP(...)",
    "try_cast(imp.s AS INT) = 1": "uses TRY_CAST(...)",
    "exists(SELECT 1)": "uses EXISTS(...)",
    "imp.s LIKE 'a%'": "uses LIKE in `imp.s LIKE 'a%'`",
    "imp.s NOT LIKE 'a%'": "uses LIKE in",
    "CASE WHEN imp.ok THEN true END": "uses CASE in",
    "imp.n IN (SELECT 1)": "uses SUBQUERY in `(SELECT 1)`",
    "imp.n = (SELECT 1)": "uses SUBQUERY in",
    "imp.n IN ()": "uses IN in",
    "imp.n BETWEEN SYMMETRIC 1 AND 2": "uses BETWEEN in",
    "imp.n IS imp.small": "uses IS in",
    "imp.n DIV 2 = 1": "uses INTDIV in `imp.n DIV 2`",
    "imp.n & 1 = 1": "uses BITWISEAND in",
    "imp.s || 'a' = 'b'": "uses DPIPE in",
    "imp.tags[0] = 'a'": "uses BRACKET in",
    "imp.tags[0].f = 'a'": "uses BRACKET in",
    "imp.* = 1": "uses STAR in",
    "(imp.n, imp.x) = (1, 2)": "uses TUPLE in",
    "imp.n = ?": "uses PLACEHOLDER in",
    "SELECT 1": "uses SELECT in",
    "imp.ok AS fine": "uses ALIAS in",
}
REFUSED = {
    "imp.n IN (imp.small, 1)": "uses IN with columns in its list; write x = a OR x = b",
    "imp.n = ": "does not parse",
    "imp.s = 'a": "does not parse",
    "": "is empty",
    "  -- nothing": "is empty",
    "imp.ok; imp.ok": "holds several statements",
    "imp.n": "is int64, not boolean",
    "imp.n + 1": "is int64, not boolean",
    "NOT imp.n": "has int64 where a boolean is needed",
    "imp.n AND imp.ok": "has int64 where a boolean is needed",
    "imp.s IS TRUE": "has string where a boolean is needed",
    "imp.s < 3": "compares string with int64; CAST one of them",
    "imp.s > imp.x": "compares string with double",
    "imp.code = imp.n": "compares string with int64",
    "imp.ok = 1": "compares bool with int64",
    "imp.ok = 'true'": "compares bool with string",
    "imp.naive = 1": "compares timestamp[us] with int64",
    "imp.s = imp.naive": "compares string with timestamp[us]",
    "imp.wait > 5": "compares duration[s] with int64",
    "imp.n IN (1, 'a')": "compares int64 with string",
    "imp.n BETWEEN 'a' AND 'b'": "compares string with int64",
    "imp.geo = imp.geo": "cannot be computed (Function 'equal' has no kernel",
    "imp.naive = 'soon'": "cannot be computed (Failed to parse string: 'soon'",
    "DATE '2024-13-01' = imp.day": "cannot be computed (Failed to parse string: '2024-13-01'",
    "CAST('x' AS INT) = 1": "cannot be computed (Failed to parse string: 'x'",
    "9223372036854775807 + 1 > imp.n": "cannot be computed (overflow)",
    "imp.s + 1 = 2": "computes string + int64, which has no meaning",
    "imp.naive + 1 = imp.naive": "computes timestamp[us] + int64",
    "imp.naive + imp.naive = imp.naive": "computes timestamp[us] + timestamp[us]",
    "imp.wait * 2 = imp.wait": "computes duration[s] * int64",
    "-imp.s = 'a'": "computes - string",
    "CAST(imp.x AS STRING) = '1'": "casts double to string, which is not supported",
    "CAST(imp.n AS TIMESTAMP) = imp.naive": "casts int64 to timestamp[us, tz=UTC]",
    "CAST(imp.naive AS BIGINT) = 1": "casts timestamp[us] to int64",
    "CAST(imp.tags AS STRING) = ''": "casts list<item: string> to string",
    "CAST(imp.n AS BINARY) = imp.s": "casts to BINARY, which is not supported; supported are bool",
    "CAST(imp.n AS DECIMAL(39, 0)) = 1": "casts to DECIMAL(39, 0); decimals have 1 to 38 digits",
    "imp.wait < INTERVAL 1 MONTH": "uses INTERVAL '1' MONTH; an interval is one number of WEEKS",
    "imp.wait < INTERVAL '1 day 2 hours'": "uses INTERVAL '1 day 2 hours'; an interval is one",
    "imp.wait < INTERVAL '1:30' MINUTE TO SECOND": "uses INTERVAL '1:30' MINUTE TO SECOND; an",
    "imp.wait < INTERVAL imp.n MINUTES": "uses INTERVAL imp.n MINUTES; an interval is one",
    "imp.wait < INTERVAL '0.5' MICROSECOND": "which is no 64-bit number of microseconds",
    "imp.wait < INTERVAL 99999999999 WEEKS": "which is no 64-bit number of microseconds",
    "foo.n = 1": "names stream foo, which is unknown; there are imp, clk",
    "imp.foo = 1": "names column foo, which imp does not have; it has n, small, big, x",
    "imp.geo.foo = 1": "names column geo.foo, which imp does not have",
    "clk.TAG = 'a'": "names column TAG, which clk does not have; it has bid, Tag, tag, ON",
    "bid < 1": "names column bid without its stream; write e.g. clk.bid",
    "foo < 1": "names column foo without its stream; write e.g. imp.foo",
    "(" * 3_000 + "true" + ")" * 3_000: "is nested too deeply",
}


@pytest.mark.parametrize(("sql", "message"), UNSUPPORTED.items(), ids=UNSUPPORTED.keys())
def test_unsupported(sql: str, message: str) -> None:
    with pytest.raises(WindrowError) as caught:
        condition(sql, SCHEMAS)
    tail = "supported are comparison, arithmetic, boolean logic, null tests, IN and CAST"
    text = str(caught.value)
    assert text.startswith(f"condition {message}")
    assert f", which is not supported; {tail}: {sql!r}" in text


@pytest.mark.parametrize(
    ("sql", "message"), REFUSED.items(), ids=[sql[:60] or "empty" for sql in REFUSED]
)
def test_refused(sql: str, message: str) -> None:
    with pytest.raises(WindrowError) as caught:
        condition(sql, SCHEMAS)
    assert message in str(caught.value)
    assert sql[:50] in str(caught.value).replace("\\'", "'")


def test_a_predicate_says_whose_it_is() -> None:
    with pytest.raises(WindrowError, match="predicate of imp names column foo, which imp does not"):
        predicate("foo = 1", "imp", SCHEMA)
    with pytest.raises(WindrowError, match=r"names column clk\.bid, which imp does not have"):
        predicate("clk.bid = 1", "imp", SCHEMA)


@pytest.mark.parametrize(
    ("sql", "value", "message"),
    [
        ("n + 1 > 0", 2**63 - 1, "overflow"),
        ("-n > 0", -(2**63), "overflow"),
        ("n * n > 0", 2**32, "overflow"),
        ("CAST(n AS TINYINT) = 1", 300, "Integer value 300 not in range"),
        ("CAST(n AS DECIMAL(2, 1)) = 1", 10, "does not fit in precision 2"),
    ],
)
def test_rows_that_do_not_compute(sql: str, value: int, message: str) -> None:
    expression = predicate(sql, "imp", SCHEMA)
    with pytest.raises(WindrowError, match=message) as caught:
        expression.evaluate({("imp", "n"): pa.array([1, value])}, 2)
    assert f"cannot compute {sql!r} on these rows" in str(caught.value)


def test_the_smallest_integer_modulo_minus_one() -> None:
    column = pa.array([-(2**63), 5])
    held = predicate("n % -1 = 0", "imp", SCHEMA).evaluate({("imp", "n"): column}, 2)
    assert held.to_pylist() == [True, True]


# --- DuckDB as the oracle: random conditions over random rows

ORACLE_SCHEMA = pa.schema(
    {
        "i": pa.int64(),
        "j": pa.int32(),
        "f": pa.float64(),
        "p": pa.decimal128(8, 2),
        "s": pa.string(),
        "t": pa.timestamp("us"),
        "b": pa.bool_(),
        "c": pa.bool_(),
    }
)
_small = st.integers(-4, 4)
_floats = st.sampled_from([-2.5, -1.0, -0.0, 0.0, 0.1, 1.0, 2.5, math.nan, math.inf])
_rows = st.lists(
    st.fixed_dictionaries(
        {
            "i": st.none() | _small,
            "j": st.none() | _small,
            "f": st.none() | _floats,
            "p": st.none() | st.integers(-300, 300).map(lambda cents: Decimal(cents) / 100),
            "s": st.none() | st.sampled_from(["", "a", "ab", "b", "é"]),
            "t": st.none()
            | _small.map(lambda hours: dt.datetime(2024, 1, 1) + dt.timedelta(hours=hours)),
            "b": st.none() | st.booleans(),
            "c": st.none() | st.booleans(),
        }
    ),
    min_size=1,
    max_size=12,
)


def _join(*parts: st.SearchStrategy[str] | str) -> st.SearchStrategy[str]:
    strategies = [st.just(part) if isinstance(part, str) else part for part in parts]
    return st.tuples(*strategies).map(" ".join)


_number = st.recursive(
    st.sampled_from(["i", "j", "f", "0", "1", "3", "2.5e0", "NULL"]),
    lambda inner: (
        _join("(", inner, st.sampled_from(["+", "-", "*", "/", "%"]), inner, ")")
        | _join("( -", inner, ")")
    ),
    max_leaves=5,
)
_decimal = st.sampled_from(["p", "1.25", "(p + 0.5)", "(p - i)", "(p * 2)", "(i + 1.5)", "(- p)"])
_text = st.sampled_from(["s", "'a'", "'ab'", "NULL"])
_time = st.sampled_from(
    ["t", "(t + INTERVAL '2' HOUR)", "TIMESTAMP '2024-01-01 01:00:00'", "'2024-01-01 00:00:00'"]
)
_span = st.sampled_from(
    ["(t - TIMESTAMP '2024-01-01')", "INTERVAL '90' MINUTE", "INTERVAL '0' DAY"]
)
_order = st.sampled_from(["=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"])


def _tests(operand: st.SearchStrategy[str], literals: list[str]) -> st.SearchStrategy[str]:
    """Every test there is of one kind of operand."""
    items = st.lists(st.sampled_from([*literals, "NULL"]), min_size=1, max_size=4).map(", ".join)
    maybe = st.sampled_from(["", "NOT"])
    return (
        _join("(", operand, _order, operand, ")")
        | _join("(", operand, "IS", maybe, "NULL )")
        | _join("(", operand, maybe, "IN (", items, ") )")
        | _join("(", operand, maybe, "BETWEEN", operand, "AND", operand, ")")
    )


_truth = st.recursive(
    _tests(_number, ["0", "1", "-2", "2.5"])
    | _tests(_number | _decimal, ["1.25", "2"])
    | _tests(_text, ["'a'", "'b'"])
    | _tests(st.just("t"), ["'2024-01-01 00:00:00'", "TIMESTAMP '2024-01-01 02:00:00'"])
    | _join("( t", _order, _time, ")")
    | _join("(", _span, _order, _span, ")")
    | st.sampled_from(["b", "c", "TRUE", "FALSE", "NULL"]),
    lambda inner: (
        _join("(", inner, st.sampled_from(["AND", "OR", "=", "<=>"]), inner, ")")
        | _join("( NOT", inner, ")")
        | _join("(", inner, "IS", st.sampled_from(["TRUE", "FALSE", "NOT TRUE", "NOT FALSE"]), ")")
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    # Division by zero is null in every version of DuckDB once those of these that it has are off.
    known = connection.execute("SELECT name FROM duckdb_settings()").fetchall()
    for name in ("ieee_floating_point_ops", "error_on_division_by_zero"):
        if (name,) in known:
            connection.execute(f"SET {name} = false")
    return connection


@settings(max_examples=150, deadline=None)
@given(rows=_rows, sql=_truth)
def test_duckdb_agrees(
    duck: duckdb.DuckDBPyConnection, rows: list[dict[str, object]], sql: str
) -> None:
    table = pa.Table.from_pylist(rows, ORACLE_SCHEMA)
    duck.register("imp", table)
    asked = sql.replace("<=>", "IS NOT DISTINCT FROM")
    answer = duck.execute(f"SELECT coalesce(({asked})::BOOLEAN, false) FROM imp").fetchall()
    assert verdicts(predicate(sql, "imp", ORACLE_SCHEMA), table) == [row[0] for row in answer]


@pytest.mark.parametrize("number", ["0.3", "0.6", "0.7", "1.2", "2.675"])
def test_a_decimal_meets_the_float_of_the_same_text(number):
    schemas = {"a": pa.schema({"f": pa.float64(), "d": pa.decimal128(9, 3)})}
    columns = {
        ("a", "f"): pa.array([float(number)]),
        ("a", "d"): pa.array([Decimal(number)], pa.decimal128(9, 3)),
    }
    for sql in (f"a.f = {number}", f"a.f IN ({number})", "a.f = a.d", "a.f = CAST(a.d AS DOUBLE)"):
        test = condition(sql, schemas)
        inputs = {ref: columns[ref] for ref in test.columns}
        assert test.evaluate(inputs, 1).to_pylist() == [True], sql
