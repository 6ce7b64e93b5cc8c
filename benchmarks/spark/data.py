"""The data on disk, one Parquet file per stream and micro-batch, and how many results it has."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from functools import cache
from json import dumps
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.spark.settings import Setting
from windrow.workload.tables import timestamps

STREAMS = ("a", "b")
DDL = "key BIGINT, ts TIMESTAMP, v DOUBLE"

# Two rows within the window are in the same slot of time or in neighbouring ones; joining on the
# slot as well keeps the candidates of a hot key few.
COUNT = """
    WITH one AS (SELECT key, epoch_us(ts) AS t, t // $window AS slot FROM read_parquet($a)),
         two AS (SELECT key, epoch_us(ts) AS t, t // $window AS slot FROM read_parquet($b)),
         near AS (SELECT key, t, slot + unnest([-1, 0, 1]) AS slot FROM two)
    SELECT count(*) FROM one JOIN near USING (key, slot) WHERE abs(one.t - near.t) <= $window
"""
PASSED = """
      AND greatest(one.t, near.t) < (SELECT max(t) FROM one)
      AND greatest(one.t, near.t) < (SELECT max(t) FROM two)
"""


def write(setting: Setting, folder: Path) -> None:
    """Write a setting's files, unless the folder has them."""
    label = folder / "setting.json"
    text = dumps(asdict(replace(setting, name="")))
    if label.exists() and label.read_text() == text:
        return
    for stream, rng in zip(STREAMS, np.random.default_rng(0).spawn(len(STREAMS)), strict=True):
        (folder / stream).mkdir(parents=True, exist_ok=True)
        for batch in range(setting.batches):
            path = folder / stream / f"batch-{batch:03d}.parquet"
            pq.write_table(_table(setting, batch, rng), path)
            # The file source takes the oldest file first.
            os.utime(path, (1_700_000_000 + 10 * batch,) * 2)
    label.write_text(text)


def _table(setting: Setting, batch: int, rng: np.random.Generator) -> pa.Table:
    """A micro-batch of one stream, in time order."""
    span = setting.micros_a_batch
    times = np.sort(rng.integers(batch * span, (batch + 1) * span, setting.rows, dtype=np.int64))
    keys = rng.integers(0, setting.keys, setting.rows, dtype=np.int64)
    if setting.hot:
        keys[rng.random(setting.rows) < setting.hot] = 0
    values = rng.random(setting.rows)
    return pa.table({"key": keys, "ts": timestamps(times), "v": values})


def linked(source: Path, target: Path, batches: int) -> Path:
    """A folder with the first micro-batches only; links, so that nothing is copied."""
    for stream in STREAMS:
        (target / stream).mkdir(parents=True)
        for path in sorted((source / stream).glob("*.parquet"))[:batches]:
            os.link(path, target / stream / path.name)
    return target


@cache
def results(setting: Setting, folder: Path, batches: int, ordered: bool = False) -> int:
    """How many results the first micro-batches have, by DuckDB's range join.

    In order, those that both streams have passed: a stream that goes on may bring more.
    """
    files = {
        stream: [str(p) for p in sorted((folder / stream).glob("*.parquet"))[:batches]]
        for stream in STREAMS
    }
    with duckdb.connect() as connection:
        text = COUNT + PASSED if ordered else COUNT
        found = connection.execute(text, {**files, "window": setting.window_seconds * 1_000_000})
        row = found.fetchone()
    assert row is not None
    return int(row[0])
