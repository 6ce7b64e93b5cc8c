"""From sqlglot's nodes to terms: one small function per kind of node."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from windrow.expressions import intervals, terms, texts, types
from windrow.expressions.scope import Scope
from windrow.expressions.terms import Term
from windrow.model import WindrowError

_SUPPORTED = (
    "comparison (with <=> and BETWEEN), arithmetic, boolean logic, null tests, IN, LIKE, CAST, "
    "COALESCE, ABS, UPPER and LOWER"
)
#: SQL's own words, where sqlglot's name of a node is none.
_WORDS: dict[type, str] = {
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.RegexpLike: "RLIKE",
    exp.SimilarTo: "SIMILAR TO",
    exp.IntDiv: "DIV",
    exp.DPipe: "||",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseNot: "~",
}


def translate(node: exp.Expr, scope: Scope) -> Term:
    """The term of a node; what has no entry in `_NODES` is refused by name."""
    try:
        handler = _NODES.get(type(node))
        if handler is None:
            _refuse(node)
        term = handler(node, scope)
        # `x NOT LIKE y`, which sqlglot keeps in one node.
        return terms.negation(term) if node.args.get("negate") else term
    except (WindrowError, types.Mismatch, pa.ArrowException):
        scope.culprit = scope.culprit or node
        raise


def _refuse(node: exp.Expr) -> NoReturn:
    text = node.sql(dialect="spark")
    call = re.match(r"\w+(?=\()", text) if not isinstance(node, exp.Binary) else None
    name = f"{call[0]}(...)" if call else f"{_WORDS.get(type(node), node.key.upper())} in `{text}`"
    raise WindrowError(f"uses {name}, which is not supported; supported are {_SUPPORTED}")


# --- leaves


def _column(node: exp.Expression, scope: Scope) -> Term:
    names: list[Any] = []
    inner = node
    while isinstance(inner, exp.Dot):
        names.insert(0, inner.expression)
        inner = inner.this
    if not isinstance(inner, exp.Column):
        _refuse(inner)
    names = [*inner.parts, *names]
    for name in names:
        if not isinstance(name, exp.Identifier):
            _refuse(name)
    return scope.column([name.name for name in names], any(name.quoted for name in names))


def _literal(node: exp.Expression, _: Scope) -> Term:
    text = node.name
    if node.args["is_string"]:
        return terms.constant(pa.scalar(text))
    if "e" in text.lower():
        return terms.constant(pa.scalar(float(text)))
    if "." not in text and int(text) < 2**63:
        return terms.constant(pa.scalar(int(text), pa.int64()))
    return terms.constant(pa.scalar(Decimal(text)))


def _interval(node: exp.Expression, _: Scope) -> Term:
    return terms.constant(pa.scalar(intervals.micros(node), pa.duration("us")))


# --- operators


def _paren(node: exp.Expression, scope: Scope) -> Term:
    return translate(node.this, scope)


def _is(node: exp.Expression, scope: Scope) -> Term:
    if isinstance(node.expression, exp.Null):
        return terms.apply(pc.is_null, translate(node.this, scope))
    if isinstance(node.expression, exp.Boolean):
        return terms.is_value(translate(node.this, scope), bool(node.expression.this))
    _refuse(node)


def _in(node: exp.Expression, scope: Scope) -> Term:
    if node.args.get("query"):
        _refuse(node.args["query"])
    if not node.expressions:
        _refuse(node)
    items = [translate(item, scope) for item in node.expressions]
    if any(item.constant is None for item in items):
        raise WindrowError("uses IN with columns in its list; write x = a OR x = b")
    return terms.member(translate(node.this, scope), items, scope.wall)


def _between(node: exp.Expression, scope: Scope) -> Term:
    if node.args.get("symmetric"):
        _refuse(node)
    value, low, high = (translate(node.args[part], scope) for part in ("this", "low", "high"))
    above = terms.compare(terms.less_equal, low, value, scope.wall)
    below = terms.compare(terms.less_equal, value, high, scope.wall)
    return terms.logic(pc.and_kleene, above, below)


def _like(node: exp.Expression, scope: Scope, escape: str = "\\") -> Term:
    if isinstance(node.expression, exp.Any | exp.All):
        _refuse(node)
    pattern = translate(node.expression, scope)
    if pattern.constant is None:
        raise WindrowError("uses LIKE with a pattern that is no literal")
    return terms.like(translate(node.this, scope), pattern, escape)


def _escape(node: exp.Expression, scope: Scope) -> Term:
    like = node.this
    if not isinstance(like, exp.Like):
        _refuse(like)
    found = _like(like, scope, node.expression.name)
    return terms.negation(found) if like.args.get("negate") else found


def _coalesce(node: exp.Expression, scope: Scope) -> Term:
    values = [translate(each, scope) for each in (node.this, *node.expressions)]
    return terms.coalesce(values, scope.wall)


def _cast(node: exp.Expression, scope: Scope) -> Term:
    # sqlglot reads Spark's CAST as a TryCast, and sets `safe` on a real TRY_CAST.
    if node.args.get("safe") or node.args.get("format"):
        _refuse(node)
    to = node.args["to"]
    if to.is_type("decimal"):
        sizes = [int(size.name) for size in to.expressions]
        precision, scale = sizes + [10, 0][len(sizes) :]
        if not 1 <= precision <= 38:
            raise WindrowError(f"casts to {to.sql(dialect='spark')}; decimals have 1 to 38 digits")
        return terms.cast(translate(node.this, scope), pa.decimal128(precision, scale))
    if isinstance(to.this, exp.Interval):
        return _as_interval(node, scope)
    if to.this in _INSTANTS:
        return terms.cast(translate(node.this, scope), _timestamp(node, scope))
    if to.this not in _CASTS:
        raise WindrowError(
            f"casts to {to.sql(dialect='spark')}, which is not supported; supported are boolean, "
            "integers, float, double, decimal, string, date and timestamp"
        )
    return terms.cast(translate(node.this, scope), _CASTS[to.this])


def _timestamp(node: exp.Expression, scope: Scope) -> pa.DataType:
    """What TIMESTAMP is. As in Spark, a literal that names a zone is an instant in any case."""
    bare = node.args["to"].this is not _DType.TIMESTAMPLTZ
    # sqlglot reads TIMESTAMP '...' as a Cast, and Spark's CAST as a TryCast.
    zoned = not isinstance(node, exp.TryCast) and types.names_a_zone(node.this.name)
    if scope.dialect.naive and bare and not zoned:
        return pa.timestamp("us")
    return types.instant(scope.dialect.zone)


def _as_interval(node: exp.Expression, scope: Scope) -> Term:
    """Spark's own text casts an interval to a wider one: the length stays."""
    term, to = translate(node.this, scope), node.args["to"]
    if types.kind(term.type) != "duration" or not intervals.fixed(to.this.args.get("unit")):
        raise types.Mismatch(
            f"casts {{}} to {to.sql(dialect='spark')}, which is not supported", term.type
        )
    return term


