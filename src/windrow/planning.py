"""What is asked of a join: `plan` states each option and checks it; defaults are the model's."""

from __future__ import annotations

import time as clocks
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from windrow import aggregates, checks, duration, effects, endings, meeting, reading, remembering
from windrow.local import patterns
from windrow.model import (
    Algorithm,
    Bad,
    DataMemory,
    Execution,
    Invalidation,
    JoinPlan,
    Late,
    Order,
    Question,
    Stream,
    Violations,
    WindrowError,
)

Duration = str | timedelta
Asked = ParamSpec("Asked")
Result = TypeVar("Result")


def takes(
    planner: Callable[Asked, JoinPlan],
) -> Callable[[Callable[[JoinPlan], Result]], Callable[Asked, Result]]:
    """Make a function of a plan one that takes what the plan is made of."""

    def decorate(function: Callable[[JoinPlan], Result]) -> Callable[Asked, Result]:
        @wraps(function)
        def ask(*given: Asked.args, **options: Asked.kwargs) -> Result:
            return function(planner(*given, **options))

        shown = signature(planner)
        returned = signature(function).return_annotation
        setattr(ask, "__signature__", shown.replace(return_annotation=returned))  # noqa: B010
        return ask

    return decorate


def plan(
    *streams: Stream,
    how: str = Question.how,
    condition: Any = None,
    between: tuple[Duration, Duration] | None = None,
    closed: bool = Question.closed,
    order: str = Question.order,
    late: str = Question.late,
    bad: str = Question.bad,
    violations: str = Question.violations,
    punctuate: bool = Question.punctuate,
    finals: dict[str, str] | None = None,
    algorithm: str = Execution.algorithm,
    invalidation: str = Execution.invalidation,
    memory: str | DataMemory = "window",
    alpha: float = Execution.alpha,
    buckets: int | None = Execution.buckets,
    batch_rows: int | None = Execution.batch_rows,
) -> JoinPlan:
    """The checked plan that `join` runs and `explain` shows; takes what `join` takes."""
    remembered = remembering.asked(memory)
    chosen = meeting.streams(streams)
    kind = checks.how(how)
    meeting.many(chosen, kind, between)
    if remembered is None:
        meeting.bounded(chosen, between)
    else:
        chosen = remembering.streams(chosen, remembered)
    words = reading.dialect_of(chosen[0].data)
    condition = reading.condition(condition, chosen, words)
    chosen, conjuncts = reading.parts(condition, chosen, words)
    if algorithm == "hash" and chosen[0].key is None:
        raise WindrowError(
            "algorithm='hash' needs a key, but the streams have none; use 'nested-loops' or 'auto'"
        )
    endings.heeding(chosen, algorithm, invalidation)
    asked = JoinPlan(
        streams=chosen,
        how=kind,
        condition=condition,
        conjuncts=conjuncts,
        between=_between(between),
        closed=checks.choice(closed, (True, False), "closed"),
        late=checks.literal(Late, late, "late"),
        bad=checks.literal(Bad, bad, "bad"),
        algorithm=checks.literal(Algorithm, algorithm, "algorithm"),
        invalidation=checks.literal(Invalidation, invalidation, "invalidation"),
        buckets=checks.count_or_none(buckets, "buckets"),
        batch_rows=checks.count_or_none(batch_rows, "batch_rows"),
        violations=checks.literal(Violations, violations, "violations"),
        punctuate=checks.choice(punctuate, (True, False), "punctuate"),
        order=checks.literal(Order, order, "order"),
        alpha=checks.share(alpha, "alpha"),
        memory=remembered,
        now=None if checks.is_spark(chosen[0].data) else clocks.time_ns() // 1000,
        dialect=words,
    )
    asked = replace(asked, finals=aggregates.parse(finals, asked))
    remembering.refuse(asked)
    endings.ending(asked)
    effects.refuse_idle_choices(asked, in_process=not meeting.one_engine(chosen))
    meeting.in_order(asked)
    if any(stream.ranged for stream in chosen) and not meeting.one_engine(chosen):
        asked = replace(asked, streams=patterns.ranges_to_keys(asked))
    return asked


def _between(between: tuple[Duration, Duration] | None) -> tuple[int, int] | None:
    if between is None:
        return None
    if not isinstance(between, tuple | list) or len(between) != 2:
        raise WindrowError(f"between is {between!r}, expected a pair (lo, hi) of durations")
    lo = duration.parse(between[0], "between's lower bound", signed=True)
    hi = duration.parse(between[1], "between's upper bound", signed=True)
    if lo > hi:
        raise WindrowError(
            f"between is {between!r}, but its lower bound is above its upper bound; swap them"
        )
    return lo, hi
