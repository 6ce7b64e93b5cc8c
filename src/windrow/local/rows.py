"""Windows of rows that queries share: a join by the largest count, routed by ranks.

A result's rank is how many later tuples of its stream (or of its key in it) the row that is most
of them behind has, up to the time of the result. A window of n rows has the results with a rank
below n, so the largest window has those of all. Input waits until every stream has come as far,
since a tuple that is still to come may count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow import expressions
from windrow.cql.answers.codes import Codes
from windrow.local.engine import LocalJoin
from windrow.local.payload import TablePayload
from windrow.model import CountWindow, JoinPlan, Stream
from windrow.operators.admit import Admitted
from windrow.operators.arrivals import Piece, Result, Rows
from windrow.operators.join.counted import CountJoin
from windrow.operators.keys import plain_type
from windrow.state.join_state import Layout


class Counted:
    """The tuples of a stream that count, by key and time; with `per` "stream" by time alone."""

    def __init__(self, payload: TablePayload, per: Literal["key", "stream"]) -> None:
        self.payload = payload
        self.codes: Codes | None = None
        if per == "key":
            stream = payload.stream
            kinds = [expressions.resolve(stream.schema, path) for path in stream.key or ()]
            fields = [pa.field(f"k{at}", plain_type(kind)) for at, kind in enumerate(kinds)]
            self.codes = Codes(pa.schema(fields))
        self._code = np.zeros(len(payload), np.int64)
        self._rows = np.empty(0, np.int64)
        self._times, self._order = np.empty(0, np.int64), np.empty(0, np.int64)

    def add(self, rows: Rows) -> None:
        """Tuples that are in time."""
        if not len(rows):
            return
        if self.codes is not None:
            keys = [self.payload.column(path, rows) for path in self.payload.stream.key or ()]
            plain = [
                key.cast(field.type) for key, field in zip(keys, self.codes.schema, strict=True)
            ]
            self._code[rows] = self.codes.hold(plain, len(rows))
        self._rows = np.concatenate([self._rows, rows])
        ts = self.payload.columns.ts[self._rows]
        self._times = np.unique(ts)
        self._order = np.sort(self._place(self._code[self._rows], ts))

    def _place(self, code: Rows, ts: Rows) -> Rows:
        """Numbers that are in the order of key and time: the last known time up to `ts`."""
        found: Rows = (code << 32) + np.searchsorted(self._times, ts, side="right")
        return found

    def later(self, rows: Rows, until: Rows) -> Rows:
        """How many tuples are later than these rows, and not later than these times."""
        code, ts = self._code[rows], self.payload.columns.ts[rows]
        last = np.searchsorted(self._order, self._place(code, until), side="right")
        own: Rows = np.searchsorted(self._order, self._place(code, ts), side="right")
        return last - own


class LocalRows(LocalJoin):
    """One run over tables, with windows of `n` rows at first."""

    def __init__(self, streams: Sequence[Stream], n: int, per: Literal["key", "stream"]) -> None:
        given = [replace(stream, window=CountWindow(n, per)) for stream in streams]
        plan = JoinPlan(streams=tuple(given))
        tables = [TablePayload(stream, plan.now) for stream in given]
        self.n = n
        self.counted = [Counted(table, per) for table in tables]
        super().__init__(plan, tables, Layout(len(given), "counted", 1))

    def widen(self, n: int) -> None:
        """Have windows of at least `n` rows from the next batch on."""
        assert isinstance(self.join, CountJoin)
        self.n = max(self.n, n)
        self.join.count_up_to(self.n)

    def feed(
        self, admitted: Sequence[Admitted], ended: Sequence[bool], idle: Sequence[bool] = ()
    ) -> Iterator[Result | pa.RecordBatch]:
        """Join a batch, whose tuples count from now on."""
        for stream, (counted, part) in enumerate(zip(self.counted, admitted, strict=True)):
            counted.add(self.arrivals(stream, part).row)
        yield from super().feed(admitted, ended, idle)

    def ranked(self, ranges: Sequence[tuple[int, int]]) -> tuple[Piece, Rows] | None:
        """What rows [start, stop) of each table let out, in its order, and the ranks."""
        pieces = [piece for piece in self.batch(ranges) if isinstance(piece, Piece) and len(piece)]
        if not pieces:
            return None
        rows = [np.concatenate([_there(p.rows[s]) for p in pieces]) for s in range(len(self.names))]
        times = [self.tables[s].columns.ts[ids] for s, ids in enumerate(rows)]
        newest = np.max(times, axis=0)
        ranks = np.max(
            [each.later(ids, newest) for each, ids in zip(self.counted, rows, strict=True)], axis=0
        )
        order = _order(rows, times, newest)
        piece = Piece("match", tuple(ids[order] for ids in rows), newest[order])
        return piece, ranks[order]


def _there(ids: Rows | None) -> Rows:
    assert ids is not None
    return ids


def _order(rows: Sequence[Rows], times: Sequence[Rows], newest: Rows) -> NDArray[np.int64]:
    """By the tuple that came last (time, stream, row), then age, then row ids."""
    last = np.zeros(len(newest), np.int64)
    row = rows[0]
    for stream, (ids, ts) in enumerate(zip(rows, times, strict=True)):
        here = ts == newest
        last, row = np.where(here, stream, last), np.where(here, ids, row)
    age = newest - np.min(times, axis=0)
    found: NDArray[np.int64] = np.lexsort((*reversed(rows), age, row, last, newest))
    return found
