"""Paper 5's definitions of order and lag: what the paper says of them, and its example."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.testing.ordering import (
    arrivals_over,
    ascending,
    is_synchronised,
    is_totally_ordered,
    joined,
    keys_of,
    lag,
    lag_of_ordered,
    matches,
    multiplicity,
    next_of_kin,
    scrambled,
    scrambling_factor,
    virtual_index,
)

#: Figure 1, rebuilt: the text gives these keys, and PI and VI of <66> in S_1, but not the rest.
#: A row is a moment, from t1 on. <62> of S_1 and <63> of S_2 make the paper's places come out.
FIGURE_1 = [
    (1, 63), (2, 62), (2, 65), (1, 63), (1, 66), (1, 62), (1, 69), (1, 64), (2, 68), (1, 67),
    (2, 63),
]  # fmt: skip


def test_the_example_of_figure_1():
    first, second = keys_of(FIGURE_1, 1), keys_of(FIGURE_1, 2)
    # With p = 1: PI(<66>) = p + 2, VI(<66>) = p + 4, and both <63> share p + 1 and p + 2.
    assert first.index(66) + 1 == 3
    assert [list(places) for places in virtual_index(first)[:3]] == [[2, 3], [2, 3], [5]]
    # At t5 <65> has the place of <63>, at t10 <68> that of <65>, whose next-of-kin is <64>.
    assert sorted(second)[second.index(65)] == 63
    assert sorted(second)[second.index(68)] == 65
    assert first[next_of_kin(63, first) - 1] == 63
    assert first[next_of_kin(65, first) - 1] == 64
    assert [lag(FIGURE_1, 1, 2, after) for after in (5, 10)] == [0, 3]
    assert [is_synchronised(lag(FIGURE_1, 1, 2, after)) for after in (5, 10)] == [True, False]


@given(scrambled(streams=1, most=12))
def test_theorem_2_1(arrivals):
    """Equations (4a) and (4b): a tuple is at most k places from each of its virtual ones."""
    keys = keys_of(arrivals, 0)
    k = scrambling_factor(keys)
    for place, virtual in enumerate(virtual_index(keys), start=1):
        assert place - min(virtual) <= k
        assert max(virtual) - place <= k


@pytest.mark.parametrize("keys", sorted(set(permutations([1, 1, 2, 3, 3]))))
def test_theorem_2_1_in_every_order(keys):
    k = scrambling_factor(keys)
    virtual = virtual_index(keys)
    assert all(p - min(v) <= k and max(v) - p <= k for p, v in enumerate(virtual, start=1))
    assert k >= multiplicity(keys) - 1


@given(scrambled(streams=1, most=12))
def test_a_factor_is_the_smallest_that_satisfies_definition_2_2(arrivals):
    keys = keys_of(arrivals, 0)
    places = range(len(keys))
    pairs = [(a, b) for a in places for b in places if keys[a] <= keys[b]]
    k = scrambling_factor(keys)
    assert all(a - k <= b for a, b in pairs)
    assert k == 0 or any(a - (k - 1) > b for a, b in pairs)
    assert is_totally_ordered(keys) == (k == 0)
    # The paper says "at least its multiplicity", but equal keys side by side are one apart.
    assert k >= multiplicity(keys) - 1 or not keys


@given(st.permutations(range(8)), st.permutations(range(2, 10)), st.integers(0, 16))
def test_both_definitions_of_lag_agree_on_totally_ordered_streams(one, two, after):
    tuples = [(place, 0, key) for place, key in zip(one, range(8), strict=True)]
    tuples += [(place, 1, key) for place, key in zip(two, range(0, 16, 2), strict=True)]
    places = sorted(tuples, key=lambda each: (each[2], each[0], each[1]))
    arrivals = [(stream, key) for _, stream, key in places]
    assert is_totally_ordered(keys_of(arrivals, 0))
    for i, j in ((0, 1), (1, 0)):
        assert lag(arrivals, i, j, after) == lag_of_ordered(arrivals, i, j, after)


def test_lag_has_a_sign_and_may_be_unknown():
    ahead = [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]
    assert [lag(ahead, 0, 1, after) for after in range(1, 7)] == [None, None, None, 2, 1, 0]
    assert [lag(ahead, 1, 0, after) for after in range(1, 7)] == [-1, -2, -3, -2, -1, 0]
    # S_1 has no key that is 4 or less.
    assert lag([(0, 4), (1, 5)], 1, 0, 2) is None
    assert lag([(0, 5), (1, 5)], 1, 0, 1) == -1


@given(scrambled(), st.integers(0, 18))
def test_descending_streams_are_ascending_ones_turned_round(arrivals, after):
    """Footnote 2."""
    turned = ascending([(stream, -key) for stream, key in arrivals])
    for stream in (0, 1):
        mine, its = keys_of(arrivals, stream), keys_of(turned, stream)
        assert scrambling_factor(mine) == scrambling_factor(its)
        assert virtual_index(mine) == virtual_index(its)
    assert lag(arrivals, 0, 1, after) == lag(turned, 0, 1, after)
    assert list(matches(arrivals, 0, 1)) == list(matches(turned, 0, 1))


def test_arrivals_over_a_stretch():
    burst = [(1, 0), (0, 0), (0, 1), (0, 2), (1, 1), (0, 3), (1, 2), (0, 4), (0, 5)]
    assert [arrivals_over(burst, 0, 1, count) for count in range(4)] == [0, 3, 4, 4]
    assert [arrivals_over(burst, 1, 0, count) for count in range(7)] == [0, 1, 2, 2, 2, 2, 2]
    assert arrivals_over([(0, 1)], 0, 1, 3) == 0


def test_matches_say_what_must_be_stored():
    arrivals = [(0, 7), (0, 8), (1, 7), (0, 7), (1, 7)]
    found = [(m.i, m.j, m.after, m.needs) for m in matches(arrivals, 0, 1)]
    assert found == [(1, 1, 3, 2), (1, 2, 5, 3), (3, 2, 5, 1)]
    assert [(m.i, m.j, m.needs) for m in matches(arrivals, 1, 0)] == [(1, 3, 1)]


def test_joined_is_every_combination_once():
    arrivals = [(0, 1), (1, 1), (1, 1), (2, 2), (2, 1), (0, 1)]
    assert joined(arrivals, 3) == [(5, 1), (5, 1), (6, 1), (6, 1)]
