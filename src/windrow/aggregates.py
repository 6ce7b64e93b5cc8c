"""`finals` as given, {"best": "max(bid.price)"}, checked against the streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast, get_args

import pyarrow as pa

from windrow import expressions
from windrow.expressions import paths
from windrow.model import RESERVED_NAMES, Aggregate, Final, JoinPlan, WindrowError
from windrow.operators.results.partials import key_names, result_type


def parse(finals: Mapping[str, str] | None, plan: JoinPlan) -> tuple[Final, ...]:
    """The aggregates of a plan."""
    if finals is None:
        return ()
    if not isinstance(finals, Mapping) or not finals:
        raise WindrowError(
            f'finals is {finals!r}, expected names and aggregates such as {{"bids": "count(*)"}}'
        )
    taken = {name.lower(): "a key column" for name in key_names(plan)}
    taken |= dict.fromkeys(RESERVED_NAMES, "a column of every result")
    return tuple(_final(name, text, plan, taken) for name, text in finals.items())


def _final(name: object, text: object, plan: JoinPlan, taken: dict[str, str]) -> Final:
    if not isinstance(name, str) or not name:
        raise WindrowError(f"finals: {name!r} is no name for a column")
    if name.lower() in taken:
        raise WindrowError(f"finals: {name!r} is {taken[name.lower()]} already; choose another")
    taken[name.lower()] = "another aggregate's name"
    what = f"finals: {name} = {text!r}"
    found = expressions.aggregate(text) if isinstance(text, str) else None
    if found is None:
        raise WindrowError(
            f"{what}: expected count(*), or {', '.join(get_args(Aggregate))} of a column such as "
            "bid.price"
        )
    function, path = cast(Aggregate, found[0]), found[1]
    if not path:
        return Final(name, function)
    stream, column = _column(path, what, plan)
    final = Final(name, function, stream, column)
    kind = expressions.resolve(plan.streams[stream].schema, column)
    try:
        result_type(plan, final)
        known = not (pa.types.is_boolean(kind) and function in ("sum", "avg"))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, KeyError):
        known = False
    if not known:
        called = plan.dialect.type_name(kind)
        raise WindrowError(f"{what}: there is no {function} of {called}")
    return final


def _column(path: Sequence[str], what: str, plan: JoinPlan) -> tuple[int, str]:
    """The stream and the column that a dotted name means."""
    names = {plan.streams[at].name: at for at in plan.shown}
    stream = names.get(paths.match(list(names), path[0], plan.dialect.folds) or "")
    if stream is None or len(path) < 2:
        raise WindrowError(
            f"{what}: begin the column with a stream of the result: "
            f"{', '.join(plan.streams[at].name for at in plan.shown)}"
        )
    schema = plan.streams[stream].schema
    try:
        fields = paths.find(schema, path[1:], plan.dialect)
    except WindrowError as error:
        raise WindrowError(f"{what}: {error}") from None
    if fields is None:
        raise WindrowError(
            f"{what}: stream {plan.streams[stream].name!r} has no column {'.'.join(path[1:])!r}; "
            f"the columns are {', '.join(schema.names)}"
        )
    return stream, paths.spelled(schema, fields)
