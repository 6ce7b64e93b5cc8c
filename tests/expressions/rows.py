"""Rows of every type that conditions are about, and how to judge them."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa

from windrow.expressions import Expression, extract

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
