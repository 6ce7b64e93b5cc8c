"""Arrivals are a Poisson process."""

import numpy as np
import pytest

from windrow.model import WindrowError
from windrow.workload import arrivals


def test_same_seed_same_times() -> None:
    assert np.array_equal(arrivals(500, 20, seed=4), arrivals(500, 20, seed=4))
    assert not np.array_equal(arrivals(500, 20, seed=4)[:100], arrivals(500, 20, seed=5)[:100])


def test_a_generator_goes_on_where_it_stands() -> None:
    rng = np.random.default_rng(1)
    assert not np.array_equal(arrivals(500, 20, seed=rng), arrivals(500, 20, seed=rng))


@pytest.mark.parametrize("rate", [3.0, 100.0, 20_000.0])
def test_count_lies_within_five_deviations(rate: float) -> None:
    expected = rate * 50
    assert abs(len(arrivals(rate, 50, seed=2)) - expected) < 5 * np.sqrt(expected)


def test_gaps_have_the_moments_of_an_exponential() -> None:
    gaps = np.diff(arrivals(1000, 200, seed=3))
    assert gaps.mean() == pytest.approx(1000, rel=0.02)
    assert gaps.std() == pytest.approx(1000, rel=0.02)
    # A third moment tells an exponential from anything more even.
    assert (((gaps - gaps.mean()) / gaps.std()) ** 3).mean() == pytest.approx(2, rel=0.1)
    assert (gaps > 2000).mean() == pytest.approx(np.exp(-2), rel=0.05)


@pytest.mark.parametrize(("duration", "start"), [(1.0, 0.0), (0.5, 10.0), (2.000_000_5, -3.0)])
def test_times_stay_within_the_duration(duration: float, start: float) -> None:
    times = arrivals(5000, duration, seed=6, start=start)
    assert times.dtype == np.int64
    assert (np.diff(times) >= 0).all()
    assert times[0] >= start * 1e6
    assert times[-1] < (start + duration) * 1e6


@pytest.mark.parametrize(("rate", "duration"), [(0, 60), (10, 0)])
def test_nothing_arrives(rate: float, duration: float) -> None:
    assert len(arrivals(rate, duration)) == 0


def test_every_draw_ends_after_the_duration() -> None:
    # So few are expected that the first draw is often too short.
    for seed in range(200):
        times = arrivals(1, 1, seed=seed)
        assert (times < 1_000_000).all()


@pytest.mark.parametrize(
    ("rate", "duration", "named"),
    [(-1, 60, "rate is -1"), (float("nan"), 60, "rate is nan"), (1, -2, "duration is -2")],
)
def test_refusals(rate: float, duration: float, named: str) -> None:
    with pytest.raises(WindrowError, match=named):
        arrivals(rate, duration)
