"""The text that Spark makes of a Column, as a user would have written it."""

from __future__ import annotations

from collections.abc import Collection

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

_Type = exp.DataType.Type


def plainly(text: str, qualifiers: Collection[tuple[str, ...]] = (), naive: bool = False) -> str:
    """The text without these qualifiers before its columns' names.

    `naive`: TIMESTAMP is a wall-clock time to the session, while Spark writes it for an instant.

    >>> plainly("(spark_catalog.default.t.k = 1)", {("spark_catalog", "default", "t")})
    '(k = 1)'
    >>> plainly("CAST(day AS TIMESTAMP) > at", naive=True)
    'CAST(day AS TIMESTAMP_LTZ) > at'
    """
    if not qualifiers and not naive:
        return text
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except SqlglotError:
        # The compiler says what is wrong with it.
        return text
    made = tree.transform(lambda node: _shorter(node, qualifiers))
    if naive:
        made = made.transform(_instant)
    return made.sql(dialect="spark")


def _shorter(node: exp.Expression, qualifiers: Collection[tuple[str, ...]]) -> exp.Expression:
    if not isinstance(node, exp.Column | exp.Dot):
        return node
    parts = list(node.parts)
    for qualifier in qualifiers:
        named = tuple(part.name for part in parts[: len(qualifier)])
        if named == qualifier and len(parts) > len(qualifier):
            first, *rest = [part.copy() for part in parts[len(qualifier) :]]
            top: exp.Expression = exp.column(first)
            return exp.Dot.build([top, *rest]) if rest else top
    return node


def _instant(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.DataType) and node.this is _Type.TIMESTAMPTZ:
        return exp.DataType(this=_Type.TIMESTAMPLTZ, nested=False)
    return node
