"""The WINDOW clause: a time and how often it is answered, or a count of rows."""

from __future__ import annotations

import re

from sqlglot import exp

from windrow import duration
from windrow.cql.text import Text
from windrow.model import CountWindow, TimeWindow, Window, WindrowError

_ROWS = re.compile(r"(\S+)\s+rows?(\s+per\s+key)?", re.IGNORECASE)
#: As many as `windrow.rows` takes.
MOST_ROWS = 2**31 - 1


def window(text: Text, tree: exp.Select) -> tuple[Window, int | None]:
    """The window, and the slide in µs."""
    clause = tree.args.get("windows")
    if clause is None:
        raise text.error(
            "has no WINDOW; say how far apart in time the rows of a result may be, such as "
            "WINDOW 1 min, at the end",
            (len(text.sql.rstrip().rstrip(";").rstrip()), len(text.sql)),
        )
    length, *slide = clause.expressions
    rows = _ROWS.fullmatch(length.name.strip())
    if rows is not None:
        if slide:
            raise text.error("slides a window of rows; SLIDE is of windows of time", slide[0])
        return CountWindow(_count(text, length, rows[1]), "key" if rows[2] else "stream"), None
    window = TimeWindow(_micros(text, length, "WINDOW"))
    if not slide:
        return window, None
    every = _micros(text, slide[0], "SLIDE")
    if every == 0:
        raise text.error("has SLIDE 0; answers need a time between them", slide[0])
    return window, every


def _count(text: Text, node: exp.Expr, said: str) -> int:
    if not said.isascii() or not said.isdigit() or not 1 <= int(said) <= MOST_ROWS:
        raise text.error(
            f"has a window of {said} rows, expected a whole number from 1 to {MOST_ROWS:,}", node
        )
    return int(said)


def _micros(text: Text, node: exp.Expr, what: str) -> int:
    said = node.name.strip()
    if not said:
        raise text.error(f"has no length after {what}; write for example {what} 1 min", node)
    if said[0] in "'\"" and said[-1] == said[0]:
        said = said[1:-1]
    try:
        return duration.parse(said, what)
    except WindrowError as error:
        raise text.error(f"{error}{_or_rows(what)}", node) from None


def _or_rows(what: str) -> str:
    return "; a count of rows is WINDOW 100 ROWS, or WINDOW 100 ROWS PER KEY" * (what == "WINDOW")
