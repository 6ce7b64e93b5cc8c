"""Spark's SQL with one more clause, of paper 2: WINDOW 1 min [SLIDE 10 s], WINDOW n ROWS [PER KEY].

sqlglot parses all of it. Its own WINDOW clause, of named windows, gives way to ours, which keeps
the text of its two lengths; `windowing` reads them by the rules of `windrow.duration`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError

from windrow.cql.text import Text


class Grammar(Spark):
    """The dialect of continuous queries."""

    class Parser(Spark.Parser):  # type: ignore[valid-type, misc]
        """Spark's parser, with our clause."""

        QUERY_MODIFIER_PARSERS: ClassVar[dict[Any, Any]] = {
            **Spark.Parser.QUERY_MODIFIER_PARSERS,
            TokenType.WINDOW: lambda self: ("windows", self.parse_lengths()),
        }

        def parse_lengths(self) -> exp.Tuple:
            """The text after WINDOW and, if there is one, after SLIDE."""
            self._advance()
            lengths = [self._length()]
            if self._said("SLIDE"):
                self._advance()
                lengths.append(self._length())
            return exp.Tuple(expressions=lengths)

        def _length(self) -> exp.Literal:
            """All up to SLIDE, to another clause or to the end, as text."""
            first = self._curr
            while not self._ends():
                self._advance()
            empty = self._curr is first
            start, end = (self._prev if empty else first), self._prev
            found = exp.Literal.string("" if empty else self._find_sql(start, end))
            found.meta.update(start=start.start, end=end.end)
            return found

        def _ends(self) -> bool:
            kind = self._curr.token_type if self._curr else None
            return (
                not self._curr
                or self._said("SLIDE")
                or kind is TokenType.SEMICOLON
                or kind in self.QUERY_MODIFIER_PARSERS
            )

        def _said(self, word: str) -> bool:
            return bool(self._curr) and self._curr.text.upper() == word


def parse(text: Text) -> exp.Select:
    """The tree of a query: one SELECT."""
    try:
        parsed = Grammar().parse(text.sql)
    except ParseError as error:
        raise text.unparsed(error) from None
    except TokenError:
        raise text.error("does not parse (a quote or a comment does not end)", None) from None
    except RecursionError:
        raise text.error("is nested too deeply", None) from None
    statements = [each for each in parsed if each and not isinstance(each, exp.Semicolon)]
    if not statements:
        raise text.error("is empty; write SELECT ... FROM ... WHERE ... WINDOW ...", None)
    if len(statements) > 1:
        raise text.error("holds several statements; add each as a query", statements[1])
    (found,) = statements
    if not isinstance(found, exp.Select):
        raise text.error("is no SELECT; a continuous query is one SELECT over streams", found)
    return found
