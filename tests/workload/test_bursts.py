"""Bursts keep the rate, have the expected size, and end somewhere."""

import math

import numpy as np
import pytest

from windrow.model import WindrowError
from windrow.workload import arrivals, bursts
from windrow.workload.bursts import LONGEST, mean_size, shape, sizes


def test_same_seed_same_times() -> None:
    assert np.array_equal(bursts(100, 60, 3, seed=4), bursts(100, 60, 3, seed=4))
    assert not np.array_equal(bursts(100, 60, 3, seed=4)[:50], bursts(100, 60, 3, seed=5)[:50])


@pytest.mark.parametrize("size", [1, 1.5, 2, 3, 4, 5])
def test_the_average_rate_stays(size: float) -> None:
    counts = [len(bursts(100, 3600, size, longest=100, seed=seed)) for seed in range(10)]
    assert np.mean(counts) == pytest.approx(360_000, rel=0.01)


@pytest.mark.parametrize("longest", [50, LONGEST, 20_000])
@pytest.mark.parametrize("size", [1.2, 2, 3, 5])
def test_sizes_have_the_expected_mean_and_an_end(size: float, longest: float) -> None:
    drawn = sizes(2_000_000, shape(size, longest), longest, np.random.default_rng(1))
    assert drawn.min() >= 1
    assert drawn.max() <= longest
    # Five standard errors; a heavy tail has large ones.
    assert abs(drawn.mean() - size) < 5 * drawn.std() / math.sqrt(len(drawn))


def test_sizes_are_pareto() -> None:
    alpha = shape(3)
    drawn = sizes(1_000_000, alpha, LONGEST, np.random.default_rng(2))
    for x in (2, 5, 20, 100):
        # Rounding moves a size by less than 1, up or down with equal weight.
        share, cut = (drawn >= x).mean(), LONGEST**-alpha
        tail = [(at**-alpha - cut) / (1 - cut) for at in (x, x - 1)]
        chance = 5 * math.sqrt(tail[0] / len(drawn))
        assert tail[0] - chance <= share <= tail[1] + chance


def test_mean_size_is_the_integral() -> None:
    for alpha in (0.7, 1, 1.3, 2, 4):
        x = np.geomspace(1, LONGEST, 200_001)
        density = alpha * x ** (-alpha - 1) / (1 - LONGEST**-alpha)
        assert mean_size(alpha) == pytest.approx(np.trapezoid(x * density, x), rel=1e-6)
        if alpha > 0.7:
            assert shape(mean_size(alpha)) == pytest.approx(alpha, rel=1e-6)


def test_a_size_of_one_is_a_poisson_process() -> None:
    times = bursts(500, 60, 1, seed=3)
    gaps = np.diff(times)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)
    assert len(times) == pytest.approx(len(arrivals(500, 60, seed=8)), rel=0.05)


def test_bursts_come_at_once_and_within_the_duration() -> None:
    times = bursts(100, 600, 5, seed=6, start=10)
    assert times.dtype == np.int64
    assert (np.diff(times) >= 0).all()
    assert times[0] >= 10e6
    assert times[-1] < 610e6
    begins, counts = np.unique(times, return_counts=True)
    assert len(begins) == pytest.approx(600 * 100 / 5, rel=0.05)
    assert 20 < counts.max() <= LONGEST


@pytest.mark.parametrize(("size", "longest"), [(0.5, 1000), (900, 1000), (math.nan, 10), (2, 1)])
def test_refusals(size: float, longest: float) -> None:
    with pytest.raises(WindrowError, match="give an expected size"):
        bursts(100, 60, size, longest=longest)
