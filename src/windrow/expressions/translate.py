"""From SQL text to an `Expression`: one small function per kind of sqlglot node."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from windrow.expressions import terms, types
from windrow.expressions.paths import match, trail
from windrow.expressions.terms import ColumnRef, Term
from windrow.model import WindrowError

_SUPPORTED = "comparison, arithmetic, boolean logic, null tests, IN and CAST"
_MICROS = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000}
_MICROS |= {"HOUR": 3_600_000_000, "DAY": 86_400_000_000, "WEEK": 604_800_000_000}


@dataclass(frozen=True)
class Expression:
    """A compiled condition: which columns it reads, and which rows hold."""

    sql: str
    #: The columns it reads, each once.
    columns: tuple[ColumnRef, ...]
    _term: Term = field(repr=False, compare=False)
    _types: tuple[pa.DataType, ...] = field(repr=False, compare=False)

    def evaluate(self, columns: Mapping[ColumnRef, pa.Array], length: int) -> pa.BooleanArray:
        """A verdict per row; null counts as False. Chunked and encoded columns are welcome."""
        try:
            arrays = {
                ref: _flat(columns[ref], to)
                for ref, to in zip(self.columns, self._types, strict=True)
            }
            verdict = self._term.run(arrays)
        except pa.ArrowException as error:
            raise WindrowError(f"cannot compute {self.sql!r} on these rows: {error}") from error
        if isinstance(verdict, pa.Scalar):
            verdict = pa.repeat(verdict, length)
        return pc.fill_null(verdict, False)


def _flat(column: Any, to: pa.DataType) -> pa.Array:
    column = column if column.type == to else column.cast(to)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def condition(sql: str, schemas: Mapping[str, pa.Schema]) -> Expression:
    """Compile a condition over a join's structs; every column is qualified by its stream.

    >>> schemas = {"imp": pa.schema({"price": pa.int64()}), "clk": pa.schema({"bid": pa.int64()})}
    >>> cheap = condition("imp.price < clk.bid", schemas)
    >>> cheap.columns
    (('imp', 'price'), ('clk', 'bid'))
    >>> imp, clk = pa.array([1, 2, None]), pa.array([2, 2, 2])
    >>> cheap.evaluate({("imp", "price"): imp, ("clk", "bid"): clk}, 3).to_pylist()
    [True, False, False]
    """
    return _compile("condition", sql, _Scope(schemas))


def predicate(sql: str, name: str, schema: pa.Schema) -> Expression:
    """Compile a predicate over one stream's own columns, which need no qualifier."""
    return _compile(f"predicate of {name}", sql, _Scope({name: schema}, own=name))


def _compile(label: str, sql: str, scope: _Scope) -> Expression:
    try:
        term = translate(_parse(sql), scope)
        if term.type not in (pa.bool_(), pa.null()):
            raise WindrowError(f"is {term.type}, not boolean")
        term = terms.boolean(term)
    except WindrowError as error:
        raise WindrowError(f"{label} {error}: {sql!r}") from error.__cause__
    except pa.ArrowException as error:
        raise WindrowError(f"{label} cannot be computed ({error}): {sql!r}") from error
    except RecursionError as error:
        raise WindrowError(f"{label} is nested too deeply: {sql[:200]!r}") from error
    return Expression(sql, tuple(scope.reads), term, tuple(scope.reads.values()))


def _parse(sql: str) -> Any:
    try:
        parsed = sqlglot.parse(sql, dialect="spark")
    except SqlglotError as error:
        raise WindrowError(f"does not parse ({str(error).splitlines()[0]})") from error
    # A comment after the last semicolon is a statement of its own to sqlglot.
    statements = [each for each in parsed if each and not isinstance(each, exp.Semicolon)]
    if len(statements) > 1:
        raise WindrowError("holds several statements, where one expression is needed")
    if not statements:
        raise WindrowError("is empty")
    return statements[0]


@dataclass
class _Scope:
    """The columns that may be named, and those that were, with the types they are computed in."""

    streams: Mapping[str, pa.Schema]
    own: str | None = None
    reads: dict[ColumnRef, pa.DataType] = field(default_factory=dict)

    def column(self, parts: list[str]) -> Term:
        stream, fields = self._find(parts)
        ref = (stream, ".".join(each.name for each in fields))
        to = self.reads.setdefault(ref, types.plain(fields[-1].type))
        return Term(to, lambda columns: columns[ref])

    def _find(self, parts: list[str]) -> tuple[str, list[pa.Field]]:
        stream = match(list(self.streams), parts[0]) if len(parts) > 1 else None
        # A qualifier wins over a struct of the same name, as in Spark.
        if stream is not None and (fields := self._trail(stream, parts[1:])):
            return stream, fields
        if self.own is not None:
            stream = self.own
            if fields := self._trail(stream, parts):
                return stream, fields
        elif len(parts) == 1:
            holders = [s for s in self.streams if self._trail(s, parts)] or list(self.streams)
            fix = f"{holders[0]}.{parts[0]}"
            raise WindrowError(f"names column {parts[0]} without its stream; write e.g. {fix}")
        if stream is None:
            known = ", ".join(self.streams)
            raise WindrowError(f"names stream {parts[0]}, which is unknown; there are {known}")
        path = ".".join(parts if self.own else parts[1:])
        names = ", ".join(self.streams[stream].names)
        raise WindrowError(f"names column {path}, which {stream} does not have; it has {names}")

    def _trail(self, stream: str, parts: list[str]) -> list[pa.Field] | None:
        schema, path = self.streams[stream], ".".join(parts)
        return trail(schema, path) or trail(schema, path, fold=True)


