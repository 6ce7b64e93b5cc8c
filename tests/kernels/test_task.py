"""What a kernel is asked, by stream."""

from __future__ import annotations

import numpy as np
import pytest

from windrow.kernels.task import Matched, flag_at, new, passed_after, progress_at

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize(
    ("t", "before", "after", "expected"),
    [
        (50, 10, 90, 50),  # in between, the batch has come as far as t
        (50, 60, 90, 60),  # never behind where it was before the batch
        (50, 10, 40, 40),  # never ahead of where it will be
        (50, 10, 10, 10),
        (50, 50, 50, 50),
    ],
)
def test_progress_within_a_batch(t, before, after, expected):
    task = new(2, rows=1)
    for stream in range(2):
        task.asked.before, task.asked.after = -1000, 1000
        task.asked[stream].before, task.asked[stream].after = before, after
        assert progress_at(task, stream, t) == expected


@pytest.mark.parametrize("streams", [2, 3])
def test_what_all_others_have_passed(streams):
    task = new(streams, rows=1)
    task.asked.after = np.arange(streams) + 7
    assert [passed_after(task, s) for s in range(streams)] == [8, *[7] * (streams - 1)]


@pytest.mark.parametrize("streams", [2, 3])
def test_matched_flags_of_pinned_rows_come_first(streams):
    task = new(streams, rows=1)
    pinned = np.array([streams * 3 + 1, streams * 7], np.int64)
    task = task._replace(matched=Matched(np.zeros(9, np.uint8), pinned))
    task.asked.first_row, task.asked.shift = 40, -38
    assert [flag_at(task, *row) for row in ((1, 3), (0, 7), (0, 40), (1, 41))] == [0, 1, 2, 3]
