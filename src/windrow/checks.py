"""What is refused when a plan is built. Every message names the stream, the column and the fix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from numbers import Integral, Real
from typing import Any, TypeVar, cast, get_args

import pyarrow as pa

from windrow import expressions
from windrow.dialect import Dialect
from windrow.expressions import paths
from windrow.model import (
    RESERVED_NAMES,
    CountWindow,
    How,
    JoinPlan,
    Stream,
    WindrowError,
)
from windrow.operators.keys import common_type, meeting_type, plain_type

#: PySpark's spellings of the join kinds.
HOWS: dict[str, How] = {
    "inner": "inner",
    "left": "left", "leftouter": "left",
    "right": "right", "rightouter": "right",
    "full": "full", "outer": "full", "fullouter": "full",
    "semi": "semi", "leftsemi": "semi",
    "anti": "anti", "leftanti": "anti",
}  # fmt: skip

#: Arguments that the signatures have, but that this version only takes at their defaults.
LATER = {"memory": "data-driven memory"}

#: Each tuple that arrives may probe all others, so the price of a tuple grows with their number and
#: that of the join with its square. Nothing but that price forbids more.
MOST_STREAMS = 8

#: Beyond these, a state would be all overhead, or a count would overflow.
MOST = {"buckets": 1_000_000, "batch_rows": 2**40, "n": 2**40, "budget": 2**60, "rows": 2**40}

T = TypeVar("T")


# -- one stream ------------------------------------------------------------------------------


def stream_name(name: object) -> str:
    """A name that works as a column and in SQL."""
    if not isinstance(name, str) or not name.isidentifier():
        raise WindrowError(
            f"stream name {name!r}: use letters, digits and underscores, not starting with a digit"
        )
    if name.lower() in RESERVED_NAMES:
        raise WindrowError(
            f"stream name {name!r} is reserved for a column of the result; choose another name"
        )
    return name


def is_spark(data: object) -> bool:
    """Is it a Spark DataFrame? Told by its type's home, so that pyspark need not be imported."""
    return any(kind.__module__.startswith("pyspark.sql") for kind in type(data).__mro__)


def table(data: object, name: str) -> pa.Table:
    """The kind of input that is joined in process."""
    if isinstance(data, pa.Table):
        return data
    hint = {
        "pandas": "pyarrow.Table.from_pandas(df)",
        "polars": "df.to_arrow()",
    }.get(type(data).__module__.split(".")[0], "pyarrow.table(...)")
    if isinstance(data, pa.RecordBatch):
        hint = "pyarrow.Table.from_batches([batch])"
    raise WindrowError(
        f"stream {name!r}: data is a {type(data).__module__}.{type(data).__qualname__}, expected a "
        f"Spark DataFrame or a pyarrow.Table; convert it with {hint}"
    )


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


def spelled(schema: pa.Schema, given: T, name: str, role: str, dialect: Dialect) -> T:
    """A name, or a list of them, as the schema spells it; what it does not have stays as it is."""
    if isinstance(given, list | tuple):
        each = [spelled(schema, path, name, role, dialect) for path in given]
        return cast(T, type(given)(each))
    if not isinstance(given, str):
        return given
    try:
        return cast(T, paths.named(schema, given, dialect) or given)
    except WindrowError as error:
        raise WindrowError(f"stream {name!r}: {role} {error}") from None


def column(schema: pa.Schema, path: object, name: str, role: str) -> pa.DataType:
    """The type of a column that must be there."""
    if isinstance(path, str) and schema.names.count(path) > 1:
        raise WindrowError(
            f"stream {name!r}: {role} column {path!r} occurs {schema.names.count(path)} times; "
            "rename all but one"
        )
    kind = expressions.resolve(schema, path) if isinstance(path, str) else None
    if kind is None:
        raise WindrowError(
            f"stream {name!r}: {role} column {path!r} does not exist; the columns are "
            f"{', '.join(schema.names) or '(none)'}"
        )
    return kind


def time_column(schema: pa.Schema, path: object, name: str, dialect: Dialect) -> str:
    """A timestamp."""
    kind = column(schema, path, name, "time")
    if not pa.types.is_timestamp(kind):
        raise WindrowError(
            f"stream {name!r}: time column {path!r} is {dialect.type_name(kind)}, expected a "
            f"timestamp; {dialect.as_time(str(path), kind)}"
        )
    return str(path)


