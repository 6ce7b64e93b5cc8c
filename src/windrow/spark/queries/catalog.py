"""The queries of a bucket: which ones there are, from which arrival to which each gets results.

In the bucket's directory are the arrivals between which each query lives; the texts are in a blob
of their own, written when they change. A query that was dropped stays until all that came before
that has been served: a result that is found late is still its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from windrow.cql import CompiledQuery, compile_query
from windrow.model import END, Stream
from windrow.operators.join.ranked import RankedJoin
from windrow.operators.join.shared import SharedJoin
from windrow.spark.log.directory import Directory, Store
from windrow.spark.queries.control import Asked, Control


class Shape:
    """What queries are compiled against: the streams of all queries. Shipped to the workers.

    Workers outlive their tasks, so each compiles a text once.
    """

    def __init__(self, streams: Sequence[Stream], closed: bool) -> None:
        self.streams = tuple(streams)
        self.closed = closed
        schemas = [(s.name, s.key, s.time, s.schema.serialize().to_pybytes()) for s in streams]
        self._same = (str(schemas), str([s.dialect for s in streams]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self._same == other._same

    def __hash__(self) -> int:
        return hash(self._same)

    def compiled(self, asked: Asked) -> CompiledQuery:
        """The query that a text asks."""
        return _compiled(self, asked.sql, asked.name)


@lru_cache(maxsize=4096)
def _compiled(shape: Shape, sql: str, name: str) -> CompiledQuery:
    return compile_query(sql, name, shape.streams)


@dataclass(frozen=True)
class Standing:
    """A query as a bucket has it: it gets results of arrivals [added, dropped).

    `since`: the smallest `ts` from which on they are all there.
    """

    asked: Asked
    query: CompiledQuery
    reach: int
    since: int
    added: int
    dropped: int = END

    @property
    def id(self) -> int:
        """Its id."""
        return self.asked.id


class Catalog:
    """The queries of a bucket."""

    def __init__(self, shape: Shape, directory: Directory, store: Store) -> None:
        self.shape = shape
        self.directory = directory
        self.store = store
        kept: dict[str, Any] = directory.queries
        self.version: int = kept.get("version", -1)
        self.budget: int | None = kept.get("budget")
        self.queries: dict[int, Standing] = {}
        if kept:
            lives = {int(id): ends for id, ends in kept["lives"].items()}
            for plain in json.loads(self.store.read(kept["blob"])):
                asked = Asked(*plain)
                self.queries[asked.id] = self._standing(asked, *lives[asked.id])
        self._texts = set(self.queries)

    def _standing(self, asked: Asked, *life: int) -> Standing:
        query = self.shape.compiled(asked)
        return Standing(asked, query, query.reach(self.shape.closed), *life)

    def take(self, control: Control, join: SharedJoin | RankedJoin) -> None:
        """Go by this from the next arrival on, unless it is known already."""
        if control.version <= self.version:
            return
        self.version, self.budget = control.version, control.budget
        asked = {query.id: query for query in control.queries}
        for id, query in self.queries.items():
            if id not in asked and query.dropped == END:
                self.queries[id] = replace(query, dropped=join.came)
                join.drop(query.reach)
        for id in sorted(asked.keys() - self.queries.keys()):
            reach = self.shape.compiled(asked[id]).reach(self.shape.closed)
            self.queries[id] = self._standing(asked[id], join.complete_from(reach), join.came)
            join.add(reach)

    def settle(self, join: SharedJoin | RankedJoin) -> None:
        """Forget queries that can get nothing more, and write the others down."""
        done = join.under_way_from
        self.queries = {id: q for id, q in self.queries.items() if q.dropped > done}
        if self.version < 0:
            return
        blob = self.directory.queries.get("blob")
        if blob is None or self._texts != self.queries.keys():
            if blob is not None:
                self.store.remove(blob)
            blob = self.directory.number()
            texts = [[q.id, q.asked.name, q.asked.sql] for q in self.queries.values()]
            self.store.write(blob, json.dumps(texts).encode())
            self._texts = set(self.queries)
        self.directory.queries = {
            "version": self.version,
            "budget": self.budget,
            "blob": blob,
            "lives": {str(q.id): [q.since, q.added, q.dropped] for q in self.queries.values()},
        }
