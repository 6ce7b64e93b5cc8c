"""What a checkpoint was written for, and what of it a restart may change.

*From now on*: windows and `between` (what was dropped stays dropped), lateness, `idle`, `late`,
`bad`, what is given of streams that memory follows, and, in an inner join of two streams without an
order, count windows or finals, the condition: whatever meets from now on is judged by the new one.
*Payload columns*: a new one is null in the rows that are stored, one that is gone is forgotten with
them. All else would make stored rows, flags or results mean something that they were not stored
for, so it is refused by name.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import pyarrow as pa

from windrow import expressions
from windrow.dialect import Dialect
from windrow.model import CountWindow, JoinPlan, WindrowError
from windrow.spark.log.directory import Directory

#: What `_condition` and `_columns` look at, because some changes of it are no harm.
JUDGED_APART = ("columns", "never null", "condition")
#: As the answers are kept: plain values, which are the same after a trip through JSON.
Question = dict[str, Any]


def question(plan: JoinPlan) -> Question:
    """What is written down of a plan."""
    schemas = tuple((stream.name, stream.schema) for stream in plan.streams)
    return {
        "kind": plan.how,
        "streams": [s.name for s in plan.streams],
        "keys": [None if s.key is None else list(s.key) for s in plan.streams],
        "times": [s.time for s in plan.streams],
        "columns": [{field.name: str(field.type) for field in s.schema} for s in plan.streams],
        "never null": [[f.name for f in s.schema if not f.nullable] for s in plan.streams],
        "condition": _as_meant(plan.condition, schemas, plan.dialect, False),
        "count windows": [
            [s.window.n, s.window.per] if isinstance(s.window, CountWindow) else None
            for s in plan.streams
        ],
        # What a count window holds cannot be told from the log under another time window.
        "windows beside a count window": list(plan.reaches) if plan.counted else None,
        # A flag's life follows from the windows, and what it has thrown out does not come back.
        "punctuations": [
            [_as_meant(s.ends, (schema,), s.dialect, True), s.ends_to, s.unique]
            for s, schema in zip(plan.streams, schemas, strict=True)
        ]
        if plan.punctuated
        else None,
        "windows beside punctuations": list(plan.reaches) if plan.punctuated else None,
        # Rows that wait and are held are where this order, with these windows, put them.
        "order": plan.order if plan.ordered else None,
        "windows and lateness in order": [[*plan.reaches], [s.lateness for s in plan.streams]]
        if plan.ordered
        else None,
        # Rows that say that a key is over are kept for as long as they may be held.
        "punctuate in order": plan.punctuate if plan.ordered else None,
        # What is stored is told by times, or by the latest rows; bounds hold from then on.
        "memory": None if plan.memory is None else plan.memory.strategy,
        "finals": [[f.function, f.stream, f.column] for f in plan.finals] or None,
    }


@lru_cache(maxsize=64)
def _as_meant(
    text: str | None, schemas: tuple[tuple[str, pa.Schema], ...], dialect: Dialect, own: bool
) -> str | None:
    """A condition, or a stream's own predicate, with the zone if it needs one to mean something."""
    if text is None:
        return None
    nowhere = replace(dialect, zone="nowhere")
    shown = text if own else expressions.normal(text)
    try:
        if own:
            expressions.predicate(text, *schemas[0], nowhere)
        else:
            expressions.condition(text, dict(schemas), nowhere)
    except WindrowError:
        return f"{shown} (times in {dialect.zone})"
    return shown


def check(kept: Directory, buckets: int, asked: Question) -> None:
    """Refuse to go on where the answer would be wrong."""
    found = refusals(kept, buckets, asked)
    if found:
        raise WindrowError("\n".join(found))


def refusals(kept: Directory, buckets: int, asked: Question) -> list[str]:
    """Why a join cannot go on with what is kept: all reasons, each with its fix."""
    found = []
    if kept.buckets != buckets:
        found.append(
            f"this checkpoint was written with {kept.buckets} buckets, but the join has {buckets}: "
            f"stored tuples would sit in the wrong ones; pass buckets={kept.buckets}, or start "
            "from a new checkpoint"
        )
    before = kept.question
    for name, value in asked.items():
        if name not in JUDGED_APART and before.get(name) != value:
            found.append(
                f"this checkpoint was written with {name} {before.get(name)!r}, but the "
                f"join has {value!r}; stored tuples would not match; change it back, or start from "
                "a new checkpoint"
            )
    found += _condition(before, asked)
    if before["streams"] == asked["streams"]:
        for stream in range(len(asked["streams"])):
            found += _columns(before, asked, stream)
    return found


def _condition(before: Question, asked: Question) -> list[str]:
    """May the condition be another one?"""
    kind = asked["kind"]
    rests = [
        what
        for what, there in (
            (f"which rows have met a partner (how={kind!r})", kind != "inner"),
            ("which rows of a stream are stored", len(asked["streams"]) > 2),
            ("what count windows hold", any(asked["count windows"])),
            ("results that are held for their order", asked["order"]),
            ("finals", asked["finals"]),
        )
        if there
    ]
    if before["condition"] == asked["condition"] or not rests:
        return []
    return [
        f"this checkpoint was written with condition {before['condition']!r}, but the join has "
        f"{asked['condition']!r}; the checkpoint stores what rests on the old one: "
        f"{', '.join(rests)}; change it back, or start from a new checkpoint"
    ]


def _columns(before: Question, asked: Question, stream: int) -> list[str]:
    """A column may come and go, but not change its type, nor promise what stored rows break."""
    found, name = [], asked["streams"][stream]
    known, kinds = before["columns"][stream], asked["columns"][stream]
    for column, kind in kinds.items():
        if column in known and known[column] != kind:
            found.append(
                f"this checkpoint was written with column {column!r} of stream {name!r} as "
                f"{known[column]}, but the join has {kind}; cast it back, give the new one another "
                "name, or start from a new checkpoint"
            )
    for column in asked["never null"][stream]:
        if column not in before["never null"][stream]:
            why = "may have nulls there" if column in known else "have no value for it"
            found.append(
                f"column {column!r} of stream {name!r} is declared never to be null, but rows in "
                f"this checkpoint {why}; make it nullable, for example as "
                f"functions.when(functions.lit(True), functions.col({column!r})), or start from a "
                "new checkpoint"
            )
    return found


def adopt(kept: Directory, asked: Question) -> None:
    """Write down what is asked from now on, once it is known to be no harm."""
    for stream, before in enumerate(kept.question["columns"]):
        for column in before:
            if column not in asked["columns"][stream]:
                # Should it come back one day, it is not what is in the chunks of today.
                kept.dropped[stream][column] = kept.batch
    kept.question = asked
