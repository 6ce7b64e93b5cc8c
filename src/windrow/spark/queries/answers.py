"""A query's answers, read from what its join or its aggregates have written.

Nothing is kept for a single query: its rows are those with its id, and its own columns are made of
them as they are read, so a plain select costs the writer no more than its filter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions, types
from pyspark.sql.pandas.types import from_arrow_type

from windrow import expressions
from windrow.cql import CompiledQuery
from windrow.model import Stream
from windrow.spark.log import blobs
from windrow.spark.queries.results import QUERIES
from windrow.spark.worker import begin_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: What the aggregates write: each row has some answers of one query.
ANSWERS = types.StructType(
    [
        types.StructField("query", types.IntegerType()),
        types.StructField("answers", types.BinaryType()),
    ]
)


def plain(
    results: DataFrame, query: CompiledQuery, id: int, streams: Sequence[Stream]
) -> DataFrame:
    """The answers of a plain select among the results of its join."""
    names = [streams[position].name for position in query.streams]
    mine = results.where(functions.array_contains(QUERIES, id)).select(*names, "ts")
    # Columns called by their number: `mapInArrow` takes a dot in a name for a field of a struct.
    numbered = mine.toDF(*(f"c_{number}" for number in range(len(names) + 1)))
    return numbered.mapInArrow(Project(query, tuple(streams)), spark_schema(query.schema))


def aggregated(answers: DataFrame, query: CompiledQuery, id: int) -> DataFrame:
    """The answers of an aggregate."""
    mine = answers.where(functions.col("query") == id).select("answers")
    return mine.mapInArrow(Decode(), spark_schema(query.schema))


def spark_schema(schema: pa.Schema) -> types.StructType:
    """The columns of a query in Spark's types."""
    return types.StructType(
        [
            types.StructField(f.name, from_arrow_type(f.type, prefer_timestamp_ntz=True))
            for f in schema
        ]
    )


@dataclass(frozen=True)
class Project:
    """Makes a query's columns of results; what `mapInArrow` calls in a worker."""

    query: CompiledQuery
    streams: tuple[Stream, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begin_task()
        for batch in batches:
            *structs, ts = batch.columns
            found = Structs(dict(zip(self.query.streams, structs, strict=True)), self.streams)
            yield self.query.project(found.column, batch.num_rows, ts)


class Structs:
    """The columns of results whose rows are at hand as structs, by their streams' positions."""

    def __init__(self, structs: dict[int, pa.StructArray], streams: Sequence[Stream]) -> None:
        self._rows = {
            stream: unwrapped(struct, streams[stream].schema) for stream, struct in structs.items()
        }

    def column(self, stream: int, path: str) -> pa.Array:
        """A possibly dotted column of a stream."""
        return expressions.extract(self._rows[stream], path)


def unwrapped(structs: pa.StructArray, schema: pa.Schema) -> pa.RecordBatch:
    """Structs as rows with the types that are planned with, whatever the session's zone."""
    arrays = [
        column.cast(field.type) for column, field in zip(structs.flatten(), schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class Decode:
    """Blobs of answers to rows."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begin_task()
        for batch in batches:
            for blob in batch.column(0):
                yield blobs.decode(blob.as_buffer())
