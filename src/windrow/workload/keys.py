"""Which join value a tuple carries: distributions over the integers 0, 1, 2, ..."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from windrow.model import WindrowError


class Keys(Protocol):
    """A distribution of keys."""

    def draw(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """`n` independent keys."""


@dataclass(frozen=True)
class Uniform:
    """Each of `values` keys equally often.

    >>> sorted(set(Uniform(3).draw(100, np.random.default_rng(0)).tolist()))
    [0, 1, 2]
    """

    values: int

    def __post_init__(self) -> None:
        _check_values(self.values)

    def draw(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """`n` independent keys."""
        return rng.integers(0, self.values, n, dtype=np.int64)


@dataclass(frozen=True)
class Zipf:
    """Key r of `values` as often as `1 / (r + 1) ** exponent`: key 0 is the hottest.

    An exponent of 0 is uniform.

    >>> keys = Zipf(1000, 1.0).draw(10_000, np.random.default_rng(0))
    >>> hottest = np.bincount(keys)[:3]
    >>> bool(hottest[0] > hottest[1] > hottest[2])
    True
    """

    values: int
    exponent: float

    def __post_init__(self) -> None:
        _check_values(self.values)
        if not (math.isfinite(self.exponent) and self.exponent >= 0):
            raise WindrowError(f"Zipf exponent is {self.exponent!r}; give a number, 0 or more")

    def draw(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """`n` independent keys, by inverting the distribution function."""
        share = np.cumsum(np.arange(1, self.values + 1, dtype=np.float64) ** -self.exponent)
        # The last entry is left out: every draw beyond the one before it is the last key.
        return np.searchsorted(share[:-1] / share[-1], rng.random(n), side="right").astype(np.int64)


def selectivity(share: float) -> Uniform:
    """Uniform keys of which two tuples agree with this probability.

    As in paper 1, section 4.2: selectivity 0.01 means 100 distinct join values.

    >>> selectivity(0.01)
    Uniform(values=100)
    """
    if not 0 < share <= 1:
        raise WindrowError(f"selectivity is {share!r}; give a share above 0 and at most 1")
    return Uniform(round(1 / share))


def _check_values(values: int) -> None:
    if values < 1:
        raise WindrowError(f"keys of {values!r} distinct values; give 1 or more")
