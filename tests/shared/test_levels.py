"""The windows of a shared join: the MaxQT matrix, and how long a dropped window stays."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.operators.join.levels import Levels


def levels(streams, windows, came=0):
    made = Levels(streams)
    for reach in windows:
        made.add(reach, came)
    return made


def test_the_matrix_of_figure_4():
    """Paper 2: windows 2w, 3w and 6w, a query each; MaxQT(PW(0, w_2)) = 2/3w."""
    wanted = [[0, 1 / 2, 2 / 3, 2 / 3], [0, 0, 1, 1], [0, 0, 0, 1 / 3], [0, 0, 0, 0]]
    assert levels(2, [6, 2, 3]).max_qt().tolist() == wanted


@given(
    streams=st.integers(2, 4),
    counts=st.dictionaries(st.integers(0, 600_000_000), st.integers(0, 3), min_size=1, max_size=5),
)
def test_the_matrix_by_definition(streams, counts):
    """By fractions: C_ij / pw_ij, where the combinations up to w grow as w^(n-1)."""
    made = levels(streams, counts)
    for reach, count in counts.items():
        for _ in range(count - 1):
            made.add(reach, 0)
        if not count:
            # It stays a level as long as an arrival is on the way to it, and serves no query.
            made.drop(reach, 5)
    stops, power = [0, *sorted(counts)], streams - 1
    for i, j in itertools.combinations(range(len(stops)), 2):
        best = Fraction(0)
        for k in range(i + 1, j + 1):
            served = sum(counts[w] for w in stops[i + 1 : k + 1])
            width = stops[k] ** power - stops[i] ** power
            if served:
                best = max(best, Fraction(served, width) if width else np.inf)
        assert made.max_qt()[i, j] == float(best)


def test_equal_ratios_are_equal_however_large_the_windows():
    """With three streams, windows w and 2w, 1 and 3 queries: 1/w^2 = 3/(4w^2 - w^2)."""
    for small in range(333_333_333, 333_333_433):
        matrix = levels(3, [small, *[2 * small] * 3]).max_qt()
        assert matrix[0, 1] == matrix[1, 2]


def test_the_matrix_follows_the_queries():
    made = levels(2, [20, 60])
    assert made.max_qt()[0].tolist() == [0, 1 / 20, 1 / 20]
    assert made.max_qt() is made.max_qt()
    made.add(60, 0)
    made.add(60, 0)
    assert made.max_qt()[0].tolist() == [0, 1 / 20, 4 / 60]
    made.add(10, 0)
    assert made.max_qt()[0].tolist() == [0, 1 / 10, 1 / 10, 1 / 10]
    made.drop(10, 0)
    assert made.max_qt()[0].tolist() == [0, 0, 1 / 20, 4 / 60]
    made.tidy()
    assert made.max_qt()[0].tolist() == [0, 1 / 20, 4 / 60]
    fresh = Levels(2)
    fresh.max_qt()
    fresh.take(made.facts())
    assert fresh.max_qt().tolist() == made.max_qt().tolist()


@pytest.mark.parametrize(("passed", "left"), [(6, [20, 30, 60]), (7, [20, 60])])
def test_a_dropped_window_stays_until_the_next_one_is_passed(passed, left):
    made = levels(2, [20, 30, 60])
    made.drop(30, 7)
    made.marks[:] = [9, 8, passed]
    made.tidy()
    assert made.levels.tolist() == left


@pytest.mark.parametrize(("passed", "left"), [(6, [20, 60]), (7, [20])])
def test_the_largest_stays_until_it_is_passed_itself(passed, left):
    made = levels(2, [20, 60])
    made.drop(60, 7)
    made.marks[:] = [9, passed]
    made.tidy()
    assert made.levels.tolist() == left


def test_a_window_that_is_asked_for_again_stays():
    made = levels(2, [20, 60])
    made.drop(60, 7)
    made.add(60, 8)
    made.marks[:] = [9, 9]
    made.tidy()
    assert made.levels.tolist() == [20, 60]
    assert made.needed == 60
