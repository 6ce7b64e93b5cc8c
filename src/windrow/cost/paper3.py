"""Paper 3's cost model (Ding and Rundensteiner, section 5), in its own symbols.

λ_a, λ_b     rates of arrival, tuples a second
λ_pa         punctuations of A a second
T_a, T_b     windows, seconds
NK_b         distinct join values that have occurred in B so far
T            seconds since the streams began; the paper's time unit

All of it is about the state of B, which A's punctuations purge. For the state of A switch the
letters. Sizes are in tuples:

>>> state_size(λ_b=100, T_b=15, λ_pa=1, T=60, NK_b=80)
375.0
"""

from __future__ import annotations

# -- section 5.2: Equation (1) ---------------------------------------------------------------


def unpurged(λ_b: float, T_b: float) -> float:
    """Tuples in B's state without purging, as in WJoin: λ_b T_b.

    >>> unpurged(100, 15)
    1500
    """
    return λ_b * T_b


def purge_probability(λ_pa: float, T: float, NK_b: float) -> float:
    """How likely a tuple of B has been purged: punctuated values of A by values of B.

    The paper takes both streams to have the same values, equally often. A punctuates no more than
    there are, so the ratio ends at 1.

    >>> purge_probability(λ_pa=1, T=60, NK_b=80)
    0.75
    >>> purge_probability(λ_pa=2, T=60, NK_b=80)
    1.0
    """
    return min(λ_pa * T / NK_b, 1.0)


def purged(λ_b: float, T_b: float, λ_pa: float, T: float, NK_b: float) -> float:
    """What punctuations save at time T, beside a pure window join.

    >>> purged(100, 15, 1, 60, 80) + state_size(100, 15, 1, 60, 80) == unpurged(100, 15)
    True
    """
    return unpurged(λ_b, T_b) * purge_probability(λ_pa, T, NK_b)


def state_size(λ_b: float, T_b: float, λ_pa: float, T: float, NK_b: float) -> float:
    """Tuples in B's state at time T: Equation (1).

    More punctuations leave less, more distinct values leave more:

    >>> [state_size(100, 15, 1, T, NK_b) for T, NK_b in ((60, 80), (70, 80), (60, 120))]
    [375.0, 187.5, 750.0]
    """
    return unpurged(λ_b, T_b) * (1 - purge_probability(λ_pa, T, NK_b))


# -- section 5.2: the best case, Figure 7 ----------------------------------------------------


def synchronised_values(λ_pb: float, T: float) -> float:
    """NK_b of clustered arrival: a value occurs in its own cluster only, so one a punctuation.

    Each cluster of B follows the matching one of A, so λ_pb is λ_pa and the state of B is empty:

    >>> state_size(100, 15, λ_pa=10, T=60, NK_b=synchronised_values(10, 60))
    0.0
    """
    return λ_pb * T


def synchronised_most(cluster: float, λ_a: float, T_a: float) -> float:
    """The most that both states together hold then: a cluster of A, or a window if that is less.

    >>> synchronised_most(30, 100, 15), synchronised_most(30, 100, 0.1)
    (30, 10.0)
    >>> synchronised_most(1, 100, 15)
    1
    """
    return min(cluster, unpurged(λ_a, T_a))


# -- ours: segments --------------------------------------------------------------------------


def segment_state_size(λ_b: float, T_b: float, λ_pa: float, match: float, ahead: float) -> float:
    """Tuples in B's state when both streams are `punct-[order]-[size]-[match]` and go in step.

    Equation (1) takes a value of B to be as likely punctuated as any. But B goes on with values
    that are not, and most tuples carry the value that is about to be. Of a segment,

    - the share `match` waits for the punctuation that ends it, half a segment on average,
    - the others have one of the `ahead` values still to come, of which λ_pa t end in a time t.

    >>> segment_state_size(λ_b=100, T_b=15, λ_pa=1, match=0.4, ahead=300)
    897.5
    >>> segment_state_size(λ_b=100, T_b=15, λ_pa=0, match=0.4, ahead=300) == unpurged(100, 15)
    True
    """
    if λ_pa == 0:
        return unpurged(λ_b, T_b)
    segment = 1 / λ_pa
    # A tuple waits up to a segment, each time equally likely, but no longer than its window.
    waiting = segment / 2 if T_b >= segment else T_b * (1 - T_b / segment / 2)
    # Values come to an end within the window, if there are so few.
    lasting = min(T_b, ahead / λ_pa)
    staying = lasting - λ_pa * lasting**2 / (2 * ahead) if ahead > 0 else 0.0
    return λ_b * (match * waiting + (1 - match) * staying)
