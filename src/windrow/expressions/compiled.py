"""SQL text, or a part of it, as an `Expression`: conditions, predicates, values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from windrow.dialect import TABLES, Dialect
from windrow.expressions import terms, types
from windrow.expressions.scope import Scope
from windrow.expressions.terms import ColumnRef, Term
from windrow.expressions.translate import translate
from windrow.model import WindrowError


@dataclass(frozen=True)
class Expression:
    """Compiled SQL: which columns it reads, its values, and of a condition which rows hold."""

    sql: str
    #: The columns it reads, each once.
    columns: tuple[ColumnRef, ...]
    _term: Term = field(repr=False, compare=False)
    _types: tuple[pa.DataType, ...] = field(repr=False, compare=False)

    @property
    def type(self) -> pa.DataType:
        """The type of its values."""
        return self._term.type

    def evaluate(self, columns: Mapping[ColumnRef, pa.Array], length: int) -> pa.BooleanArray:
        """A verdict per row; null counts as False. Chunked and encoded columns are welcome."""
        return pc.fill_null(self.values(columns, length), False)

    def values(self, columns: Mapping[ColumnRef, pa.Array], length: int) -> pa.Array:
        """A value per row."""
        try:
            arrays = {
                ref: _flat(columns[ref], to)
                for ref, to in zip(self.columns, self._types, strict=True)
            }
            found = self._term.run(arrays)
        except pa.ArrowException as error:
            raise WindrowError(f"cannot compute {self.sql!r} on these rows: {error}") from error
        return pa.repeat(found, length) if isinstance(found, pa.Scalar) else found


def _flat(column: Any, to: pa.DataType) -> pa.Array:
    column = column if column.type == to else column.cast(to)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def condition(sql: str, schemas: Mapping[str, pa.Schema], dialect: Dialect = TABLES) -> Expression:
    """Compile a condition over a join's structs; every column is qualified by its stream.

    >>> schemas = {"imp": pa.schema({"price": pa.int64()}), "clk": pa.schema({"bid": pa.int64()})}
    >>> cheap = condition("imp.price < clk.bid", schemas)
    >>> cheap.columns
    (('imp', 'price'), ('clk', 'bid'))
    >>> imp, clk = pa.array([1, 2, None]), pa.array([2, 2, 2])
    >>> cheap.evaluate({("imp", "price"): imp, ("clk", "bid"): clk}, 3).to_pylist()
    [True, False, False]
    """
    return _compile("condition", sql, Scope(schemas, dialect))


def predicate(sql: str, name: str, schema: pa.Schema, dialect: Dialect = TABLES) -> Expression:
    """Compile a predicate over one stream's own columns, which need no qualifier."""
    return _compile(f"predicate of {name}", sql, Scope({name: schema}, dialect, own=name))


def _compile(label: str, sql: str, scope: Scope) -> Expression:
    try:
        return compile_node(_parse(sql), sql, scope, boolean=True)
    except WindrowError as error:
        raise WindrowError(f"{label} {error}: {sql!r}") from error.__cause__
    except RecursionError as error:
        raise WindrowError(f"{label} is nested too deeply: {sql[:200]!r}") from error


def compile_node(node: exp.Expr, sql: str, scope: Scope, boolean: bool) -> Expression:
    """A node as an expression. Errors say what is wrong with it, for a sentence to begin with."""
    try:
        term = translate(node, scope)
        if boolean and term.type not in (pa.bool_(), pa.null()):
            raise types.Mismatch("is {}, not boolean", term.type)
        term = terms.boolean(term) if boolean else term
    except types.Mismatch as error:
        text = error.text.format(*map(scope.dialect.type_name, error.kinds))
        raise WindrowError(text) from error
    except pa.ArrowException as error:
        raise WindrowError(f"cannot be computed ({error})") from error
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