_DType = exp.DataType.Type
_INSTANTS = (_DType.TIMESTAMP, _DType.TIMESTAMPTZ, _DType.TIMESTAMPLTZ)
_CASTS = {
    _DType.BOOLEAN: pa.bool_(),
    _DType.TINYINT: pa.int8(),
    _DType.SMALLINT: pa.int16(),
    _DType.INT: pa.int32(),
    _DType.BIGINT: pa.int64(),
    _DType.FLOAT: pa.float32(),
    _DType.DOUBLE: pa.float64(),
    _DType.TEXT: pa.string(),
    _DType.DATE: pa.date32(),
    _DType.TIMESTAMPNTZ: pa.timestamp("us"),
}

_Handler = Callable[[Any, Scope], Term]


def _comparison(function: Callable[[Any, Any], Any]) -> _Handler:
    return lambda node, scope: terms.compare(
        function, translate(node.this, scope), translate(node.expression, scope), scope.wall
    )


def _arithmetic(symbol: str) -> _Handler:
    return lambda node, scope: terms.arithmetic(
        symbol, translate(node.this, scope), translate(node.expression, scope)
    )


def _connector(function: Callable[[Any, Any], Any]) -> _Handler:
    return lambda node, scope: terms.logic(
        function, *(translate(operand, scope) for operand in node.flatten())
    )


_NODES: dict[type, _Handler] = {
    exp.Column: _column,
    exp.Dot: _column,
    exp.Literal: _literal,
    exp.Interval: _interval,
    exp.Boolean: lambda node, _: terms.constant(pa.scalar(bool(node.this))),
    exp.Null: lambda node, _: terms.constant(pa.scalar(None)),
    exp.Paren: _paren,
    exp.And: _connector(pc.and_kleene),
    exp.Or: _connector(pc.or_kleene),
    exp.Not: lambda node, scope: terms.negation(translate(node.this, scope)),
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.EQ: _comparison(terms.equal),
    exp.NEQ: _comparison(lambda x, y: pc.invert(terms.equal(x, y))),
    exp.NullSafeEQ: _comparison(terms.null_safe_equal),
    exp.LT: _comparison(terms.less),
    exp.LTE: _comparison(terms.less_equal),
    exp.GT: _comparison(lambda x, y: terms.less(y, x)),
    exp.GTE: _comparison(lambda x, y: terms.less_equal(y, x)),
    exp.RawString: lambda node, _: terms.constant(pa.scalar(node.name, pa.string())),
    exp.Like: _like,
    exp.Escape: _escape,
    exp.Coalesce: _coalesce,
    exp.Abs: lambda node, scope: terms.absolute(translate(node.this, scope)),
    exp.Upper: lambda node, scope: terms.cased(texts.upper, "UPPER", translate(node.this, scope)),
    exp.Lower: lambda node, scope: terms.cased(texts.lower, "LOWER", translate(node.this, scope)),
    exp.Neg: lambda node, scope: terms.negative(translate(node.this, scope)),
    exp.Negative: lambda node, scope: terms.negative(translate(node.this, scope)),
    exp.Add: _arithmetic("+"),
    exp.Sub: _arithmetic("-"),
    exp.Mul: _arithmetic("*"),
    exp.Div: _arithmetic("/"),
    exp.Mod: _arithmetic("%"),
}
