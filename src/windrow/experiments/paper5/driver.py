"""The real operator, a short step of the streams at a time, and what it stores after each.

    step     all that arrives in a tenth of a second (or one tuple, where latency is measured)
    manager  looks "upon the arrival of a tuple (which could be a batch of individual tuples)"
             (section 5), here of ten. By itself the operator looks less often, so that looking
             costs little, and stores what comes between
    results  leave in the step that finds them

A tuple's time is when it arrives, so the operator takes them in the order of arrival.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow import api, planning
from windrow.api import local_join
from windrow.model import CountWindow, DataMemory, JoinPlan
from windrow.operators.arrivals import Mixture, Piece
from windrow.operators.gate.delayed import Delayed
from windrow.operators.gate.spill import Queueing
from windrow.operators.gate.spilling import Spilling
from windrow.operators.join.oblivious import ObliviousJoin
from windrow.workload.arrivals import MICROS

Numbers = NDArray[np.int64]
Seconds = NDArray[np.float64]
#: What is done to the join before a step, which is given by its number.
Before = Callable[[int, ObliviousJoin], None]

#: Seconds of a step.
STEP = 0.1
#: Tuples of a block on disk, and C, which are read ahead. The library's are made for streams that
#: are a hundred times as fast: all that lags here would fit a block that is being filled.
QUEUEING = Queueing(64, 64)
#: The manager looks again after so many arrivals, however many steps a look takes.
EACH, NO_MATTER = 10, 1 << 40


@dataclass(frozen=True)
class Trace:
    """A run. `at`: the seconds at which steps end; by step and stream, what there is then.

    stored: tuples in buffers, in memory; those that wait in a gate are among them. waiting: those.
    predicted: tuples that are to stay, by the manager (without one, those that are stored).
    left: the step each result left in; `times`: when its last tuple arrived, seconds; `key_rows`:
    the row of the first stream in it. took: seconds that each step took on this machine.
    """

    at: Seconds
    stored: Numbers
    waiting: Numbers
    predicted: Numbers
    left: Numbers
    times: Seconds
    key_rows: Numbers
    took: Seconds

    @property
    def results(self) -> int:
        """How many there were."""
        return len(self.left)

    @property
    def memory(self) -> float:
        """Tuples stored on average, of all streams."""
        return float(self.stored.sum(axis=1).mean())


def run(
    tables: Sequence[pa.Table],
    memory: DataMemory | None,
    *,
    rows: Sequence[float] = (),
    step: float | None = STEP,
    span: tuple[int, int] | None = None,
    before: Before | None = None,
    eager: bool = True,
) -> Trace:
    """Join streams of epochs. `memory`: None for windows of `rows` latest tuples of each stream.

    `step`: seconds, or None for a step for each tuple. `span`: when steps begin and the last tuple
    may come, in µs, if other streams say so. `eager`: whether the manager looks that often.
    """
    names = [f"s{n}" for n in range(1, len(tables) + 1)]
    windows = rows if memory is None else [None] * len(tables)
    streams = [
        api.stream(
            table, name=name, key="epoch", time="time",
            window=None if most is None else CountWindow(int(most), "stream"),
        )
        for table, name, most in zip(tables, names, windows, strict=True)
    ]  # fmt: skip
    plan = planning.plan(*streams, memory="window" if memory is None else memory)
    times = [micros(table) for table in tables]
    return _Driver(plan, times, span or span_of(tables), eager).go(step, before)


def span_of(tables: Sequence[pa.Table]) -> tuple[int, int]:
    """When the first tuple comes, and the last, in µs."""
    times = [micros(table) for table in tables if table.num_rows]
    return min((int(ts[0]) for ts in times), default=0), max(
        (int(ts[-1]) for ts in times), default=0
    )


def micros(table: pa.Table) -> Numbers:
    """When the tuples of a stream arrive."""
    found: Numbers = table["time"].cast(pa.int64()).to_numpy()
    return found


def epoch(table: pa.Table) -> Numbers:
    """Their keys."""
    found: Numbers = table["epoch"].to_numpy()
    return found


def ends_of(span: tuple[int, int], step: float = STEP) -> Numbers:
    """When steps end, in µs.

    >>> ends_of((0, 200_000)).tolist()
    [100000, 200000, 300000]
    """
    each = round(step * MICROS)
    return np.arange(span[0] + each, span[1] + each + 1, each)


class _Driver:
    """A join that is fed step by step."""

    def __init__(
        self, plan: JoinPlan, times: Sequence[Numbers], span: tuple[int, int], eager: bool
    ) -> None:
        self.times = times
        self.start, self.last = span
        #: Streams come by their own clock, and disks take the time that they take.
        self.now = 0.0
        self.join = local_join(plan, clock=lambda: self.now + time.perf_counter())
        gate = self.join.gate
        for delay in gate.delays if isinstance(gate, Delayed) else ():
            if isinstance(delay, Spilling):
                delay.queue_by(QUEUEING)
        stage = self.join.join
        self.manager = stage if isinstance(stage, ObliviousJoin) else None
        if self.manager is not None and eager:
            self.manager.memory.attend(EACH, NO_MATTER)
        self.found: list[tuple[Numbers, ...]] = []
        self.states: list[tuple[list[int], list[int], list[int], float]] = []

    def go(self, step: float | None, before: Before | None) -> Trace:
        """Feed everything."""
        ends = self._ends(step)
        stops = np.stack([np.searchsorted(ts, ends) for ts in self.times], axis=1)
        stops[-1] = [len(ts) for ts in self.times]
        fed = np.zeros(len(self.times), np.int64)
        for number, upto in enumerate(stops):
            if before is not None and self.manager is not None:
                before(number, self.manager)
            ranges = [(int(a), int(b)) for a, b in zip(fed, upto, strict=True)]
            self._step(number, float(ends[number] - self.start) / MICROS, ranges)
            fed = upto
        left, times, key_rows = (
            np.concatenate([np.empty(0, np.int64), *parts])
            for parts in (zip(*self.found, strict=True) if self.found else ((), (), ()))
        )
        stored, waiting, predicted, took = (
            np.array(column) for column in zip(*self.states, strict=True)
        )
        at = (ends - self.start) / MICROS
        seconds = (times - self.start) / MICROS
        return Trace(at, stored, waiting, predicted, left, seconds, key_rows, took)

    def _ends(self, step: float | None) -> Numbers:
        """The times at which steps end; what comes before one is of its step."""
        if step is None:
            return np.unique(np.concatenate(self.times)) + 1
        return ends_of((self.start, self.last), step)

    def _step(self, number: int, at: float, ranges: Sequence[tuple[int, int]]) -> None:
        self.now = at
        begun = time.perf_counter()
        left = list(self.join.batch(ranges))
        took = time.perf_counter() - begun
        for result in left:
            for piece in result.pieces if isinstance(result, Mixture) else [result]:
                assert isinstance(piece, Piece)
                first = piece.rows[0]
                assert first is not None
                self.found.append((np.full(len(piece), number), piece.ts, first))
        stage = self.join.join
        gate = self.join.gate.figures()[0]
        spilled = gate.get("spilled", [0] * len(ranges))
        waiting = [all_of - disk for all_of, disk in zip(gate["waiting"], spilled, strict=True)]
        stored = [stage.state.live_rows(each) + waiting[each] for each in range(len(ranges))]
        predicted = stored
        if self.manager is not None:
            keep = self.manager.memory.keep
            predicted = [s if k is None else k for s, k in zip(stored, keep, strict=True)]
        self.states.append((stored, waiting, predicted, took))
