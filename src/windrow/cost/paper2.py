"""Paper 2's analysis of shared window joins (Hammad et al., sections 3.1.1, 3.2.1), its symbols.

λ        rate of each stream, tuples a second
w_i      the i-th smallest window, seconds
S_i      tuples that a window holds: λ w_i; S_max of the largest
m        tuples that arrive at the same time
t_p      seconds to check a pair

Response times are seconds from arrival to the query, averaged over the results of the m tuples. A
query with a window of one second pays for sharing a join with one of ten minutes under LWO, not
under SWF:

>>> sizes = [buffer_size(100, w) for w in (1, 600)]
>>> [f"{isolated_response(S, 50, 1e-6):.4f}" for S in sizes]
['0.0025', '1.5000']
>>> [f"{lwo_response(S, sizes[-1], 50, 1e-6):.4f}" for S in sizes]
['1.4701', '1.5000']
>>> [f"{swf_response(S, before, 50, 1e-6):.4f}" for before, S in zip((0, 100), sizes)]
['0.0025', '1.5324']
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

Schedule = Literal["isolated", "lwo", "swf", "mqt"]

#: Figures 2(b) and 3(b): tuples at once, and seconds to check a pair.
M, T_P = 50, 1e-6


def buffer_size(λ: float, w: float) -> float:
    """S_i: what a window holds of one stream.

    >>> buffer_size(100, 600)
    60000
    """
    return λ * w


def combinations(S_i: float, streams: int) -> float:
    """What one arrival scans: one tuple of each other stream. The paper's analysis is of two.

    >>> combinations(100, 2), combinations(100, 3)
    (100, 10000)
    """
    found: float = S_i ** (streams - 1)
    return found


# -- two streams, m tuples at once ---------------------------------------------------------------


def lwo_response(S_i: float, S_max: float, m: float, t_p: float) -> float:
    """Largest Window Only: Equation (1). A tuple waits until those before have scanned S_max.

    >>> f"{lwo_response(100, 60_000, m=50, t_p=1e-6):.3f}"
    '1.470'
    """
    return t_p / 2 * ((S_i + 1) + (m - 1) * S_max)


def isolated_response(S_i: float, m: float, t_p: float) -> float:
    """A query on its own: Equation (1) with its own window as the largest.

    >>> lwo_response(60_000, 60_000, 50, 1e-6) == isolated_response(60_000, 50, 1e-6)
    True
    """
    return t_p / 2 * (m * S_i + 1)


def swf_response(S_i: float, S_before: float, m: float, t_p: float) -> float:
    """Shortest Window First: Equation (2). All m scan the window before, then each this one.

    `S_before` is S_(i-1), 0 for the smallest window.

    >>> f"{swf_response(60_000, 51_000, m=50, t_p=1e-6):.3f}"
    '2.779'
    """
    return m * S_before * t_p + (m + 1) / 2 * (S_i - S_before) * t_p


# -- ours: MQT -----------------------------------------------------------------------------------


def mqt_responses(
    sizes: Sequence[float], queries: Sequence[int], m: int, t_p: float
) -> list[float]:
    """Maximum Query Throughput: the paper has no equation, so its schedule is followed.

    `sizes` are the windows' S_i, smallest first, and `queries` how many ask for each. As in
    Equation (2), a tuple's results of a partial window count from the end of its scan; but they
    are released as soon as the tuples before have scanned the query's window (section 3.3).

    With equal steps between windows MQT finishes one tuple after the other; if the steps get
    larger and larger it takes the small windows first, as SWF does, and is earlier for the last:

    >>> [round(r) for r in mqt_responses([10, 20, 30], [1, 1, 1], m=3, t_p=1)]
    [40, 45, 50]
    >>> [round(r) for r in mqt_responses([10, 30, 90], [1, 1, 1], m=3, t_p=1)]
    [20, 61, 184]
    >>> [swf_response(S, before, m=3, t_p=1) for before, S in [(0, 10), (10, 30), (30, 90)]]
    [20.0, 70.0, 210.0]
    """
    ends = _mqt_ends(sizes, queries, m)
    bands = [b - a for a, b in pairwise([0.0, *sizes])]
    responses = []
    for i, size in enumerate(sizes):
        total = 0.0
        for number, own in enumerate(ends):
            before = ends[number - 1][i] if number else 0.0
            total += sum(bands[k] * max(own[k], before) for k in range(i + 1))
        responses.append(t_p * total / (m * size))
    return responses


def _mqt_ends(sizes: Sequence[float], queries: Sequence[int], m: int) -> list[list[float]]:
    """When each of m tuples has scanned each window, in checks."""
    stops = [0.0, *sizes]
    served = [0, *queries]
    scanned = [0] * m
    ends: list[list[float]] = [[] for _ in range(m)]
    clock = 0.0
    while scanned[-1] < len(sizes):
        best, chosen = -1.0, -1
        limit = len(sizes)
        for number, level in enumerate(scanned):
            # A tuple goes as far as the one before it has come; behind an equal one it waits.
            if level < limit:
                throughput = max(
                    _ratio(sum(served[level + 1 : k + 1]), stops[k] - stops[level])
                    for k in range(level + 1, limit + 1)
                )
                # Tuples come with falling levels: of equal ones the larger window is first.
                if throughput > best:
                    best, chosen = throughput, number
                limit = level
            if level == 0:
                break
        clock += stops[scanned[chosen] + 1] - stops[scanned[chosen]]
        scanned[chosen] += 1
        ends[chosen].append(clock)
    return ends


def _ratio(queries: int, checks: float) -> float:
    return queries / checks if checks else math.inf


# -- by window -----------------------------------------------------------------------------------


def responses(
    schedule: Schedule, queries: Mapping[float, int], m: int = M, t_p: float = T_P
) -> dict[float, float]:
    """Predicted seconds by window: of `queries`, how many ask for each size S_i.

    >>> seconds = responses("lwo", {100: 1, 60_000: 1})
    >>> {S: round(s, 3) for S, s in seconds.items()}
    {100: 1.47, 60000: 1.5}
    """
    sizes = sorted(queries)
    before = [0.0, *sizes]
    if schedule == "mqt":
        found = mqt_responses(sizes, [queries[S] for S in sizes], m, t_p)
    elif schedule == "swf":
        found = [swf_response(S, before[i], m, t_p) for i, S in enumerate(sizes)]
    elif schedule == "lwo":
        found = [lwo_response(S, sizes[-1], m, t_p) for S in sizes]
    else:
        found = [isolated_response(S, m, t_p) for S in sizes]
    return dict(zip(sizes, found, strict=True))


def penalty(schedule: Schedule, queries: Mapping[float, int], S_new: float, m: int = M) -> float:
    """Section 2.2, second objective: how many times longer the others take with one query more.

    The largest factor over the windows that are there; S_new is the new query's size.

    >>> round(penalty("lwo", {100: 1, 500: 1}, 60_000)), penalty("swf", {100: 1, 500: 1}, 60_000)
    (120, 1.0)
    """
    more = dict(queries)
    more[S_new] = more.get(S_new, 0) + 1
    before, after = responses(schedule, queries, m), responses(schedule, more, m)
    return max(after[S] / before[S] for S in before)
