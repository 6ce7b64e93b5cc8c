"""Paper 4's analysis of in-order execution (Hammad et al., sections 4.1 and 5.1), in its symbols.

λ_1, λ_2     rates of arrival, tuples a second; stream S is the slower one
w            the window of both streams, seconds
c            seconds to join two tuples
n            tuples of the fast stream between two of the slow one: λ_2 / λ_1

Response times are those of the fast stream's tuples, which wait for the slow one:

>>> rates = {"λ_1": 1, "λ_2": 10}
>>> round(sync_filter_response(**rates, w=60, c=0.0005), 3), filter_order_response(**rates)
(0.715, 0.55)
"""

from __future__ import annotations

# -- section 4.1: Sync-Filter ----------------------------------------------------------------


def load(λ_1: float, λ_2: float, w: float, c: float) -> float:
    """c|w|λ_1λ_2: how busy one stream's tuples keep the join. Equation (1) wants it below 1.

    Each of the two streams brings as much, so one server is overloaded from 0.5 on already.

    >>> load(1, 10, 60, 0.0005)
    0.3
    """
    return c * w * λ_1 * λ_2


def keeps_up(λ_1: float, λ_2: float, w: float, c: float) -> bool:
    """Equation (1).

    >>> keeps_up(1, 10, 60, 0.0005), keeps_up(1, 10, 60, 0.01)
    (True, False)
    """
    return load(λ_1, λ_2, w, c) < 1


def processing_time(λ_1: float, w: float, c: float) -> float:
    """C_S: seconds to process a tuple against the window of the stream with rate λ_1."""
    return c * w * λ_1


def sync_filter_response(λ_1: float, λ_2: float, w: float, c: float) -> float:
    """Average seconds from arrival to result where input waits: Equation (3).

    The wait of Equation (5), and on average half of the fast stream's tuples before it to process.

    >>> sync_filter_response(1, 10, 60, 0) == filter_order_response(1, 10)
    True
    """
    n = λ_2 / λ_1
    return filter_order_response(λ_1, λ_2) + (n + 1) / 2 * processing_time(λ_1, w, c)


# -- section 5.1: Filter-Order ---------------------------------------------------------------


def filter_order_response(λ_1: float, λ_2: float) -> float:
    """Average seconds from arrival to result where results wait: Equation (5).

    Processing overlaps the wait, so its price is not in it.

    >>> filter_order_response(1, 10), filter_order_response(0.1, 10)
    (0.55, 5.05)
    """
    n = λ_2 / λ_1
    return 1 / λ_1 - (n - 1) / (2 * λ_2)


def improvement(λ_1: float, λ_2: float, w: float, c: float) -> float:
    """I_Rel, what Filter-Order saves of Sync-Filter's response time: Equation (7).

    >>> round(improvement(1, 10, 60, 0.0005), 3)
    0.231
    >>> both = sync_filter_response(1, 10, 60, 0.0005), filter_order_response(1, 10)
    >>> round((both[0] - both[1]) / both[0], 3)
    0.231
    """
    busy = load(λ_1, λ_2, w, c)
    return busy / (1 + busy)


#: Equation (8): the improvement where the join can hardly keep up by Equation (1).
MOST_IMPROVEMENT = 0.5


# -- section 6: Adaptive ---------------------------------------------------------------------


def switches(λ_1: float, λ_2: float, w: float, c: float, alpha: float) -> bool:
    """Step B and D of the adaptive algorithm: is it time to be, or to stay, in Filter-Order?

    >>> [switches(1, 10, 60, c, alpha=0.3) for c in (0.0004, 0.0005)]
    [False, True]
    """
    return load(λ_1, λ_2, w, c) >= alpha


def switch_cost(λ_1: float, λ_2: float, w: float, alpha: float) -> float:
    """The seconds to join two tuples at which the adaptive algorithm switches.

    >>> switch_cost(1, 10, 60, alpha=0.3)
    0.0005
    """
    return alpha / (w * λ_1 * λ_2)
