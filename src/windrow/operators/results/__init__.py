"""What becomes of results: they leave as they come, in order, as finals, or query by query."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from windrow.model import JoinPlan
from windrow.operators.join.base import Join
from windrow.operators.payload import Payload
from windrow.operators.results.finals import Finals, Promised
from windrow.operators.results.hold import Hold
from windrow.operators.results.plain import Plain
from windrow.operators.results.release import Release

__all__ = ["Finals", "Hold", "Plain", "Release", "Results", "results_of"]


#: The stage after the join.
Results = Plain


def results_of(
    plan: JoinPlan,
    payloads: Sequence[Payload],
    promised: Promised,
    logged: bool,
    open_blob: Callable[[int], pa.RecordBatch] | None,
    join: Join,
) -> Results:
    """The stage that a plan asks for.

    `promised` knows the punctuations that finals rest on; `open_blob` reads what was written down.
    The `join` may say which of its results may leave.
    """
    if join.releases:
        return Release(plan, join)
    if plan.finals:
        return Finals(plan, payloads, promised, logged, open_blob)
    if plan.ordered:
        return Hold(plan, logged)
    return Plain(plan)
