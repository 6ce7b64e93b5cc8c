"""What is refused of streams that are to be joined. Every message names the stream and the fix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pyarrow as pa

from windrow import expressions
from windrow.checks import is_spark
from windrow.model import CountWindow, How, JoinPlan, Stream, WindrowError
from windrow.operators.keys import common_type, meeting_type, plain_type

#: Each tuple that arrives may probe all others, so the price of a tuple grows with their number and
#: that of the join with its square. Nothing but that price forbids more.
MOST_STREAMS = 8


def streams(given: Sequence[object]) -> tuple[Stream, ...]:
    """Streams that can meet."""
    for stream in given:
        if not isinstance(stream, Stream):
            raise WindrowError(
                f"join takes streams, but got a {type(stream).__name__}; {_instead_of(stream)}"
            )
    chosen = tuple(stream for stream in given if isinstance(stream, Stream))
    if len(chosen) < 2:
        raise WindrowError(f"a join takes two streams or more, but got {len(chosen)}")
    if len(chosen) > MOST_STREAMS:
        raise WindrowError(
            f"a join takes {MOST_STREAMS} streams at most, but got {len(chosen)}: each tuple that "
            "arrives would search the state of all others; join some of them first, and the result "
            "with the rest"
        )
    for one, two in combinations(chosen, 2):
        if one.name.lower() == two.name.lower():
            called = f"two streams are called {one.name!r}"
            if one.name != two.name:
                called = f"streams {one.name!r} and {two.name!r} differ in case only"
            raise WindrowError(f"{called}; give each its own name")
        _same_keys(one, two)
        _same_clock(one, two)
    return chosen


def _instead_of(given: object) -> str:
    """What to write where something else was given than a stream."""
    if isinstance(given, list | tuple):
        return "give them one by one, as in windrow.join(*streams)"
    if isinstance(given, str):
        return "give the kind and the other choices by name, as in how='left'"
    return "wrap the data with windrow.stream(data, name=..., key=..., time=...)"


def one_engine(streams: Sequence[Stream]) -> bool:
    """All on Spark (True) or all in process (False)."""
    on_spark = [is_spark(stream.data) for stream in streams]
    if len(set(on_spark)) > 1:
        kinds = ", ".join(
            f"{stream.name!r} is a {'Spark DataFrame' if spark else 'pyarrow.Table'}"
            for stream, spark in zip(streams, on_spark, strict=True)
        )
        raise WindrowError(
            f"streams of one join must be of one kind, but {kinds}; turn the table into a "
            "DataFrame with spark.createDataFrame(table)"
        )
    return on_spark[0]


def many(chosen: Sequence[Stream], kind: How, between: object) -> None:
    """What is about two streams only."""
    if len(chosen) == 2:
        return
    names = ", ".join(repr(stream.name) for stream in chosen)
    if kind in ("right", "full"):
        raise WindrowError(
            f"how={kind!r} joins two streams, but got {len(chosen)} ({names}); of more, use inner, "
            "left, semi or anti, which are of the first stream against all others"
        )
    if between is not None:
        raise WindrowError(
            f"between is about the times of two streams, but got {len(chosen)} ({names}); give "
            "each a window"
        )


def _same_keys(one: Stream, two: Stream) -> None:
    if (one.key is None) != (two.key is None):
        keyed, other = (one, two) if one.key is not None else (two, one)
        raise WindrowError(
            f"stream {keyed.name!r} has a key but stream {other.name!r} has none; give both a key, "
            "or neither"
        )
    if one.key is None or two.key is None:
        return
    if len(one.key) != len(two.key):
        raise WindrowError(
            f"stream {one.name!r} has {_columns(one.key)} but stream {two.name!r} has "
            f"{len(two.key)}; they must pair up"
        )
    for mine, its in zip(one.key, two.key, strict=True):
        kinds = [expressions.resolve(s.schema, path) for s, path in ((one, mine), (two, its))]
        common = common_type(*kinds)
        if common is None:
            called = [s.dialect.type_name(kind) for s, kind in zip((one, two), kinds, strict=True)]
            raise WindrowError(
                f"key column {mine!r} of stream {one.name!r} is {called[0]} but {its!r} of stream "
                f"{two.name!r} is {called[1]}; {_cast_keys((one, mine), (two, its))}"
            )
        for stream, kind in zip((one, two), kinds, strict=True):
            if stream.ranged and plain_type(kind) != common:
                raise WindrowError(
                    f"stream {stream.name!r}: ends_to makes ranges of {mine!r}, whose type "
                    f"{stream.dialect.type_name(kind)} is narrower than the other stream's "
                    f"{stream.dialect.type_name(common)}; cast key and ends_to to that"
                )


def _columns(key: Sequence[str]) -> str:
    return f"{len(key)} key column{'s' if len(key) > 1 else ''}"


def _cast_keys(*columns: tuple[Stream, str]) -> str:
    """What to write so that two key columns meet."""
    kinds = [expressions.resolve(stream.schema, path) for stream, path in columns]
    to = meeting_type(*kinds)
    pairs = zip(columns, kinds, strict=True)
    narrow = [column for column, kind in pairs if plain_type(kind) != to]
    how = "cast both" if len(narrow) > 1 else "cast one of them to the other's type"
    stream, path = narrow[0]
    return f"{how}, for example with {stream.dialect.as_type(path, to)}"


def _zone(stream: Stream) -> str | None:
    """The time zone of a stream's times."""
    kind = expressions.resolve(stream.schema, stream.time)
    name: str | None = kind.tz if kind is not None else None
    return name


