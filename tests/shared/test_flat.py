"""What a shared join keeps and does follows its input, however long its work is suspended."""

from __future__ import annotations

import json
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest

from tests.shared.runs import Batch, Shared, naive
from windrow.model import END, WindrowError
from windrow.operators.join import shared
from windrow.operators.join.shared import Clock
from windrow.operators.results import release

pytestmark = pytest.mark.kernel
NONE = [[], []]


def test_a_piece_is_sorted_once():
    """1,600 results of one batch come in pieces of 8 and wait for a tuple that is suspended."""
    first = Batch([[(0, 0)], [(0, 0)]], [("small", 1), ("large", 200)], budget=0)
    burst = Batch([[(0, 100)] * 40, [(0, 100)] * 40], budget=4000)
    run = Shared(2, [first, burst], "swf")
    moved = []

    def in_order(rows, its=release.in_order):
        moved.append(len(rows))
        return its(rows)

    with (
        mock.patch.object(shared, "BUFFER_ROWS", 8),
        mock.patch.object(release, "in_order", in_order),
    ):
        run.run = run.make()
        got = run.all()
    answers = naive(2, [first, burst], "lwo").answers
    assert got == {name: [a.result.rows for a in mine] for name, mine in answers.items()}
    assert len(moved) > 4
    assert sum(moved) == len({row for mine in answers.values() for row in mine})


@pytest.mark.parametrize("schedule", ["swf", "mqt"])
def test_a_batch_costs_the_same_however_much_is_held(schedule):
    """Looked at or moved are results that come and go, not those of a burst that wait."""
    work = {}
    for burst in (100, 3000):
        # All but the first tuples have scanned 1: nothing of them goes to 200 before these do.
        rows = [(k, 100) for k in range(burst)]
        batches = [
            Batch([[(0, 0)], [(0, 0)]], [("small", 1), ("large", 200)], budget=0),
            Batch([rows, rows], budget=3 * burst),
            *(Batch([[(0, 101 + n)], [(0, 101 + n)]], budget=6) for n in range(10)),
        ]
        run = Shared(2, batches, schedule)
        run.run.shared.budget = 0
        seen = []
        for batch in batches:
            before = run.run.results.owed.touched
            run.feed(batch)
            seen.append((run.run.results.owed.touched - before, len(run.queries["small"].got)))
            if len(seen) > 1:
                assert len(run.run.results) >= burst
        work[burst] = [touched for touched, _ in seen[2:]]
        # Each of those batches finds results, and lets them go to the small window.
        assert all(two > one for (_, one), (_, two) in pairwise(seen[1:]))
        run.finish()
        assert run.run.results.owed.touched < 8 * len(run.queries["large"].got)
    assert work[100] == work[3000]
    assert 0 < max(work[100]) < 20


def test_ticks_leave_nothing_behind():
    """Batches without a row while work is suspended."""
    rows = [[(0, t) for t in range(20)], [(0, t) for t in range(20)]]
    run = Shared(2, [Batch(rows, [("q", 10)], budget=0)], "mqt")
    run.feed(run.batches[0])
    before = json.dumps(run.run.standing()), len(run.run.shared._ends)
    for _ in range(50):
        run.feed(Batch(NONE, budget=0))
    assert (json.dumps(run.run.standing()), len(run.run.shared._ends)) == before
    run.finish()
    assert len(run.queries["q"].got) > 0


@pytest.mark.parametrize("schedule", ["lwo", "swf", "mqt"])
def test_queries_that_come_and_go_leave_nothing_behind(schedule):
    """A window that no other query has comes with each batch, and goes two batches later."""
    batches = []
    for n in range(400):
        rows = [[(k, 10 * n) for k in range(3)], [(k, 10 * n + 5) for k in range(3)]]
        added = [(f"q{n}", 20 + (7 * n) % 61)]
        batches.append(Batch(rows, added, [f"q{n - 2}"] if n > 1 else [], 60))
    run = Shared(2, batches, schedule)
    sizes = []
    for batch in batches:
        run.feed(batch)
        arrays, _ = run.run.handover()
        standing = run.run.standing()["join"]
        numbers = sum(len(standing[name]) for name in ("under_way", "batches"))
        held = len(run.run.results) + len(standing["windows"]["levels"])
        sizes.append([sum(a.nbytes for a in arrays.values()), numbers, held])
    early, late = np.array(sizes[100:200]).max(axis=0), np.array(sizes[300:]).max(axis=0)
    assert (late <= 1.2 * early).all(), (early, late)


def test_a_stream_that_has_ended_does_not_put_off_a_new_query():
    """s0 ends with the first batch. What is stored of it is all that s1 still needs."""
    first = Batch([[(0, 0), (0, 30)], [(0, 40)]], [("q", 100)])
    later = Batch([[], [(0, 50)]], [("new", 60)])
    run = Shared(2, [first, later, Batch([[], [(0, 60)]])], "mqt")
    got = run.all()
    assert run.queries["new"].complete_from <= 50 < END
    assert got["new"] == [(1, 1), (0, 1), (1, 2), (0, 2)]


def test_a_clock_has_a_time_for_each_arrival():
    run = Shared(2, [Batch([[(0, 1)], [(0, 2)]], [("q", 10)])], "mqt")
    run.run.shared.clock = Clock(np.zeros(1), 1.0)
    with pytest.raises(WindrowError, match="1 times for 2 arrivals"):
        run.all()


def test_a_clock_notes_all_releases_of_one_step():
    """2,000 tuples pass a window that only the one before them has: no note is lost."""
    rows = [[(0, 0)], [(1, 1)] * 2000]
    first = Batch([[(0, 0)], []], [("small", 2), ("large", 500)], budget=0)
    run = Shared(2, [first, Batch([rows[0], rows[1]], dropped=["large"])], "mqt")
    run.feed(first)
    run.run.shared.clock = Clock(np.zeros(2002), 1.0, 1.0)
    run.feed(run.batches[1])
    noted = np.concatenate([arrivals for arrivals, _, _ in run.run.shared.events])
    assert set(noted.tolist()) == set(range(2002))
