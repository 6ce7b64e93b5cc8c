"""Keys follow their distribution."""

import numpy as np
import pytest

from windrow.model import WindrowError
from windrow.workload import Uniform, Zipf, selectivity

N = 200_000


def counts(keys: np.ndarray, values: int) -> np.ndarray:
    assert keys.dtype == np.int64
    assert keys.min() >= 0
    assert keys.max() < values
    return np.bincount(keys, minlength=values)


def test_uniform_uses_every_value_equally() -> None:
    seen = counts(Uniform(100).draw(N, np.random.default_rng(1)), 100)
    assert (abs(seen - N / 100) < 5 * np.sqrt(N / 100)).all()


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.5])
def test_zipf_falls_off_with_its_exponent(exponent: float) -> None:
    seen = counts(Zipf(50, exponent).draw(N, np.random.default_rng(2)), 50)
    share = np.arange(1, 51) ** -exponent
    expected = N * share / share.sum()
    assert (abs(seen - expected) < 5 * np.sqrt(expected)).all()


def test_zipf_of_one_value() -> None:
    assert Zipf(1, 1.0).draw(5, np.random.default_rng(0)).tolist() == [0] * 5


def test_two_tuples_agree_as_often_as_the_selectivity_says() -> None:
    keys = selectivity(0.01)
    assert keys.values == 100
    rng = np.random.default_rng(3)
    assert (keys.draw(N, rng) == keys.draw(N, rng)).mean() == pytest.approx(0.01, rel=0.1)


def test_refusals() -> None:
    with pytest.raises(WindrowError, match="0 distinct values"):
        Uniform(0)
    with pytest.raises(WindrowError, match="-3 distinct values"):
        Zipf(-3, 1.0)
    with pytest.raises(WindrowError, match="exponent is -1"):
        Zipf(10, -1)
    for share in (0, 1.5, float("nan")):
        with pytest.raises(WindrowError, match="selectivity is"):
            selectivity(share)
