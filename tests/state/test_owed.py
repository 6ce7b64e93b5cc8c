"""Results that queries wait for, by arrival: chains of stretches against a plain list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.model import END
from windrow.state import owed as state
from windrow.state.owed import AGE, ARRIVAL, FIRST, LEFT, UPTO, Owed
from windrow.state.room import allocated
from windrow.testing.contract import handover

pytestmark = pytest.mark.kernel
NEED = 9
WIDTH = FIRST + 1


class Naive:
    """The same, as a list that is looked through."""

    def __init__(self):
        self.rows = []

    def push(self, rows):
        self.rows += [[*row] for row in rows.tolist()]

    def leaving(self, asked):
        """What leaves, for (arrival, window up to which)."""
        found = []
        for row in sorted(self.rows, key=lambda row: (row[ARRIVAL], row[AGE], row[FIRST])):
            upto = asked.get(row[ARRIVAL], -1)
            if row[LEFT] < upto and row[AGE] <= upto:
                found.append((row[ARRIVAL], row[AGE], row[FIRST], row[LEFT], upto))
                row[LEFT] = upto
        self.rows = [row for row in self.rows if asked.get(row[ARRIVAL], -1) < NEED]
        return found

    def numbers(self):
        return sorted((row[FIRST], row[LEFT]) for row in self.rows)


@st.composite
def histories(draw):
    """Steps: results by arrival, each older than those before; then who goes how far.

    Arrivals end in their order, as those of a join do.
    """
    steps, number, first, oldest, reached = [], 0, draw(st.integers(0, 3)), {}, {}
    for _ in range(draw(st.integers(1, 12))):
        rows = []
        for arrival in sorted(draw(st.sets(st.integers(first, first + 6), max_size=5))):
            for _ in range(draw(st.integers(0, 4))):
                oldest[arrival] = oldest.get(arrival, 0) + draw(st.sampled_from([0, 0, 1, 3]))
                rows.append([arrival, min(oldest[arrival], NEED), -1, -1, number])
                number += 1
            oldest[arrival] = oldest.get(arrival, 0) + 1
        asked = {}
        for arrival in draw(st.sets(st.integers(first, first + 6), max_size=4)):
            reached[arrival] = max(reached.get(arrival, 0), draw(st.integers(0, NEED - 1)))
            asked[arrival] = reached[arrival]
        since = first + draw(st.integers(0, 3))
        asked |= dict.fromkeys(range(first, since), draw(st.sampled_from([NEED, END])))
        steps.append((rows, first, asked, since))
        first = since
    return steps


@given(histories(), st.sampled_from([1, 2, 5, 100]), st.booleans())
def test_what_may_go_goes_once_and_in_order(steps, buffer, moved):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "BUFFER_ROWS", buffer)
        patch.setattr(state, "LEAST_SHRUNK", 8)
        patch.setattr(state, "LEAST_ROWS", 4)
        owed, naive, pushed = Owed(WIDTH), Naive(), 0
        for rows, first, asked, since in steps:
            given_rows = np.array(rows, np.int64).reshape(-1, WIDTH)
            naive.push(given_rows)
            owed.push(given_rows, first)
            before = {row[ARRIVAL] for row in naive.rows if row[ARRIVAL] < since}
            assert owed.before(since).tolist() == sorted(before)
            got = []
            arrivals = np.array(sorted(asked), np.int64)
            upto = np.array([asked[each] for each in sorted(asked)], np.int64)
            for columns in owed.leaving(arrivals, upto, np.full(len(arrivals), NEED)):
                assert 0 < columns.shape[1] <= buffer
                got += zip(*columns[[ARRIVAL, AGE, FIRST, LEFT, UPTO]].tolist(), strict=True)
            # Of one arrival and age, in the order in which they came.
            assert got == naive.leaving(asked)
            owed.tidy(since)
            assert len(owed) == len(naive.rows)
            mine = owed.all()
            assert sorted(map(tuple, mine[:, [FIRST, LEFT]].tolist())) == naive.numbers()
            added = set(owed.take_added()[:, FIRST].tolist())
            new = {row[FIRST] for row in naive.rows if row[FIRST] >= pushed}
            assert added == new
            pushed += len(rows)
            if moved:
                arrays, _ = handover.elsewhere((owed.handover("x"), {}))
                owed = Owed.attach(arrays, "x", owed.room)


def test_room_follows_what_is_owed():
    owed = Owed(WIDTH)
    rows = np.zeros((100_000, WIDTH), np.int64)
    rows[:, ARRIVAL], rows[:, LEFT] = np.arange(100_000), -1
    owed.push(rows, 0)
    ends = np.full(99_999, END)
    gone = sum(columns.shape[1] for columns in owed.leaving(np.arange(99_999), ends, ends))
    owed.tidy(99_999)
    assert (gone, len(owed), owed.nbytes) == (99_999, 1, 8 * WIDTH)
    assert allocated(owed.handover("x")) < 10_000
    assert owed.before(100_000).tolist() == [99_999]
    assert owed.touched < 4 * 100_000


def test_work_follows_what_comes_and_goes():
    """With 50,000 results owed, what a small step looks at is what it has to do with."""
    owed = Owed(WIDTH)
    rows = np.zeros((50_000, WIDTH), np.int64)
    rows[:, ARRIVAL], rows[:, LEFT] = np.arange(50_000) // 5, -1
    owed.push(rows, 0)
    for step in range(100):
        before = owed.touched
        more = np.array([[20_000 + step, 0, -1, -1, step]])
        owed.push(more, 0)
        asked, upto = np.array([step, 20_000 + step]), np.array([1, 1])
        (columns,) = owed.leaving(asked, upto, upto + 1)
        assert columns.shape[1] == 6
        assert owed.touched - before == 1 + 6
