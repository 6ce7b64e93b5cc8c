"""Key columns of every kind a join must get right, with the values that tempt it not to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa

KeyKind = Literal[
    "int64",
    "string",
    "composite",
    "decimal",
    "binary",
    "timestamp",
    "double",
    "dotted",
    "none",
]


@dataclass(frozen=True)
class Keys:
    """A stream's `key`, the columns it takes, and values of these columns: keys and null keys."""

    key: tuple[str, ...] | None
    fields: tuple[pa.Field, ...]
    pool: tuple[dict[str, Any], ...]
    nulls: tuple[dict[str, Any], ...] = ()


def _single(kind: pa.DataType, *values: Any) -> Keys:
    pool = tuple({"k": value} for value in values)
    return Keys(("k",), (pa.field("k", kind),), pool, ({"k": None},))


def _composite() -> Keys:
    fields = (pa.field("k", pa.int32()), pa.field("l", pa.string()))
    pairs = [(1, "x"), (1, "y"), (2, "x"), (-(2**31), "")]
    nulls = [(1, None), (None, "x"), (None, None)]
    return Keys(
        ("k", "l"),
        fields,
        tuple({"k": k, "l": v} for k, v in pairs),
        tuple({"k": k, "l": v} for k, v in nulls),
    )


def _dotted() -> Keys:
    geo = pa.struct([pa.field("city", pa.string()), pa.field("zip", pa.int32())])
    # Equal cities join, whatever the rest of the struct holds.
    cities = [("Ulm", 1), ("Ulm", 2), ("Bonn", 1), ("", None)]
    return Keys(
        ("geo.city",),
        (pa.field("geo", geo),),
        tuple({"geo": {"city": city, "zip": number}} for city, number in cities),
        ({"geo": None}, {"geo": {"city": None, "zip": 1}}),
    )


KEY_KINDS: dict[KeyKind, Keys] = {
    "int64": _single(pa.int64(), 1, 0, -1, 2**63 - 1, -(2**63)),
    "string": _single(pa.string(), "a", "A", "", "a ", "ä", "a\u0308"),
    "composite": _composite(),
    "decimal": _single(pa.decimal128(38, 2), *map(Decimal, ("1.10", "-1.10", "0.00", "1.11"))),
    "binary": _single(pa.binary(), b"\x00", b"", b"\x00\x00", b"\xff"),
    "timestamp": _single(
        pa.timestamp("us", "UTC"),
        datetime(1970, 1, 1),
        datetime(1969, 12, 31),
        datetime(2024, 2, 29),
    ),
    "double": _single(pa.float64(), 0.0, -0.0, float("nan"), 1.5, float("inf")),
    "dotted": _dotted(),
    "none": Keys(None, (), ({},)),
}
