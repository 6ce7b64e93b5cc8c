"""What goes in and out of an operator: arrivals by stream, pieces of results by kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Kind = Literal["match", "unmatched", "late", "bad", "end", "lapse"]


@dataclass(frozen=True)
class Arrivals:
    """One stream's tuples of a batch: times, key hashes, row ids. Ids only grow over batches."""

    ts: Rows
    key: Rows
    row: Rows

    @classmethod
    def empty(cls) -> Arrivals:
        """No tuples."""
        none = np.empty(0, np.int64)
        return cls(none, none, none)

    @classmethod
    def concatenate(cls, parts: Sequence[Arrivals]) -> Arrivals:
        """One after the other."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls.empty()
        return cls(
            np.concatenate([part.ts for part in parts]),
            np.concatenate([part.key for part in parts]),
            np.concatenate([part.row for part in parts]),
        )

    def part(self, start: int, stop: int) -> Arrivals:
        """A stretch of them."""
        return Arrivals(self.ts[start:stop], self.key[start:stop], self.row[start:stop])

    def chosen(self, which: NDArray[np.bool_] | Rows) -> Arrivals:
        """Some of them, or all in another order."""
        return Arrivals(self.ts[which], self.key[which], self.row[which])

    def in_time_order(self) -> Arrivals:
        """The same, sorted by time; equal times keep their order."""
        if len(self.ts) < 2 or bool((self.ts[1:] >= self.ts[:-1]).all()):
            return self
        order = np.argsort(self.ts, kind="stable")
        return Arrivals(self.ts[order], self.key[order], self.row[order])


@dataclass(frozen=True)
class Piece:
    """Results of one kind: row ids per stream (None where the struct is null), and their `ts`.

    `row_ts` has the time of each row, by stream likewise; what a hold gives out has only `ts`.
    Bad rows have no time that can be relied on, so their `ts` is null in the result.
    The row of an end is a punctuation, of the stream that has an id, and only its key counts. A
    lapse is no result: no promise about the key is left, so what is held for it can go.
    """

    kind: Kind
    rows: tuple[Rows | None, ...]
    ts: Rows
    row_ts: tuple[Rows | None, ...] = ()

    @classmethod
    def alone(cls, kind: Kind, streams: int, stream: int, rows: Rows, ts: Rows) -> Piece:
        """Rows of one stream, beside nothing of the others."""
        ids: list[Rows | None] = [None] * streams
        times = list(ids)
        ids[stream], times[stream] = rows, ts
        return cls(kind, tuple(ids), ts, tuple(times))

    def __len__(self) -> int:
        return len(self.ts)

    def times(self) -> pa.Array:
        """Their `ts` as the result has it, in µs."""
        return pa.nulls(len(self.ts), pa.int64()) if self.kind == "bad" else pa.array(self.ts)

    def part(self, start: int, stop: int) -> Piece:
        """A stretch of them."""
        return self.chosen(slice(start, stop))

    def chosen(self, which: slice | Rows) -> Piece:
        """Some of them, in that order."""
        rows = tuple(None if ids is None else ids[which] for ids in self.rows)
        times = tuple(None if ts is None else ts[which] for ts in self.row_ts)
        return Piece(self.kind, rows, self.ts[which], times)


@dataclass(frozen=True)
class Mixture:
    """Results of several kinds in one order: the pieces, and for each row its place in them.

    The places count through the pieces as they follow one another.
    """

    pieces: tuple[Piece, ...]
    places: Rows

    def __len__(self) -> int:
        return len(self.places)

    def part(self, start: int, stop: int) -> Mixture:
        """A stretch of them."""
        wanted = self.places[start:stop]
        pieces, places = [], np.empty(len(wanted), np.int64)
        first = done = 0
        for piece in self.pieces:
            mine = np.flatnonzero((wanted >= first) & (wanted < first + len(piece)))
            if len(mine):
                pieces.append(piece.chosen(wanted[mine] - first))
                places[mine] = np.arange(done, done + len(mine))
            first, done = first + len(piece), done + len(mine)
        return Mixture(tuple(pieces), places)

    @property
    def ts(self) -> Rows:
        """The rows' times, in their order."""
        found: Rows = np.concatenate([piece.ts for piece in self.pieces])[self.places]
        return found


#: What leaves a join.
Result = Piece | Mixture
