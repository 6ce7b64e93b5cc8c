"""Windows of rows that queries share: the count join with the largest count, and ranks.

A result's rank is how many later tuples of its stream (of its key in it) the row that is most of
them behind has, up to the time of the result. A window of n rows has the results with a rank below
n, so the largest window finds those of all, and ranks are here what ages are to windows of time.

    key a of a stream, by time     1   2   2   5   9        a result at 6 with the row at 1:
    so many are not later          1   3   3   4   5        4 - 1 = 3 later ones, so n >= 4 has it

For each stored row that number is kept; those of a key are counted on as they pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.task import PER_KEY, Batch
from windrow.model import BEGINNING, END
from windrow.operators.arrivals import Piece, Rows
from windrow.operators.gate import Passed
from windrow.operators.join.counted import CountJoin
from windrow.operators.join.places import Places
from windrow.operators.released import NONE, Released
from windrow.operators.stage import Handover
from windrow.state.room import HEAP, Room


class RankedJoin(CountJoin):
    """The operator. `add` and `drop` are of the rows that come from then on, as of a `SharedJoin`.

    A window is called by its reach, the largest rank that it has: n - 1.
    """

    #: There is nothing to suspend: each tuple is served when its turn comes.
    budget: int | None = None

    def begin(self, room: Room = HEAP) -> Self:
        """Start with an empty state and no query."""
        super().begin(room)
        streams = len(self.kinds)
        self.places = [Places() for _ in range(streams)]
        #: So many rows the largest window has had. It stays, since what a list holds beyond a
        #: smaller one would follow from when its key came last, which no log tells.
        self.count = 1
        #: By stream, the row id after all that have come.
        self.next_rows = [0] * streams
        self.newest = BEGINNING
        #: What these were when queries came or went: a mark's number, then row ids.
        self.marks: list[list[int]] = [[0, *self.next_rows]]
        return self

    @property
    def came(self) -> int:
        """The number of the mark at which a query that comes or goes now does so."""
        last = self.marks[-1]
        return last[0] if last[1:] == self.next_rows else last[0] + 1

    def add(self, reach: int) -> None:
        """A query more has this window."""
        self._mark()
        if reach >= self.count:
            # Older rows may still be in a log, and would come back if the join were made from it.
            self.count, self.outgrown = reach + 1, True
        self.count_up_to(self.count)

    def drop(self, reach: int) -> None:
        """A query less has it."""
        self._mark()

    def _mark(self) -> None:
        if self.marks[-1][0] != self.came:
            self.marks.append([self.came, *self.next_rows])

    def complete_from(self, reach: int) -> int:
        """The time from which on rows are there for a window that is added now."""
        return BEGINNING if self.newest == BEGINNING else self.newest + 1

    # -- a batch ---------------------------------------------------------------------------

    def process(self, passed: Passed) -> Iterator[Piece]:
        """Join what the gate has let through; the results of a tuple in the order of their ranks.

        Results of the last tuple of a piece wait for the next one, which may have more of them.
        """
        rest: Released | None = None
        for piece in super().process(passed):
            found = self._ranked(piece)
            found = found if rest is None else _together(rest, found)
            found, last = _in_order(found)
            rest = found.chosen(slice(last, None))
            if last:
                yield found.chosen(slice(0, last))
        if rest is not None:
            yield rest
        if any(places.crowded() for places in self.places):
            for stream, places in enumerate(self.places):
                places.keep(self.state.rows(stream))
            self._forget_marks()

    def _arrange(self, passed: Passed) -> Batch:
        batch = super()._arrange(passed)
        for stream, (places, side) in enumerate(zip(self.places, passed.tuples, strict=True)):
            start, stop = int(batch.at[stream]), int(batch.end[stream])
            part = batch.tuples[start:stop, 3]
            per_key = self.kinds[stream] == PER_KEY
            places.pass_by(side.row, side.ts, part if per_key else np.zeros_like(part))
            waits = self._waiting(stream)
            seen = [side.row.max(initial=-1), waits.max(initial=-1), self.next_rows[stream] - 1]
            self.next_rows[stream] = int(max(seen)) + 1
            self.newest = max(self.newest, int(side.ts.max(initial=BEGINNING)))
        return batch

    def _ranked(self, piece: Piece) -> Released:
        rows = tuple(NONE if ids is None else ids for ids in piece.rows)
        ranks = [places.later(ids, piece.ts) for places, ids in zip(self.places, rows, strict=True)]
        arrival = np.zeros(len(piece), np.int64)
        for number, *mark in self.marks:
            after = np.any([ids >= row for ids, row in zip(rows, mark, strict=True)], axis=0)
            arrival[after] = number
        return Released(
            "match",
            rows,
            piece.ts,
            piece.row_ts,
            arrival,
            np.max(ranks, axis=0),
            np.full(len(piece), -1),
            np.full(len(piece), END),
        )

    # -- what a bucket asks of a shared join -----------------------------------------------

    def suspended(self) -> int:
        """Nothing is: what waits, waits for input."""
        return 0

    def waits_from(self, reach: int) -> int:
        """No result is held back from a window."""
        return END

    @property
    def under_way_from(self) -> int:
        """The last mark that all rows that wait for their turn are after."""
        return self._passed([self._waiting(stream) for stream in range(len(self.kinds))])

    def _waiting(self, stream: int) -> Rows:
        return NONE if self.coming is None else self.coming(stream)

    def _passed(self, rows: Sequence[Rows]) -> int:
        """The last mark that these rows are all after; the next one if there are none."""
        if not any(len(ids) for ids in rows):
            return self.came
        return max(
            number
            for number, *mark in [[0] * (1 + len(rows)), *self.marks]
            if all(not (ids < row).any() for ids, row in zip(rows, mark, strict=True))
        )

    def _forget_marks(self) -> None:
        """Of the marks that all rows that may be in a result are after, the last one will do."""
        if len(self.marks) > 1:
            streams = range(len(self.kinds))
            known = [np.concatenate([self.state.rows(s), self._waiting(s)]) for s in streams]
            passed = self._passed(known)
            first = max(at for at, mark in enumerate(self.marks) if mark[0] <= passed)
            self.marks = self.marks[first:]

    def renumber(self, kept: Sequence[Rows]) -> None:
        """Rows have new ids: their places among those that are kept, by stream."""
        self.next_rows = [len(rows) for rows in kept]
        self.marks = [
            [number, *(int(np.searchsorted(k, row)) for k, row in zip(kept, mark, strict=True))]
            for number, *mark in self.marks
        ]

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> Handover:
        """As of a count join, with the places of stored rows."""
        arrays, facts = super().handover()
        for stream, places in enumerate(self.places):
            arrays |= {f"{name}-{stream}": each for name, each in places.arrays().items()}
        return arrays, facts

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place. `stand` follows."""
        names = Places().arrays()
        own = {f"{name}-{stream}" for name in names for stream in range(len(self.kinds))}
        super().attach({n: a for n, a in arrays.items() if n not in own}, facts, room)
        self.places = [
            Places.of({name: arrays[f"{name}-{stream}"] for name in names})
            for stream in range(len(self.kinds))
        ]

    def standing(self) -> dict[str, Any]:
        """The windows, and which rows came before and after changes of them."""
        own = {
            "count": self.count,
            "next_rows": self.next_rows,
            "newest": self.newest,
            "marks": self.marks,
        }
        return {**super().standing(), **own}

    def stand(self, standing: dict[str, Any]) -> None:
        """Take a standing over."""
        super().stand(standing)
        self.next_rows, self.newest = list(standing["next_rows"]), standing["newest"]
        self.marks = [list(mark) for mark in standing["marks"]]
        self.count = standing["count"]
        self.count_up_to(self.count)


