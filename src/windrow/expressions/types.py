"""Which Arrow types meet, and as what: the coercions of SQL, decided before any row is seen."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.types import (
    is_binary,
    is_boolean,
    is_date,
    is_date64,
    is_decimal,
    is_dictionary,
    is_duration,
    is_fixed_size_binary,
    is_floating,
    is_integer,
    is_large_binary,
    is_large_string,
    is_null,
    is_string,
    is_timestamp,
)

from windrow.expressions import zones


class Mismatch(Exception):  # noqa: N818
    """Types that do not fit. The compiler puts the user's words for them into the text."""

    def __init__(self, text: str, *kinds: pa.DataType) -> None:
        super().__init__(text, *kinds)
        self.text, self.kinds = text, kinds


def instant(zone: str) -> pa.DataType:
    """What SQL's TIMESTAMP is: an instant, which text shows in this zone."""
    return pa.timestamp("us", zone)


_UNITS = ("s", "ms", "us", "ns")
_PLAIN = {
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
    pa.float16(): pa.float32(),
}


def plain(type_: pa.DataType, zone: str) -> pa.DataType:
    """The type a column is computed in: encodings and types without kernels are left behind.

    All instants are in the zone of the whole expression: a column's own is a way to show it.
    """
    if is_dictionary(type_):
        return plain(type_.value_type, zone)
    if is_timestamp(type_) and type_.tz:
        return pa.timestamp(type_.unit, zone)
    return _PLAIN.get(type_, type_)


def kind(type_: pa.DataType) -> str:
    """The family within which types may be mixed; a type without one only meets itself."""
    if is_integer(type_) or is_floating(type_) or is_decimal(type_):
        return "number"
    if is_string(type_) or is_large_string(type_):
        return "text"
    if is_timestamp(type_) or is_date(type_):
        return "moment"
    if is_binary(type_) or is_large_binary(type_) or is_fixed_size_binary(type_):
        return "bytes"
    for name, test in (("boolean", is_boolean), ("duration", is_duration), ("null", is_null)):
        if test(type_):
            return name
    return str(type_)


