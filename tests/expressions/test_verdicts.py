"""SQL conditions: tables of (text, expected verdicts)."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from windrow.expressions import condition, predicate

from .rows import SCHEMA, SCHEMAS, verdicts

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
    "intervals of several parts": [
        ("wait = INTERVAL '01:30' MINUTE TO SECOND", [True, False, False]),
        ("wait = INTERVAL '0 00:01:00' DAY TO SECOND", [False, True, False]),
        ("-wait = INTERVAL '-0 00:01:00.000' DAY TO SECOND", [False, True, False]),
        ("wait + INTERVAL '1 02' DAY TO HOUR = INTERVAL 1561 MINUTES", [False, True, False]),
        ("INTERVAL '2:03' HOUR TO MINUTE = INTERVAL 123 MINUTES", [True, True, True]),
        ("wait = CAST(INTERVAL '01' MINUTE AS INTERVAL DAY TO SECOND)", [False, True, False]),
        ("wait < INTERVAL -'1' DAY", [False, False, False]),
    ],
    "LIKE": [
        ("s LIKE 'a%'", [True, False, False]),
        ("s NOT LIKE 'a%'", [False, True, False]),
        ("(s LIKE 'a') IS NULL", [False, False, True]),
        ("s LIKE '_'", [True, True, False]),
        ("s LIKE ''", [False, False, False]),
        ("s LIKE NULL IS NULL", [True, True, True]),
        ("NULL LIKE 'a' IS NULL", [True, True, True]),
        ("code LIKE '%u%'", [True, False, False]),
        (r"'5%' LIKE '5\\%' AND NOT '55' LIKE '5\\%'", [True, True, True]),
        ("'5%' LIKE '5#%' ESCAPE '#' AND '5_' NOT LIKE '5#%' ESCAPE '#'", [True, True, True]),
        ("'a#' LIKE '_##' ESCAPE '#'", [True, True, True]),
        ("'a.c' LIKE 'a.c' AND 'abc' NOT LIKE 'a.c'", [True, True, True]),
        ("'(a|b)*[c]{2}^$+?' LIKE '(a|b)*[c]{2}^$+?'", [True, True, True]),
        ("'a\nb' LIKE 'a_b' AND 'a\nb' LIKE 'a%' AND 'a\n' NOT LIKE 'a'", [True, True, True]),
        ("'é𝄞' LIKE '__'", [True, True, True]),
    ],
    "COALESCE": [
        ("COALESCE(n, 5) = 5", [False, False, True]),
        ("COALESCE(NULL, n, small) = 1", [True, False, False]),
        ("COALESCE(s, code, 'none') = 'none'", [False, False, True]),
        ("COALESCE(n, x) = 1.0", [True, False, False]),
        ("COALESCE(price, n, 0.5) = 0.5", [False, False, True]),
        ("COALESCE(naive, '2020-01-01') < '2021-01-01'", [False, False, True]),
        ("COALESCE(day, DATE '2020-01-01') < naive", [True, False, False]),
        ("COALESCE(ok, n IS NULL)", [True, False, True]),
        ("COALESCE(NULL, NULL) IS NULL", [True, True, True]),
        ("COALESCE(n) = 1", [True, False, False]),
        ("IFNULL(n, 5) = NVL(NULL, 5)", [False, False, True]),
        ("COALESCE(wait, INTERVAL 1 DAY) = INTERVAL 24 HOURS", [False, False, True]),
    ],
    "ABS, UPPER and LOWER": [
        ("ABS(n) = 7", [False, True, False]),
        ("ABS(small - 4) = 3", [True, False, False]),
        ("ABS(big) = big", [True, True, False]),
        ("ABS(-price) = 1.5", [True, False, False]),
        ("ABS(x - 3) = 1.5", [True, False, False]),
        ("ABS(x) = CAST('NaN' AS DOUBLE)", [False, True, False]),
        ("ABS(naive - aware) > INTERVAL 11 HOURS", [True, True, False]),
        ("ABS(NULL) IS NULL", [True, True, True]),
        ("UPPER(s) = 'A'", [True, False, False]),
        ("LOWER(UPPER(code)) = code", [True, True, False]),
        ("UPPER(NULL) IS NULL AND LOWER(NULL) IS NULL", [True, True, True]),
        ("UPPER('straße') = 'STRASSE' AND LOWER('ΟΔΟΣ') = 'οδος'", [True, True, True]),
        ("negative(n) = 7", [False, True, False]),
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
        ("`geo`.`lat` = 1 AND imp.`geo`.`at`.cell = 7", [True, False, False]),
        ("`imp`.geo.`LAT` = 1", [True, False, False]),
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


def test_the_smallest_integer_modulo_minus_one() -> None:
    column = pa.array([-(2**63), 5])
    held = predicate("n % -1 = 0", "imp", SCHEMA).evaluate({("imp", "n"): column}, 2)
    assert held.to_pylist() == [True, True]


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


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_case_of_many_texts_with_letters_that_need_more_than_one(kind):
    words = ["plain", None, "straße", "", "ŉ", "ΟΔΟΣ ΟΔΟΣ", "İ", "a\ufdd0b", "\x00é", None]
    column = pa.array(words, pa.string()).cast(kind)
    schema = pa.schema({"s": kind, "up": pa.string(), "low": pa.string()})
    columns = {
        ("imp", "s"): pa.concat_arrays([column, column])[len(words) :],
        ("imp", "up"): pa.array([w and w.upper() for w in words]),
        ("imp", "low"): pa.array([w and w.lower() for w in words]),
    }
    test = predicate("UPPER(s) <=> up AND LOWER(s) <=> low", "imp", schema)
    assert test.evaluate(columns, len(words)).to_pylist() == [True] * len(words)
