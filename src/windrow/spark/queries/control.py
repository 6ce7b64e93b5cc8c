"""How queries reach the buckets: a stream of small files, read beside the streams of data.

    driver: add, drop, tick --> a file in control/ --> readStream --> every bucket, in one
                                                                      micro-batch with the data

Each file is one line: which queries of the join run from now on, and the budget. It is the whole
list and not the change, so of several in a micro-batch the newest counts, and one that comes after
a newer one is ignored: files may be listed in any order. What a micro-batch has read is in Spark's
offsets, so a retry or a restart finds it at the same place among the data. A tick has no list. It
is there to start a micro-batch where the last one has left work.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from windrow.spark import buckets
from windrow.spark.bucket import Packed
from windrow.spark.pack import NOTHING, PACKED
from windrow.spark.queries.files import Folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: In place of a stream's number, in packed rows.
CONTROL = -1
COLUMNS = "version BIGINT, text STRING"


@dataclass(frozen=True)
class Asked:
    """A query that is to run: its id, name and text."""

    id: int
    name: str
    sql: str


@dataclass(frozen=True)
class Control:
    """What a join is to do from now on. `budget`: scanned tuples of a bucket; None: no limit."""

    version: int
    queries: tuple[Asked, ...]
    budget: int | None = None

    def to_text(self) -> str:
        """As it travels."""
        queries = [[query.id, query.name, query.sql] for query in self.queries]
        return json.dumps({"version": self.version, "queries": queries, "budget": self.budget})

    @classmethod
    def from_text(cls, text: str) -> Control:
        """Read it back."""
        plain = json.loads(text)
        return cls(plain["version"], tuple(Asked(*q) for q in plain["queries"]), plain["budget"])


# -- at the driver -----------------------------------------------------------------------------


def send(folder: Folder, control: Control) -> None:
    """Have the next micro-batch go by this."""
    # A name of its own: another driver may have sent this version before it was killed.
    _write(folder, f"{control.version:012}-{uuid4().hex}", control.version, control.to_text())


def tick(folder: Folder, run: str, batch: int) -> None:
    """Start a micro-batch after this one."""
    _write(folder, f"tick-{run}-{batch}", -1, None)


def _write(folder: Folder, name: str, version: int, text: str | None) -> None:
    folder.write(f"{name}.json", json.dumps({"version": version, "text": text}))


def frame(spark: SparkSession, folder: Folder) -> DataFrame:
    """The stream of what is sent. Files go once the micro-batch that has read them is committed."""
    return (
        spark.readStream.schema(COLUMNS).option("cleanSource", "delete").json(folder.make().place)
    )


# -- in a worker -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ControlPack:
    """Packs what is sent for every bucket; `ids` and `partitions` are as in `Pack`."""

    ids: tuple[int, ...] | None
    partitions: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield self.pack(batch)

    def pack(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """One packed row for each bucket: the newest text, if there is any."""
        newest = max(batch.to_pylist(), key=lambda row: row["version"])
        text = None if newest["text"] is None else newest["text"].encode()
        ids = self.ids or buckets.bucket_ids(buckets.of_task(self.partitions))
        values = {"side": CONTROL, "blob": text, "bad": 0, "beats": 0, "place": newest["version"]}
        values |= dict.fromkeys(("newest", "newest_beat", "now"), NOTHING)
        arrays = [
            pa.array(
                ids if field.name == "bucket" else [values.get(field.name)] * len(ids), field.type
            )
            for field in PACKED
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=PACKED)


def newest(packed: Sequence[Packed]) -> Control | None:
    """What a bucket's packed rows ask for; None if they ask for nothing new."""
    sent = [row for row in packed if row.side == CONTROL and row.blob is not None]
    if not sent:
        return None
    last = max(sent, key=lambda row: row.place)
    assert last.blob is not None
    return Control.from_text(bytes(last.blob).decode())
