"""The join state in a checkpoint: what each bucket keeps of each stream, from its directory.

Only directories are decoded; the blobs, which may be large, are not. Reading takes no lock and
writes nothing, so the query may be running: what is shown is its last committed batch.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from windrow.model import BEGINNING, END, WindrowError
from windrow.spark import versions
from windrow.spark.log import latest, repair
from windrow.spark.log.directory import Directory, Entry
from windrow.spark.tools import quiet

#: Bytes of a row id in a delta.
ROW_ID = 8
#: And of what is another size.
ROW_BYTES = {latest.KIND: latest.SEEN_BYTES}


@dataclass(frozen=True)
class Stored:
    """A stream's rows in one bucket, or in all.

    `live` rows can still be joined; `rows` counts them and the expired ones that share a chunk with
    them. `oldest` and `newest` are the times in the chunks (µs since 1970), None without chunks.
    `bytes` are those of the log: chunks, and the ids of matched rows. `progress` is None before the
    stream's first row.
    """

    live: int
    rows: int
    chunks: int
    bytes: int
    oldest: int | None
    newest: int | None
    progress: int | None

    @classmethod
    def of(cls, directory: Directory, stream: int) -> Stored:
        """What a directory says of a stream."""
        chunks: list[Entry] = directory.of(stream)
        mine = [delta for delta in directory.deltas if delta.stream == stream]
        deltas = sum(delta.rows * ROW_BYTES.get(delta.kind, ROW_ID) for delta in mine)
        progress = directory.progress[stream]
        return cls(
            live=directory.live[stream],
            rows=sum(chunk.rows for chunk in chunks),
            chunks=len(chunks),
            bytes=sum(chunk.bytes for chunk in chunks) + deltas,
            oldest=min((chunk.oldest for chunk in chunks), default=None),
            newest=max((chunk.newest for chunk in chunks), default=None),
            progress=None if progress in (BEGINNING, END) else progress,
        )

    @classmethod
    def total(cls, parts: Sequence[Stored]) -> Stored:
        """Several together; the progress is that of the bucket furthest behind."""
        return cls(
            live=sum(part.live for part in parts),
            rows=sum(part.rows for part in parts),
            chunks=sum(part.chunks for part in parts),
            bytes=sum(part.bytes for part in parts),
            oldest=min(_known(part.oldest for part in parts), default=None),
            newest=max(_known(part.newest for part in parts), default=None),
            progress=min(_known(part.progress for part in parts), default=None),
        )


@dataclass(frozen=True)
class Remembered:
    """What a bucket has found out of a stream, where memory follows the data.

    `memory`: how many of its tuples are to stay; None: all, since it is not known yet.
    """

    scrambling: int
    memory: int | None


@dataclass(frozen=True)
class KeptBucket:
    """One bucket, by the id that Spark groups by; what is stored of each stream, by its name.

    `remembered` is empty where windows say what stays.
    """

    bucket: int
    batches: int
    stored: dict[str, Stored]
    remembered: dict[str, Remembered]


@dataclass(frozen=True)
class KeptStream:
    """A stream as the checkpoint knows it.

    `reach` is how far (µs) its tuples reach to later ones of the other stream: its window, or a
    bound of `between`. A count window has `count` and `per` in its place, and memory that follows
    the data has neither. `repaired` is the time to which its progress was last asked to be set
    back.
    """

    name: str
    key: tuple[str, ...] | None
    time: str
    reach: int | None
    count: int | None
    per: str | None
    repaired: int | None
    total: Stored


@dataclass(frozen=True)
class KeptJoin:
    """One join of the query, by Spark's number of its operator. `all_buckets` is their number.

    `memory` is the strategy where memory follows the data. `warnings` point out progress that has
    run away.
    """

    operator: int
    format: int
    kind: str
    memory: str | None
    all_buckets: int
    streams: tuple[KeptStream, ...]
    buckets: tuple[KeptBucket, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Inspection:
    """A checkpoint after its last committed batch. `waiting` are joins that no row has reached."""

    checkpoint: str
    batch: int
    joins: tuple[KeptJoin, ...]
    waiting: tuple[int, ...]


@dataclass(frozen=True)
class Operators:
    """The stateful operators of a query: the joins' numbers, ascending, each with its partitions,
    the names of all, and the last committed batch, -1 before the first."""

    joins: dict[int, int]
    names: tuple[str, ...]
    batch: int


# -- reading -----------------------------------------------------------------------------------


def inspect(spark: SparkSession, checkpoint: str | os.PathLike[str]) -> Inspection:
    """Look into a checkpoint; `checkpoint` is what the query has as its checkpointLocation."""
    with reader(spark, checkpoint) as kept:
        return kept.inspect()


@contextmanager
def reader(spark: SparkSession, checkpoint: str | os.PathLike[str]) -> Iterator[Reader]:
    """What reads a checkpoint; if Spark cannot, that is a line instead of a page."""
    name = os.fspath(checkpoint)
    versions.coordinate(spark)
    try:
        with _plain(name) as path:
            yield Reader(spark, name, path)
    except PySparkException as error:
        reason = str(error).strip().splitlines()[0]
        raise WindrowError(f"Spark cannot read the state in {name!r}: {reason}") from error


@contextmanager
def _plain(path: str) -> Iterator[str]:
    """Spark's reader of state escapes a path twice; a link stands in for one with a space."""
    if quote(path) == path or not os.path.isdir(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / "checkpoint"
        link.symlink_to(os.path.abspath(path))
        yield str(link)


@dataclass(frozen=True)
class Reader:
    """Reads a checkpoint at a path, under the name that it was given."""

    spark: SparkSession
    name: str
    path: str

    def inspect(self) -> Inspection:
        """All of its joins."""
        if not self.exists():
            raise WindrowError(
                f"{self.name!r} is not the checkpoint of a streaming query: it has no file "
                "'metadata'; give the directory that the query has as its checkpointLocation"
            )
        operators = self.operators()
        self.refuse_foreign(operators)
        if operators.batch < 0:
            raise WindrowError(
                f"the query of {self.name!r} has not committed a batch yet, so there is no state "
                "to show; try again when its first batch is done"
            )
        joins, waiting = [], []
        for operator in operators.joins:
            directories = self.directories(operator, operators.batch)
            if directories:
                joins.append(_join(operator, directories))
            else:
                waiting.append(operator)
        return Inspection(self.name, operators.batch, tuple(joins), tuple(waiting))

    def exists(self) -> bool:
        """Has it the file with the query's id? Asked of Spark, so that any file system does."""
        # A path to read may be a pattern, and a name such as "run[1]" is none.
        exact = re.sub(r"([\\*?\[\]{}])", r"\\\1", self.path)
        try:
            self.spark.read.text(f"{exact}/metadata")
        except PySparkException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return False
        return True

    def operators(self) -> Operators:
        """The query's stateful operators."""
        rows = self.spark.read.format("state-metadata").load(self.path).collect()
        return Operators(
            joins={
                row["operatorId"]: row["numPartitions"]
                for row in sorted(rows, key=lambda row: row["operatorId"])
                if _is_join(row["operatorProperties"])
            },
            names=tuple(sorted({row["operatorName"] for row in rows})),
            batch=max((row["maxBatchId"] for row in rows), default=-1),
        )

    def refuse_foreign(self, operators: Operators) -> None:
        """Is there no join in it?"""
        if not operators.joins:
            others = ", ".join(operators.names)
            holds = f"its state is of {others}" if others else "it has no state"
            raise WindrowError(
                f"the checkpoint {self.name!r} has no join of windrow's: {holds}; give the "
                "checkpoint of a query that runs windrow.join"
            )

    def directories(self, operator: int, batch: int) -> list[tuple[int, Directory]]:
        """The directory of each bucket, by bucket."""
        rows = (
            self.spark.read.format("statestore")
            .options(operatorId=operator, batchId=batch, stateVarName="directory")
            .load(self.path)
            .select("key.bucket", "value.text")
            .collect()
        )
        return [(row["bucket"], Directory.from_text(row["text"])) for row in sorted(rows)]


def _is_join(properties: str | None) -> bool:
    """Are these the state variables of a join? See `SparkStore`."""
    variables = json.loads(properties or "{}").get("stateVariables", [])
    kinds = {variable["stateName"]: variable["stateVariableType"] for variable in variables}
    return kinds == {"blobs": "MapState", "directory": "ValueState"}


def _join(operator: int, directories: Sequence[tuple[int, Directory]]) -> KeptJoin:
    first = directories[0][1]
    names = first.question["streams"]
    buckets = tuple(
        KeptBucket(
            bucket,
            directory.batch,
            {name: Stored.of(directory, stream) for stream, name in enumerate(names)},
            _remembered(directory),
        )
        for bucket, directory in directories
    )
    streams = tuple(
        _stream(first, stream, Stored.total([bucket.stored[name] for bucket in buckets]))
        for stream, name in enumerate(names)
    )
    return KeptJoin(
        operator=operator,
        format=first.format,
        kind=first.question["kind"],
        memory=first.question["memory"],
        all_buckets=first.buckets,
        streams=streams,
        buckets=buckets,
        warnings=tuple(repair.advice(first, time.time_ns() // 1000)),
    )


def _remembered(directory: Directory) -> dict[str, Remembered]:
    """What memory that follows the data knows of each stream."""
    join = directory.standing.get("join", {})
    if directory.question["memory"] is None or not join:
        return {}
    figures = zip(join["scrambling"], join["memory"], strict=True)
    found = [Remembered(scrambling, memory) for scrambling, memory in figures]
    return dict(zip(directory.question["streams"], found, strict=True))


def _stream(directory: Directory, stream: int, total: Stored) -> KeptStream:
    asked = directory.question
    key, time, window = (asked[name][stream] for name in ("keys", "times", "count windows"))
    return KeptStream(
        name=asked["streams"][stream],
        key=None if key is None else tuple(key),
        time=time,
        reach=None if window or asked["memory"] is not None else directory.reaches[stream],
        count=window[0] if window else None,
        per=window[1] if window else None,
        repaired=directory.repaired[stream],
        total=total,
    )


def _known(times: Iterable[int | None]) -> list[int]:
    return [time for time in times if time is not None]


# -- a session of its own ----------------------------------------------------------------------


def look(checkpoint: str) -> Inspection:
    """`inspect` for the command line: in the session there is, else in a small one of its own."""
    with _session() as spark:
        return inspect(spark, checkpoint)


@contextmanager
def _session() -> Iterator[SparkSession]:
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    with tempfile.TemporaryDirectory() as folder, quiet.local_session(Path(folder), 1) as spark:
        yield spark
