"""The arrays of an aggregation: made, grown, and handed to the kernels."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from windrow.cql.answers import layout
from windrow.kernels.answers import heaps, numbers, values
from windrow.model import BEGINNING

Ints = NDArray[np.int64]
Number = TypeVar("Number", np.int64, np.bool_)

#: Slots to begin with, and rows of output.
FEWEST, ROWS = 256, 4096
#: Limbs of the widest sum, and what is carried out of them.
_SCRATCH = 96
_NEVER = -(2**63)


class Arrays:
    """All that the kernels work on, for some measures."""

    def __init__(self, asked: list[layout.Measure]) -> None:
        self.asked = asked
        self.measures = layout.table(asked)
        self.words = sum(measure.words for measure in asked)
        self.heaps = sum(measure.kind == numbers.LEAST for measure in asked)
        self.outs = sum(measure.outs for measure in asked)
        limbs = int(self.measures[:, numbers.LIMBS].sum())
        self.results = self._results(FEWEST)
        self.births, self.deaths = (np.zeros((FEWEST, 2), np.int64) for _ in range(2))
        self.gone = np.zeros(FEWEST, np.int64)
        #: Slots that no result has: so many at the front of the array.
        self.free, self.frees = np.arange(FEWEST), FEWEST
        self.groups = numbers.Groups(
            counts=np.zeros((0, numbers.FIRST + len(asked)), np.int64),
            limbs=np.zeros((0, limbs), np.int64),
            roots=np.zeros((0, self.heaps), np.int64),
            live=np.zeros(0, np.int64),
        )
        self.notes = np.zeros(0, np.int64)
        self.entries = np.zeros((64, 5), np.int64)
        self.meta = np.zeros(numbers.SCALARS, np.int64)
        self.meta[numbers.LAST] = BEGINNING
        self.output = self._output(ROWS)
        self.scratch = np.zeros(_SCRATCH, np.int64)

    @property
    def slots(self) -> int:
        """How many slots there are."""
        return len(self.gone)

    def task(self) -> numbers.Task:
        """What the kernels are given."""
        queues = numbers.Queues(self.births, self.deaths, self.notes, self.gone)
        return numbers.Task(
            self.results,
            self.groups,
            queues,
            self.entries,
            self.measures,
            self.meta,
            self.output,
            self.scratch,
        )

    def take(self, count: int) -> Ints:
        """Free slots for so many results."""
        if count > self.frees:
            self._more_slots(self.slots + count - self.frees)
        self.frees -= count
        return self.free[self.frees : self.frees + count].copy()

    def wait(self, slots: Ints) -> None:
        """Let slots wait for their results' largest times."""
        self.meta[numbers.BIRTHS] = heaps.push_all(
            self.births,
            int(self.meta[numbers.BIRTHS]),
            self.results.times[slots, numbers.HI],
            slots,
        )

    def let_go(self) -> Ints:
        """The slots that are free again, each of them once."""
        gone = self.gone[: self.meta[numbers.GONE]].copy()
        self.meta[numbers.GONE] = 0
        self.free[self.frees : self.frees + len(gone)] = gone
        self.frees += len(gone)
        return gone

    def held(self) -> Ints:
        """The slots that results have."""
        births = self.births[: self.meta[numbers.BIRTHS], 1]
        return np.sort(np.concatenate([births, self.deaths[: self.meta[numbers.DEATHS], 1]]))

    def room_for_groups(self, size: int) -> None:
        """Let group numbers be anything below `size`."""
        more = size - len(self.notes)
        if more <= 0:
            return
        counts = np.zeros((more, self.groups.counts.shape[1]), np.int64)
        counts[:, numbers.NOTED] = _NEVER
        self.groups = numbers.Groups(
            counts=np.concatenate([self.groups.counts, counts]),
            limbs=_longer(self.groups.limbs, more),
            roots=np.concatenate([self.groups.roots, np.full((more, self.heaps), numbers.NONE)]),
            live=_longer(self.groups.live, more),
        )
        self.notes = _longer(self.notes, more)

    def room_for_doubles(self, at: int, bits: Ints) -> None:
        """Let sum `at` take doubles of these bits."""
        self.measures, limbs = layout.widened(self.measures, self.groups.limbs, at, bits)
        self.groups = self.groups._replace(limbs=limbs)

    def room_for_values(self) -> None:
        """A larger table of values."""
        larger = np.zeros((2 * len(self.entries), self.entries.shape[1]), np.int64)
        values.copy_entries(self.entries, larger)
        self.entries = larger

    def room_for_rows(self) -> None:
        """An output in which the rows of one time have room."""
        self.output = self._output(max(2 * len(self.output.ts), len(self.notes) + 1))

    def _more_slots(self, least: int) -> None:
        before = self.slots
        more = max(least, 2 * before) - before
        times, words, valid, nodes = self.results
        self.results = numbers.Results(
            _longer(times, more), _longer(words, more), _longer(valid, more), _longer(nodes, more)
        )
        self.births, self.deaths = _longer(self.births, more), _longer(self.deaths, more)
        self.gone = _longer(self.gone, more)
        self.free = _longer(self.free, more)
        self.free[self.frees : self.frees + more] = np.arange(before, before + more)
        self.frees += more

    def _results(self, slots: int) -> numbers.Results:
        return numbers.Results(
            times=np.zeros((slots, 3), np.int64),
            words=np.zeros((slots, self.words), np.int64),
            valid=np.zeros((slots, len(self.asked)), np.bool_),
            nodes=np.full((slots, heaps.NODE * self.heaps), numbers.NONE),
        )

    def _output(self, rows: int) -> numbers.Output:
        return numbers.Output(
            ts=np.zeros(rows, np.int64),
            group=np.zeros(rows, np.int64),
            words=np.zeros((rows, self.outs), np.int64),
            floats=np.zeros((rows, len(self.asked)), np.float64),
            valid=np.zeros((rows, len(self.asked)), np.bool_),
        )


def _longer(array: NDArray[Number], more: int) -> NDArray[Number]:
    """The same with zeros at the end."""
    return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)])