def common(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The type in which values of `a` and `b` compare exactly, or None where they do not."""
    if a == b or is_null(b):
        return a
    if is_null(a):
        return b
    if kind(a) != kind(b):
        return None
    match kind(a):
        case "number":
            return _common_number(a, b)
        case "text":
            return pa.large_string()
        case "bytes":
            return pa.large_binary()
        case "moment":
            return common_moment(a, b)
        case "duration":
            return pa.duration(finest(a, b))
    return None


def _common_number(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    if is_floating(a) or is_floating(b):
        return pa.float64()
    if is_integer(a) and is_integer(b) and pa.uint64() not in (a, b):
        return pa.int64()
    a, b = as_decimal(a), as_decimal(b)
    scale = max(a.scale, b.scale)
    return decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale)


def common_moment(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """A timestamp for both: of the finer unit, and an instant once either is one."""
    zone = next((t.tz for t in (a, b) if is_timestamp(t) and t.tz), None)
    return pa.timestamp(finest(a, b), zone)


def finest(*types: pa.DataType) -> str:
    """The finest unit among dates, timestamps and durations."""
    units = [("ms" if is_date64(t) else "s") if is_date(t) else t.unit for t in types]
    return max(units, key=_UNITS.index)


def decimal(precision: int, scale: int, wide: bool = False) -> pa.DataType:
    """A decimal type in 128 bits if it fits (unless `wide`), in 256 else."""
    if wide or precision > 38:
        return pa.decimal256(min(precision, 76), scale)
    return pa.decimal128(precision, scale)


def as_decimal(type_: pa.DataType, wide: bool = False) -> pa.DataType:
    """The decimal that holds every value of an exact number type."""
    if is_decimal(type_):
        return decimal(type_.precision, type_.scale, wide)
    return decimal(20 if type_ == pa.uint64() else 19, 0, wide)


def convert(x: Any, to: pa.DataType) -> Any:
    """Values in a type that `common` found: exact, but for integers that become floats."""
    if x.type == to:
        return x
    if is_timestamp(to) and has_clocks(to) and not (is_timestamp(x.type) and x.type.tz):
        x = zones.instants(pc.cast(x, pa.timestamp(to.unit)), to.tz)
    return pc.cast(_exactly(x, to), to, safe=not is_floating(to))


def has_clocks(type_: pa.DataType) -> bool:
    """Is it an instant in a zone whose wall-clock times are not UTC's?"""
    return type_.tz is not None and type_.tz != zones.UTC


def _exactly(x: Any, to: pa.DataType) -> Any:
    """Arrow's own cast of a decimal to a float is off by a bit (0.3); by way of text it is not."""
    return pc.cast(x, pa.string()) if is_decimal(x.type) and is_floating(to) else x


#: From which kinds each kind can be CAST; the missing ones mean different things per engine.
_CASTABLE = {
    "boolean": ("boolean", "number", "text"),
    "number": ("boolean", "number", "text"),
    "text": ("boolean", "number", "text", "moment"),
    "moment": ("moment", "text"),
}


def castable(source: pa.DataType, to: pa.DataType) -> bool:
    """Has CAST one meaning here? Numbers as times have several, and so has a float as text."""
    if is_null(source):
        return True
    spelled = is_floating(source) and kind(to) == "text"
    return kind(source) in _CASTABLE[kind(to)] and not spelled


def cast(x: Any, to: pa.DataType) -> Any:
    """SQL's CAST: fractions are cut off or rounded, what does not fit raises."""
    source = x.type
    if kind(source) == "text" and kind(to) != "text":
        x = pc.utf8_trim_whitespace(x)
        if is_timestamp(to):
            return _read_time(x, to)
    elif is_timestamp(source):
        return _cast_time(x, to)
    elif is_date(source) and is_timestamp(to):
        return convert(x, to)
    elif is_integer(source) and is_decimal(to):
        # Arrow wants room for every int64; by way of a decimal it checks the values instead.
        x = pc.cast(x, as_decimal(source))
    elif is_boolean(source) and is_decimal(to):
        x = pc.cast(pc.cast(x, pa.int64()), pa.decimal128(19, 0))
    elif is_decimal(source) and is_boolean(to):
        x = pc.cast(x, pa.float64())
    elif (is_floating(source) or is_decimal(source)) and is_integer(to):
        x = pc.trunc(x)
    elif is_decimal(source) and is_decimal(to) and source.scale > to.scale:
        roomy = pc.cast(x, decimal(source.precision + 1, source.scale))
        x = pc.round(roomy, to.scale, "half_towards_infinity")
    return pc.cast(_exactly(x, to), to, safe=not is_floating(to))


def _cast_time(x: Any, to: pa.DataType) -> Any:
    """A timestamp as another type: days, text and times without a zone are those on the clock."""
    x = pc.cast(x, pa.timestamp("us", x.type.tz), safe=False)
    if is_timestamp(to) and to.tz:
        return convert(x, to)
    if x.type.tz:
        x = zones.local(x)
    if kind(to) == "text":
        return pc.ascii_rtrim(pc.ascii_rtrim(pc.cast(x, to), "0"), ".")
    return pc.cast(x, to)


_ZONE = r"([ T]\d\d(?::\d\d(?::\d\d(?:\.\d+)?)?)?)\s*(?:Z|[+-]\d\d(?::?\d\d)?)$"


def names_a_zone(text: str) -> bool:
    """Does the text of a time end with its zone?"""
    return re.search(_ZONE, text.strip()) is not None


def _read_time(text: Any, to: pa.DataType) -> Any:
    """Text as times. What names no zone is on the clock; without clocks a zone does not count."""
    if to.tz is None:
        text = pc.replace_substring_regex(text, _ZONE, r"\1")
    read = pc.cast(_zoned(text), pa.timestamp("us", zones.UTC))
    if to.tz is None or to.tz == zones.UTC:
        return pc.cast(read, to)
    named = pc.match_substring_regex(text, _ZONE)
    if isinstance(named, pa.Scalar) and named.as_py():
        return pc.cast(read, to)
    on_clock = zones.instants(pc.cast(read, pa.timestamp("us")), to.tz)
    return pc.if_else(named, pc.cast(read, to), on_clock)


def _zoned(text: Any) -> Any:
    """Arrow reads an instant only from a full time with a zone: add midnight, then UTC."""
    text = pc.replace_substring_regex(text, r"^(\d{4}-\d\d-\d\d)$", r"\1 00:00:00")
    time = r"^([0-9-]{10}[ T]\d\d(?::\d\d(?::\d\d(?:\.\d+)?)?)?)$"
    return pc.replace_substring_regex(text, time, r"\1Z")
