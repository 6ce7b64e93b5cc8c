"""Choices that would change nothing are refused: a user who makes one expects something of it."""

from __future__ import annotations

from windrow import expressions
from windrow.model import Execution, JoinPlan, Stream, WindrowError


def refuse_idle_choices(plan: JoinPlan, in_process: bool) -> None:
    """Refuse what the join's windows or its algorithm leave without effect."""
    if plan.counted:
        for name in ("algorithm", "invalidation", *(["buckets"] if in_process else [])):
            given = getattr(plan, name)
            if given != getattr(Execution, name):
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
    shown = [plan.streams[at] for at in plan.shown]
    if plan.bad == "keep" and not any(_can_be_bad(stream) for stream in shown):
        names = " and ".join(repr(stream.name) for stream in shown)
        raise WindrowError(
            f"bad='keep' has no effect: no row of stream {names} can be bad, because its time is "
            "declared never to be null and there is no max_ahead; leave bad out"
        )


def _can_be_bad(stream: Stream) -> bool:
    """May a row have no time, or one that is too far ahead?"""
    trail = expressions.trail(stream.schema, stream.time) or []
    return stream.max_ahead is not None or any(field.nullable for field in trail)
