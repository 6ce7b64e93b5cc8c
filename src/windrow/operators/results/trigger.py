"""TS_trigger: before it the results of an ordered join are complete. Paper 4, section 5.

It is the smallest progress. Where single rows of X reach the output, an unmatched one say, their
fate is known only when the others have passed the window of X, so the trigger stays that far
behind. Two things can make it later still, and both are part of the trigger, so that it is the
same in every bucket: input that waits is joined only up to the smallest progress, and a list that
is out of order by X's lateness lets a row go that much later.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.model import BEGINNING, END, JoinPlan
from windrow.operators.progress import of_the_others


def trigger(plan: JoinPlan, after: Sequence[int]) -> int:
    """TS_trigger of a plan at these progresses."""
    bound = min(after)
    synchronised = plan.order == "sync-filter" or plan.counted
    found = bound
    for stream, single in enumerate(plan.singles):
        if single:
            opened = plan.order == "filter-order" and not plan.counted
            passed = of_the_others(after, stream) if opened else bound
            disorder = 0 if synchronised else plan.streams[stream].lateness
            found = min(found, _back(passed, plan.reaches[stream] + disorder))
    return found


def _back(progress: int, by: int) -> int:
    return progress if progress in (BEGINNING, END) else progress - by
