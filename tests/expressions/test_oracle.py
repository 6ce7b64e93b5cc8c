"""DuckDB as the oracle: random conditions over random rows."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.expressions import predicate

from .rows import verdicts

SCHEMA = pa.schema(
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
            "s": st.none() | st.sampled_from(["", "a", "ab", "b", "é", "aB%", "A_#", "a\nb"]),
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
        | _join("ABS(", inner, ")")
        | _join("COALESCE(", inner, ",", inner, ")")
    ),
    max_leaves=5,
)
_decimal = st.sampled_from(
    ["p", "1.25", "(p + 0.5)", "(p - i)", "(p * 2)", "(i + 1.5)", "(- p)", "ABS(p)"]
)
_text = st.recursive(
    st.sampled_from(["s", "'a'", "'ab'", "NULL"]),
    lambda inner: (
        _join(st.sampled_from(["UPPER(", "LOWER("]), inner, ")")
        | _join("COALESCE(", inner, ",", inner, ")")
    ),
    max_leaves=3,
)
_pattern = st.lists(st.sampled_from([*"aAbé%_%_", "#%", "#_", "##"]), max_size=4).map("".join)
_time = st.sampled_from(
    [
        "t",
        "(t + INTERVAL '2' HOUR)",
        "(t - INTERVAL '1' DAY)",
        "COALESCE(t, TIMESTAMP '2024-01-02')",
        "TIMESTAMP '2024-01-01 01:00:00'",
        "'2024-01-01 00:00:00'",
    ]
)
_span = st.sampled_from(
    [
        "(t - TIMESTAMP '2024-01-01')",
        "(t - (t + INTERVAL '1' HOUR))",
        "INTERVAL '90' MINUTE",
        "INTERVAL '0' DAY",
    ]
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
    | _join(
        "(",
        _text,
        st.sampled_from(["LIKE", "NOT LIKE"]),
        _pattern.map(lambda p: f"'{p}'"),
        "ESCAPE '#' )",
    )
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
    table = pa.Table.from_pylist(rows, SCHEMA)
    duck.register("imp", table)
    asked = sql.replace("<=>", "IS NOT DISTINCT FROM")
    answer = duck.execute(f"SELECT coalesce(({asked})::BOOLEAN, false) FROM imp").fetchall()
    assert verdicts(predicate(sql, "imp", SCHEMA), table) == [row[0] for row in answer]
