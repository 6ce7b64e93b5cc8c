"""Punctuations about lists and ranges of keys, as one row for each key, by Spark itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions, types

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def one_key_a_row(
    frame: DataFrame, name: str, key: str, ends: str, ends_to: str | None
) -> DataFrame:
    """The DataFrame with a scalar key in place of arrays and ranges."""
    # The predicate may call columns by the stream's name.
    frame = frame.alias(name)
    column = functions.col(f"`{key}`")
    said = functions.coalesce(functions.expr(ends), functions.lit(False))
    if isinstance(frame.schema[key].dataType, types.ArrayType):
        text = f"stream {name!r}: a tuple has several keys in {key!r}; only punctuations may"
        wrong = functions.raise_error(functions.lit(text)).cast(frame.schema[key].dataType)
        keys = functions.when(said | (functions.size(column) <= 1), column).otherwise(wrong)
    else:
        until = functions.col(f"`{ends_to}`")
        ranged = said & column.isNotNull() & until.isNotNull()
        one = functions.array(column)
        # A range with nothing in it ends no key, but its row still tells the time.
        nothing = functions.array(functions.lit(None).cast(frame.schema[key].dataType))
        keys = (
            functions.when(~ranged, one)
            .when(until <= column, nothing)
            .otherwise(functions.sequence(column, before(until, frame.schema[key].dataType)))
        )
    others = [
        functions.explode_outer(keys).alias(key) if each == key else functions.col(f"`{each}`")
        for each in frame.columns
    ]
    return frame.select(*others)


def before(column: Column, kind: types.DataType) -> Column:
    """The last value of a half-open range."""
    if isinstance(kind, types.DateType):
        return functions.date_sub(column, 1)
    return (column - functions.lit(1)).cast(kind)
