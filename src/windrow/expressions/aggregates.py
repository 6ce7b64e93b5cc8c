"""Aggregates from SQL text: a function's name and the dotted column it is of."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

FUNCTIONS: dict[type, str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
    exp.Avg: "avg",
}


def aggregate(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The function and the parts of its column's name (none: of the rows); None: it is neither.

    >>> aggregate("max(bid.price)"), aggregate("count(*)"), aggregate("median(x)")
    (('max', ('bid', 'price')), ('count', ()), None)
    """
    try:
        found = sqlglot.parse_one(text, dialect="spark")
    except SqlglotError:
        return None
    function = FUNCTIONS.get(type(found))
    if function is None or found.args.get("expressions"):
        return None
    if isinstance(found.this, exp.Star):
        return (function, ()) if function == "count" else None
    if not isinstance(found.this, exp.Column | exp.Dot):
        return None
    return function, tuple(part.name for part in found.this.parts)
