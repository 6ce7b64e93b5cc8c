"""When tuples arrive: a Poisson process, as in the papers' experiments."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from windrow.model import WindrowError

#: An integer gives the same draws each time; a generator goes on where it stands.
Seed = int | np.random.Generator

MICROS = 1_000_000


def arrivals(
    rate: float, duration: float, *, seed: Seed = 0, start: float = 0.0
) -> npt.NDArray[np.int64]:
    """Arrival times in microseconds, in order, with exponential gaps of mean `1 / rate`.

    Parameters
    ----------
    rate
        Tuples a second, λ in the papers. 0 gives no arrivals.
    duration
        Seconds; times lie in `[start, start + duration)`.
    seed
        An integer or a numpy generator.
    start
        Seconds added to every time.

    Examples
    --------
    >>> times = arrivals(1000, 60, seed=7)
    >>> bool((np.diff(times) >= 0).all()), bool(times[-1] < 60_000_000)
    (True, True)
    >>> abs(len(times) - 60_000) < 1_000
    True
    """
    if not (math.isfinite(rate) and rate >= 0):
        raise WindrowError(f"rate is {rate!r}; give tuples a second, 0 or more")
    if not (math.isfinite(duration) and duration >= 0):
        raise WindrowError(f"duration is {duration!r}; give seconds, 0 or more")
    rng = np.random.default_rng(seed)
    limit = duration * MICROS
    expected = rate * duration
    if expected == 0:
        return np.empty(0, dtype=np.int64)
    # Six standard deviations above the mean: nearly always enough in one go.
    chunk = int(expected + 6 * math.sqrt(expected)) + 16
    pieces = []
    last = 0.0
    while last < limit:
        times = last + np.cumsum(rng.exponential(MICROS / rate, chunk))
        pieces.append(times)
        last = float(times[-1])
    times = np.concatenate(pieces)
    inside = times[: np.searchsorted(times, limit, side="left")]
    return inside.astype(np.int64) + round(start * MICROS)
