"""A piece of a shared join's results, as queries ask about it.

Filters stand above the join (NiagaraCQ's argument, paper 2, section 1), so queries with other
filters share it. They are asked here, in bulk: a part of a condition is evaluated once for each
piece, whichever queries have it, on columns that are gathered once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.cql.query import Column, CompiledQuery, Filter
from windrow.operators.arrivals import Piece
from windrow.operators.payload import Payload


class Judged:
    """What is known of a piece: columns gathered, parts of filters evaluated.

    `positions`: which of all streams the join's own are, whose rows the payloads keep.
    """

    def __init__(self, piece: Piece, payloads: Sequence[Payload], positions: Sequence[int]) -> None:
        self.piece = piece
        self._rows = dict(zip(positions, piece.rows, strict=True))
        self._payloads = dict(zip(positions, payloads, strict=True))
        self._columns: dict[tuple[int, str], pa.Array] = {}
        self._parts: dict[tuple[object, ...], NDArray[np.bool_]] = {}

    def column(self, stream: int, path: str) -> pa.Array:
        """A column of the results, of a stream by its position."""
        if (stream, path) not in self._columns:
            rows = self._rows[stream]
            assert rows is not None
            self._columns[stream, path] = self._payloads[stream].column(path, rows)
        return self._columns[stream, path]

    def of(self, which: NDArray[np.int64]) -> Column:
        """The columns of some of the results."""

        def column(stream: int, path: str) -> pa.Array:
            rows = self._rows[stream]
            assert rows is not None
            return self._payloads[stream].column(path, rows[which])

        return column

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
