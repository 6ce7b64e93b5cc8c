"""What every state structure must do. A new one brings its factories and runs `STATE_CHECKS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from windrow.model import BEGINNING, END
from windrow.testing.contract.handover import Handover, elsewhere
from windrow.testing.contract.keys import key_pool

Rows = NDArray[np.int64]


class TupleState(Protocol):
    """The stored tuples of some streams: a multi-map by key, in order of arrival."""

    def append(self, stream: int, ts: Rows, keys: Rows, rows: Rows) -> None:
        """Store tuples in the order given."""

    def expire(self, stream: int, reach: int, bound: int) -> Rows:
        """Drop what `ts + reach < bound` lets go of, from the old end; returns the row ids."""

    def probe(self, stream: int, key: int) -> Rows:
        """The row ids stored under a key, newest first."""

    def rows(self, stream: int) -> Rows:
        """All row ids stored, in any order."""

    def live_rows(self, stream: int) -> int:
        """How many tuples are stored."""

    def stale_rows(self, stream: int, reach: int, bound: int) -> int:
        """How many of them could be gone."""

    def allocated(self) -> int:
        """The bytes that are allocated, used or not."""

    def handover(self) -> Handover:
        """Its arrays as they are, and what else must be known with them."""


@dataclass(frozen=True)
class StateUnderTest:
    """Factories of one state structure, new and on arrays; how many streams it is for."""

    make: Callable[[], TupleState]
    attach: Callable[[Handover], TupleState]
    streams: int = 2


@dataclass
class _Model:
    """The same as plain lists: (ts, key, row id) by stream, in order of arrival."""

    stored: list[list[tuple[int, int, int]]]
    next_row: int = 0

    def append(self, stream: int, ts: Sequence[int], keys: Sequence[int]) -> Rows:
        rows = range(self.next_row, self.next_row + len(ts))
        self.next_row += len(ts)
        self.stored[stream] += zip(map(int, ts), map(int, keys), rows, strict=True)
        return np.array(rows, np.int64)

    def expired(self, stream: int, reach: int, bound: int) -> set[int]:
        return {row for ts, _, row in self.stored[stream] if ts + reach < bound}

    def drop(self, stream: int, rows: Iterable[int]) -> None:
        gone = set(rows)
        self.stored[stream] = [record for record in self.stored[stream] if record[2] not in gone]

    def probe(self, stream: int, key: int) -> list[int]:
        return [row for _, known, row in reversed(self.stored[stream]) if known == key]

    def copy(self) -> _Model:
        return _Model([list(stored) for stored in self.stored], self.next_row)


def _assert_same_contents(state: TupleState, model: _Model, keys: Sequence[int]) -> None:
    for stream, stored in enumerate(model.stored):
        assert sorted(state.rows(stream).tolist()) == sorted(row for *_, row in stored)
        assert state.live_rows(stream) == len(stored)
        for key in keys:
            assert state.probe(stream, key).tolist() == model.probe(stream, key), key
        middle = stored[len(stored) // 2][0] if stored else 0
        for reach, bound in ((0, middle), (3, middle), (-3, middle), (0, BEGINNING), (0, END)):
            stale = len(model.expired(stream, reach, bound))
            assert state.stale_rows(stream, reach, bound) == stale, (reach, bound)


class _Run:
    """A state and its model, fed with the same random tuples and compared."""

    def __init__(self, under_test: StateUnderTest, seed: int, disorder: int = 0) -> None:
        self.streams = under_test.streams
        self.state, self.model = under_test.make(), _Model([[] for _ in range(self.streams)])
        self.rng = np.random.default_rng(seed)
        self.keys = key_pool(self.rng, 5)
        self.disorder = disorder
        self.now = [0] * self.streams

    def append(self, stream: int, count: int) -> None:
        steps = self.rng.integers(0, 3, count)
        times = self.now[stream] + np.cumsum(steps)
        self.now[stream] = int(times[-1]) if count else self.now[stream]
        ts = times - self.rng.integers(0, self.disorder + 1, count)
        keys = self.rng.choice(np.array(self.keys, np.int64), count)
        rows = self.model.append(stream, ts.tolist(), keys.tolist())
        self.state.append(stream, ts, keys, rows)

    def expire(self, stream: int, reach: int, bound: int) -> None:
        may_go = self.model.expired(stream, reach, bound)
        gone = self.state.expire(stream, reach, bound).tolist()
        assert len(set(gone)) == len(gone), "a row was dropped twice"
        assert set(gone) <= may_go, "a row was dropped that could still match"
        if not self.disorder:
            assert set(gone) == may_go, "a row stayed that could be gone"
        self.model.drop(stream, gone)
        # Out of order, a row may stay, but only behind an older arrival that must.
        kept_by_right = False
        for ts, _, row in self.model.stored[stream]:
            kept_by_right |= ts + reach >= bound
            assert kept_by_right, f"row {row} could be gone, and nothing before it must stay"

    def steps(self, count: int) -> None:
        for _ in range(count):
            stream = int(self.rng.integers(self.streams))
            if self.rng.random() < 0.6:
                self.append(stream, int(self.rng.integers(0, 12)))
            else:
                reach = int(self.rng.choice([-3, 0, 7]))
                self.expire(stream, reach, self.now[stream] + int(self.rng.integers(-30, 5)))
        self.compare()

    def compare(self) -> None:
        _assert_same_contents(self.state, self.model, self.keys)


def follows_a_model(under_test: StateUnderTest, seed: int = 0) -> None:
    """Random appends, expiries and probes do what they do to plain lists."""
    run = _Run(under_test, seed)
    run.compare()
    for _ in range(6):
        run.steps(10)


def follows_a_model_out_of_order(under_test: StateUnderTest, seed: int = 0) -> None:
    """The same with arrivals out of time order: nothing goes too early, little too late."""
    run = _Run(under_test, seed, disorder=9)
    for _ in range(6):
        run.steps(10)


def grows(under_test: StateUnderTest, seed: int = 0) -> None:
    """From nothing through many doublings and back to nothing, twice; nothing is lost."""
    run = _Run(under_test, seed)
    for _ in range(2):
        for power in range(9):
            run.append(power % run.streams, 1 << power)
            run.append((power + 1) % run.streams, 3)
            run.compare()
        for stream in range(run.streams):
            run.expire(stream, 0, run.now[stream] // 2)
            run.expire(stream, 0, END)
        run.compare()


def reuses_memory(under_test: StateUnderTest, seed: int = 0) -> None:
    """A small window that many tuples pass through: what is allocated does not grow with them."""
    run = _Run(under_test, seed)
    limit = 0
    for turn in range(120):
        for stream in range(run.streams):
            run.append(stream, 25)
            run.expire(stream, 50, run.now[stream])
        allocated = run.state.allocated()
        if turn < 20:
            limit = max(limit, 2 * allocated)
        assert allocated <= limit, f"{allocated} bytes in turn {turn}: over twice the first 20's"
        if turn % 20 == 0:
            run.compare()


def goes_on_elsewhere(under_test: StateUnderTest, seed: int = 0) -> None:
    """Its arrays, in other memory, are the same state, and what follows there stays there."""
    run = _Run(under_test, seed, disorder=seed % 2 * 4)
    for turn in range(4):
        taken, model = elsewhere(run.state.handover()), run.model.copy()
        run.steps(5)
        _assert_same_contents(under_test.attach(elsewhere(taken)), model, run.keys)
        run.state, run.model = under_test.attach(taken), model
        run.compare()
        run.steps(8)
        if turn == 2:
            for stream in range(run.streams):
                run.expire(stream, 0, END)


STATE_CHECKS: tuple[Callable[[StateUnderTest, int], None], ...] = (
    follows_a_model,
    follows_a_model_out_of_order,
    grows,
    reuses_memory,
    goes_on_elsewhere,
)
