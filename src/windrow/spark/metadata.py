"""What the metadata of a DataFrame's columns says, above all of how late its rows may come.

Spark writes a watermark's delay into the metadata of its column, where an alias and a select keep
it and an expression loses it. What is lost is still in the analysed plan, which Spark Connect does
not show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The delay of a column's watermark, in milliseconds.
DELAY = "spark.watermarkDelayMs"


def of(frame: DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """The metadata of the column with these names, from the top down."""
    kind: types.DataType = frame.schema
    found: types.StructField | None = None
    for name in names:
        if not isinstance(kind, types.StructType) or name not in kind.names:
            return {}
        found = kind[name]
        kind = found.dataType
    return {} if found is None else dict(found.metadata or {})


def delay(frame: DataFrame, names: Sequence[str]) -> int | None:
    """The delay, in µs, of the watermark of the column with these names."""
    millis = of(frame, names).get(DELAY)
    return None if millis is None else int(millis) * 1000


def watermarked(frame: DataFrame) -> list[str]:
    """The names of the columns that have a watermark, also of those that are gone."""
    shown = [name for name, field in _fields(frame.schema) if DELAY in (field.metadata or {})]
    return list(dict.fromkeys([*shown, *_of_plan(frame)]))


def _fields(kind: types.StructType, prefix: str = "") -> Iterator[tuple[str, types.StructField]]:
    for field in kind:
        yield prefix + field.name, field
        if isinstance(field.dataType, types.StructType):
            yield from _fields(field.dataType, f"{prefix}{field.name}.")


def _of_plan(frame: Any) -> list[str]:
    try:
        plan = frame._jdf.queryExecution().analyzed()
    except AttributeError:
        return []
    return list(_marked(plan))


def _marked(plan: Any) -> Iterator[str]:
    """The columns with a watermark in a plan, down to where a stateful operator made new rows."""
    name = plan.getClass().getSimpleName()
    if name.startswith("TransformWithState"):
        return
    if name == "EventTimeWatermark":
        yield plan.eventTime().name()
    children = plan.children()
    for at in range(children.length()):
        yield from _marked(children.apply(at))


def without_watermarks(schema: types.StructType) -> types.StructType:
    """The schema without watermarks.

    A join's rows are older than its input's watermark by up to a window, so Spark's own operators
    would drop them as late.
    """
    fields = []
    for field in schema:
        kind = field.dataType
        kind = without_watermarks(kind) if isinstance(kind, types.StructType) else kind
        left = {key: value for key, value in (field.metadata or {}).items() if key != DELAY}
        fields.append(types.StructField(field.name, kind, field.nullable, left))
    return types.StructType(fields)
