"""The paper's formulas against hand-computed numbers and against each other."""

import pytest

from windrow.cost.paper1 import (
    COMPARISONS,
    Constants,
    buckets_visited,
    checks,
    effective_buckets,
    invalidation_comparisons,
    stale_per_bucket,
    stale_tuples,
    whj_invalidating,
    whj_total,
    wnl_total,
)

C = Constants(scan=2, insert=5, invalidate=3)


def test_equation_1_by_hand() -> None:
    # (10 + 20) (3 + 5) + 10 * 20 (30 + 60) 2
    assert wnl_total(10, 20, 30, 60, C) == 240 + 36_000


def test_equation_2_by_hand() -> None:
    assert whj_total(10, 20, 30, 60, 100, C) == pytest.approx(240 + 360)


@pytest.mark.parametrize("N", [1, 7, 100])
def test_totals_are_equations_1_and_2(N: int) -> None:
    """(λ_A + λ_B) (C_v + C_i) + λ_A λ_B (T_A + T_B) C_s, the last term by the buckets."""
    rest, scans = (10 + 20) * (C.invalidate + C.insert), 10 * 20 * (30 + 60) * C.scan
    assert wnl_total(10, 20, 30, 60, C) == pytest.approx(rest + scans)
    assert whj_total(10, 20, 30, 60, N, C) == pytest.approx(rest + scans / N)


def test_cost_is_linear_in_one_rate() -> None:
    at = [whj_total(rate, 50, 30, 30, 10, C) for rate in (10, 20, 30)]
    assert at[1] - at[0] == pytest.approx(at[2] - at[1])


def test_more_buckets_than_distinct_values_bring_nothing() -> None:
    flat = {whj_total(10, 20, 30, 30, effective_buckets(N, 100), C) for N in (100, 101, 5000)}
    assert len(flat) == 1


@pytest.mark.parametrize(
    ("strategy", "per_bucket", "visited"),
    [
        ("probe", 100, 1),
        ("probe-insert", 100 / 101, 2),
        ("probe-all", 2, 50),
        ("all", 0, 100),
        ("time-list", 0, 2),
    ],
)
def test_section_3_2_by_hand(strategy, per_bucket, visited) -> None:
    assert stale_per_bucket(strategy, 1, 100, 50) == pytest.approx(per_bucket)
    assert stale_tuples(strategy, 1, 100, 50) == pytest.approx(50 * per_bucket)
    assert buckets_visited(strategy, 50) == visited
    assert checks(strategy, 1, 100, 50) == 101 * (visited + 1)
    extra = whj_invalidating(strategy, 1, 100, 30, 30, 50, C) - whj_total(1, 100, 30, 30, 50, C)
    assert extra == pytest.approx(101 * (visited - 1) * C.scan)


def test_an_invalidation_looks_at_the_stale_and_one_more() -> None:
    assert invalidation_comparisons(7) == 8


def test_comparisons_count_probes_only() -> None:
    assert wnl_total(1, 1, 0, 0, COMPARISONS) == 0
