"""Input that waits before the join: one place, one interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from windrow.model import DataMemory, JoinPlan
from windrow.operators.gate.adaptive import Adaptive
from windrow.operators.gate.delayed import Delay, Delayed, given, unlagged
from windrow.operators.gate.gate import Gate, Passed
from windrow.operators.gate.limited import Limited
from windrow.operators.gate.sorting import Sorting
from windrow.operators.gate.spilling import Spilling
from windrow.operators.gate.strategies import DELAYS
from windrow.operators.payload import Payload

__all__ = ["Adaptive", "Delayed", "Gate", "Limited", "Passed", "gate_of", "known_after"]


def gate_of(
    plan: JoinPlan,
    clock: Callable[[], float] = time.perf_counter,
    payloads: Sequence[Payload] = (),
) -> Gate:
    """The gate that a plan asks for. `clock` tells the seconds that some of them measure.

    `payloads`: the streams' rows, which weigh something where memory has a limit.
    """
    if plan.order == "adaptive" and not plan.counted:
        return Adaptive(plan, clock)
    if plan.memory is not None and plan.memory.limit is not None:
        return Limited(plan, payloads, clock)
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
    if memory.limit is not None:
        # Sorting may come and go.
        return unlagged(memory)
    for kind in DELAYS[memory.strategy]:
        memory = unlagged(kind.leaves(memory))
    return memory
