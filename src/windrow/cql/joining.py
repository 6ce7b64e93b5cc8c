"""WHERE and ON: the equality of keys that makes the join, and the filters that are left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from windrow import expressions
from windrow.cql.query import Filter
from windrow.cql.sources import From, Names, Source, as_column
from windrow.cql.text import Text
from windrow.expressions import Expression
from windrow.model import WindrowError


def filters(text: Text, tree: exp.Select, found: From, names: Names) -> tuple[Filter, ...]:
    """All that WHERE and ON ask beside the equality of the declared keys.

    Selections stay above the join, so that queries with other filters can share it (section 1).
    """
    conditions = list(found.on)
    if tree.args.get("where") is not None:
        conditions.append(tree.args["where"].this)
    equal = _Equal(text, found.sources)
    made = []
    for condition in conditions:
        for part in expressions.parts(condition):
            if equal.takes(part, names):
                continue
            test = compiled(text, part, names, boolean=True)
            made.append(Filter(test, frozenset(names.position(ref[0]) for ref in test.columns)))
    equal.check(tree)
    return tuple(made)


def compiled(text: Text, node: exp.Expr, names: Names, boolean: bool = False) -> Expression:
    """A part of the query as an expression of its own."""
    scope = replace(names, reads={}, culprit=None)
    try:
        return expressions.compile_node(node, text.written(node), scope, boolean)
    except WindrowError as error:
        raise text.error(str(error), scope.culprit or node) from error
    except RecursionError:
        raise text.error("is nested too deeply", node) from None


class _Equal:
    """Which streams the equalities found so far connect, on each of their key columns."""

    def __init__(self, text: Text, sources: Sequence[Source]) -> None:
        self.text = text
        self.sources = sources
        self.by_name = {source.stream.name: at for at, source in enumerate(sources)}
        first, columns = sources[0], range(len(sources[0].stream.key or ()))
        for source in sources:
            if len(source.stream.key or ()) != len(columns):
                raise text.error(
                    f"joins {first.alias} and {source.alias}, but their keys have "
                    f"{len(columns)} and {len(source.stream.key or ())} columns; streams meet on "
                    "the whole key of windrow.stream",
                    source.node,
                )
        #: By key column and stream, a stream that it is connected with.
        self.roots = [list(range(len(sources))) for _ in columns]
        #: Equalities between streams that are not on the keys.
        self.others: list[tuple[exp.Expr, int, int]] = []

    def takes(self, node: exp.Expr, names: Names) -> bool:
        """Is it an equality of keys?"""
        while isinstance(node, exp.Paren):
            node = node.this
        if not isinstance(node, exp.EQ):
            return False
        sides = [as_column(side, names) for side in (node.this, node.expression)]
        if sides[0] is None or sides[1] is None or sides[0][0] == sides[1][0]:
            return False
        (one, mine), (two, its) = sides[0], sides[1]
        a, b = self.by_name[one], self.by_name[two]
        pairs = zip(self._key(a), self._key(b), strict=True)
        at = next((at for at, pair in enumerate(pairs) if pair == (mine, its)), None)
        if at is None:
            self.others.append((node, a, b))
            return False
        roots = self.roots[at]
        old, new = roots[a], roots[b]
        self.roots[at] = [new if root == old else root for root in roots]
        return True

    def check(self, tree: exp.Select) -> None:
        """Refuse streams that are not joined with all others on all of the key."""
        for at, roots in enumerate(self.roots):
            apart = next((b for b, root in enumerate(roots) if root != roots[0]), None)
            if apart is None:
                continue
            wanted = self._equality(0, apart, at)
            for node, a, b in self.others:
                if roots[a] != roots[b]:
                    raise self.text.error(
                        f"joins on {self.text.written(node)}, which is not the declared key; "
                        f"expected {self._equality(a, b, at)}, since streams meet on the key of "
                        "windrow.stream",
                        node,
                    )
            one, two = self.sources[0].alias, self.sources[apart].alias
            part = f" on {self._key(0)[at]}" if len(self.roots) > 1 else ""
            raise self.text.error(
                f"has no equality between {one} and {two}{part}; add {wanted}",
                self.sources[apart].node,
            )

    def _key(self, source: int) -> tuple[str, ...]:
        return self.sources[source].stream.key or ()

    def _equality(self, a: int, b: int, at: int) -> str:
        one, two = self.sources[a], self.sources[b]
        return f"{one.alias}.{self._key(a)[at]} = {two.alias}.{self._key(b)[at]}"
