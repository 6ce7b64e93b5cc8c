"""Arrivals that are under way, as stretches and back."""

from itertools import pairwise

import numpy as np
import pytest

from windrow.kernels import sharing as kernel
from windrow.operators.join.under_way import ALIKE, by_batch, made_again, stretches_of

LOGGED = [kernel.TS, kernel.KEY, kernel.ROW, kernel.STREAM]


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_stretches_tell_what_is_not_in_the_rows(count):
    rows = np.random.default_rng(count).integers(0, 2, (count, kernel.MARKS + 4))
    stretches = stretches_of(rows)
    again = made_again(rows[:, LOGGED], stretches, rows.shape[1])
    for column in (*LOGGED, *ALIKE):
        assert again[:, column].tolist() == rows[:, column].tolist()
    assert (again[:, kernel.POINTER] == kernel.AFRESH).all()
    # Neighbours differ, or they would be one.
    kinds = [each[1:] for each in stretches]
    assert all(one != two for one, two in pairwise(kinds))


def test_batches_without_arrivals_are_left_out():
    rows = np.zeros((5, kernel.MARKS + 4), np.int64)
    rows[:, kernel.STREAM] = [0, 1, 1, 0, 1]
    assert by_batch(rows, [2, 2], 2) == [[1, 1], [1, 2]]
    assert by_batch(rows[:0], [], 2) == []
