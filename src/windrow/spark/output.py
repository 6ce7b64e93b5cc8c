"""Results on their way to the JVM: flat columns where every type is flat, else Arrow blobs.

Flat columns leave the stateful operator as they are and the JVM puts them into structs; a struct
column from Python would cost three times as much. Times and dates travel as numbers, because
pandas would convert them. Nested types, intervals and the like go as a blob, which a further
`mapInArrow` decodes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions, types
from pyspark.sql.pandas.types import from_arrow_type

from windrow import expressions
from windrow.model import JoinPlan
from windrow.operators.arrivals import Mixture, Piece, Result
from windrow.operators.pipeline import Pipeline
from windrow.operators.results.partials import final_schema, plain_key
from windrow.spark import metadata
from windrow.spark.log import blobs
from windrow.spark.worker import begin_task

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from windrow.spark.metrics.figures import Reporter

#: Where `ts` says in which order its rows leave, so that a join on it can be warned.
ORDER = "windrow.order"
BLOB = types.StructType([types.StructField("blob", types.BinaryType())])

#: Types that go as they are. Times and dates go as numbers: see `arrow_type`.
PLAIN = (
    types.BooleanType, types.ByteType, types.ShortType, types.IntegerType, types.LongType,
    types.FloatType, types.DoubleType, types.BinaryType, types.DecimalType,
)  # fmt: skip


def arrow_type(kind: types.DataType) -> pa.DataType | None:
    """As which Arrow type a column of that type travels; None if it is not flat."""
    if isinstance(kind, types.TimestampType):
        return pa.int64()
    if isinstance(kind, types.DateType):
        return pa.int32()
    return None


def is_flat(kind: types.DataType) -> bool:
    """Can a column of that type travel flat?"""
    if type(kind) is types.StringType:
        return bool(kind == types.StringType())
    return isinstance(kind, PLAIN) or arrow_type(kind) is not None


@dataclass(frozen=True)
class Output:
    """What the result of a plan looks like, on its way and at the end. Shipped to the workers.

    `schemas` are the Spark types of the shown streams' columns, `time` that of `ts`.
    """

    plan: JoinPlan
    schemas: tuple[types.StructType, ...]
    time: types.DataType

    @property
    def flat(self) -> bool:
        """Do results travel as flat columns?"""
        if self.plan.finals:
            return False
        kinds = [field.dataType for schema in self.schemas for field in schema]
        return all(is_flat(kind) for kind in [*kinds, self.time])

    @property
    def mark(self) -> dict[str, str]:
        """By which `ts` tells its order to a sink, or to a further join."""
        return {ORDER: self.plan.order}

    def nullable(self, at: int) -> bool:
        """Can the struct of the shown stream at that place be null?"""
        stream = self.plan.shown[at]
        others = [other for other in self.plan.shown if other != stream]
        return bool(others) and (
            self.plan.marked or any(self.plan.preserved[other] for other in others)
        )

    def _loose(self, at: int, field: types.StructField) -> bool:
        """Can a column of the shown stream at that place be null? An end has its key alone."""
        return field.nullable or self.nullable(at) or self.plan.punctuate

    # -- the type on the way ---------------------------------------------------------------

    def travelling(self) -> types.StructType:
        """The processor's output type."""
        if not self.flat:
            return BLOB
        fields = []
        for at, schema in enumerate(self.schemas):
            if self.nullable(at):
                fields.append(types.StructField(f"there_{at}", types.BooleanType(), False))
            for number, field in enumerate(schema):
                loose = self._loose(at, field)
                fields.append(
                    types.StructField(f"c_{at}_{number}", _travels_as(field.dataType), loose)
                )
        fields.append(types.StructField("ts", _travels_as(self.time), self.plan.bad == "keep"))
        if self.plan.marked:
            fields.append(types.StructField("kind", types.StringType(), False))
        return types.StructType(fields)

    def final(self) -> types.StructType:
        """The type of the join: one struct per shown stream, `ts`, maybe `kind`; or finals."""
        if self.plan.finals:
            return self._finals()
        fields = [
            types.StructField(self.plan.streams[stream].name, self._struct(at))
            for at, stream in enumerate(self.plan.shown)
        ]
        fields.append(types.StructField("ts", self.time, metadata=self.mark))
        if self.plan.marked:
            fields.append(types.StructField("kind", types.StringType()))
        return types.StructType(fields)

    def _struct(self, at: int) -> types.StructType:
        return types.StructType(
            [
                types.StructField(f.name, f.dataType, self._loose(at, f), f.metadata)
                for f in self.schemas[at]
            ]
        )

    def _finals(self) -> types.StructType:
        """Key columns in the wider of the streams' types, aggregates as Arrow makes them, `ts`."""
        schema, first = final_schema(self.plan), self.plan.streams[0]
        fields = [
            types.StructField(field.name, from_arrow_type(field.type, prefer_timestamp_ntz=True))
            for field in list(schema)[:-1]
        ]
        for number, path in enumerate(first.key or ()):
            trail = expressions.trail(first.schema, path) or []
            if len(trail) == 1 and plain_key(trail[0].type) == schema.field(number).type:
                kind = self.schemas[0][trail[0].name].dataType
                fields[number] = types.StructField(fields[number].name, kind)
        fields.append(types.StructField("ts", self.time, metadata=self.mark))
        return types.StructType(fields)

    # -- in a worker -----------------------------------------------------------------------

    def frame(self, pipeline: Pipeline, piece: Result | pa.RecordBatch) -> pd.DataFrame:
        """A piece of results as the processor hands it over."""
        if isinstance(piece, pa.RecordBatch):
            return pd.DataFrame({"blob": [blobs.encode(piece).to_pybytes()]})
        if not self.flat:
            blob = blobs.encode(pipeline.record_batch(piece)).to_pybytes()
            return pd.DataFrame({"blob": [blob]})
        if isinstance(piece, Mixture):
            parts = zip(*(self.arrays(pipeline, part) for part in piece.pieces), strict=True)
            places = pa.array(piece.places)
            arrays = [pa.concat_arrays(column).take(places) for column in parts]
        else:
            arrays = self.arrays(pipeline, piece)
        return self.framed(arrays)

    def framed(self, arrays: Sequence[pa.Array]) -> pd.DataFrame:
        """Flat columns as pandas has them, without a copy."""
        columns_by_name = {
            name: pd.arrays.ArrowExtensionArray(array)
            for name, array in zip(self.travelling().names, arrays, strict=True)
        }
        return pd.DataFrame(columns_by_name, copy=False)

    def arrays(self, pipeline: Pipeline, piece: Piece) -> list[pa.Array]:
        """The flat columns of a piece, in the order of `travelling`."""
        length = len(piece.ts)
        arrays: list[pa.Array] = []
        for at, stream in enumerate(self.plan.shown):
            rows = piece.rows[stream]
            if self.nullable(at):
                arrays.append(pa.repeat(rows is not None or piece.kind == "end", length))
            payload: Any = pipeline.payloads[stream]
            if piece.kind == "end":
                kind = pipeline.schema.field(at).type
                columns = pipeline.ended(stream, piece, kind).flatten()
            elif rows is None:
                kinds = [field.type for field in self.plan.streams[stream].schema]
                columns = [pa.nulls(length, kind) for kind in kinds]
            else:
                columns = payload.columns(rows)
            for column, field in zip(columns, self.schemas[at], strict=True):
                number = arrow_type(field.dataType)
                arrays.append(column if number is None else column.view(number))
        arrays.append(piece.times())
        if self.plan.marked:
            arrays.append(pa.repeat(piece.kind, length))
        return arrays

    # -- at the end ------------------------------------------------------------------------

    def shape(self, joined: DataFrame, reporter: Reporter) -> DataFrame:
        """The processor's output in its final shape."""
        if not self.flat:
            return joined.mapInArrow(Unpack(reporter), self.final())
        return joined.select(*self.columns())

    def columns(self) -> list[Column]:
        """The final columns, of flat ones."""
        columns = []
        for at, (stream, schema) in enumerate(zip(self.plan.shown, self.schemas, strict=True)):
            fields = [
                _comes_back(self._column(at, number), field.dataType).alias(
                    field.name, metadata=field.metadata
                )
                for number, field in enumerate(schema)
            ]
            whole = functions.struct(*fields)
            if self.nullable(at):
                whole = functions.when(functions.col(f"there_{at}"), whole)
            columns.append(whole.alias(self.plan.streams[stream].name))
        ts = _comes_back(functions.col("ts"), self.time)
        columns.append(ts.alias("ts", metadata=self.mark))
        if self.plan.marked:
            columns.append(functions.col("kind"))
        return columns

    def _column(self, at: int, number: int) -> Column:
        """A travelling column. What comes from Python may be null to Spark, even if it never is."""
        column = functions.col(f"c_{at}_{number}")
        field = self.schemas[at][number]
        if self._loose(at, field):
            return column
        kind = _travels_as(field.dataType)
        never: Any = b"" if isinstance(kind, types.BinaryType) else "0"
        return functions.coalesce(column, functions.lit(never).cast(kind))


def is_unordered(frame: DataFrame, names: Sequence[str]) -> bool:
    """Is the column with these names, from the top down, the `ts` of a join without an order?"""
    return metadata.of(frame, names).get(ORDER) == "none"


class Unpack:
    """Blobs of results to rows; what `mapInArrow` calls in a worker."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begin_task()
        for batch in batches:
            for blob in batch.column("blob"):
                begun = time.perf_counter()
                decoded = blobs.decode(blob.as_buffer())
                self.reporter.unpacked(time.perf_counter() - begun)
                yield decoded


def _travels_as(kind: types.DataType) -> types.DataType:
    if isinstance(kind, types.TimestampType):
        return types.LongType()
    return types.IntegerType() if isinstance(kind, types.DateType) else kind


def _comes_back(column: Column, kind: types.DataType) -> Column:
    if isinstance(kind, types.TimestampType):
        return functions.timestamp_micros(column)
    return functions.date_from_unix_date(column) if isinstance(kind, types.DateType) else column
