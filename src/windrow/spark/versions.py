"""What differs between the versions of Spark that the join runs on, from 4.1 on."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

try:
    from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
except ModuleNotFoundError:  # Spark 4.1: a source in Python is asked for all that there is

    class ReadLimit:  # type: ignore[no-redef]
        """How much a micro-batch may read."""

    class ReadMaxRows(ReadLimit):  # type: ignore[no-redef]
        """So many rows at most."""

        def __init__(self, max_rows: int) -> None:
            self.max_rows = max_rows

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """A stream that can say where it ends now."""


if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ReadLimit", "ReadMaxRows", "SupportsTriggerAvailableNow", "arrow_schema", "coordinate"]

#: Spark 4.1 writes times in UTC unless it is told otherwise; 4.2 and later ask for the zone.
_IN_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
)


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow types in which Spark hands these columns to Python; instants are in UTC."""
    return to_arrow_schema(schema, error_on_duplicated_field_names_in_struct=True, **_IN_UTC)


def coordinate(session: SparkSession) -> None:
    """Have the driver know where state is, before a query without a stream reads or writes any.

    Spark makes its coordinator of state stores together with the manager of streaming queries. In
    4.1 a store cannot be opened without it.
    """
    _ = session.streams
