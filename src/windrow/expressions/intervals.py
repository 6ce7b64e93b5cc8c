"""INTERVAL literals of days and shorter, in microseconds."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from sqlglot import exp

from windrow.model import UNITS, WindrowError

_MICROS = {unit.upper(): micros for unit, micros in UNITS.items()}
#: What stands before each part of a text such as '1 02:03:04.5' (DAY TO SECOND).
_PARTS = {"DAY": "", "HOUR": " ", "MINUTE": ":", "SECOND": ":"}


def micros(node: Any) -> int:
    """The length of an interval."""
    shown = node.sql(dialect="spark")
    unit = node.args.get("unit")
    value = node.this
    sign = -1 if isinstance(value, exp.Neg) else 1
    text = (value.this if isinstance(value, exp.Neg) else value).name.strip() if value else ""
    length = (
        _span(text, unit.this.name.upper(), unit.expression.name.upper())
        if isinstance(unit, exp.IntervalSpan)
        else _single(text, "" if unit is None else unit.name.upper())
    )
    if length is None:
        raise WindrowError(
            f"uses {shown}; an interval is one number of WEEKS ... MICROSECONDS, or a text such as "
            "'1 02:03:04' DAY TO SECOND"
        )
    length *= sign
    if length != int(length) or abs(length) >= 2**63:
        raise WindrowError(f"uses {shown}, which is no 64-bit number of microseconds")
    return int(length)


def fixed(unit: Any) -> bool:
    """Is it an interval type whose lengths are fixed: of days and shorter?"""
    names = [unit.this, unit.expression] if isinstance(unit, exp.IntervalSpan) else [unit]
    return all(name is not None and name.name.upper() in _PARTS for name in names)


def _single(text: str, unit: str) -> Decimal | None:
    size = _MICROS.get(unit.removesuffix("S"))
    if size is None or not re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
        return None
    return Decimal(text) * size


def _span(text: str, first: str, last: str) -> Decimal | None:
    """A text of several parts, from the unit `first` to the unit `last`."""
    units = list(_PARTS)
    if first not in units or last not in units or units.index(first) >= units.index(last):
        return None
    chosen = units[units.index(first) : units.index(last) + 1]
    pattern = r"([+-]?)" + "".join(
        ("" if unit == first else re.escape(_PARTS[unit]))
        + (r"(\d+(?:\.\d{0,6})?)" if unit == "SECOND" else r"(\d+)")
        for unit in chosen
    )
    found = re.fullmatch(pattern, text)
    if found is None:
        return None
    sign, *numbers = found.groups()
    length = sum(
        (Decimal(number) * _MICROS[unit] for number, unit in zip(numbers, chosen, strict=True)),
        Decimal(0),
    )
    return -length if sign == "-" else length
