"""The aggregates of one query, fed with its results and told how far all streams have come.

An answer at T is over the results whose rows all lie in (T - window, T]: the smallest time is above
T - window and the largest at most T. It leaves once progress has passed T, so it is a function of
the results alone: not of the batches in which they came, nor of their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.cql.answers import layout, words
from windrow.cql.answers.arrays import FEWEST, Arrays
from windrow.cql.answers.codes import Codes
from windrow.cql.answers.rows import Rows
from windrow.cql.query import CompiledQuery
from windrow.kernels.answers import loop, numbers
from windrow.model import BEGINNING, TimeWindow

Ints = NDArray[np.int64]

#: Columns of a state beside those of the results: their smallest and largest times.
OLDEST, NEWEST = "oldest", "newest"


class Aggregation:
    """The live results of a query, and what is yet to be answered."""

    def __init__(self, query: CompiledQuery) -> None:
        assert isinstance(query.window, TimeWindow)
        self.query = query
        self.window = query.window.micros
        self.slide = query.slide or 0
        self.measures = layout.measures(query)
        self.passed = BEGINNING
        keys = list(query.input_schema)[: len(query.group_by)]
        self.kept = pa.schema(
            [
                *keys,
                *(pa.field(f"value_{at}", m.kept) for at, m in enumerate(self.measures) if m.kept),
                pa.field(OLDEST, pa.int64()),
                pa.field(NEWEST, pa.int64()),
            ]
        )
        self._begin()

    def _begin(self) -> None:
        self._arrays = Arrays(self.measures)
        keys = pa.schema(list(self.kept)[: len(self.query.group_by)])
        self._groups = Codes(keys) if len(keys) else None
        self._codes = {
            at: Codes(pa.schema([self.kept.field(f"value_{at}")]))
            for at, measure in enumerate(self.measures)
            if measure.coded
        }
        self._arrays.room_for_groups(1)

    def __len__(self) -> int:
        """How many results are held."""
        return self._arrays.slots - self._arrays.frees

    # -- what comes and goes -----------------------------------------------------------------

    def add(self, inputs: pa.RecordBatch, oldest: Ints, newest: Ints) -> None:
        """Take results of the query: `inputs` of it, their smallest and their largest times.

        None of them may have a largest time that progress has passed.
        """
        self.take(self.rows(inputs, oldest, newest))

    def rows(self, inputs: pa.RecordBatch, oldest: Ints, newest: Ints) -> pa.RecordBatch:
        """The same results as a state has them, to be taken or written down."""
        arrays = [inputs.column(at) for at in range(len(self.query.group_by))]
        for at, measure in enumerate(self.measures):
            if measure.kept is not None:
                column = inputs.column(f"value_{at}")
                counted = measure.kind == numbers.COUNT
                arrays.append(_known(column) if counted else column)
        arrays += [pa.array(oldest), pa.array(newest)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.kept)

    def advance(self, progress: int) -> Iterator[pa.RecordBatch]:
        """The answers for all times that every stream has passed now, by time and group."""
        self.passed = max(self.passed, progress)
        arrays = self._arrays
        going = True
        while going:
            why = loop.answer(arrays.task(), self.passed, self.slide, self._groups is not None)
            if why == numbers.CROWDED:
                arrays.room_for_values()
            elif why == numbers.FULL and not arrays.meta[numbers.ROW]:
                arrays.room_for_rows()
            elif arrays.meta[numbers.ROW]:
                yield Rows(self.query, self.measures, self._groups).batch(arrays)
                arrays.meta[numbers.ROW] = 0
            going = why != numbers.DONE
        self._let_go()
        if arrays.slots > max(FEWEST, 4 * len(self)):
            self._renew()

    # -- what outlives it --------------------------------------------------------------------

    def state(self) -> pa.RecordBatch:
        """The results that are held; with `standing`, all that is needed to go on."""
        slots = self._arrays.held()
        results = self._arrays.results
        arrays: list[pa.Array] = []
        if self._groups is not None:
            arrays += self._groups.take(results.times[slots, numbers.GROUP]).columns
        for at, measure in enumerate(self.measures):
            if measure.kept is not None:
                arrays.append(self._values(at, measure, slots))
        arrays.append(pa.array(results.times[slots, numbers.DEATH] - self.window))
        arrays.append(pa.array(results.times[slots, numbers.HI]))
        return pa.RecordBatch.from_arrays(arrays, schema=self.kept)

    def standing(self) -> dict[str, int]:
        """How far it has come: plain data."""
        meta = self._arrays.meta
        return {
            "passed": self.passed,
            "last": int(meta[numbers.LAST]),
            "open": int(meta[numbers.OPEN]),
        }

    @classmethod
    def resume(
        cls, query: CompiledQuery, state: pa.RecordBatch, standing: Mapping[str, Any]
    ) -> Self:
        """Go on from a state, or from several in any order that have its results together."""
        made = cls(query)
        made._go_on(state, standing)
        return made

    def _go_on(self, state: pa.RecordBatch, standing: Mapping[str, Any]) -> None:
        self.passed = standing["passed"]
        meta = self._arrays.meta
        meta[numbers.LAST], meta[numbers.OPEN] = standing["last"], standing["open"]
        self.take(state)
        # What has been answered for becomes live at once.
        until = standing["last"] if self.slide else self.passed - 1
        while not loop.settle(self._arrays.task(), until):
            self._arrays.room_for_values()
        self._let_go()

    def _renew(self) -> None:
        """Begin anew with the results that are held, in arrays of their size."""
        state, standing = self.state(), self.standing()
        self._begin()
        self._go_on(state, standing)

    # -- slots -------------------------------------------------------------------------------

    def take(self, rows: pa.RecordBatch) -> None:
        """Take results as a state has them."""
        oldest, newest = (rows.column(name).to_numpy() for name in (OLDEST, NEWEST))
        if self.slide:
            # Those that no multiple of the slide will see need not be kept.
            seen = -((-newest) // self.slide) * self.slide < oldest + self.window
            if not seen.all():
                rows = rows.filter(pa.array(seen))
                oldest, newest = oldest[seen], newest[seen]
        if not rows.num_rows:
            return
        arrays = self._arrays
        slots = arrays.take(rows.num_rows)
        times = arrays.results.times
        times[slots, numbers.HI], times[slots, numbers.DEATH] = newest, oldest + self.window
        times[slots, numbers.GROUP] = 0
        if self._groups is not None:
            keys = rows.columns[: len(self.query.group_by)]
            times[slots, numbers.GROUP] = self._groups.hold(keys, rows.num_rows)
            arrays.room_for_groups(self._groups.size)
        for at, measure in enumerate(self.measures):
            if measure.kept is not None:
                self._keep(at, measure, rows.column(f"value_{at}"), slots)
        arrays.wait(slots)

    def _keep(self, at: int, measure: layout.Measure, column: pa.Array, slots: Ints) -> None:
        """Put a measure's values into slots."""
        arrays = self._arrays
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        arrays.results.valid[slots, at] = valid
        if measure.coded:
            arrays.results.words[slots, measure.column] = self._codes[at].hold(
                [column], len(column)
            )
        elif measure.words:
            made = words.encode(column)
            if measure.flavor == numbers.FLOATING:
                bits = made[0][valid]
                arrays.room_for_doubles(at, bits ^ ((bits >> 63) & np.int64(2**63 - 1)))
            for number, word in enumerate(made):
                turned = ~word if measure.most else word
                arrays.results.words[slots, measure.column + number] = turned

    def _values(self, at: int, measure: layout.Measure, slots: Ints) -> pa.Array:
        """A measure's values of slots."""
        results = self._arrays.results
        valid = results.valid[slots, at]
        if measure.kind == numbers.COUNT:
            return pa.array(np.ones(len(slots), np.bool_), mask=~valid)
        found = results.words[slots, measure.column : measure.column + measure.words]
        if measure.coded:
            return self._codes[at].take(found[:, 0]).column(0)
        each = [~found[:, k] if measure.most else found[:, k] for k in range(measure.words)]
        return words.decode(each, valid, measure.kept)

    def _let_go(self) -> None:
        """Free the slots of results that are in no interval any more."""
        gone = self._arrays.let_go()
        if not len(gone):
            return
        if self._groups is not None:
            self._groups.release(self._arrays.results.times[gone, numbers.GROUP])
        for at, codes in self._codes.items():
            codes.release(self._arrays.results.words[gone, self.measures[at].column])


def _known(column: pa.Array) -> pa.Array:
    """True where there is a value, null elsewhere."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return pa.array(np.ones(len(column), np.bool_), mask=~valid)
