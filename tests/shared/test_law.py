"""The law of shared execution: each query gets what it would get alone, in the same order."""

from __future__ import annotations

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shared.runs import Batch, Shared, naive
from windrow.operators.join import shared

SCHEDULES = ("lwo", "swf", "mqt")
#: Between two batches another process takes over: with the arrays, or from a log.
MOVED = st.sampled_from([None, "arrays", "log"])
pytestmark = pytest.mark.kernel


def times(rows: int, start: int, spread: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(start, start + spread), min_size=0, max_size=rows)


@st.composite
def histories(draw, streams: int, rows: int = 8):
    """Batches of rows that are in time for a lateness, and queries that come and go."""
    lateness = draw(st.sampled_from([0, 0, 4]))
    keys = st.one_of(st.integers(0, draw(st.integers(0, 3))), st.none())
    windows = st.sampled_from([0, 1, 2, 5, 6, 20])
    batches, names, alive = [], 0, []
    progress, newest = [0] * streams, [0] * streams
    for number in range(draw(st.integers(1, 5))):
        added, dropped = [], []
        for _ in range(draw(st.integers(1 if number == 0 else 0, 3))):
            added.append((f"q{names}", draw(windows)))
            names += 1
        if alive and draw(st.booleans()):
            dropped.append(alive.pop(draw(st.integers(0, len(alive) - 1))))
        alive += [name for name, _ in added]
        mine = []
        for stream in range(streams):
            start = max(progress[stream], newest[stream] - lateness)
            drawn = draw(times(rows, start, draw(st.sampled_from([0, 3, 12]))))
            mine.append([(draw(keys), t) for t in (drawn if lateness else sorted(drawn))])
        for stream, its in enumerate(mine):
            newest[stream] = max([newest[stream], *(t for _, t in its)])
            progress[stream] = max(progress[stream], newest[stream] - lateness)
        budget = draw(st.sampled_from([None, 0, 1, 4, 30]))
        batches.append(Batch(mine, added, dropped, budget))
    return lateness, batches


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("nested", [False, True])
@given(data=st.data())
def test_two_streams(schedule, nested, data):
    lateness, batches = data.draw(histories(2))
    moved = data.draw(MOVED)
    run = Shared(2, batches, schedule, nested=nested, lateness=lateness, moved=moved)
    check(run, 2, batches)


@pytest.mark.parametrize("schedule", SCHEDULES)
@given(data=st.data())
def test_three_streams(schedule, data):
    lateness, batches = data.draw(histories(3, rows=4))
    run = Shared(3, batches, schedule, lateness=lateness, moved=data.draw(MOVED))
    check(run, 3, batches)


@pytest.mark.parametrize("streams", [2, 3])
@given(data=st.data())
def test_results_that_fill_the_buffer(streams, data):
    lateness, batches = data.draw(histories(streams, rows=12 // streams))
    with mock.patch.object(shared, "BUFFER_ROWS", data.draw(st.integers(1, 4))):
        run = Shared(streams, batches, data.draw(st.sampled_from(SCHEDULES)), lateness=lateness)
        check(run, streams, batches)


@given(data=st.data())
def test_keys_that_are_not_exact(data):
    lateness, batches = data.draw(histories(2))
    check(Shared(2, batches, "mqt", lateness=lateness, keys="string"), 2, batches)


def check(run, streams, batches):
    """Each query's rows in their order; of one that came later all from `complete_from` on."""
    got = run.all()
    for name, answers in naive(streams, batches, "lwo").answers.items():
        query = run.queries[name]
        rows = [a.result.rows for a in answers]
        mine = set(got[name])
        assert len(mine) == len(got[name])
        assert got[name] == [each for each in rows if each in mine], name
        sure = {a.result.rows for a in answers if a.result.ts >= query.complete_from}
        assert sure <= mine, name
