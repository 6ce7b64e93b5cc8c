"""Terms: the nodes of a compiled expression, and the operators that build one from others.

A term knows its Arrow type and how to compute itself from columns. Building one computes it once
on zero rows, so types that do not meet are found before any data is; constants fold on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.types import (
    is_boolean,
    is_date,
    is_decimal,
    is_duration,
    is_floating,
    is_integer,
    is_nested,
    is_null,
)

from windrow.expressions import texts, types, zones
from windrow.expressions.types import Mismatch
from windrow.model import UNITS

#: (stream name, dotted path inside it), spelled as in the schema.
ColumnRef = tuple[str, str]
Function = Callable[..., Any]


@dataclass(frozen=True)
class Term:
    """Part of an expression. `constant` is its scalar if it reads no column."""

    type: pa.DataType
    run: Callable[[Mapping[ColumnRef, pa.Array]], Any]
    constant: pa.Scalar | None = None

    @property
    def sample(self) -> Any:
        return pa.array([], self.type) if self.constant is None else self.constant


def constant(value: pa.Scalar) -> Term:
    return Term(value.type, lambda _: value, value)


def apply(function: Function, *terms: Term) -> Term:
    """The term that computes `function` of other terms' values."""
    sample = function(*(term.sample for term in terms))
    if isinstance(sample, pa.Scalar):
        return constant(sample)
    return Term(sample.type, lambda columns: function(*(term.run(columns) for term in terms)))


def convert(term: Term, to: pa.DataType) -> Term:
    return term if term.type == to else apply(lambda x: types.convert(x, to), term)


def cast(term: Term, to: pa.DataType) -> Term:
    if not types.castable(term.type, to):
        raise Mismatch("casts {} to {}, which is not supported", term.type, to)
    return apply(lambda x: types.cast(x, to), term)


# --- boolean logic


def boolean(term: Term) -> Term:
    if not is_boolean(term.type) and not is_null(term.type):
        raise Mismatch("has {} where a boolean is needed", term.type)
    return convert(term, pa.bool_())


def logic(function: Function, *terms: Term) -> Term:
    """AND or OR of any number of terms, flat, so that long chains do not nest calls."""
    return apply(lambda *xs: reduce(function, xs), *map(boolean, terms))


def negation(term: Term) -> Term:
    return apply(pc.invert, boolean(term))


def is_value(term: Term, value: bool) -> Term:
    """IS TRUE, IS FALSE: never null."""
    verdict = boolean(term) if value else negation(term)
    return apply(lambda x: pc.coalesce(x, pa.scalar(False)), verdict)


# --- comparison


def equal(x: Any, y: Any) -> Any:
    same = pc.equal(x, y)
    # or_ and and_, not Kleene's: a null operand must stay a null verdict.
    return pc.or_(same, pc.and_(pc.is_nan(x), pc.is_nan(y))) if is_floating(x.type) else same


def less(x: Any, y: Any) -> Any:
    below = pc.less(x, y)
    return pc.or_(below, pc.and_not(pc.is_nan(y), pc.is_nan(x))) if is_floating(x.type) else below


def less_equal(x: Any, y: Any) -> Any:
    below = pc.less_equal(x, y)
    return pc.or_(below, pc.is_nan(y)) if is_floating(x.type) else below


def null_safe_equal(x: Any, y: Any) -> Any:
    return pc.coalesce(equal(x, y), pc.and_(pc.is_null(x), pc.is_null(y)))


def compare(function: Function, a: Term, b: Term, wall: bool = False) -> Term:
    """`wall`: text next to a time without a zone is one too, whatever zone it names."""
    a, b = _aligned(a, b, wall)
    if is_nested(a.type):
        raise Mismatch("compares {} with {}; compare their fields", a.type, b.type)
    return apply(function, a, b)


def member(term: Term, items: Sequence[Term], wall: bool = False) -> Term:
    """IN: null where the value is null, or where nothing matches a list that holds a null."""
    known = [item for item in items if item.constant is not None and item.constant.is_valid]
    for item in known:
        term, _ = _aligned(term, item, wall)
    constants = [_aligned(term, item, wall)[1].constant for item in known]
    values = _one_zero(pa.array(constants, term.type))
    unknown = pa.scalar(None, pa.bool_())

    def run(x: Any) -> Any:
        hit = pc.is_in(_one_zero(x), value_set=values)
        return pc.if_else(hit if len(known) < len(items) else pc.is_valid(x), hit, unknown)

    return apply(run, term)


