"""Rows that wait in time order: a heap of sorted runs against a sorted list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.state.room import allocated
from windrow.state.runs import Runs, in_order

pytestmark = pytest.mark.kernel

#: Batches of times, and the bound up to which rows leave after each.
steps = st.lists(
    st.tuples(st.lists(st.integers(0, 12), max_size=12), st.integers(-1, 14)), max_size=12
)


@given(steps)
def test_rows_leave_in_order_and_only_before_the_bound(batches):
    runs, waiting, number, most = Runs(3), [], 0, 0
    for times, bound in batches:
        rows = [[ts, number + at, -at] for at, ts in enumerate(times)]
        number += len(times)
        runs.push(np.array(rows, np.int64).reshape(-1, 3))
        waiting += rows
        most = max(most, len(waiting))
        assert runs.due(bound) == any(row[0] < bound for row in waiting)
        assert runs.pop_before(bound).tolist() == sorted(r for r in waiting if r[0] < bound)
        waiting = [row for row in waiting if row[0] >= bound]
        assert sorted(runs.all().tolist()) == sorted(waiting)
        assert len(runs) == len(waiting)
        assert runs.nbytes == runs.all().nbytes
        assert runs.peak == most
        # Others go on with the same arrays.
        runs = Runs.attach(runs.handover("x"), "x", runs.room)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(-2, 2))))
def test_sorting_compares_all_numbers(rows):
    given_rows = np.array(rows, np.int64).reshape(-1, 3)
    assert in_order(given_rows).tolist() == sorted(map(list, rows))


def test_what_has_left_makes_room_for_what_comes():
    """Memory follows what waits, not what ever came."""
    runs = Runs(2)
    for at in range(200):
        runs.push(np.array([[at + 1, 0], [at, 1], [at, 0]]))
        assert len(runs.pop_before(at)) == (2 if at == 1 else 3) * (at > 0)
    assert len(runs.rows) <= 64
    assert len(runs.heap) <= 8


def test_room_is_given_back():
    runs = Runs(2)
    runs.push(np.stack([np.arange(100_000), np.zeros(100_000, np.int64)], axis=1))
    assert len(runs.pop_before(99_999)) == 99_999
    assert allocated(runs.handover("x")) < 10_000
    assert runs.all().tolist() == [[99_999, 0]]


def test_many_runs_wait_at_once():
    runs = Runs(2)
    for at in range(100):
        runs.push(np.array([[at, 0], [1000 - at, 1]]))
    found = runs.pop_before(2000)
    assert found.tolist() == sorted(found.tolist())
    assert (len(found), len(runs)) == (200, 0)
