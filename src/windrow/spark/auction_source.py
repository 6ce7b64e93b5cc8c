"""Auctions and bids as a Spark data source, `windrow-auctions`: a stream that ends, or a batch.

>>> from windrow.spark import auction_source
>>> auction_source.register(spark)                                  # doctest: +SKIP
>>> bids = (
...     spark.readStream.format(auction_source.NAME)
...     .options(table="bids", auctions=20_000, seed=7, rows_per_batch=5_000)
...     .load()
... )                                                               # doctest: +SKIP

The rows are those of `windrow.workload.auctions(auctions, seed)`, or with `closing=true` those of
`closing_auctions`, in that order; an offset is a row number. Each process draws the tables for
itself and keeps the last ones, so they should fit into memory several times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema

from windrow import workload
from windrow.model import WindrowError
from windrow.spark.versions import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from windrow.spark.worker import begin_task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "windrow-auctions"
TABLES = ("auctions", "bids")
Offset = dict[str, int]


def register(session: SparkSession) -> None:
    """Make the format known to a session."""
    session.dataSource.register(AuctionsSource)


@dataclass(frozen=True)
class Range(InputPartition):
    """Rows [start, stop) of a table."""

    start: int
    stop: int


@dataclass(frozen=True)
class Rows:
    """One of the generator's tables, by the source's options."""

    table: str
    auctions: int
    seed: int
    rows_per_batch: int
    closing: bool = False

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Rows:
        """Check the options; they come as text."""
        table = options.get("table")
        if table not in TABLES:
            raise WindrowError(
                f"{NAME}: option table is {table!r}; expected one of {', '.join(TABLES)}"
            )
        return cls(
            table,
            _number(options, "auctions", 10_000, least=1),
            _number(options, "seed", 0, least=0),
            _number(options, "rows_per_batch", 10_000, least=1),
            options.get("closing", "false").lower() == "true",
        )

    def all(self) -> pa.Table:
        """The whole table."""
        return _drawn(self.auctions, self.seed, self.closing)[TABLES.index(self.table)]

    def ranges(self, start: int, stop: int) -> list[Range]:
        """These rows in tasks of at most a batch."""
        step = self.rows_per_batch
        return [Range(at, min(at + step, stop)) for at in range(start, stop, step)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        assert isinstance(partition, Range)
        begin_task()
        rows = self.all().slice(partition.start, partition.stop - partition.start)
        yield from rows.combine_chunks().to_batches()


def _number(options: Mapping[str, str], name: str, default: int, least: int) -> int:
    given = options.get(name, str(default))
    try:
        number = int(given)
    except ValueError:
        number = least - 1
    if number < least:
        raise WindrowError(f"{NAME}: option {name} is {given!r}; give a number, {least} or more")
    return number


@lru_cache(maxsize=2)
def _drawn(auctions: int, seed: int, closing: bool) -> tuple[pa.Table, pa.Table]:
    if closing:
        return workload.closing_auctions(auctions, seed)
    return workload.auctions(auctions, seed)


class AuctionsSource(DataSource):
    """Options: table (auctions or bids), auctions (how many), seed, rows_per_batch, closing."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> types.StructType:
        rows = Rows.of(self.options)
        few = _drawn(1, 0, rows.closing)[TABLES.index(rows.table)]
        schema: types.StructType = from_arrow_schema(few.schema)
        return schema

    def reader(self, schema: types.StructType) -> DataSourceReader:
        return BatchReader(Rows.of(self.options))

    def streamReader(self, schema: types.StructType) -> DataSourceStreamReader:  # noqa: N802
        return StreamReader(Rows.of(self.options))


class BatchReader(DataSourceReader):
    """All rows at once."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def partitions(self) -> list[InputPartition]:
        return [*self.rows.ranges(0, self.rows.all().num_rows)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.rows.read(partition)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`rows_per_batch` rows a micro-batch, until there are no more.

    Spark 4.1 names no start and no limit, and has all rows in one micro-batch.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def initialOffset(self) -> Offset:  # noqa: N802
        return {"row": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self.rows.rows_per_batch)

    def latestOffset(  # noqa: N802
        self, start: Offset | None = None, limit: ReadLimit | None = None
    ) -> Offset:
        last = self.rows.all().num_rows
        if start is not None and isinstance(limit, ReadMaxRows):
            last = min(last, start["row"] + limit.max_rows)
        return {"row": last}

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        return {"row": self.rows.all().num_rows}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """All rows are there from the beginning, so there is no end to be fixed."""

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [*self.rows.ranges(start["row"], end["row"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.rows.read(partition)