def _one_zero(x: Any) -> Any:
    """Hashing tells -0.0 from 0.0; comparison does not."""
    return pc.add(x, pa.scalar(0.0, x.type)) if is_floating(x.type) else x


def _aligned(a: Term, b: Term, wall: bool) -> tuple[Term, Term]:
    a, b = _as_moment(a, b, wall), _as_moment(b, a, wall)
    to = types.common(a.type, b.type)
    if to is None:
        raise Mismatch("compares {} with {}; CAST one of them", a.type, b.type)
    to = pa.bool_() if is_null(to) else to
    return convert(a, to), convert(b, to)


def _as_moment(text: Term, other: Term, wall: bool) -> Term:
    """A text literal is read as a time when it meets one."""
    if text.constant is None or (types.kind(text.type), types.kind(other.type)) != (
        "text",
        "moment",
    ):
        return text
    if is_date(other.type):
        return cast(text, pa.date32())
    zone = other.type.tz or (None if wall else zones.UTC)
    return cast(text, pa.timestamp("us", zone))


# --- values


def coalesce(terms: Sequence[Term], wall: bool = False) -> Term:
    """The first value that is not null."""
    first = terms[0]
    for term in terms[1:]:
        first, _ = _either(first, term, wall)
    aligned = [_either(first, term, wall)[1] for term in terms]
    return apply(pc.coalesce, *aligned) if len(aligned) > 1 else first


def _either(a: Term, b: Term, wall: bool) -> tuple[Term, Term]:
    """Two values in a type that holds both."""
    a, b = _as_moment(a, b, wall), _as_moment(b, a, wall)
    to = types.common(a.type, b.type)
    if to is None:
        raise Mismatch("chooses between {} and {}; CAST one of them", a.type, b.type)
    return convert(a, to), convert(b, to)


def like(term: Term, pattern: Term, escape: str) -> Term:
    """LIKE with a pattern that is known before any row is."""
    for side in (term, pattern):
        if types.kind(side.type) not in ("text", "null"):
            raise Mismatch("uses LIKE on {}; CAST it to STRING", side.type)
    if is_null(term.type) or pattern.constant is None or not pattern.constant.is_valid:
        return constant(pa.scalar(None, pa.bool_()))
    regex = texts.like_regex(pattern.constant.as_py(), escape)
    return apply(lambda x: texts.like(x, regex), term)


def cased(function: Function, name: str, term: Term) -> Term:
    """UPPER or LOWER."""
    if is_null(term.type):
        return term
    if types.kind(term.type) != "text":
        raise Mismatch(f"uses {name} on {{}}; CAST it to STRING", term.type)
    return apply(function, term)


# --- arithmetic


def arithmetic(symbol: str, a: Term, b: Term) -> Term:
    """`a symbol b` of numbers, or of times and durations."""
    if is_null(a.type) or is_null(b.type):
        to = types.common(a.type, b.type)
        a, b = (convert(term, pa.int64() if is_null(to) else to) for term in (a, b))
    kinds = types.kind(a.type), types.kind(b.type)
    if kinds == ("number", "number"):
        return _of_numbers(symbol, a, b)
    if symbol == "+" and kinds == ("duration", "moment"):
        a, b, kinds = b, a, ("moment", "duration")
    if symbol == "-" and kinds == ("moment", "moment"):
        to = types.common_moment(a.type, b.type)
        # Spark: what the clocks of the session's zone differ by.
        clocks = zones.local if types.has_clocks(to) else _itself
        return apply(
            lambda x, y: pc.subtract_checked(clocks(x), clocks(y)), convert(a, to), convert(b, to)
        )
    if symbol in "+-" and kinds[0] in ("moment", "duration") and kinds[1] == "duration":
        unit = types.finest(a.type, b.type)
        zone = None if is_date(a.type) or kinds[0] == "duration" else a.type.tz
        to = pa.duration(unit) if kinds[0] == "duration" else pa.timestamp(unit, zone)
        if zone is not None and types.has_clocks(to) and not _within_a_day(b):
            by = b if symbol == "+" else negative(b)
            return apply(zones.shift, convert(a, to), convert(by, pa.duration(unit)))
        return apply(_ARITHMETIC[symbol], convert(a, to), convert(b, pa.duration(unit)))
    text = f"computes {{}} {symbol} {{}}, which has no meaning; CAST one"
    raise Mismatch(text, a.type, b.type)


