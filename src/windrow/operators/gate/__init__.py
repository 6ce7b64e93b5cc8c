"""Input that waits before the join: one place, one interface."""

from __future__ import annotations

import time
from collections.abc import Callable

from windrow.model import DataMemory, JoinPlan, Strategy
from windrow.operators.gate.adaptive import Adaptive
from windrow.operators.gate.delayed import Delay, Delayed, given, unlagged
from windrow.operators.gate.gate import Gate, Passed
from windrow.operators.gate.sorting import Sorting
from windrow.operators.gate.spilling import Spilling

__all__ = ["Adaptive", "Delayed", "Gate", "Passed", "gate_of", "known_after"]

#: What delays input under each strategy of paper 5, section 4, in this order.
DELAYS: dict[Strategy, tuple[type[Sorting] | type[Spilling], ...]] = {
    "data": (),
    "msf": (Sorting,),
    "dbf": (Spilling,),
    "hybrid": (Sorting, Spilling),
}


def gate_of(plan: JoinPlan, clock: Callable[[], float] = time.perf_counter) -> Gate:
    """The gate that a plan asks for. `clock` tells the seconds that some of them measure."""
    if plan.order == "adaptive" and not plan.counted:
        return Adaptive(plan, clock)
    kinds = () if plan.memory is None else DELAYS[plan.memory.strategy]
    if kinds:
        return Delayed(plan, [_made(kind, plan, clock) for kind in kinds])
    return Gate(plan)


def _made(
    kind: type[Sorting] | type[Spilling], plan: JoinPlan, clock: Callable[[], float]
) -> Delay:
    return Sorting(given(plan)) if kind is Sorting else Spilling(len(plan.streams), clock)


def known_after(memory: DataMemory) -> DataMemory:
    """What of all that is given of streams is true behind the gate."""
    for kind in DELAYS[memory.strategy]:
        memory = unlagged(kind.leaves(memory))
    return memory
