"""What every state structure and every operator must do, whatever is inside: checks to run.

    StateUnderTest     make, attach                      each of STATE_CHECKS
    OperatorUnderTest  make, attach, arrivals, stored    each of OPERATOR_CHECKS

A check takes what is under test and a seed, and raises an AssertionError that shows the input.
It knows nothing of the implementation: a new structure or operator brings its factories and
runs all of them, for example with `pytest.mark.parametrize("check", STATE_CHECKS)`.
"""

from __future__ import annotations

from windrow.testing.contract.feeds import Batch, Feed, Question
from windrow.testing.contract.operator import OPERATOR_CHECKS, Operator, OperatorUnderTest
from windrow.testing.contract.state import STATE_CHECKS, StateUnderTest, TupleState

__all__ = [
    "OPERATOR_CHECKS",
    "STATE_CHECKS",
    "Batch",
    "Feed",
    "Operator",
    "OperatorUnderTest",
    "Question",
    "StateUnderTest",
    "TupleState",
]
