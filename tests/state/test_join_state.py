"""The contract of state structures, on time lists and on buckets."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from windrow.kernels.cells import cell_of
from windrow.model import BEGINNING
from windrow.state.join_state import JoinState, Layout
from windrow.state.room import HEAP, allocated
from windrow.testing.contract import STATE_CHECKS, StateUnderTest
from windrow.testing.contract.state import follows_a_model, reuses_memory

pytestmark = pytest.mark.kernel

SHAPES = [
    Layout(2, "time-list", 1),
    Layout(2, "time-list", 4),
    Layout(3, "time-list", 4),
    Layout(2, "time-list", 1, expected=500),
    Layout(2, "time-list", 4, nodes=True),
    Layout(2, "buckets", 1),
    Layout(3, "buckets", 1),
    Layout(2, "buckets", 7),
    Layout(3, "buckets", 7),
    Layout(2, "buckets", 3, expected=500),
]
ONE = Layout(2, "time-list")


class Stored:
    """A join state with its tuples put where its kernel would put them."""

    def __init__(self, state: JoinState) -> None:
        self.state = state
        self.rows, self.live_rows = state.rows, state.live_rows
        self.stale_rows = state.stale_rows

    def handover(self):
        return self.state.arrays(), {"parts": self.state.parts}

    def allocated(self):
        return allocated(self.state.arrays())

    def list_of(self, stream, key):
        return self.state.streams * int(cell_of(int(key), self.state.parts)) + stream

    def append(self, stream, ts, keys, rows):
        records = np.column_stack([ts, keys, rows, np.zeros(len(ts), np.int64)])
        lists = np.array([self.list_of(stream, key) for key in keys], np.int64)
        for lst in np.unique(lists):
            self.state.lists.append(int(lst), np.ascontiguousarray(records[lists == lst]))

    def expire(self, stream, reach, bound):
        lists = range(stream, self.state.streams * self.state.parts, self.state.streams)
        return np.concatenate([self.state.lists.drop_expired(n, reach, bound) for n in lists])

    def probe(self, stream, key):
        return self.state.lists.probe(self.list_of(stream, key), key)


def attached(layout, parts):
    arrays, facts = parts
    return JoinState.attach(layout, facts["parts"], arrays, HEAP)


@pytest.fixture(params=SHAPES, ids=lambda shape: "-".join(map(str, astuple(shape))))
def under_test(request):
    return StateUnderTest(
        make=lambda: Stored(JoinState(request.param)),
        attach=lambda parts: Stored(attached(request.param, parts)),
        streams=request.param.streams,
    )


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("check", STATE_CHECKS, ids=lambda check: check.__name__)
def test_contract(check, under_test, seed):
    check(under_test, seed)


def test_growth_and_expiry_leave_a_peak():
    state = JoinState(Layout(2, "buckets", 3))
    stored = Stored(state)
    keys = np.array([0, 2**62, -1] * 4)
    stored.append(0, np.arange(12), keys, np.arange(12))
    stored.expire(0, 0, 100)
    stored.append(1, np.arange(2), keys[:2], np.arange(2))
    assert [state.live_rows(stream) for stream in (0, 1)] == [0, 2]
    assert [state.peak_rows(stream) for stream in (0, 1)] == [12, 2]


def test_what_could_be_gone_is_counted_whatever_its_order():
    state = JoinState(Layout(2, "buckets", 1))
    ts = np.array([5, 1, 9, 2, 7, 3])
    state.append(0, 0, np.column_stack([ts, ts, ts, ts]))
    found = [state.stale_rows(0, 2, bound) for bound in (BEGINNING, 3, 4, 8, 12)]
    assert found == [0, 0, 1, 4, 6]


def test_live_bytes_are_those_of_the_records():
    state = JoinState(Layout(2, "time-list", 2))
    stored = Stored(state)
    assert state.live_bytes(0) == state.live_bytes(1) == 0 < stored.allocated()
    stored.append(0, np.arange(30), np.arange(30) << 40, np.arange(30))
    stored.append(1, np.arange(10), np.arange(10) << 40, np.arange(10))
    assert state.live_bytes(0) == state.lists.live_records_of(0, 2).nbytes
    assert state.live_bytes(0) == 3 * state.live_bytes(1)
    assert sum(map(state.live_bytes, range(2))) <= stored.allocated()
    stored.expire(0, 0, 100)
    assert state.live_bytes(0) == 0


def test_only_a_time_list_splits_a_batch_into_cells():
    """Buckets take it whole: the paper's strategies look at all of them in global time order."""
    assert JoinState(Layout(2, "time-list", 8)).cells == 8
    assert JoinState(Layout(2, "buckets", 8)).cells == 1


# -- the contract itself: it must catch what it is there for -------------------------------------


class TooEager(Stored):
    """Lets go of tuples that can still match, by a microsecond."""

    def expire(self, stream, reach, bound):
        return super().expire(stream, reach, bound + 1)


class TooLazy(Stored):
    """Never lets go of the last one."""

    def expire(self, stream, reach, bound):
        return super().expire(stream, reach, min(bound, 10))


class OldestFirst(Stored):
    """Walks its chains the wrong way."""

    def probe(self, stream, key):
        return super().probe(stream, key)[::-1]


class Mixed(Stored):
    """Takes equal lower halves for equal keys."""

    def append(self, stream, ts, keys, rows):
        super().append(stream, ts, keys & 0xFFFF, rows)

    def probe(self, stream, key):
        return super().probe(stream, key & 0xFFFF)


@pytest.mark.parametrize("broken", [TooEager, TooLazy, OldestFirst, Mixed])
def test_the_contract_catches(broken):
    under_test = StateUnderTest(
        make=lambda: broken(JoinState(ONE)),
        attach=lambda parts: broken(attached(ONE, parts)),
    )
    with pytest.raises(AssertionError):
        follows_a_model(under_test, 0)


def test_the_contract_catches_a_leak():
    class Leaking(Stored):
        leaked = 0

        def append(self, stream, ts, keys, rows):
            super().append(stream, ts, keys, rows)
            self.leaked += 32 * len(ts)

        def allocated(self):
            return super().allocated() + self.leaked

    under_test = StateUnderTest(lambda: Leaking(JoinState(ONE)), lambda parts: None)
    with pytest.raises(AssertionError, match="bytes in turn"):
        reuses_memory(under_test, 0)
