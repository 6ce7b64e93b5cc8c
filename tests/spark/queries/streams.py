"""Streams a, b and c as files, some at a time, and as the tables that the oracle reads."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import windrow as wr
from windrow.testing.queries_oracle import Asked, duckdb_answers, duckdb_select

SECOND = 1_000_000
#: Rows of a stream in a file, and the event time of one.
ROWS, SPAN = 40, 3 * SECOND
NAMES = ("a", "b", "c")
SCHEMA = "k STRING, t TIMESTAMP, v BIGINT, words ARRAY<STRING>"


def table(seed, files):
    """Rows out of order by less than the lateness; some have no key."""
    rng = np.random.default_rng(seed)
    rows = files * ROWS
    ts = np.sort(rng.integers(0, files * SPAN, rows))
    ts = ts[np.argsort(ts + rng.integers(0, 900_000, rows), kind="stable")]
    keys = rng.integers(0, 10, rows)
    return pa.table(
        {
            "k": pa.array([None if k == 9 else f"key {k}" for k in keys]),
            "t": pa.array(ts, pa.timestamp("us", "UTC")),
            "v": pa.array(rng.integers(0, 100, rows)),
            "words": pa.array([[f"word {k}"] * (k % 3) for k in keys]),
        }
    )


def stream(data, name):
    return wr.stream(data, name=name, key="k", time="t", lateness="1 second")


class Fed:
    """Three streams in a folder, written file by file."""

    def __init__(self, folder, files):
        self.folder = folder
        self.files = files
        self.tables = {name: table(seed, files) for seed, name in enumerate(NAMES)}
        self.written = 0
        for name in NAMES:
            (folder / name).mkdir(parents=True)

    def write(self, count=1):
        """The next files of all streams."""
        for number in range(self.written, self.written + count):
            for name in NAMES:
                path = self.folder / name / f"{number:03}.parquet"
                hidden = path.with_name(f".{path.name}")
                pq.write_table(self.tables[name].slice(number * ROWS, ROWS), hidden)
                # The file source goes by age; files of one second would come in any order.
                os.utime(hidden, (1_700_000_000 + number, 1_700_000_000 + number))
                hidden.rename(path)
        self.written += count

    def streams(self, spark):
        """As Spark reads them: all files that there are in one micro-batch."""
        return [
            stream(spark.readStream.schema(columns(name)).parquet(str(self.folder / name)), name)
            for name in NAMES
        ]

    def plain(self, select, window, first=0, last=2**62, names="ab", where=None):
        """A plain select's answers: of results whose last row is in files [first, last)."""
        return duckdb_select(self._asked(names, window, where, first, last, select=select))

    def aggregates(self, asked, window, slide, first=0, last=2**62, where=None, groups=()):
        """An aggregate's answers for times that all streams have passed."""
        found = duckdb_answers(
            self._asked("ab", window, where, first, last,
                        slide=slide, aggregates=asked, groups=groups)
        )  # fmt: skip
        return [row for row in found.to_pylist() if row["t"] < self.progress("ab")]

    def asked(self, window, **more):
        """A query of the first two streams over all that has been written, for the oracle."""
        return self._asked("ab", window, None, 0, 2**62, **more)

    def apart(self):
        """How far some row of a, with a key, and one of b with the same are from each other."""
        one, two = (self.tables[n].slice(0, self.written * ROWS) for n in "ab")
        times = {k: t.value for k, t in zip(two["k"].to_pylist(), two["t"], strict=True)}
        return max(
            abs(t.value - times[k])
            for k, t in zip(one["k"].to_pylist(), one["t"], strict=True)
            if times.get(k) is not None and k is not None and abs(t.value - times[k]) < 2 * SECOND
        )

    def _asked(self, names, window, where, first, last, **more):
        read = [self.tables[n].slice(0, self.written * ROWS) for n in names]
        return Asked(
            tuple(stream(rows, n) for rows, n in zip(read, names, strict=True)),
            tuple("AB"), window, where=where, batch_rows=ROWS, batches=(first, last), **more,
        )  # fmt: skip

    def progress(self, names):
        """How far all of some streams have come."""
        newest = [
            max(self.tables[n]["t"].slice(0, self.written * ROWS).cast(pa.int64()).to_pylist())
            for n in names
        ]
        return min(newest) - SECOND


def columns(name):
    """Only the third has a column that is not flat."""
    return SCHEMA if name == "c" else SCHEMA.rpartition(",")[0]