def _together(one: Released, two: Released) -> Released:
    """The results of both."""

    def joined(a: Sequence[Rows | None], b: Sequence[Rows | None]) -> tuple[Rows, ...]:
        pairs = zip(a, b, strict=True)
        return tuple(np.concatenate([x, y]) for x, y in pairs if x is not None and y is not None)

    (ts,) = joined([one.ts], [two.ts])
    arrival, age, above, upto = joined(
        [one.arrival, one.age, one.above, one.upto], [two.arrival, two.age, two.above, two.upto]
    )
    rows, times = joined(one.rows, two.rows), joined(one.row_ts, two.row_ts)
    return Released("match", rows, ts, times, arrival, age, above, upto)


def _in_order(found: Released) -> tuple[Released, int]:
    """Results by the tuple that came last, then age, then row ids; and where its last one begins.

    A tuple comes when its turn comes: by time, stream, row id.
    """
    rows = [ids for ids in found.rows if ids is not None]
    times = [ts for ts in found.row_ts if ts is not None]
    stream, row = np.zeros(len(found), np.int64), rows[0]
    for at, (ids, ts) in enumerate(zip(rows, times, strict=True)):
        here = ts == found.ts
        stream, row = np.where(here, at, stream), np.where(here, ids, row)
    age = found.ts - np.min(times, axis=0)
    order = np.lexsort((*reversed(rows), age, row, stream, found.ts))
    last = order[-1]
    same = (found.ts == found.ts[last]) & (stream == stream[last]) & (row == row[last])
    return found.chosen(order), len(order) - int(same.sum())
