"""Which queries get which results: by age, by arrival, and by the queries' own filters.

Filters stand above the join (NiagaraCQ's argument, paper 2, section 1), so queries with other
filters share it. They are asked here, in bulk: a part of a condition is evaluated once for each
piece of results, whichever queries have it, on columns that are gathered once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.cql import CompiledQuery, Filter
from windrow.operators.payload import Payload
from windrow.operators.released import Released
from windrow.spark.queries.catalog import Standing
from windrow.spark.queries.results import Routed, ids_by_row


class Router:
    """Hands results to queries. `positions`: which of all streams the join's own are."""

    def __init__(
        self, queries: Sequence[Standing], payloads: Sequence[Payload], positions: Sequence[int]
    ) -> None:
        self.queries = queries
        self.payloads = dict(zip(positions, payloads, strict=True))
        self.places = {position: at for at, position in enumerate(positions)}

    def route(self, piece: Released) -> Routed | None:
        """The results that some query gets, and which ones do; None if there are none."""
        judged = Judged(self, piece)
        released: dict[tuple[int, int, int], NDArray[np.bool_]] = {}
        found: dict[bool, list[tuple[NDArray[np.int64], int]]] = {False: [], True: []}
        for query in self.queries:
            life = query.reach, query.added, query.dropped
            if life not in released:
                released[life] = piece.of(*life)
            if released[life].any():
                mine = np.flatnonzero(released[life] & judged.verdict(query.query))
                found[query.query.aggregated].append((mine, query.id))
        rows = np.concatenate([NONE, *(mine for each in found.values() for mine, _ in each)])
        wanted = np.unique(rows)
        if not len(wanted):
            return None
        lists = [_lists(found[aggregated], wanted) for aggregated in (False, True)]
        if len(wanted) < len(piece):
            piece = piece.chosen(wanted)
        return Routed(piece, piece.age, *lists)


NONE = np.empty(0, np.int64)


def _lists(found: Sequence[tuple[NDArray[np.int64], int]], wanted: NDArray[np.int64]) -> pa.Array:
    """By wanted row, the ids of the queries that get it."""
    rows = np.concatenate([NONE, *(mine for mine, _ in found)])
    ids = np.concatenate([NONE, *(np.full(len(mine), id) for mine, id in found)])
    return ids_by_row(np.searchsorted(wanted, rows), ids, len(wanted))


class Judged:
    """What is known of a piece of results: columns gathered, and parts of filters evaluated."""

    def __init__(self, router: Router, piece: Released) -> None:
        self.router = router
        self.piece = piece
        self._columns: dict[tuple[int, str], pa.Array] = {}
        self._parts: dict[tuple[object, ...], NDArray[np.bool_]] = {}

    def column(self, stream: int, path: str) -> pa.Array:
        """A column of the results, of a stream by its position."""
        if (stream, path) not in self._columns:
            rows = self.piece.rows[self.router.places[stream]]
            assert rows is not None
            payload = self.router.payloads[stream]
            self._columns[stream, path] = payload.column(path, rows)
        return self._columns[stream, path]

    def verdict(self, query: CompiledQuery) -> NDArray[np.bool_]:
        """Which results pass a query's filters."""
        verdict = np.ones(len(self.piece), np.bool_)
        for part in query.filters:
            verdict &= self._part(query, part)
        return verdict

    def _part(self, query: CompiledQuery, part: Filter) -> NDArray[np.bool_]:
        # The same text means the same where names mean the same streams.
        key = (part.test.sql, query.aliases, query.streams)
        if key not in self._parts:
            self._parts[key] = query.judge([part], self.column, len(self.piece))
        return self._parts[key]
