"""SQL text in one spelling, to tell whether two texts ask the same."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError


def normal(text: str) -> str:
    """The text without what makes no difference: spaces, case of keywords, needless brackets.

    >>> normal("a.x<b.x  and (a.y = 1)")
    'a.x < b.x AND a.y = 1'
    """
    try:
        tree = sqlglot.parse_one(text, read="spark")
    except SqlglotError:
        return text
    return str(tree.transform(_bare).sql(dialect="spark"))


def _bare(node: exp.Expression) -> exp.Expression:
    """A comparison needs no brackets where it is a part of AND, or the whole."""
    if not isinstance(node, exp.Paren):
        return node
    inside: exp.Expression = node.this
    whole = node.parent is None or isinstance(node.parent, exp.And | exp.Paren)
    return inside if whole and isinstance(inside, exp.Predicate | exp.Column) else node
