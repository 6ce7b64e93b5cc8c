"""From a plan to the operator that answers it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow import expressions
from windrow.model import JoinPlan
from windrow.operators.join.counted import CountJoin
from windrow.operators.join.punctuated import Promises, PunctuatedJoin, SameRows
from windrow.operators.join.window import Coming, JoinConfig, Verify, WindowJoin
from windrow.operators.payload import Payload, Rows
from windrow.operators.sizes import RowBytes, cuts
from windrow.state.join_state import Layout
from windrow.state.numbers import SameKey


def join_of(
    plan: JoinPlan,
    payloads: Sequence[Payload],
    layout: Layout,
    logged: bool = False,
    coming: Coming | None = None,
) -> WindowJoin:
    """The join that a plan asks for.

    `logged`: whether there is a log, which wants to know what punctuations remove. `coming` names
    the rows that wait.
    """
    config = JoinConfig(
        how=plan.how,
        reaches=plan.reaches,
        preserved=plan.preserved,
        invalidation=plan.invalidation,
        verify=verifier(plan, payloads),
    )
    if plan.punctuated:
        promises = Promises(
            span=plan.span,
            early=tuple(plan.early(stream) for stream in range(len(plan.streams))),
            lateness=max(stream.lateness for stream in plan.streams),
            fail=plan.violations == "fail",
            same=None if payloads[0].exact else same_rows(payloads),
            logged=logged,
        )
        names = [stream.name for stream in plan.streams]
        return PunctuatedJoin(config, layout, promises, names, coming)
    if not plan.counted:
        return WindowJoin(config, layout, coming)
    same = None if payloads[0].exact else [same_key(payloads, s) for s in range(len(payloads))]
    windows, nulls = [s.window for s in plan.streams], [p.null_keys for p in payloads]
    return CountJoin(config, layout, windows, nulls, same, coming)


def same_key(payloads: Sequence[Payload], asking: int) -> SameKey:
    """Compares rows of one stream with rows of any."""

    def same(rows: Rows, streams: Rows, standing: Rows) -> NDArray[np.bool_]:
        verdict = np.zeros(len(rows), np.bool_)
        for stream, other in enumerate(payloads):
            of = streams == stream
            verdict[of] = payloads[asking].same_keys(rows[of], other, standing[of])
        return verdict

    return same


def same_rows(payloads: Sequence[Payload]) -> SameRows:
    """Compares rows of any stream with rows of any."""

    def same(sides: Rows, rows: Rows, others: Rows, standing: Rows) -> NDArray[np.bool_]:
        verdict = np.zeros(len(rows), np.bool_)
        for one, mine in enumerate(payloads):
            for two, its in enumerate(payloads):
                of = (sides == one) & (others == two)
                if of.any():
                    verdict[of] = mine.same_keys(rows[of], its, standing[of])
        return verdict

    return same


def verifier(plan: JoinPlan, payloads: Sequence[Payload]) -> Verify | None:
    """Judges candidates where equal hashes do not settle it: wide keys, a condition."""
    first, others = payloads[0], payloads[1:]
    exact = first.exact
    condition = None
    if plan.condition is not None:
        schemas = {stream.name: stream.schema for stream in plan.streams}
        condition = expressions.condition(plan.condition, schemas, plan.dialect)
    if exact and condition is None:
        return None
    holds = None if condition is None else judge(condition, plan, payloads)

    def verify(rows: Sequence[Rows]) -> NDArray[np.bool_]:
        verdict = np.ones(len(rows[0]), np.bool_)
        if not exact:
            for other, its in zip(others, rows[1:], strict=True):
                verdict &= first.same_keys(rows[0], other, its)
        if holds is not None:
            verdict[verdict] = holds([mine[verdict] for mine in rows])
        return verdict

    return verify


def judge(condition: expressions.Expression, plan: JoinPlan, payloads: Sequence[Payload]) -> Verify:
    """Whether the condition holds, candidate by candidate; of wide columns few at a time."""
    numbers = {stream.name: number for number, stream in enumerate(plan.streams)}
    paths = [
        [path for name, path in condition.columns if numbers[name] == stream]
        for stream in range(len(payloads))
    ]

    def holds(rows: Sequence[Rows]) -> NDArray[np.bool_]:
        verdict = np.empty(len(rows[0]), np.bool_)
        sizes: RowBytes = 0.0
        for payload, mine, wanted in zip(payloads, rows, paths, strict=True):
            sizes = sizes + payload.sizes(mine, wanted)
        for start, stop in cuts(sizes, len(verdict)):
            inputs = {
                (name, path): payloads[numbers[name]].column(path, rows[numbers[name]][start:stop])
                for name, path in condition.columns
            }
            held = condition.evaluate(inputs, stop - start)
            verdict[start:stop] = held.to_numpy(zero_copy_only=False)
        return verdict

    return holds
