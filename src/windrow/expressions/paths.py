"""Column names: `geo.lat` is field `lat` of struct `geo`, or a column of that very name.

Users write names by the rule of their engine (`find`). Inside, a column has one spelling
(`spelled`): its dotted name, with backticks around the parts where that name alone would mean
another column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.dialect import TABLES, Dialect
from windrow.model import WindrowError

_PART = re.compile(r"`(?:[^`]|``)+`|[^`.]+")
_PATH = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")


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
    """The fields from the top to `path`; `fold` lets a name match in any case.

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
    parts = split(path) if "`" in path else None
    return None if parts is None else _down(fields, parts, _exactly)


def match(names: Sequence[str], wanted: str, fold: bool = True) -> str | None:
    """The one name spelled exactly so, else (with `fold`) the only one that differs in case."""
    found = [name for name in names if name == wanted]
    if not found and fold:
        found = [name for name in names if name.casefold() == wanted.casefold()]
    return found[0] if len(found) == 1 else None


# -- names as users write them -----------------------------------------------------------------


def named(schema: pa.Schema, path: str, dialect: Dialect = TABLES) -> str | None:
    """The spelling of the column that a name means by the rule of an engine; None: there is none.

    >>> from windrow.dialect import SparkDialect
    >>> schema = pa.schema({"Id": pa.int64(), "a.b": pa.int64()})
    >>> named(schema, "ID"), named(schema, "ID", SparkDialect()), named(schema, "`a.b`")
    (None, 'Id', 'a.b')
    """
    if dialect.by_parts:
        parts = split(path)
        quoted = "`" in path
        fields = find(schema, parts, dialect, quoted) if parts else trail(schema, path)
    else:
        fields = trail(schema, path)
    return spelled(schema, fields) if fields else None


def find(
    schema: pa.Schema, parts: Sequence[str], dialect: Dialect = TABLES, quoted: bool = False
) -> list[pa.Field] | None:
    """The fields from the top to a column of SQL text, whose name has these parts.

    `quoted`: backticks say where its parts begin and end. Without, a table's column with dots in
    its name comes before a field of a struct; on Spark after it.
    """
    if dialect.by_parts or quoted:
        choose = _exactly if not dialect.folds else _as_spark if dialect.by_parts else match
        found = _down(list(schema), parts, choose)
        if found or quoted:
            return found
    path = ".".join(parts)
    return trail(schema, path) or (trail(schema, path, fold=True) if dialect.folds else None)


def spelled(schema: pa.Schema, fields: Sequence[pa.Field]) -> str:
    """The spelling of a column by which all else finds it."""
    names = [field.name for field in fields]
    plain = ".".join(names)
    found = trail(schema, plain)
    if found and [field.name for field in found] == names:
        return plain
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


def split(path: str) -> list[str] | None:
    """The parts of a dotted name, without their backticks; None: they do not pair.

    >>> split("a.`b.c`.`d``e`"), split("`a")
    (['a', 'b.c', 'd`e'], None)
    """
    if not _PATH.fullmatch(path):
        return None
    parts = [part.group() for part in _PART.finditer(path)]
    return [p[1:-1].replace("``", "`") if p.startswith("`") else p for p in parts]


def _down(
    fields: Sequence[pa.Field],
    parts: Sequence[str],
    choose: Callable[[Sequence[str], str], str | None],
) -> list[pa.Field] | None:
    """One field for each part."""
    name = choose([field.name for field in fields], parts[0])
    if name is None:
        return None
    field = next(field for field in fields if field.name == name)
    if len(parts) == 1:
        return [field]
    rest = _down(list(field.type), parts[1:], choose) if pa.types.is_struct(field.type) else None
    return None if rest is None else [field, *rest]


def _exactly(names: Sequence[str], wanted: str) -> str | None:
    return match(names, wanted, fold=False)


def _as_spark(names: Sequence[str], wanted: str) -> str | None:
    """The name that is the same in lower case; Spark takes no two of them."""
    found = [name for name in names if name.lower() == wanted.lower()]
    if len(found) > 1:
        raise WindrowError(
            f"names {wanted!r}, which is both {' and '.join(found)} where case does not count; "
            "rename one of them, or set spark.sql.caseSensitive to true"
        )
    return found[0] if found else None
