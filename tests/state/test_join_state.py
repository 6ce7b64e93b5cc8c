"""The contract of state structures, on time lists and on buckets."""

from __future__ import annotations

import numpy as np
import pytest

from windrow.kernels import lists as ls
from windrow.kernels.cursor import bucket_of
from windrow.model import WindrowError
from windrow.state.join_state import STREAMS, JoinState
from windrow.testing.contract import STATE_CHECKS, StateUnderTest

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
        self.stale_rows, self.nbytes, self.snapshot = state.stale_rows, state.nbytes, state.snapshot

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
