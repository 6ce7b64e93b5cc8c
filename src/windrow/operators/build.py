"""From a plan to the operator that answers it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from windrow import expressions
from windrow.model import DataMemory, JoinPlan, Stream
from windrow.operators.gate import known_after
from windrow.operators.join.counted import CountJoin, Nulls
from windrow.operators.join.judging import Part, Verify
from windrow.operators.join.oblivious import ObliviousJoin
from windrow.operators.join.punctuated import Promises, PunctuatedJoin, SameRows
from windrow.operators.join.ranked import RankedJoin
from windrow.operators.join.shared import SharedConfig, SharedJoin
from windrow.operators.join.window import Coming, JoinConfig, WindowJoin
from windrow.operators.payload import Payload, Rows
from windrow.operators.retention import retentions
from windrow.operators.sizes import RowBytes, cuts
from windrow.state.join_state import Layout
from windrow.state.memory import Bounds
from windrow.state.numbers import SameKey

#: The stage that joins.
Join = WindowJoin | SharedJoin


def join_of(
    plan: JoinPlan,
    payloads: Sequence[Payload],
    layout: Layout,
    logged: bool = False,
    coming: Coming | None = None,
) -> Join:
    """The join that a plan asks for.

    `logged`: whether there is a log, which wants to know what punctuations remove. `coming` names
    the rows that wait.
    """
    if plan.schedule is not None and not plan.counted:
        judge = None if payloads[0].exact else same_as_first(payloads)
        return SharedJoin(SharedConfig(len(plan.streams), plan.schedule, judge), layout)
    config = JoinConfig(
        how=plan.how,
        kept=retentions(plan),
        preserved=plan.preserved,
        invalidation=plan.invalidation,
        same=None if payloads[0].exact else same_as_first(payloads),
        parts=parts_of(plan, payloads),
        logged=logged,
    )
    if plan.memory is not None:
        called = tuple(stream.name for stream in plan.streams)
        known = bounds(known_after(plan.memory), called, layout.part)
        return ObliviousJoin(config, layout, known, called, coming)
    if plan.punctuated:
        promises = Promises(
            span=plan.span,
            early=tuple(plan.early(stream) for stream in range(len(plan.streams))),
            fail=plan.violations == "fail",
            same=None if payloads[0].exact else same_rows(payloads),
        )
        names = [stream.name for stream in plan.streams]
        return PunctuatedJoin(config, layout, promises, names, coming)
    if not plan.counted:
        return WindowJoin(config, layout, coming)
    same = None if payloads[0].exact else [same_key(payloads, s) for s in range(len(payloads))]
    nulls = [payload.null_keys for payload in payloads]
    mutes = [mutes_of(*each) for each in zip(plan.streams, payloads, strict=True)]
    kind = CountJoin if plan.schedule is None else RankedJoin
    return kind(config, layout, nulls, mutes, same, coming)


def bounds(memory: DataMemory, names: Sequence[str], part: bool = False) -> Bounds:
    """What is given of the streams, by their numbers. `part`: see `Bounds`."""
    streams = range(len(names))
    k = {at: memory.k[names[at]] for at in streams if names[at] in memory.k}
    rate = {at: memory.rate[names[at]] for at in streams if names[at] in memory.rate}
    lag = {(names.index(i), names.index(j)): most for (i, j), most in memory.lag.items()}
    over = {
        (i, j): math.ceil(rate[i] * k[j] / rate[j]) for i in rate for j in rate if i != j and j in k
    }
    return Bounds(len(names), k, over, lag, part=part)


def mutes_of(stream: Stream, payload: Payload) -> Nulls:
    """Tells which rows fail the part of the condition that is about their stream alone."""
    if stream.only is None:
        return lambda rows: np.zeros(len(rows), np.bool_)
    test = expressions.predicate(stream.only, stream.name, stream.schema, stream.dialect)
    part = judge_of(test, {stream.name: 0}, [payload])
    return lambda rows: ~part.holds([rows])


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


def same_as_first(payloads: Sequence[Payload]) -> Verify:
    """Judges whether candidates have equal keys, where equal hashes do not settle it."""
    first, others = payloads[0], payloads[1:]

    def same(rows: Sequence[Rows]) -> NDArray[np.bool_]:
        verdict = np.ones(len(rows[0]), np.bool_)
        for other, its in zip(others, rows[1:], strict=True):
            verdict &= first.same_keys(rows[0], other, its)
        return verdict

    return same


def parts_of(plan: JoinPlan, payloads: Sequence[Payload]) -> tuple[Part, ...]:
    """The parts of the condition that are about several streams, and their judges."""
    schemas = {stream.name: stream.schema for stream in plan.streams}
    numbers = {stream.name: number for number, stream in enumerate(plan.streams)}
    found = []
    for sql in plan.conjuncts:
        compiled = expressions.condition(sql, schemas, plan.dialect)
        found.append(judge_of(compiled, numbers, payloads))
    return tuple(found)


def judge_of(
    condition: expressions.Expression, numbers: Mapping[str, int], payloads: Sequence[Payload]
) -> Part:
    """Whether a condition holds, candidate by candidate; of wide columns few at a time.

    `numbers`: which of the payloads a stream's is.
    """
    paths: dict[int, list[str]] = {}
    for name, path in condition.columns:
        paths.setdefault(numbers[name], []).append(path)

    def holds(rows: Sequence[Rows]) -> NDArray[np.bool_]:
        verdict = np.empty(len(rows[0]), np.bool_)
        sizes: RowBytes = 0.0
        for stream, wanted in paths.items():
            sizes = sizes + payloads[stream].sizes(rows[stream], wanted)
        for start, stop in cuts(sizes, len(verdict)):
            inputs = {
                (name, path): payloads[numbers[name]].column(path, rows[numbers[name]][start:stop])
                for name, path in condition.columns
            }
            held = condition.evaluate(inputs, stop - start)
            verdict[start:stop] = held.to_numpy(zero_copy_only=False)
        return verdict

    # One that names none is asked once all are bound.
    return Part(frozenset(paths) or frozenset(numbers.values()), holds)
