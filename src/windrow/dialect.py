"""How the users of an engine call things: types, casts, column names, times without a zone.

Messages about tables speak of Arrow's types, messages about Spark DataFrames of Spark's, and what
they tell the user to write is code of that library. A stream knows its dialect; whatever checks,
refuses or evaluates something for it asks there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import types


@dataclass(frozen=True)
class Dialect:
    """Arrow's words. Names are exact, and a time that names no zone is in UTC.

    >>> Dialect().type_name(pa.int64()), SparkDialect().type_name(pa.int64())
    ('int64', 'bigint')
    """

    #: The zone of times in SQL text that name none.
    zone: str = "UTC"

    @property
    def by_parts(self) -> bool:
        """Does a dot in a name always reach into a struct, and are there backticks?"""
        return False

    @property
    def folds(self) -> bool:
        """Do names in SQL text match in any case?"""
        return True

    @property
    def naive(self) -> bool:
        """Is SQL's TIMESTAMP a wall-clock time? Otherwise it is an instant."""
        return False

    def type_name(self, kind: pa.DataType) -> str:
        """What users call a type."""
        return str(kind)

    def as_time(self, path: str, kind: pa.DataType) -> str:
        """How to make a timestamp of a column."""
        return "cast it, for example with pyarrow.compute.cast(column, pa.timestamp('us'))"

    def as_type(self, path: str, to: pa.DataType) -> str:
        """How to cast a column."""
        return f"pyarrow.compute.cast(column, {_ARROW_CODE.get(to, f'pa.{to}')})"

    def with_zone(self, zoned: bool) -> str:
        """What a time column has, or has not, that tells instants from wall-clock times."""
        return "has a time zone" if zoned else "has none"


@dataclass(frozen=True)
class SparkDialect(Dialect):
    """Spark's words.

    `fold`: a name matches in any case (spark.sql.caseSensitive is false). `ntz`: TIMESTAMP is
    TIMESTAMP_NTZ (spark.sql.timestampType).
    """

    fold: bool = True
    ntz: bool = False

    @property
    def by_parts(self) -> bool:
        return True

    @property
    def folds(self) -> bool:
        return self.fold

    @property
    def naive(self) -> bool:
        return self.ntz

    def type_name(self, kind: pa.DataType) -> str:
        return spark_name(kind)

    def as_time(self, path: str, kind: pa.DataType) -> str:
        made = f"F.to_timestamp({json.dumps(path)})"
        if types.is_integer(kind):
            made = f"F.timestamp_millis({json.dumps(path)})"
        made = f"convert it, for example with df.withColumn({_last(path)}, {made})"
        seconds = " (F.timestamp_seconds if it counts seconds)" if types.is_integer(kind) else ""
        return made + seconds

    def as_type(self, path: str, to: pa.DataType) -> str:
        cast = f"F.col({json.dumps(path)}).cast({json.dumps(spark_name(to))})"
        return f"df.withColumn({_last(path)}, {cast})"

    def with_zone(self, zoned: bool) -> str:
        return "is timestamp" if zoned else "is timestamp_ntz"


TABLES = Dialect()

_ARROW_CODE = {
    pa.string(): "pa.string()",
    pa.float64(): "pa.float64()",
    pa.int32(): "pa.int32()",
    pa.int64(): "pa.int64()",
    pa.timestamp("us", "UTC"): "pa.timestamp('us', 'UTC')",
}

_SPARK = {
    pa.null(): "void",
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
}


def spark_name(kind: pa.DataType) -> str:
    """A type as Spark's `simpleString` writes it.

    >>> spark_name(pa.struct({"at": pa.timestamp("us", "UTC"), "tags": pa.list_(pa.string())}))
    'struct<at:timestamp,tags:array<string>>'
    """
    if types.is_struct(kind):
        return f"struct<{','.join(f'{f.name}:{spark_name(f.type)}' for f in kind)}>"
    if types.is_map(kind):
        return f"map<{spark_name(kind.key_type)},{spark_name(kind.item_type)}>"
    if types.is_list(kind) or types.is_large_list(kind):
        return f"array<{spark_name(kind.value_type)}>"
    if types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    for name, test in (
        ("string", (types.is_string, types.is_large_string, types.is_string_view)),
        ("binary", (types.is_binary, types.is_large_binary, types.is_binary_view)),
        ("interval day to second", (types.is_duration,)),
        ("time(6)", (types.is_time,)),
    ):
        if any(check(kind) for check in test):
            return name
    return _SPARK.get(kind, str(kind))


def _last(path: str) -> str:
    """The name of the new column, as code: a field of a struct becomes a column of its own."""
    if path.endswith("`"):
        return json.dumps(path[:-1].rpartition("`")[2])
    return json.dumps(path.rpartition(".")[2])