def _itself(x: Any) -> Any:
    return x


def absolute(term: Term) -> Term:
    """ABS; that of the smallest number overflows, as in Spark."""
    if is_null(term.type) or term.type == pa.uint64():
        return term
    if is_duration(term.type):
        count = apply(lambda x: pc.abs_checked(pc.cast(x, pa.int64())), term)
        return apply(lambda x: pc.cast(x, term.type), count)
    if types.kind(term.type) != "number":
        raise Mismatch("computes ABS of {}, which has no meaning; CAST it", term.type)
    return apply(pc.abs_checked, convert(term, pa.int64()) if is_integer(term.type) else term)


def negative(term: Term) -> Term:
    if is_null(term.type):
        return term
    if types.kind(term.type) not in ("number", "duration"):
        raise Mismatch("computes - {}, which has no meaning; CAST it", term.type)
    if is_integer(term.type):
        unsigned = term.type == pa.uint64()
        term = convert(term, types.as_decimal(term.type) if unsigned else pa.int64())
    return apply(pc.negate_checked, term)


def _within_a_day(by: Term) -> bool:
    """Is it a constant too short for the calendar to matter?"""
    if by.constant is None or not by.constant.is_valid:
        return False
    return bool(abs(pc.cast(by.constant, pa.duration("us"), safe=False).value) < UNITS["day"])


def _of_numbers(symbol: str, a: Term, b: Term) -> Term:
    if is_floating(a.type) or is_floating(b.type):
        to_a = to_b = types.common(a.type, b.type)
    elif symbol == "/" and is_integer(a.type) and is_integer(b.type):
        to_a = to_b = pa.float64()
    elif is_decimal(a.type) or is_decimal(b.type) or pa.uint64() in (a.type, b.type):
        to_a, to_b = types.as_decimal(a.type), types.as_decimal(b.type)
        # Arrow's results have up to this many digits; those of modulo pass through more.
        wide = symbol == "%" or to_a.precision + to_b.precision + 4 > 38
        to_a, to_b = types.as_decimal(to_a, wide), types.as_decimal(to_b, wide)
    else:
        to_a = to_b = pa.int64()
    return apply(_ARITHMETIC[symbol], convert(a, to_a), convert(b, to_b))


def _divide(x: Any, y: Any) -> Any:
    return pc.divide(x, _nonzero(y))


def _remainder(x: Any, y: Any) -> Any:
    """x - trunc(x / y) * y, written out because older Arrow has no such function."""
    y = _nonzero(y)
    if is_floating(x.type):
        return _float_remainder(x, y)
    # The sign of y does not matter, and -1 would overflow the smallest integer's quotient.
    y = pc.abs(y)
    whole = pc.divide(x, y)
    if is_decimal(x.type):
        digits = max(whole.type.precision - whole.type.scale, 1)
        whole = pc.cast(pc.trunc(whole), pa.decimal256(digits, 0))
    return pc.subtract(x, pc.multiply(whole, y))


def _float_remainder(x: Any, y: Any) -> Any:
    """C's fmod: x - trunc(x / y) * y would be off by rounding, at times by a whole y."""
    with np.errstate(invalid="ignore"):
        result = np.fmod(_numpy(x), _numpy(y))
    value = pa.array(result, x.type) if result.ndim else pa.scalar(result.item(), x.type)
    return pc.if_else(pc.and_(pc.is_valid(x), pc.is_valid(y)), value, pa.scalar(None, x.type))


def _numpy(x: Any) -> Any:
    values = x if isinstance(x, pa.Array) else pa.array([x], x.type)
    numbers = values.to_numpy(zero_copy_only=False)
    return numbers if isinstance(x, pa.Array) else numbers[0]


def _nonzero(y: Any) -> Any:
    zero = pa.scalar(0, y.type)
    return pc.if_else(pc.equal(y, zero), pa.scalar(None, y.type), y)


_ARITHMETIC: dict[str, Function] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "/": _divide,
    "%": _remainder,
}
