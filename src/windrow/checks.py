"""What is refused of one stream and of the options. Every message names what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, TypeVar, cast, get_args

import pyarrow as pa

from windrow import expressions
from windrow.dialect import Dialect
from windrow.expressions import paths
from windrow.model import RESERVED_NAMES, How, WindrowError

#: PySpark's spellings of the join kinds.
HOWS: dict[str, How] = {
    "inner": "inner",
    "left": "left", "leftouter": "left",
    "right": "right", "rightouter": "right",
    "full": "full", "outer": "full", "fullouter": "full",
    "semi": "semi", "leftsemi": "semi",
    "anti": "anti", "leftanti": "anti",
}  # fmt: skip

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


# -- options ---------------------------------------------------------------------------------


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
