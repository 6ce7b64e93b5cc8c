"""Paper 4's equations: each against the sum it is the closed form of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.cost import paper4


@given(slow=st.integers(1, 20), n=st.integers(1, 60), w=st.floats(0.1, 1e4), c=st.floats(0, 1e-3))
def test_sync_filter_is_the_mean_over_the_tuples_that_wait(slow, n, w, c):
    """The k-th of n tuples waits 1/λ_1 - (k-1)/λ_2 and is processed k-th."""
    fast = slow * n
    each = paper4.processing_time(slow, w, c)
    waits = [1 / slow - (k - 1) / fast + k * each for k in range(1, n + 1)]
    assert paper4.sync_filter_response(slow, fast, w, c) == pytest.approx(sum(waits) / n)


@given(slow=st.integers(1, 20), n=st.integers(1, 60))
def test_filter_order_is_the_mean_of_the_waits_alone(slow, n):
    fast = slow * n
    waits = [1 / slow - (k - 1) / fast for k in range(1, n + 1)]
    assert paper4.filter_order_response(slow, fast) == pytest.approx(sum(waits) / n)


@given(slow=st.integers(1, 20), n=st.integers(1, 60), w=st.floats(0.1, 1e4), c=st.floats(0, 1e-3))
def test_the_improvement_is_what_both_responses_say(slow, n, w, c):
    """Equation (7) is Equation (6) reduced."""
    fast = slow * n
    sync = paper4.sync_filter_response(slow, fast, w, c)
    order = paper4.filter_order_response(slow, fast)
    assert paper4.improvement(slow, fast, w, c) == pytest.approx((sync - order) / sync)


def test_the_improvement_ends_at_a_half_where_the_join_can_hardly_keep_up():
    """Equation (8)."""
    limit = 1 / (60 * 1 * 10)
    assert paper4.keeps_up(1, 10, 60, 0.999 * limit)
    assert not paper4.keeps_up(1, 10, 60, limit)
    assert paper4.improvement(1, 10, 60, limit) == pytest.approx(paper4.MOST_IMPROVEMENT)


def test_the_switch_is_at_alpha():
    cost = paper4.switch_cost(1, 10, 60, 0.3)
    assert paper4.switches(1, 10, 60, cost, 0.3)
    assert not paper4.switches(1, 10, 60, 0.999 * cost, 0.3)
    assert paper4.improvement(1, 10, 60, cost) == pytest.approx(0.3 / 1.3)