def key_columns(
    schema: pa.Schema, key: object, name: str, dialect: Dialect
) -> tuple[str, ...] | None:
    """One or more columns of types that can be compared, or None."""
    if key is None:
        return None
    several = isinstance(key, Iterable) and not is_spark(key)
    paths = (key,) if isinstance(key, str) else tuple(cast(Iterable[Any], key)) if several else ()
    if not paths:
        raise WindrowError(
            f"stream {name!r}: key is {key!r}, expected a column name, a list of column names, or "
            "None for a join on its condition alone"
        )
    for path in paths:
        kind = column(schema, path, name, "key")
        if not can_be_key(kind):
            raise WindrowError(
                f"stream {name!r}: key column {path!r} is {dialect.type_name(kind)}, which cannot "
                "be a key; use its fields (dotted names work) or cast it"
            )
    return tuple(str(path) for path in paths)


def can_be_key(kind: pa.DataType) -> bool:
    """Has this type an equality that both engines share?"""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return not (
        isinstance(kind, pa.BaseExtensionType)
        or pa.types.is_nested(kind)
        or pa.types.is_null(kind)
        or pa.types.is_interval(kind)
    )


def sql(text: object, what: str, example: str = "\"kind = 'beat'\"") -> str | None:
    """SQL text, or nothing."""
    if text is not None and not isinstance(text, str):
        hint = " (a Column works with DataFrames only)" if is_spark(text) else ""
        raise WindrowError(f"{what} is {text!r}, expected SQL text such as {example}{hint}")
    return text


# -- a join ----------------------------------------------------------------------------------


@contextmanager
def said(by_column: bool) -> Iterator[None]:
    """Refusals of the SQL text that Spark made of a Column say so, and what to do instead."""
    try:
        yield
    except WindrowError as error:
        if not by_column:
            raise
        raise WindrowError(
            f"{error}, which is the SQL text of the Column; compute what is refused as a column of "
            "its own, with df.withColumn, before wr.stream"
        ) from error


def how(value: object) -> How:
    """One of the six kinds, in PySpark's spellings too."""
    kind = (
        HOWS.get(value.lower().replace("_", "").replace(" ", ""))
        if isinstance(value, str)
        else None
    )
    if kind is None:
        raise WindrowError(
            f"how is {value!r}, expected one of {', '.join(dict.fromkeys(HOWS.values()))}"
        )
    return kind


def choice(value: T, allowed: Sequence[T], what: str) -> T:
    """One of a few values."""
    if value not in allowed:
        raise WindrowError(f"{what} is {value!r}, expected one of {', '.join(map(repr, allowed))}")
    return value


def literal(kind: Any, value: object, what: str) -> Any:
    """One of the values of a `Literal`."""
    return choice(value, get_args(kind), what)


def share(value: object, what: str) -> float:
    """A number from 0 to below 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) < 1:
        raise WindrowError(f"{what} is {value!r}, expected a number from 0 to below 1")
    return float(value)


def count(value: object, what: str) -> int:
    """A whole number above zero."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise WindrowError(f"{what} is {value!r}, expected a whole number of at least 1")
    if int(value) > MOST[what]:
        raise WindrowError(f"{what} is {value!r}, but may be {MOST[what]:,} at most")
    return int(value)


def count_or_none(value: object, what: str) -> int | None:
    """A whole number above zero, or None to leave the choice."""
    return None if value is None else count(value, what)


def not_yet(arguments: dict[str, tuple[object, object]]) -> None:
    """Refuse what later versions will take: argument -> (given, default)."""
    for name, (given, default) in arguments.items():
        if given != default:
            raise WindrowError(
                f"{name}={given!r}: {LATER[name]}, not supported in this version; leave {name} at "
                f"{default!r}"
            )


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


def zone(stream: Stream) -> str | None:
    """The time zone of a stream's times."""
    kind = expressions.resolve(stream.schema, stream.time)
    name: str | None = kind.tz if kind is not None else None
    return name


def _same_clock(one: Stream, two: Stream) -> None:
    zones = [zone(s) for s in (one, two)]
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
