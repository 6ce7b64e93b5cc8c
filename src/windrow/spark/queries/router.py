"""Which queries get which results: by age, by arrival, and by the queries' own filters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.cql.judged import Judged
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
        self.payloads = payloads
        self.positions = positions

    def route(self, piece: Released) -> Routed | None:
        """The results that some query gets, and which ones do; None if there are none."""
        judged = Judged(piece, self.payloads, self.positions)
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