def translate(node: exp.Expression, scope: _Scope) -> Term:
    """The term of a node; whatever has no entry in `_NODES` is refused by name."""
    handler = _NODES.get(type(node))
    if handler is None or node.args.get("negate"):
        _refuse(node)
    return handler(node, scope)


def _refuse(node: exp.Expression) -> NoReturn:
    text = node.sql(dialect="spark")
    call = re.match(r"\w+(?=\()", text) if not isinstance(node, exp.Binary) else None
    name = f"{call[0]}(...)" if call else f"{node.key.upper()} in `{text}`"
    raise WindrowError(f"uses {name}, which is not supported; supported are {_SUPPORTED}")


# --- leaves


def _column(node: exp.Expression, scope: _Scope) -> Term:
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
    return scope.column([name.name for name in names])


def _literal(node: exp.Expression, _: _Scope) -> Term:
    text = node.name
    if node.args["is_string"]:
        return terms.constant(pa.scalar(text))
    if "e" in text.lower():
        return terms.constant(pa.scalar(float(text)))
    if "." not in text and int(text) < 2**63:
        return terms.constant(pa.scalar(int(text), pa.int64()))
    return terms.constant(pa.scalar(Decimal(text)))


def _interval(node: exp.Expression, _: _Scope) -> Term:
    text, unit = node.name.strip(), node.text("unit").upper().removesuffix("S")
    shown = node.sql(dialect="spark")
    if unit not in _MICROS or not re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
        raise WindrowError(f"uses {shown}; an interval is one number of WEEKS ... MICROSECONDS")
    micros = Decimal(text) * _MICROS[unit]
    if micros != int(micros) or abs(micros) >= 2**63:
        raise WindrowError(f"uses {shown}, which is no 64-bit number of microseconds")
    return terms.constant(pa.scalar(int(micros), pa.duration("us")))


# --- operators


def _paren(node: exp.Expression, scope: _Scope) -> Term:
    return translate(node.this, scope)


def _is(node: exp.Expression, scope: _Scope) -> Term:
    if isinstance(node.expression, exp.Null):
        return terms.apply(pc.is_null, translate(node.this, scope))
    if isinstance(node.expression, exp.Boolean):
        return terms.is_value(translate(node.this, scope), bool(node.expression.this))
    _refuse(node)


def _in(node: exp.Expression, scope: _Scope) -> Term:
    if node.args.get("query"):
        _refuse(node.args["query"])
    if not node.expressions:
        _refuse(node)
    items = [translate(item, scope) for item in node.expressions]
    if any(item.constant is None for item in items):
        raise WindrowError("uses IN with columns in its list; write x = a OR x = b")
    return terms.member(translate(node.this, scope), items)


def _between(node: exp.Expression, scope: _Scope) -> Term:
    if node.args.get("symmetric"):
        _refuse(node)
    value, low, high = (translate(node.args[part], scope) for part in ("this", "low", "high"))
    above = terms.compare(terms.less_equal, low, value)
    return terms.logic(pc.and_kleene, above, terms.compare(terms.less_equal, value, high))


def _cast(node: exp.Expression, scope: _Scope) -> Term:
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
    if to.this not in _CASTS:
        raise WindrowError(
            f"casts to {to.sql(dialect='spark')}, which is not supported; supported are boolean, "
            "integers, float, double, decimal, string, date and timestamp"
        )
    return terms.cast(translate(node.this, scope), _CASTS[to.this])


_DType = exp.DataType.Type
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
    _DType.TIMESTAMP: types.INSTANT,
    _DType.TIMESTAMPTZ: types.INSTANT,
    _DType.TIMESTAMPLTZ: types.INSTANT,
    _DType.TIMESTAMPNTZ: pa.timestamp("us"),
}

_Handler = Callable[[Any, _Scope], Term]


def _comparison(function: Callable[[Any, Any], Any]) -> _Handler:
    return lambda node, scope: terms.compare(
        function, translate(node.this, scope), translate(node.expression, scope)
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
    exp.Neg: lambda node, scope: terms.negative(translate(node.this, scope)),
    exp.Add: _arithmetic("+"),
    exp.Sub: _arithmetic("-"),
    exp.Mul: _arithmetic("*"),
    exp.Div: _arithmetic("/"),
    exp.Mod: _arithmetic("%"),
}
