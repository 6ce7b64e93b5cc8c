"""What runs: which queries share a join, from when on their answers are complete, what waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from windrow import duration
from windrow.cql.query import CompiledQuery
from windrow.model import CountWindow, WindrowError


@dataclass(frozen=True)
class QueryStatus:
    """A query. `complete_from`: the `ts` from which on it has every result; None: from the first.

    `known` is False as long as no bucket has said so: on Spark, until the first micro-batch that
    the query, or the driver's start, has begun. In process, a query that was dropped is shown while
    results are held for it; on Spark, only those that run are.
    """

    name: str
    sql: str
    window: str
    complete_from: datetime | None = None
    dropped: bool = False
    known: bool = True

    @property
    def since(self) -> str:
        """From when on it is complete, in words."""
        if not self.known:
            return "not known yet from when on it is complete"
        if self.complete_from is None:
            return "complete from the first row on"
        return f"complete from {self.complete_from.isoformat(' ')} on"


@dataclass(frozen=True)
class JoinStatus:
    """A join, and the queries that share it.

    `suspended` arrivals have not been scanned against all windows yet; `held` results have not left
    to all of their queries.
    """

    streams: tuple[str, ...]
    kind: str
    queries: tuple[QueryStatus, ...]
    suspended: int
    held: int


@dataclass(frozen=True)
class Status:
    """All joins. Print it."""

    joins: tuple[JoinStatus, ...]

    def query(self, name: str) -> QueryStatus:
        """A query by its name."""
        found = [query for join in self.joins for query in join.queries if query.name == name]
        if not found:
            raise WindrowError(f"there is no query {name!r}; there are: {named(self.names())}")
        return found[0]

    def names(self) -> list[str]:
        """The names of all queries."""
        return [query.name for join in self.joins for query in join.queries]

    def shared_with(self, name: str) -> tuple[str, ...]:
        """The other queries of the same join."""
        self.query(name)
        for join in self.joins:
            names = [query.name for query in join.queries]
            if name in names:
                return tuple(other for other in names if other != name)
        return ()

    def __str__(self) -> str:
        lines = []
        for join in self.joins:
            of = {"time": "windows of time", "rows": "windows of rows"}.get(
                join.kind, "windows of rows per key"
            )
            lines.append(
                f"{' and '.join(join.streams)}, {of}: {join.suspended:,} arrivals suspended, "
                f"{join.held:,} results held"
            )
            for query in join.queries:
                over = ", dropped" if query.dropped else ""
                lines.append(f"  {query.name}: WINDOW {query.window}, {query.since}{over}")
        return "\n".join(lines) or "no queries"


def shown_window(query: CompiledQuery) -> str:
    """A query's window as its text could say it."""
    window = query.window
    if isinstance(window, CountWindow):
        return f"{window.n} ROWS" + (" PER KEY" if window.per == "key" else "")
    every = "" if query.slide is None else f" SLIDE {duration.show(query.slide)}"
    return duration.show(window.micros) + every


def named(names: Sequence[str]) -> str:
    """Names of queries as an error lists them."""
    return ", ".join(map(repr, names)) or "none"
