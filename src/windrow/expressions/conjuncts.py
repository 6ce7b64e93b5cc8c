"""A condition as the parts that AND holds together, each with the streams that it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import sqlglot
from sqlglot import exp

from windrow.dialect import TABLES, Dialect
from windrow.expressions.compiled import condition


@dataclass(frozen=True)
class Conjunct:
    """A part of a condition: its text, and the streams whose columns it reads."""

    sql: str
    streams: frozenset[str]


def conjuncts(
    sql: str, schemas: Mapping[str, pa.Schema], dialect: Dialect = TABLES
) -> list[Conjunct]:
    """The parts of a condition that has been understood; it holds if all of them do.

    >>> schemas = {name: pa.schema({"v": pa.int64()}) for name in ("a", "b", "c")}
    >>> for part in conjuncts("a.v > 1 AND (a.v < b.v AND b.v < c.v OR c.v = 0)", schemas):
    ...     print(part.sql, "|", *sorted(part.streams))
    a.v > 1 | a
    (a.v < b.v AND b.v < c.v OR c.v = 0) | a b c
    """
    tree = sqlglot.parse_one(sql, dialect="spark")
    found: list[Conjunct] = []
    for part in parts(tree):
        text = part.sql(dialect="spark")
        if sqlglot.parse_one(text, dialect="spark") != part:
            # Its text would be read as something else, so the whole stays whole.
            text, found = sql, []
        read = condition(text, schemas, dialect).columns
        found.append(Conjunct(text, frozenset(name for name, _ in read)))
        if text is sql:
            break
    return found


def parts(node: exp.Expr) -> Iterator[exp.Expr]:
    """What AND holds together, through parentheses."""
    inner = node
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.And):
        for operand in inner.flatten(unnest=False):
            yield from parts(operand)
    else:
        yield node
