"""What finals need of results: keys, times, and the columns that the aggregates are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow import expressions
from windrow.model import JoinPlan
from windrow.operators.arrivals import Piece, Rows
from windrow.operators.keys import hash_keys
from windrow.operators.payload import Payload
from windrow.operators.results.partials import HASH, LATEST, final_schema
from windrow.operators.sizes import RowBytes, cuts


class Inputs:
    """The streams' payloads, asked by row ids."""

    def __init__(self, plan: JoinPlan, payloads: Sequence[Payload]) -> None:
        self.plan = plan
        self.payloads = payloads
        keys = len(plan.streams[0].key or ())
        self.kinds = [field.type for field in list(final_schema(plan))[:keys]]

    def tables(self, results: Sequence[Piece]) -> Iterator[pa.Table]:
        """What the aggregates need, in tables that are not too large to be aggregated at once."""
        parts: list[Piece] = []
        totals: list[float] = []
        for piece in results:
            sizes = self._sizes(piece)
            for start, stop in cuts(sizes, len(piece)):
                parts.append(piece.part(start, stop))
                totals.append(float(np.broadcast_to(sizes, len(piece))[start:stop].sum()))
        for start, stop in cuts(np.array(totals), len(parts)):
            table = pa.concat_tables(map(self._table, parts[start:stop])).combine_chunks()
            if table.num_rows:
                yield table

    def _sizes(self, piece: Piece) -> RowBytes:
        """The bytes that `_table` gathers for each row."""
        total: RowBytes = 16.0
        for stream, rows in enumerate(piece.rows):
            asked = [f.column for f in self.plan.finals if f.stream == stream and f.column]
            if stream == _there(piece):
                asked += self.plan.streams[stream].key or ()
            if rows is not None:
                total = total + self.payloads[stream].sizes(rows, asked)
        return total

    def _table(self, piece: Piece) -> pa.Table:
        """By row of a piece: keys, their hash, time, and a value for each aggregate of a column."""
        keys = self.keys(_there(piece), piece.rows[_there(piece)])
        hashed = hash_keys(keys, len(piece.ts))
        arrays: dict[str, pa.Array] = {f"key_{at}": column for at, column in enumerate(keys)}
        arrays[HASH] = pa.array(hashed.hashes)
        arrays[LATEST] = pa.array(piece.ts)
        for at, final in enumerate(self.plan.finals):
            if final.stream is None or final.column is None:
                continue
            rows = piece.rows[final.stream]
            kind = expressions.resolve(self.plan.streams[final.stream].schema, final.column)
            arrays[f"value_{at}"] = (
                pa.nulls(len(piece.ts), kind)
                if rows is None
                else self.payloads[final.stream].column(final.column, rows)
            )
        table = pa.table(arrays)
        # A null key is never punctuated, so it never ends.
        return table if hashed.null is None else table.filter(pa.array(~hashed.null))

    def ended(self, piece: Piece) -> tuple[NDArray[np.int64], list[pa.Array]]:
        """The hashes and columns of keys that ended."""
        keys = self.keys(_there(piece), piece.rows[_there(piece)])
        return hash_keys(keys, len(piece.ts)).hashes, keys

    def keys(self, stream: int, rows: Rows | None) -> list[pa.Array]:
        """The key columns of some rows, in the types of the result's."""
        assert rows is not None
        payload = self.payloads[stream]
        return [
            payload.column(path, rows).cast(kind)
            for path, kind in zip(self.plan.streams[stream].key or (), self.kinds, strict=True)
        ]


def _there(piece: Piece) -> int:
    """The first stream that a piece has rows of."""
    return next(stream for stream, rows in enumerate(piece.rows) if rows is not None)
