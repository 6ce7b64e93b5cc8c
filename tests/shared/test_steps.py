"""One step at a time beside the plain loops: who has scanned how far after each of them.

A budget of one ends a batch after a step, so queries can come between any two steps and tuples.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shared.runs import Batch, Shared
from windrow.kernels import sharing as kernel
from windrow.testing.schedules import NaiveSharedJoin, Row

SCHEDULES = ("lwo", "swf", "mqt")
pytestmark = pytest.mark.kernel


@st.composite
def scripts(draw, streams):
    """Batches of a tuple that is not served yet, or of a step; some have new queries."""
    windows = st.sampled_from(draw(st.sampled_from([[0, 1, 3, 6, 20], [2, 4, 6, 8], [20, 30, 60]])))
    batches, t, names = [], 0, 0
    for number in range(draw(st.integers(2, 30))):
        added = []
        for _ in range(draw(st.sampled_from([0, 0, 0, 0, 1, 3])) if number else 1):
            added.append((f"q{names}", draw(windows)))
            names += 1
        rows = [[] for _ in range(streams)]
        steps = draw(st.booleans())
        if not steps:
            t += draw(st.sampled_from([0, 0, 1, 2, 5]))
            rows[draw(st.integers(0, streams - 1))] = [(draw(st.sampled_from([0, 0, 1])), t)]
        batches.append(Batch(rows, added, budget=int(steps)))
    return batches


def same_steps(streams, batches, schedule, nested=False):
    here = Shared(streams, batches, schedule, nested=nested)
    there = NaiveSharedJoin(streams, schedule)
    ids = [0] * streams
    for batch in batches:
        here.feed(batch)
        for name, reach in batch.added:
            there.add(name, reach)
        for stream, mine in enumerate(batch.rows):
            there.come([Row(stream, t, ids[stream], key) for key, t in mine])
            ids[stream] += len(mine)
        if batch.budget:
            there.step()
        compare(here, there)
    while there.waiting():
        here.feed(Batch([[]] * streams, budget=1))
        there.step()
        compare(here, there)
    assert not here.run.shared.suspended()


def compare(here, there):
    """Who waits, and has scanned how far; and what the queries have by now."""
    shared = here.run.shared
    arrays, _ = shared.handover()
    under_way = enumerate(arrays["under_way"], shared.came - len(arrays["under_way"]))
    scanned = [(n, int(row[kernel.SCANNED])) for n, row in under_way]
    assert scanned == [(n, there.reached[n]) for n in there.waiting()]
    for name, query in here.queries.items():
        wanted = [answer.result for answer in there.answers[name]]
        mine = set(query.got)
        assert query.got == [each.rows for each in wanted if each.rows in mine]
        # A window larger than all before it fills from then on.
        assert {each.rows for each in wanted if each.ts >= query.complete_from} <= mine


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("nested", [False, True])
@given(data=st.data())
def test_two_streams(schedule, nested, data):
    same_steps(2, data.draw(scripts(2)), schedule, nested)


@pytest.mark.parametrize("schedule", SCHEDULES)
@given(data=st.data())
def test_three_streams(schedule, data):
    same_steps(3, data.draw(scripts(3)), schedule)


def test_a_window_that_came_later_pulls_no_earlier_tuple():
    """a has scanned 2 and goes to 9: one query for 7. b begins: one query for 2, so b is next.

    30 queries of 20 would make it 31 for 18, but a does not scan that far: they came after it.
    """
    a, b, none = [[(0, 0)], []], [[], [(0, 0)]], [[], []]
    batches = [
        Batch(a, [("small", 2), ("large", 9)], budget=0),
        Batch(none, budget=1),
        Batch(b, budget=0),
        Batch(none, [(f"q{n}", 20) for n in range(30)], budget=1),
    ]
    same_steps(2, batches, "mqt")
