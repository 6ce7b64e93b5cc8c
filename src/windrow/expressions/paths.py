"""Dotted column names: `geo.lat` is field `lat` of struct `geo`, or a column of that very name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.model import WindrowError


def resolve(schema: pa.Schema, path: str) -> pa.DataType | None:
    """The type of a dotted path, or None when the schema has no such column.

    >>> schema = pa.schema({"id": pa.int64(), "geo": pa.struct({"lat": pa.float64()})})
    >>> resolve(schema, "geo.lat")
    DataType(double)
    """
    fields = trail(schema, path)
    return fields[-1].type if fields else None


def extract(table: pa.Table | pa.RecordBatch, path: str) -> Any:
    """A possibly dotted column: a ChunkedArray of a Table, an Array of a RecordBatch.

    A value is null wherever one of the structs around it is.
    """
    fields = trail(table.schema, path)
    if fields is None:
        raise WindrowError(f"no column {path!r}; the columns are {', '.join(table.schema.names)}")
    column = table.column(table.schema.get_field_index(fields[0].name))
    # struct_field, unlike StructArray.field, carries the parents' nulls into the child.
    inner = [parent.type.get_field_index(child.name) for parent, child in pairwise(fields)]
    return pc.struct_field(column, inner) if inner else column


def trail(fields: Iterable[pa.Field], path: str, fold: bool = False) -> list[pa.Field] | None:
    """The fields from the top to `path`; `fold` lets a name match in any case, as in Spark.

    The longest name is tried first: a column called `geo.lat` wins over a struct `geo`.
    """
    fields = list(fields)
    dots = [i for i, char in enumerate(path) if char == "."]
    for end in [len(path), *reversed(dots)]:
        name = match([field.name for field in fields], path[:end], fold)
        if name is None:
            continue
        field = next(field for field in fields if field.name == name)
        if end == len(path):
            return [field]
        if pa.types.is_struct(field.type) and (rest := trail(field.type, path[end + 1 :], fold)):
            return [field, *rest]
    return None


def match(names: Sequence[str], wanted: str, fold: bool = True) -> str | None:
    """The one name spelled exactly so, else (with `fold`) the only one that differs in case."""
    found = [name for name in names if name == wanted]
    if not found and fold:
        found = [name for name in names if name.casefold() == wanted.casefold()]
    return found[0] if len(found) == 1 else None
