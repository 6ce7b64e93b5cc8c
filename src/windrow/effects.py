"""Choices that would change nothing are refused: a user who makes one expects something of it."""

from __future__ import annotations

from windrow.model import JoinPlan, WindrowError


def refuse_idle_choices(plan: JoinPlan, in_process: bool) -> None:
    """Refuse what the join's windows or its algorithm leave without effect."""
    if plan.counted:
        for name, given, default in (
            ("algorithm", plan.algorithm, "auto"),
            ("invalidation", plan.invalidation, "time-list"),
            ("buckets", plan.buckets if in_process else None, None),
        ):
            if given != default:
                raise WindrowError(
                    f"{name}={given!r} has no effect with wr.rows: a count window has one list of "
                    f"its own, which drops what was counted out; leave {name} out"
                )
    loops = plan.algorithm == "nested-loops" or plan.streams[0].key is None
    if in_process and loops and plan.buckets not in (None, 1):
        why = "without a key" if plan.streams[0].key is None else "with algorithm='nested-loops'"
        raise WindrowError(
            f"buckets={plan.buckets} has no effect {why}: every tuple is compared with every "
            "other; leave buckets out"
        )
