"""Paper 5's memory model (Wu et al., section 3), in its symbols, with the partner itself counted.

k_i          scrambling factor of S_i: tuples further apart than this are in order
r_i          rate of S_i; only ratios count: r_i k_j / r_j bounds how many tuples of S_i arrive
             while k_j of S_j do
Mul(S_i)     multiplicity: the most tuples of S_i with one join key
L            lag from S_i to S_j: how many tuples S_i is ahead of S_j; negative where it is behind
M            how many of the latest tuples of S_i must be stored

>>> s1, s2 = Input(k=4, rate=2), Input(k=3, rate=1)
>>> memory_synchronised(s1, s2), memory_as_printed(s1, s2, L=5), memory(s1, s2, L=5)
(10.0, 15.0, 16)

*Equation (7) is one short.* Let x of S_i and y of S_j have one key, x come first, and y now. Let
v be a place of y's key in the sorted S_j, and τ' when the v-th tuple of S_j came, if it came
before y. (If it came after y, there are no more tuples of S_i now than at τ'.)

    at τ'       S_i had p' tuples, and L(τ') = p' - VI_max(x): x is a next-of-kin of y
    (4b)        PI(x) >= VI_max(x) - k_i, so PI(x) >= p' - L(τ') - k_i
    (4a)        since τ' at most k_j tuples of S_j came, so at most r_i k_j / r_j of S_i
    now         S_i has p <= p' + r_i k_j / r_j tuples, so p - PI(x) <= k_i + r_i k_j / r_j + L(τ')

The latest tuples of S_i, from x on, are p - PI(x) + 1: the 1 is x, and (7) has left it out. Counts
are whole numbers, so the ratio is rounded up; where it bounds what can arrive, nothing is lost.

If k, the ratio and L are bounds that hold at every moment, M is constant, and no tuple is dropped
before the last of its partners. If M is measured and follows the data, what it says *at a moment*
is about the tuple of S_j that comes then. A tuple yet to come has place q + 1 - k_j or a later one
(4a), where q of S_j have come; so the place below, q - k_j, tells what all of them need. The lag
when its tuple came, and the arrivals since, stand for L(τ') and the ratio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from windrow.model import WindrowError


@dataclass(frozen=True)
class Input:
    """What is known of a stream: bounds. Rates of all streams have one unit."""

    k: int
    rate: float
    multiplicity: int = 1

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise WindrowError(f"rate is {self.rate!r}; give tuples a second, above 0")
        if self.multiplicity < 1 or self.k < self.multiplicity - 1:
            raise WindrowError(
                f"k is {self.k!r} and the multiplicity {self.multiplicity!r}; give a multiplicity "
                "of 1 or more and a k of at least one less, since equal keys count as out of order"
            )


# -- section 3.1: a join ---------------------------------------------------------------------


def memory_synchronised(s_i: Input, s_j: Input) -> float:
    """Equation (6), as printed: tuples of S_i to store for S_j, where both are synchronised."""
    return s_i.k + s_i.rate * s_j.k / s_j.rate


def memory_as_printed(s_i: Input, s_j: Input, L: float) -> float:
    """Equation (7), as printed: one short for some matches.

    >>> memory_as_printed(Input(0, 1), Input(0, 1), L=-7)
    1
    """
    return max(1, memory_synchronised(s_i, s_j) + L)


def memory(s_i: Input, s_j: Input, L: int) -> int:
    """Tuples of S_i to store for S_j, the partner counted: Equation (7), corrected.

    Two streams in order, of which S_i is two tuples ahead: those two, and the partner.

    >>> memory(Input(0, 1), Input(0, 1), L=2), memory(Input(0, 1), Input(0, 1), L=-7)
    (3, 1)
    """
    return memory_over(s_i.k, math.ceil(s_i.rate * s_j.k / s_j.rate), L)


def memory_over(k_i: int, over: int, L: int) -> int:
    """The same from `over`, how many tuples of S_i can arrive while k_j of S_j do.

    >>> memory_over(4, 6, 5)
    16
    """
    return max(1, k_i + over + L + 1)


def memory_of_join(inputs: Sequence[Input], lags: Sequence[Sequence[int]]) -> list[int]:
    """Tuples of each stream to store in an MJoin: Equation (8). `lags[i][j]` is from S_i to S_j.

    >>> inputs = [Input(0, 1), Input(2, 1), Input(0, 1)]
    >>> memory_of_join(inputs, [[0, 5, 1], [-5, 0, -4], [-1, 4, 0]])
    [8, 1, 7]
    """
    streams = range(len(inputs))
    return [
        max(memory(inputs[i], inputs[j], lags[i][j]) for j in streams if j != i) for i in streams
    ]


# -- section 3.2: a tree of joins ------------------------------------------------------------


def output(inputs: Sequence[Input]) -> Input:
    """Bounds of a join's output, for the join that takes it: Equations (9) and (10).

    A key has at most as many results as the product of the multiplicities.

    >>> output([Input(3, 50, 2), Input(5, 50, 2)])
    Input(k=16, rate=200, multiplicity=4)
    """
    whole = math.prod(each.multiplicity for each in inputs)
    return Input(
        k=sum(each.k * whole // each.multiplicity for each in inputs),
        rate=sum(each.rate * (whole // each.multiplicity) for each in inputs),
        multiplicity=whole,
    )


def slowest(lags: Sequence[Sequence[int]]) -> int:
    """The input that runs behind all others: the lag of a join's output is its. Section 3.2.

    `lags[i][j]` is the lag from S_i to S_j.

    >>> slowest([[0, 5, 1], [-5, 0, -4], [-1, 4, 0]])
    1
    """
    streams = range(len(lags))
    return min(streams, key=lambda i: max(lags[i][j] for j in streams if j != i))
