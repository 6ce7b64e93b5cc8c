"""Input that waits before the join: one place, one interface."""

from __future__ import annotations

import time
from collections.abc import Callable

from windrow.model import JoinPlan
from windrow.operators.gate.adaptive import Adaptive
from windrow.operators.gate.gate import Gate, Passed

__all__ = ["Adaptive", "Gate", "Passed", "gate_of"]


def gate_of(plan: JoinPlan, clock: Callable[[], float] = time.perf_counter) -> Gate:
    """The gate that a plan asks for. `clock` tells the seconds that the adaptive one measures."""
    if plan.order == "adaptive" and not plan.counted:
        return Adaptive(plan, clock)
    return Gate(plan)
