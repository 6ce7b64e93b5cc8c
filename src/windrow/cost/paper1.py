"""Paper 1's cost model (Kostowski and Claypool, section 3), in its own symbols.

λ_A, λ_B    rates of arrival, tuples a second
T_A, T_B    windows, seconds
N           hash buckets of a stream's buffer
C           what one tuple costs to scan, insert and invalidate, in any unit

A cost is per second of stream: with seconds in `C` it is the share of a processor that the join
needs. With `COMPARISONS` instead, the same equations count the tuples that probes look at:

>>> wnl_total(100, 100, 30, 30, COMPARISONS)
600000
>>> whj_total(100, 100, 30, 30, 100, COMPARISONS)
6000.0
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.model import Invalidation


@dataclass(frozen=True)
class Constants:
    """C_scan, C_insert and C_invalidate of section 3.1, per tuple.

    `result` is not in the paper: what a joined pair costs to hand over. Every access path finds
    the same pairs, so it decides nothing and is in no equation, but a clock sees it.
    """

    scan: float
    insert: float
    invalidate: float
    result: float = 0.0


#: Prices that turn an equation into a count of the tuples that probes look at.
COMPARISONS = Constants(scan=1, insert=0, invalidate=0)


# -- section 3.1: total processing cost ------------------------------------------------------


def wnl_half(λ_A: float, λ_B: float, T_B: float, C: Constants) -> float:
    """Nested loops, the arrivals of A alone: C(WNL)_half = λ_A C_t, section 3.1.

    A tuple of A invalidates λ_B/λ_A tuples of B, scans B's window and is inserted:

    >>> wnl_half(10, 20, 30, Constants(scan=1, insert=5, invalidate=3))
    6110
    """
    return λ_B * C.invalidate + λ_A * T_B * λ_B * C.scan + λ_A * C.insert


def wnl_total(λ_A: float, λ_B: float, T_A: float, T_B: float, C: Constants) -> float:
    """Nested loops, both streams: Equation (1), the sum of the two half costs.

    >>> wnl_total(10, 20, 30, 60, Constants(scan=1, insert=5, invalidate=3))
    18240
    """
    return wnl_half(λ_A, λ_B, T_B, C) + wnl_half(λ_B, λ_A, T_A, C)


def whj_half(λ_A: float, λ_B: float, T_B: float, N: float, C: Constants) -> float:
    """Hash join, the arrivals of A alone: C(WHJ)_half of section 3.1. N is B's buckets.

    >>> whj_half(10, 20, 30, 100, Constants(scan=1, insert=5, invalidate=3))
    170.0
    """
    return λ_B * C.invalidate + λ_A * (T_B * λ_B / N) * C.scan + λ_A * C.insert


def whj_total(λ_A: float, λ_B: float, T_A: float, T_B: float, N: float, C: Constants) -> float:
    """Hash join, both streams: Equation (2). One bucket is nested loops.

    >>> C = Constants(scan=1, insert=5, invalidate=3)
    >>> whj_total(10, 20, 30, 60, 1, C) == wnl_total(10, 20, 30, 60, C)
    True
    """
    return whj_half(λ_A, λ_B, T_B, N, C) + whj_half(λ_B, λ_A, T_A, N, C)


def effective_buckets(N: float, distinct: float) -> float:
    """The buckets that share the tuples out: more of them than distinct keys stay empty.

    Section 4.2: "this flattening out effect is not captured by the cost formula given in
    Equation 2". Equation (2) with this in place of N does capture it.

    >>> [effective_buckets(N, 100) for N in (10, 100, 1000)]
    [10, 100, 100]
    """
    return min(N, distinct)


# -- section 3.2: invalidation ---------------------------------------------------------------


def stale_per_bucket(strategy: Invalidation, λ_A: float, λ_B: float, N: float) -> float:
    """Stale tuples that build up in a bucket of B, which A probes: section 3.2.

    The time between two invalidations of the bucket, times the rate into it, λ_B/N. Probes come
    every N/λ_A, probes or insertions every N/(λ_A + λ_B). The paper gives no number for
    probe-all; every arrival of A sweeps all buckets, so there the time is 1/λ_A.

    >>> stale_per_bucket("probe", 1, 100, 50)
    100.0
    >>> round(stale_per_bucket("probe-insert", 1, 100, 50), 2)
    0.99
    >>> stale_per_bucket("probe-all", 1, 100, 50)
    2.0
    >>> stale_per_bucket("all", 1, 100, 50)
    0.0
    """
    if strategy == "probe":
        return λ_B / λ_A
    if strategy == "probe-insert":
        return λ_B / (λ_A + λ_B)
    if strategy == "probe-all":
        return λ_B / N / λ_A
    return 0.0


def stale_tuples(strategy: Invalidation, λ_A: float, λ_B: float, N: float) -> float:
    """Stale tuples in the whole buffer of B: N times those of a bucket.

    >>> stale_tuples("probe", 1, 100, 50)
    5000.0
    """
    return N * stale_per_bucket(strategy, λ_A, λ_B, N)


def buckets_visited(strategy: Invalidation, N: float) -> float:
    """Buckets whose bottom tuple one arrival looks at, on both sides together.

    The time list has one list a side, and looks at the end of each.

    >>> [buckets_visited(s, 100) for s in ("probe", "probe-insert", "probe-all", "all")]
    [1, 2, 100, 200]
    >>> buckets_visited("time-list", 100)
    2
    """
    visited: dict[Invalidation, float] = {
        "probe": 1,
        "probe-insert": 2,
        "probe-all": N,
        "all": 2 * N,
        "time-list": 2,
    }
    return visited[strategy]


def invalidation_comparisons(stale: float, visited: float = 1) -> float:
    """Comparisons that one invalidation makes: 1 + N_stale, section 3.2.

    Every stale tuple, and in each bucket visited the first that is not stale.

    >>> invalidation_comparisons(stale=3)
    4
    >>> invalidation_comparisons(stale=3, visited=100)
    103
    """
    return visited + stale


def checks(strategy: Invalidation, λ_A: float, λ_B: float, N: float) -> float:
    """Invalidation comparisons a second, in the steady state and with no bucket empty.

    Strategies differ in when they invalidate, not in the rate (section 3.2): as many tuples
    leave as arrive, so an arrival finds one stale tuple on average.

    >>> checks("probe", 10, 20, 100), checks("all", 10, 20, 100)
    (60, 6030)
    """
    return (λ_A + λ_B) * invalidation_comparisons(1, buckets_visited(strategy, N))


def whj_invalidating(
    strategy: Invalidation,
    λ_A: float,
    λ_B: float,
    T_A: float,
    T_B: float,
    N: float,
    C: Constants,
) -> float:
    """Equation (2) and what visiting further buckets adds to it.

    Section 2: "The added cost of scanning all the buckets is the cost of scanning at least the
    bottom tuple in each bucket", so a visit beyond the probed bucket costs C_scan.

    >>> C = Constants(scan=1, insert=5, invalidate=3)
    >>> whj_invalidating("probe", 10, 20, 30, 30, 100, C) == whj_total(10, 20, 30, 30, 100, C)
    True
    >>> whj_invalidating("all", 10, 20, 30, 30, 100, C) - whj_total(10, 20, 30, 30, 100, C)
    5970.0
    """
    further = buckets_visited(strategy, N) - 1
    return whj_total(λ_A, λ_B, T_A, T_B, N, C) + (λ_A + λ_B) * further * C.scan
