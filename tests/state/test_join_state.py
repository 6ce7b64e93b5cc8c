"""The contract of state structures, on time lists and on buckets."""

from __future__ import annotations

import numpy as np
import pytest

from windrow.kernels.cursor import bucket_of
from windrow.model import WindrowError
from windrow.state.join_state import STREAMS, JoinState
from windrow.state.room import allocated
from windrow.testing.contract import STATE_CHECKS, StateUnderTest
from windrow.testing.contract.state import follows_a_model, reuses_memory

pytestmark = pytest.mark.kernel

#: (structure, parts, expected live tuples)
SHAPES = [
    ("time-list", 1, 0),
    ("time-list", 4, 0),
    ("time-list", 1, 500),
    ("buckets", 1, 0),
    ("buckets", 7, 0),
    ("buckets", 3, 500),
]


class Stored:
    """A join state with its tuples put where its kernel would put them."""

    def __init__(self, state: JoinState) -> None:
        self.state = state
        self.rows, self.live_rows = state.rows, state.live_rows
        self.stale_rows, self.snapshot = state.stale_rows, state.snapshot

    def allocated(self):
        return allocated(self.state.lists.parts())

    def list_of(self, stream, key):
        return STREAMS * int(bucket_of(int(key), self.state.parts)) + stream

    def append(self, stream, ts, keys, rows):
        records = np.column_stack([ts, keys, rows, np.zeros(len(ts), np.int64)])
        lists = np.array([self.list_of(stream, key) for key in keys], np.int64)
        for lst in np.unique(lists):
            self.state.lists.append(int(lst), np.ascontiguousarray(records[lists == lst]))

    def expire(self, stream, reach, bound):
        lists = range(stream, STREAMS * self.state.parts, STREAMS)
        return np.concatenate([self.state.lists.drop_expired(n, reach, bound) for n in lists])

    def probe(self, stream, key):
        return self.state.lists.probe(self.list_of(stream, key), key)


@pytest.fixture(params=SHAPES, ids=lambda shape: "-".join(map(str, shape)))
def under_test(request):
    structure, parts, expected = request.param
    return StateUnderTest(
        make=lambda: Stored(JoinState(structure, parts, expected)),
        restore=lambda snapshot: Stored(JoinState.restore(snapshot)),
    )


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("check", STATE_CHECKS, ids=lambda check: check.__name__)
def test_contract(check, under_test, seed):
    check(under_test, seed)


def test_growth_and_expiry_leave_a_peak():
    state = JoinState("buckets", 3)
    stored = Stored(state)
    keys = np.array([0, 2**62, -1] * 4)
    stored.append(0, np.arange(12), keys, np.arange(12))
    stored.expire(0, 0, 100)
    stored.append(1, np.arange(2), keys[:2], np.arange(2))
    assert [state.live_rows(stream) for stream in (0, 1)] == [0, 2]
    assert [state.peak_rows(stream) for stream in (0, 1)] == [12, 2]


def test_live_bytes_are_those_of_the_records():
    state = JoinState("time-list", 2)
    stored = Stored(state)
    assert state.live_bytes(0) == state.live_bytes(1) == 0 < stored.allocated()
    stored.append(0, np.arange(30), np.arange(30) << 40, np.arange(30))
    stored.append(1, np.arange(10), np.arange(10) << 40, np.arange(10))
    assert state.live_bytes(0) == state.lists.live_records_of(0, STREAMS).nbytes
    assert state.live_bytes(0) == 3 * state.live_bytes(1)
    assert sum(map(state.live_bytes, range(STREAMS))) <= stored.allocated()
    stored.expire(0, 0, 100)
    assert state.live_bytes(0) == 0


@pytest.mark.parametrize("structure", [None, "hash", 3])
def test_an_unknown_structure_is_refused(structure):
    taken = JoinState("buckets", 2).snapshot()
    taken["structure"] = structure
    with pytest.raises(WindrowError, match=f"unknown state structure '{structure}'"):
        JoinState.restore(taken)


def test_only_a_time_list_splits_a_batch_into_cells():
    """Buckets take it whole: the paper's strategies look at all of them in global time order."""
    assert JoinState("time-list", 8).cells == 8
    assert JoinState("buckets", 8).cells == 1


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
        make=lambda: broken(JoinState("time-list")),
        restore=lambda snapshot: broken(JoinState.restore(snapshot)),
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

    under_test = StateUnderTest(lambda: Leaking(JoinState("time-list")), lambda snapshot: None)
    with pytest.raises(AssertionError, match="bytes in turn"):
        reuses_memory(under_test, 0)
