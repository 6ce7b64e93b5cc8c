"""A stream's progress, step by step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.model import BEGINNING, END
from windrow.operators.progress import Progress


@pytest.mark.parametrize(
    ("lateness", "batches", "expected"),
    [
        (0, [(None, None)], [BEGINNING]),
        (0, [(10, None), (7, None), (12, None)], [10, 10, 12]),
        (3, [(10, None), (12, None), (11, None)], [7, 9, 9]),
        # A heartbeat counts as it is; a tuple less the lateness.
        (3, [(10, 9), (None, 8), (None, 20), (21, None)], [9, 9, 20, 20]),
        (3, [(None, 5), (24, 20)], [5, 21]),
        (5, [(-10, None), (0, None)], [-15, -5]),
    ],
)
def test_batches(lateness, batches, expected):
    progress = Progress(lateness)
    assert progress.now == BEGINNING
    found = []
    for newest, beat in batches:
        progress.observe(newest, beat)
        found.append(progress.now)
    assert found == expected


maybe = st.none() | st.integers(-50, 50)


@given(st.integers(0, 9), st.lists(st.tuples(maybe, maybe)))
def test_it_never_goes_back(lateness, batches):
    progress = Progress(lateness)
    seen = [progress.now]
    for newest, beat in batches:
        progress.observe(newest, beat)
        seen.append(progress.now)
    assert seen == sorted(seen)


def test_the_end_is_after_everything():
    progress = Progress(5)
    progress.observe(newest=10)
    progress.end()
    assert progress.now == END
    progress.observe(newest=100, beat=200)
    assert progress.now == END


def test_it_can_begin_where_another_left_off():
    progress = Progress(2, now=40)
    progress.observe(newest=41)
    assert progress.now == 40
