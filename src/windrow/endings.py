"""What is refused of punctuations, and of what is reported at a key's end."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from windrow import checks, expressions
from windrow.dialect import Dialect
from windrow.model import CountWindow, Execution, JoinPlan, Stream, WindrowError
from windrow.operators.keys import plain_type


def has_several(schema: pa.Schema, key: object, ends_to: object) -> bool:
    """Can a punctuation of this stream be about more than one key?"""
    if ends_to is not None:
        return True
    kind = expressions.resolve(schema, key) if isinstance(key, str) else None
    return kind is not None and (pa.types.is_list(kind) or pa.types.is_large_list(kind))


def patterns(
    schema: pa.Schema, name: str, key: object, ends: str, ends_to: object, dialect: Dialect
) -> None:
    """Lists and ranges are of one key column."""
    if not isinstance(key, str) or key not in schema.names:
        raise WindrowError(
            f"stream {name!r}: punctuations about several keys need a single key column at the "
            f"top, but the key is {key!r}"
        )
    read = [path for _, path in expressions.predicate(ends, name, schema, dialect).columns]
    if key in read:
        raise WindrowError(
            f"stream {name!r}: ends={ends!r} looks at the key {key!r}, which becomes one key a row "
            "where punctuations are about several; mark them by another column"
        )
    if ends_to is None:
        return
    if ends_to not in schema.names:
        raise WindrowError(
            f"stream {name!r}: ends_to column {ends_to!r} does not exist; the columns are "
            f"{', '.join(schema.names)}"
        )
    if ends_to == key:
        raise WindrowError(
            f"stream {name!r}: ends_to={ends_to!r} is the key itself, so its ranges would have "
            "nothing in them; name the column that has their upper ends"
        )
    if pa.types.is_nested(schema.field(key).type):
        raise WindrowError(
            f"stream {name!r}: ends_to={ends_to!r} makes ranges, but key {key!r} is an array; give "
            "one of the two"
        )
    kinds = [schema.field(key).type, checks.column(schema, ends_to, name, "ends_to")]
    if plain_type(kinds[0]) != plain_type(kinds[1]):
        called = [dialect.type_name(kind) for kind in kinds]
        raise WindrowError(
            f"stream {name!r}: ends_to column {ends_to!r} is {called[1]}, but key {key!r} is "
            f"{called[0]}; cast one of them to the other's type, for example with "
            f"{dialect.as_type(str(ends_to), kinds[0])}"
        )
    if countable(kinds[0]):
        return
    if ends_to in read:
        raise WindrowError(
            f"stream {name!r}: ends={ends!r} looks at {ends_to!r}, which is empty once a range has "
            "become one punctuation a key; mark them by another column"
        )


def countable(kind: pa.DataType) -> bool:
    """Can the keys from one to another be counted through?"""
    return bool(pa.types.is_integer(kind) or pa.types.is_date32(kind))


def is_ranged(schema: pa.Schema, key: object, ends_to: str | None) -> bool:
    """Are there ranges whose keys are only known once they have come?"""
    return ends_to is not None and not countable(schema.field(str(key)).type)


def punctuated(
    name: str,
    key: tuple[str, ...] | None,
    ends: str | None,
    ends_to: str | None,
    unique: object,
) -> None:
    """What a stream may say about the ends of its keys."""
    checks.choice(unique, (True, False), f"stream {name!r}: unique")
    if key is None and (ends is not None or unique):
        raise WindrowError(
            f"stream {name!r}: {'ends' if ends is not None else 'unique'} is about keys, but key "
            "is None; give the stream a key"
        )
    if ends_to is not None and ends is None:
        raise WindrowError(
            f"stream {name!r}: ends_to={ends_to!r} needs ends, which marks the punctuations"
        )


def heeding(streams: Sequence[Stream], algorithm: str, invalidation: str) -> None:
    """Punctuations need what finds all tuples of a key."""
    said = [stream.name for stream in streams if stream.punctuated]
    if not said:
        return
    for stream in streams:
        if isinstance(stream.window, CountWindow):
            raise WindrowError(
                f"stream {stream.name!r} has a count window, which punctuations of stream "
                f"{said[0]!r} cannot be combined with; use a time window, or leave out ends and "
                "unique"
            )
    for what, given, wanted in (
        ("algorithm", algorithm == "nested-loops", "hash"),
        ("invalidation", invalidation != Execution.invalidation, Execution.invalidation),
    ):
        if given:
            raise WindrowError(
                f"stream {said[0]!r} has punctuations, which need {what}={wanted!r}; leave {what} "
                "out"
            )


def ending(plan: JoinPlan) -> None:
    """What is reported at a key's end needs keys that can end."""
    wanted = [
        name for name, asked in (("punctuate", plan.punctuate), ("finals", plan.finals)) if asked
    ]
    if not wanted:
        return
    if not plan.can_end:
        why, whom = _endless(plan)
        raise WindrowError(
            f"{wanted[0]} reports keys that are over, but {why}; pass ends= or unique=True to "
            f"{whom}"
        )
    if len(wanted) > 1:
        raise WindrowError("finals are reported at the ends themselves; leave punctuate out")
    for what, kept in (("late", plan.late), ("bad", plan.bad)):
        if plan.finals and kept == "keep":
            raise WindrowError(f"finals are all that leaves the join; leave {what} at 'drop'")


def _endless(plan: JoinPlan) -> tuple[str, str]:
    """Why no key can end, and who would have to say where."""
    said = [stream.name for stream in plan.streams if stream.punctuated]
    if not said:
        return "no stream says where keys end", "a stream"
    rows = "unmatched rows, which may come for any key at any time"
    if len(plan.streams) == 2:
        why = f"only stream {said[0]!r} says where keys end"
        return f"{why}, and a {plan.how} join keeps the other's {rows}", "both streams"
    first = f"stream {plan.streams[0].name!r}"
    return f"{first} does not say where keys end, and a {plan.how} join keeps its {rows}", first
