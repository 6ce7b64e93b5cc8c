"""Finals: one row per key with aggregates over its results, once no further one can come.

    pieces of results --> partial aggregates by key --> store, chained by key
    ends of keys -------------------------------------> taken out, merged, one row each

What arrives together is aggregated by key first, so that the store holds a row per key and drain
and not one per result; and once it has twice the rows that merging left last time, the rows of a
key become one. An end at time t takes what does not begin later than t: a key that comes back in a
new life has a final of its own. A key without results has none.

Rows may become one if no end can take one of them and not the other. An end's time is no earlier
than any result of its life, and results of the next life come after the punctuation's time and the
span. So only a punctuation (k, t) parts results of k: those up to t + span from those after it.

    12:00 A punctuates k       12:10 last result of that life, the span is 10 minutes
    12:11 a result of the next life; the end of the first may still wait for B, and must not take it

Punctuations that have acted or wait are known (`promised`). One that is yet to come has a time that
its stream has not passed, so results up to that progress plus the span ("settled") are not parted
any more; later ones, which only lateness lets come, stay apart by their times until they are. A
punctuation that comes later than its stream's lateness is too late for this. For its sake the last
few lives of a key that a gap of more than the span shows stay apart as well.

A tuple that had met others before the promise came which it breaks has results after the end of its
life. They may be in one row with results before it, so an end takes each row that begins in time.

Sums of doubles depend on the order in which they are added, so on batches and on merging, in their
last digits; all other aggregates are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.model import BEGINNING, JoinPlan, WindrowError
from windrow.operators.arrivals import Piece, Rows
from windrow.operators.keys import hash_keys
from windrow.operators.payload import Payload
from windrow.operators.results.inputs import Inputs
from windrow.operators.results.partials import (
    FIRST,
    HASH,
    LATEST,
    OWNER,
    PartialRows,
    aggregated,
    final_schema,
    gaps_of,
    gaps_to_newest,
    lives_of,
    partial_schema,
    together,
    value_of,
)
from windrow.operators.results.plain import Plain
from windrow.operators.sizes import bounded
from windrow.operators.stage import Figures, Handover
from windrow.state.room import HEAP, Room
from windrow.state.row_index import RowIndex

#: A store with fewer rows than this is not worth writing anew.
LEAST_RENEWED = 1000
#: And one with fewer than this is not worth merging.
LEAST_MERGED = 256
#: So many lives of a key that only a gap shows stay apart.
MOST_GAPS = 4
#: Which of a key's lives a row is of, beside OWNER.
GAP = "gap"

#: By stream, row ids and times of the punctuations with a time before this that count still.
Promised = Callable[[int], list[tuple[Rows, Rows]]]


class Finals(Plain):
    """The open keys' partial results. `logged`: a log wants to know what is added and taken."""

    def __init__(
        self,
        plan: JoinPlan,
        payloads: Sequence[Payload],
        promised: Promised,
        logged: bool = False,
        open_blob: Callable[[int], pa.RecordBatch] | None = None,
    ) -> None:
        super().__init__(plan)
        self.logged = logged
        self.promised = promised
        #: Results up to this time are settled: a punctuation that is yet to come parts none.
        self.settled = BEGINNING
        self.inputs = Inputs(plan, payloads)
        self.count: int = 0
        self.schema = final_schema(plan)
        self.partial = partial_schema(plan)
        self.open_blob = open_blob

    def begin(self, room: Room = HEAP) -> Self:
        """Start with no partial rows, and an index made in that room."""
        self.store = PartialRows(self.partial, self.open_blob)
        self.index = RowIndex(room)
        self.next_row = 0
        self._results: list[Piece] = []
        self._ends: list[Piece] = []
        # What has been added and taken, for the log; and whether all rows have been numbered anew
        # meanwhile.
        self._added: list[tuple[int, pa.RecordBatch]] = []
        self._taken: list[NDArray[np.int64]] = []
        self.renewed = False
        return self

    def held(self) -> int:
        """How many partial rows there are."""
        return len(self.index)

    def expect(self, after: Sequence[int]) -> None:
        """A batch begins. A punctuation that is yet to come has a time that is not passed yet."""
        pairs = zip(self.plan.streams, after, strict=True)
        self.settled = min(now for stream, now in pairs if stream.punctuated) + self.plan.span

    def take(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """Take a piece in. The end of a drain, a piece without rows, may give final rows."""
        final = self._absorb(piece)
        if final is not None:
            yield from bounded([final])

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Merge rows once there are twice as many as last time: each is read a few times at most.

        What merging left is the store's first batch, also in a store that was loaded. Should all of
        that have been taken since, as much has been read as was left, and it may be done again.
        """
        if self.held() >= max(LEAST_MERGED, 2 * self.store.first_rows(self.next_row)):
            self.merge()
        yield from ()

    def _absorb(self, piece: Piece) -> pa.RecordBatch | None:
        if piece.kind in ("match", "unmatched"):
            self._results.append(piece)
        elif piece.kind in ("end", "lapse") and len(piece.ts):
            self._ends.append(piece)
        if piece.kind != "lapse" or len(piece.ts):
            return None
        results, ends = self._results, self._ends
        self._results, self._ends = [], []
        ended = [self.inputs.ended(end) for end in ends]
        times = np.concatenate([np.empty(0, np.int64), *(end.ts for end in ends)])
        hashes = np.concatenate([np.empty(0, np.int64), *(keys for keys, _ in ended)])
        for table in self.inputs.tables(results):
            self._add(table, hashes, times)
        if not len(times):
            return None
        names = self.schema.names[: len(self.plan.streams[0].key or ())]
        columns = [
            pa.concat_arrays([columns[at] for _, columns in ended]) for at in range(len(names))
        ]
        return self._finish(hashes, times, columns)

    # -- results ---------------------------------------------------------------------------

    def _add(self, raw: pa.Table, ended: NDArray[np.int64], until: NDArray[np.int64]) -> None:
        """Aggregate what came, apart for each life of a key, and store it."""
        hashes = raw.column(HASH).to_numpy()
        times = raw.column(LATEST).to_numpy()
        # All of these grow with the time, so lives have the same sum only if none parts them.
        lives = lives_of(hashes, times, ended, until) + self._lives(hashes, times)
        lives += gaps_of(hashes, times, self.plan.span)
        raw = raw.append_column(OWNER, pa.array(lives))
        keys = [name for name in raw.column_names if name.startswith("key_")]
        table = aggregated(self.plan.finals, raw, [*keys, HASH, OWNER])
        (batch,) = table.select(self.partial.names).cast(self.partial).combine_chunks().to_batches()
        self._append(batch)

    def _lives(self, hashes: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
        """By row, a number that grows with its key's time wherever an end may part results."""
        span = self.plan.span
        keys, until = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for stream, (rows, ts) in enumerate(self.promised(int(times.max()) - span)):
            if len(rows):
                columns = self.inputs.keys(stream, rows)
                keys.append(hash_keys(columns, len(rows)).hashes)
                until.append(ts + span)
        lives = lives_of(hashes, times, np.concatenate(keys), np.concatenate(until))
        open_ = times > self.settled
        if open_.any():
            lives[open_] += 1 + np.unique(times[open_], return_inverse=True)[1].reshape(-1)
        return lives

    def _append(self, batch: pa.RecordBatch) -> None:
        """Store new partial rows."""
        if self.logged:
            self._added.append((self.next_row, batch))
        self._put(self.next_row, batch, np.empty(0, np.int64))

    def _put(self, first: int, batch: pa.RecordBatch, without: NDArray[np.int64]) -> None:
        self.store.add(first, batch)
        rows = np.arange(first, first + batch.num_rows)
        kept = ~np.isin(rows, without)
        ts, keys = batch.column(FIRST).to_numpy(), batch.column(HASH).to_numpy()
        self.index.append(ts[kept], keys[kept], rows[kept])
        self.next_row = first + batch.num_rows

    # -- ends ------------------------------------------------------------------------------

    def _finish(
        self, hashes: NDArray[np.int64], until: NDArray[np.int64], keys: Sequence[pa.Array]
    ) -> pa.RecordBatch | None:
        """Take the ended keys' partial rows out, and make one row of each key's."""
        order = np.argsort(until, kind="stable")
        owners, rows = self.index.take_up_to(hashes[order], until[order])
        owners, found = order[owners], len(rows)
        if not found:
            return None
        taken = self.store.take(rows)
        mine = hash_keys([taken.column(f"key_{at}") for at in range(len(keys))], found)
        its = hash_keys(list(keys), len(hashes))
        if not mine.equal(np.arange(found), its, owners).all():
            raise WindrowError(
                "two different keys have the same 64-bit hash, so their finals cannot be told "
                "apart; join on another type of key, such as a number"
            )
        if self.logged:
            self._taken.append(rows)
        result = self._merge(taken.append_column(OWNER, pa.array(owners)), keys)
        self.count += result.num_rows
        self._shrink()
        return result

    def _merge(self, taken: pa.Table, keys: Sequence[pa.Array]) -> pa.RecordBatch:
        """One row for each owner, with the key that its punctuation names."""
        table = together(self.plan.finals, taken, [OWNER])
        owners = table.column(OWNER).combine_chunks()
        arrays = [key.take(owners) for key in keys]
        values = [value_of(table, at, final) for at, final in enumerate(self.plan.finals)]
        values.append(table.column(LATEST).cast(pa.timestamp("us")).cast(self.schema[-1].type))
        arrays += [value.combine_chunks() for value in values]
        cast = [a.cast(f.type) for a, f in zip(arrays, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(cast, schema=self.schema)

    def oldest(self) -> int:
        """The smallest number of a partial row that is held."""
        oldest = self.index.oldest()
        return self.next_row if oldest is None else oldest

    def _shrink(self) -> None:
        """Forget what has been taken; write the store anew once that is most of it."""
        self.store.forget(self.oldest())
        # By what is stored and what is left of it, which a store that was loaded knows as well.
        stored = self.next_row - self.store.firsts[0] if self.store.firsts else 0
        if stored >= LEAST_RENEWED and 2 * self.held() < stored:
            self.renew()

    # -- merging ---------------------------------------------------------------------------

    def merge(self) -> None:
        """Make one row of those of a key that no end can part, and number what is left anew."""
        left = self._left()
        if left.num_rows:
            left = self._merged(left)
        self._restart(left)

    def _merged(self, left: pa.Table) -> pa.Table:
        hashes, times = left.column(HASH).to_numpy(), left.column(LATEST).to_numpy()
        lives = self._lives(hashes, times)
        gaps = np.minimum(gaps_to_newest(hashes, times, self.plan.span), MOST_GAPS - 1)
        left = left.append_column(OWNER, pa.array(lives)).append_column(GAP, pa.array(gaps))
        keys = [name for name in self.partial.names if name.startswith("key_")]
        merged = together(self.plan.finals, left, [*keys, HASH, OWNER, GAP])
        return merged.select(self.partial.names).cast(self.partial)

    def renew(self) -> None:
        """Number what is left anew, and forget the rest."""
        self._restart(self._left())

    def _left(self) -> pa.Table:
        return self.store.take(self.index.rows())

    def _restart(self, left: pa.Table) -> None:
        self.store = PartialRows(self.partial, self.open_blob)
        self.index = RowIndex(self.index.room, left.num_rows)
        self.next_row = 0
        self.renewed = True
        self._added, self._taken = [], []
        for batch in left.combine_chunks().to_batches():
            self._append(batch)

    # -- for the log -----------------------------------------------------------------------

    def take_added(self) -> list[tuple[int, pa.RecordBatch]]:
        """What was added since this was last asked: the first number, and the rows."""
        added, self._added, self.renewed = self._added, [], False
        return added

    def take_taken(self) -> NDArray[np.int64]:
        """Which rows were taken since this was last asked."""
        taken, self._taken = self._taken, []
        return np.sort(np.concatenate([np.empty(0, np.int64), *taken]))

    def load(
        self,
        parts: Sequence[tuple[int, pa.RecordBatch]],
        taken: NDArray[np.int64],
        next_row: int,
    ) -> None:
        """Partial rows that were written down, without those that were taken."""
        for first, batch in parts:
            self._put(first, batch, taken)
        self.next_row = next_row

    def handover(self) -> Handover:
        """The index's arrays as they are, and what else must be known."""
        arrays = {f"finals_{name}": array for name, array in self.index.handover().items()}
        return arrays, {"next_partial": self.next_row}

    def find(self, first: int, blob: int) -> None:
        """Partial rows from a number on are in a blob, which is opened when they are asked for."""
        self.store.add(first, blob)

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place. The rows are in blobs: `find`."""
        self.begin()
        own = {
            name.removeprefix("finals_"): array
            for name, array in arrays.items()
            if name.startswith("finals_")
        }
        self.index = RowIndex.attach(own, room)
        self.next_row = facts["next_partial"]

    def figures(self) -> Figures:
        """Finals that have left, and partial rows that are held."""
        return {}, {"finals": self.count, "partials": self.held()}