def _same_clock(one: Stream, two: Stream) -> None:
    zones = [_zone(s) for s in (one, two)]
    if (zones[0] is None) != (zones[1] is None):
        zoned, other = (one, two) if zones[0] is not None else (two, one)
        raise WindrowError(
            f"time column {zoned.time!r} of stream {zoned.name!r} {zoned.dialect.with_zone(True)} "
            f"but {other.time!r} of stream {other.name!r} {other.dialect.with_zone(False)}; cast "
            "one of them, so that both mean instants or both mean wall-clock times, for example "
            f"with {other.dialect.as_type(other.time, pa.timestamp('us', 'UTC'))}"
        )


def bounded(streams: Sequence[Stream], between: object) -> None:
    """Exactly one of windows and `between`; and no state that grows for ever."""
    bounds = ", or the join between=(lo, hi)" if len(streams) == 2 else ""
    for stream in streams:
        silent = [other for other in streams if other is not stream and not other.punctuated]
        if between is not None and stream.window is not None:
            raise WindrowError(
                f"between is given, but stream {stream.name!r} has a window too; between replaces "
                "the windows, so leave window out"
            )
        if between is None and stream.window is None and silent:
            raise WindrowError(
                f"stream {stream.name!r} has no window, so its state would grow for ever; give it "
                f"window='10 minutes' (or windrow.rows(n)){bounds}, or say where the keys of "
                f"{_named(silent)} end (ends= or unique=True)"
            )


def _named(streams: Sequence[Stream]) -> str:
    *most, last = [repr(stream.name) for stream in streams]
    return f"{', '.join(most)} and {last}" if most else last


def in_order(plan: JoinPlan) -> None:
    """Refuse an order that cannot hold."""
    if not plan.ordered:
        return
    if plan.finals:
        raise WindrowError(
            f"order={plan.order!r}, but finals leave when their key ends, which is not the order "
            "of their ts; leave order out, or finals"
        )
    for stream, single in zip(plan.streams, plan.singles, strict=True):
        if single and plan.between is None and _unbounded(stream):
            raise WindrowError(
                f"order={plan.order!r} with how={plan.how!r}: it may take any time until it is "
                f"known whether a row of stream {stream.name!r} stays alone, because the stream "
                f"has {'a count window' if stream.window is not None else 'no window'}, and all "
                "later rows would wait for it; give it a time window, or leave order out"
            )
    if any(plan.singles) and plan.invalidation not in ("time-list", "all"):
        raise WindrowError(
            f"order={plan.order!r} with how={plan.how!r} and invalidation={plan.invalidation!r}: "
            "tuples that expire unnoticed would leave out of order; use 'time-list' or 'all'"
        )


def _unbounded(stream: Stream) -> bool:
    return stream.window is None or isinstance(stream.window, CountWindow)
