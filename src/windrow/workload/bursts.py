"""When tuples arrive in bursts: Pareto ON/OFF, as in paper 2, section 5.2.

Bursts begin as a Poisson process. A burst of x tuples arrives at once, and x is Pareto: its density
falls as x^-(α+1) from 1 on. The larger the expected size, the rarer the bursts, so the average rate
stays.

A Pareto variable with α <= 2 (an expected size of 2 or more) has an infinite variance, so with no
end averages of response times have no limit that runs of any length come near. Here it is cut off
at `LONGEST` tuples, and α is such that the cut distribution has the expected size.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from windrow.model import WindrowError
from windrow.workload.arrivals import Seed, arrivals

#: The longest burst, tuples.
LONGEST = 1000


def bursts(
    rate: float,
    duration: float,
    size: float,
    *,
    longest: float = LONGEST,
    seed: Seed = 0,
    start: float = 0.0,
) -> npt.NDArray[np.int64]:
    """Arrival times in microseconds, in order, `rate` a second on average, in bursts.

    Parameters
    ----------
    rate
        Tuples a second.
    duration
        Seconds; times lie in `[start, start + duration)`.
    size
        Expected tuples of a burst; 1 gives `arrivals`.
    longest
        The longest burst, tuples.
    seed
        An integer or a numpy generator.
    start
        Seconds added to every time.

    Examples
    --------
    >>> times = bursts(100, 600, size=5, seed=7)
    >>> 50_000 < len(times) < 70_000, len(set(times.tolist())) / len(times) < 0.25
    (True, True)
    """
    alpha = shape(size, longest)
    for_times, for_sizes = np.random.default_rng(seed).spawn(2)
    begins = arrivals(rate / size, duration, seed=for_times, start=start)
    if math.isinf(alpha):
        return begins
    return np.repeat(begins, sizes(len(begins), alpha, longest, for_sizes))


def sizes(n: int, alpha: float, longest: float, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """`n` sizes of bursts: Pareto on [1, longest], rounded at random so that the mean stays."""
    least = longest**-alpha
    drawn = (1 - rng.random(n) * (1 - least)) ** (-1 / alpha)
    found: npt.NDArray[np.int64] = np.floor(drawn + rng.random(n)).astype(np.int64)
    return found


def mean_size(alpha: float, longest: float = LONGEST) -> float:
    """Expected size of a burst whose Pareto shape is `alpha`, cut off at `longest`.

    Without an end it is α/(α-1), E(x) of the paper with b = 1:

    >>> round(mean_size(1.5, longest=1e12), 3), round(mean_size(1.5), 3)
    (3.0, 2.905)
    """
    if alpha == 1:
        return math.log(longest) / (1 - 1 / longest)
    mean: float = alpha / (alpha - 1) * (1 - longest ** (1 - alpha)) / (1 - longest**-alpha)
    return mean


def shape(size: float, longest: float = LONGEST) -> float:
    """The Pareto α of bursts of this expected size; infinity, that all have one tuple, for 1.

    >>> [round(shape(size), 3) for size in (1, 2, 3, 5)]
    [inf, 1.998, 1.472, 1.145]
    """
    if not (longest > 1 and 1 <= size < mean_size(_LEAST_SHAPE, longest)):
        raise WindrowError(
            f"bursts of {size!r} tuples expected and {longest!r} at most; give an expected size "
            "of 1 or more that is far below the longest burst"
        )
    if size == 1:
        return math.inf
    low, high = _LEAST_SHAPE, 2.0
    # The mean falls with α: first a bound above, then halves.
    while mean_size(high, longest) > size:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if mean_size(middle, longest) > size:
            low = middle
        else:
            high = middle
    return high


#: Below, long bursts would not be rare any more.
_LEAST_SHAPE = 0.5
