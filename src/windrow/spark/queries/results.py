"""What a shared join writes: each result once, with the queries that it is released to.

The columns are the streams' structs, `ts`, and beside them

    age         largest minus smallest time of the row's tuples, in µs
    queries     ids of the plain selects that get the row in this micro-batch
    aggregates  ids of the aggregates that do
    note        what a bucket says to the aggregates: a row of its own, without structs (notes.py)

A result whose release to larger windows is put off comes again, with the further ids only. So a
query's answers are the rows with its id, each once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import functions, types

from windrow.model import Stream, WindrowError
from windrow.operators.arrivals import Piece
from windrow.operators.pipeline import Pipeline
from windrow.spark.log import blobs
from windrow.spark.output import Output

if TYPE_CHECKING:
    from pyspark.sql import Column

AGE, QUERIES, AGGREGATES, NOTE = "age", "queries", "aggregates", "note"
IDS = types.ArrayType(types.IntegerType(), containsNull=False)
#: What comes after the columns of a join, as it arrives.
BESIDE = (
    types.StructField(AGE, types.LongType()),
    types.StructField(QUERIES, IDS),
    types.StructField(AGGREGATES, IDS),
    types.StructField(NOTE, types.StringType()),
)


def refuse_names(streams: Sequence[Stream]) -> None:
    """No stream can be called as a column beside the streams' is; Spark does not tell case apart.

    Each stream is a column of what a join writes, under its own name.
    """
    taken = [field.name for field in BESIDE]
    for stream in streams:
        if stream.name.lower() in taken:
            raise WindrowError(
                f"stream name {stream.name!r} is reserved for a column of what continuous queries "
                f"write on Spark ({', '.join(taken)}); choose another name"
            )


@dataclass(frozen=True)
class Routed:
    """Results, and by row the ids of the plain selects and of the aggregates that get it."""

    piece: Piece
    age: NDArray[np.int64]
    queries: pa.ListArray
    aggregates: pa.ListArray

    def __len__(self) -> int:
        return len(self.piece)

    def part(self, start: int, stop: int) -> Routed:
        """A stretch of them."""
        mine = slice(start, stop)
        return Routed(
            self.piece.part(start, stop),
            self.age[mine],
            self.queries.slice(start, stop - start),
            self.aggregates.slice(start, stop - start),
        )


@dataclass(frozen=True)
class Results(Output):
    """What the results of a shared join look like, on their way and at the end."""

    def nullable(self, at: int) -> bool:
        """A note has no structs."""
        return True

    def travelling(self) -> types.StructType:
        """The processor's output type. Ids go as text: Python's lists would cost more."""
        if not self.flat:
            return super().travelling()
        text = {QUERIES: types.StringType(), AGGREGATES: types.StringType()}
        beside = [types.StructField(f.name, text.get(f.name, f.dataType)) for f in BESIDE]
        return types.StructType([*super().travelling(), *beside])

    def final(self) -> types.StructType:
        """The type of what is written."""
        return types.StructType([*super().final(), *BESIDE])

    # -- in a worker -----------------------------------------------------------------------

    def routed(self, pipeline: Pipeline, found: Routed) -> pd.DataFrame:
        """Results as the processor hands them over."""
        beside = [pa.array(found.age), found.queries, found.aggregates]
        return self._with(pipeline, found.piece, [*beside, pa.nulls(len(found), pa.string())])

    def noted(self, pipeline: Pipeline, note: str) -> pd.DataFrame:
        """A note, in a row of its own, whose time says nothing."""
        nothing = Piece("match", (None,) * len(self.plan.streams), np.zeros(1, np.int64))
        beside = [pa.nulls(1, pa.int64()), _no_ids(1), _no_ids(1), pa.array([note])]
        return self._with(pipeline, nothing, beside)

    def _with(self, pipeline: Pipeline, piece: Piece, beside: Sequence[pa.Array]) -> pd.DataFrame:
        if self.flat:
            texts = [
                as_text(column) if pa.types.is_list(column.type) else column for column in beside
            ]
            return self.framed([*self.arrays(pipeline, piece), *texts])
        batch = pipeline.record_batch(piece)
        for field, column in zip(BESIDE, beside, strict=True):
            batch = batch.append_column(field.name, column)
        return pd.DataFrame({"blob": [blobs.encode(batch).to_pybytes()]})

    # -- at the end ------------------------------------------------------------------------

    def columns(self) -> list[Column]:
        """The final columns, of flat ones."""
        beside = [
            functions.split(field.name, " ").cast(IDS) if field.dataType == IDS else field.name
            for field in BESIDE
        ]
        named = [
            (functions.col(each) if isinstance(each, str) else each).alias(field.name)
            for each, field in zip(beside, BESIDE, strict=True)
        ]
        return [*super().columns(), *named]


def ids_by_row(rows: NDArray[np.int64], ids: NDArray[np.int64], length: int) -> pa.ListArray:
    """Lists of ids, one for each of so many rows; null where a row has none.

    >>> ids_by_row(np.array([2, 0, 2]), np.array([7, 8, 9]), 4).to_pylist()
    [[8], None, [7, 9], None]
    """
    order = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=length)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    values = pa.array(ids[order].astype(np.int32))
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(counts == 0))


def as_text(lists: pa.ListArray) -> pa.Array:
    """Ids with a blank between, as Spark splits them again.

    >>> as_text(pa.array([[8], None, [7, 9]], pa.list_(pa.int32()))).to_pylist()
    ['8', None, '7 9']
    """
    return pc.binary_join(lists.cast(pa.list_(pa.string())), " ")


def _no_ids(length: int) -> pa.ListArray:
    return pa.nulls(length, pa.list_(pa.int32()))
