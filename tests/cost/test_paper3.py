"""The paper's formula against hand-computed numbers and its own special cases."""

import pytest

from windrow.cost.paper3 import (
    purge_probability,
    purged,
    segment_state_size,
    state_size,
    synchronised_most,
    synchronised_values,
    unpurged,
)


def test_equation_1_by_hand() -> None:
    # 200 * 5 (1 - 3 * 20 / 150)
    assert state_size(λ_b=200, T_b=5, λ_pa=3, T=20, NK_b=150) == pytest.approx(600)
    assert purged(λ_b=200, T_b=5, λ_pa=3, T=20, NK_b=150) == pytest.approx(400)
    assert unpurged(λ_b=200, T_b=5) == 1000


def test_without_punctuations_the_window_is_full() -> None:
    assert state_size(100, 15, 0, 60, 80) == unpurged(100, 15)


def test_the_state_shrinks_with_time_and_with_punctuations() -> None:
    over_time = [state_size(100, 15, 1, T, 100) for T in (10, 50, 90)]
    over_rates = [state_size(100, 15, rate, 50, 100) for rate in (0.1, 1, 1.9)]
    assert over_time == sorted(over_time, reverse=True)
    assert over_rates == sorted(over_rates, reverse=True)


def test_no_more_is_purged_than_there_is() -> None:
    assert purge_probability(λ_pa=5, T=100, NK_b=10) == 1
    assert state_size(100, 15, 5, 100, 10) == 0


@pytest.mark.parametrize("T", [1, 60, 3600])
def test_the_best_case_of_figure_7(T: float) -> None:
    assert state_size(100, 15, 10, T, synchronised_values(10, T)) == pytest.approx(0)


def test_the_best_case_holds_a_cluster_of_a_or_a_window() -> None:
    assert synchronised_most(40, 100, 15) == 40
    assert synchronised_most(4000, 100, 15) == 1500
    assert synchronised_most(1, 100, 15) == 1, "unique keys"


def test_segments_by_hand() -> None:
    # Of 100 a second 40 wait half a second; 60 stay 5 s, less the 5/200 that half of them loses.
    assert segment_state_size(100, 5, 1, 0.4, 100) == pytest.approx(20 + 60 * (5 - 25 / 200))
    # A window of a quarter of a segment: 1/8 of the tuples are purged within it.
    assert segment_state_size(100, 0.25, 1, 1.0, 100) == pytest.approx(25 * (1 - 1 / 8))


def test_segments_at_their_limits() -> None:
    assert segment_state_size(100, 15, 0, 0.4, 10) == unpurged(100, 15)
    # One value ahead, gone within a second: as if all were waiting for the next punctuation.
    assert segment_state_size(100, 15, 1, 0.0, 1) == pytest.approx(50)
    assert segment_state_size(100, 15, 1, 0.0, 0) == 0
    # No punctuation reaches a short window.
    assert segment_state_size(100, 1e-6, 1, 0.4, 1e9) == pytest.approx(100e-6, rel=1e-3)
