"""Which continuous queries there are, and which of them share a join: what survives the driver.

Each change writes the whole registry as a new file with the next number; the one before the last is
removed then. So there is always a whole one, whenever the driver is killed, and the one with the
largest number counts. A query that was dropped stays, because its answers can still be asked for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from windrow.model import WindrowError
from windrow.spark.queries.files import Folder

#: Raised whenever the meaning of a registry's file changes.
FORMAT = 1


@dataclass(frozen=True)
class Registered:
    """A query. Its id is never given twice; `join` is the number of the join that it shares."""

    id: int
    name: str
    sql: str
    join: int
    dropped: bool = False


@dataclass(frozen=True)
class Contents:
    """A registry as it is written. `joins` are the signatures that have a join, by its number.

    `closed`: what windows mean, which results that are written rest on.
    """

    version: int = 0
    format: int = FORMAT
    closed: bool = True
    next_id: int = 0
    joins: tuple[str, ...] = ()
    queries: tuple[Registered, ...] = ()


@dataclass
class Registry:
    """The registry in a folder, as this driver has it."""

    folder: Folder
    now: Contents = field(default_factory=Contents)

    @classmethod
    def open(cls, folder: Folder, closed: bool = True) -> Registry:
        """As the last driver left it; empty if there was none."""
        names = folder.names()
        if not names:
            return cls(folder, Contents(closed=closed))
        found = _read(folder, names[-1])
        if found.closed != closed:
            raise WindrowError(
                f"the queries of this checkpoint have closed={found.closed}, but closed={closed} "
                "is given; change it back, or start from a new checkpoint"
            )
        return cls(folder, found)

    def running(self, join: int | None = None) -> list[Registered]:
        """The queries that have not been dropped, of one join or of all."""
        return [q for q in self.now.queries if not q.dropped and join in (None, q.join)]

    def find(self, name: str) -> Registered | None:
        """The query of that name, dropped or not."""
        return next((query for query in self.now.queries if query.name == name), None)

    def add(self, name: str, sql: str, signature: str) -> tuple[Registered, bool]:
        """Write a query down; the same one again changes nothing. Is it new?"""
        known = self.find(name)
        if known is not None and known.sql == sql and not known.dropped:
            return known, False
        if known is not None:
            over = " and was dropped" if known.dropped else f", which is {known.sql!r}"
            raise WindrowError(
                f"there is a query {name!r} already{over}; its answers are under that name, so "
                "choose another"
            )
        joins = self.now.joins if signature in self.now.joins else (*self.now.joins, signature)
        query = Registered(self.now.next_id, name, sql, joins.index(signature))
        self._write(joins, [*self.now.queries, query])
        return query, True

    def drop(self, name: str) -> Registered:
        """Write down that a query is over."""
        known = self.find(name)
        if known is None or known.dropped:
            names = ", ".join(repr(query.name) for query in self.running()) or "none"
            raise WindrowError(f"there is no query {name!r} to drop; those that run: {names}")
        queries = [replace(q, dropped=q.dropped or q.name == name) for q in self.now.queries]
        self._write(self.now.joins, queries)
        return known

    def renew(self) -> None:
        """Write it as it is, as a new version."""
        self._write(self.now.joins, self.now.queries)

    def _write(self, joins: tuple[str, ...], queries: Sequence[Registered]) -> None:
        next_id = max((query.id for query in queries), default=-1) + 1
        version, next_id = self.now.version + 1, max(self.now.next_id, next_id)
        now = Contents(version, FORMAT, self.now.closed, next_id, joins, tuple(queries))
        self.folder.write(_name(version), json.dumps(asdict(now)))
        self.folder.remove(_name(version - 2))
        self.now = now


def _name(version: int) -> str:
    return f"{version:012}.json"


def _read(folder: Folder, name: str) -> Contents:
    plain = json.loads(folder.read(name))
    if plain.get("format") != FORMAT:
        raise WindrowError(
            f"the registry of queries in {folder.place} has format {plain.get('format')!r}, but "
            f"this version of windrow reads format {FORMAT}; go on with the version that wrote it, "
            "or start from a new checkpoint"
        )
    queries = tuple(Registered(**query) for query in plain["queries"])
    return Contents(**{**plain, "joins": tuple(plain["joins"]), "queries": queries})
