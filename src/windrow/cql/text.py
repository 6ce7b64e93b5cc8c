"""A query's text, and errors that point into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from windrow.model import WindrowError

#: From the first character to the one after the last.
Span = tuple[int, int]


@dataclass(frozen=True)
class Text:
    """The text of the query called `name`."""

    sql: str
    name: str

    def error(self, what: str, at: exp.Expr | Span | None) -> WindrowError:
        """What is wrong, and where: the line, the column, and the place underlined."""
        span = at if isinstance(at, tuple) else self.span(at)
        if span is None:
            return WindrowError(f"query {self.name!r}: {what}")
        start = min(span[0], len(self.sql))
        begin = self.sql.rfind("\n", 0, start) + 1
        line, column = self.sql.count("\n", 0, start) + 1, start - begin + 1
        shown, _, _ = self.sql[begin:].partition("\n")
        width = max(1, min(span[1] - start, len(shown) - (column - 1)))
        # Tabs stay tabs, so that the mark stands below what it marks.
        indent = "".join("\t" if letter == "\t" else " " for letter in shown[: column - 1])
        return WindrowError(
            f"query {self.name!r}, line {line}, column {column}: {what}\n"
            f"  {shown}\n  {indent}{'^' * width}"
        )

    def span(self, node: exp.Expr | None) -> Span | None:
        """Where a part of the tree stands in the text."""
        if node is None:
            return None
        metas = [each.meta for each in node.walk() if "start" in each.meta]
        if not metas:
            return None
        start, stop = min(m["start"] for m in metas), max(m["end"] for m in metas) + 1
        # sqlglot knows where a function's name is and not where its bracket closes.
        open_ = self.sql.count("(", start, stop) - self.sql.count(")", start, stop)
        rest = self.sql[stop:]
        closing = len(rest) - len(rest.lstrip(" )*")) if open_ > 0 else 0
        return start, stop + closing

    def written(self, node: exp.Expr) -> str:
        """A part of the tree as it stands in the text."""
        made: str = node.sql(dialect="spark")
        span = self.span(node)
        if span is None:
            return made
        found = self.sql[span[0] : span[1]].strip()
        # Words such as NULL have no place in the tree, so a part may end too early.
        try:
            whole = sqlglot.parse_one(found, dialect="spark") == node
        except SqlglotError:
            whole = False
        return found if whole else made

    def unparsed(self, error: ParseError) -> WindrowError:
        """What sqlglot did not understand, and where."""
        found = error.errors[0]
        what = str(found["description"]).partition(". Line")[0]
        if "Required keyword" in what:
            what = "something is missing here"
        lines = self.sql.split("\n")
        before = sum(len(each) + 1 for each in lines[: found["line"] - 1])
        stop = before + found["col"]
        start = max(before, stop - len(found["highlight"] or " "))
        return self.error(f"does not parse ({what})", (start, stop))


def nearest(wanted: str, known: Iterable[str]) -> str:
    """ "; did you mean ...?", where a known name is like the one that was given.

    >>> nearest("Humidty", ["Temperature", "Humidity"])
    '; did you mean Humidity?'
    """
    lower = {name.lower(): name for name in known}
    found = get_close_matches(wanted.lower(), lower, n=1)
    return f"; did you mean {lower[found[0]]}?" if found else ""


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence.

    >>> listed(["A", "B", "C"])
    'A, B and C'
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
