"""The data on disk, one Parquet file per stream and micro-batch, and how many results it has."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import cache
from itertools import combinations
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.spark.settings import Setting
from windrow.workload.tables import timestamps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DDL = "key BIGINT, ts TIMESTAMP, v DOUBLE"


def write(setting: Setting, folder: Path) -> None:
    """Write a setting's files, unless the folder has them."""
    label = folder / "setting.json"
    text = dumps(asdict(replace(setting, name="")))
    if label.exists() and label.read_text() == text:
        return
    names = setting.names
    for stream, rng in zip(names, np.random.default_rng(0).spawn(len(names)), strict=True):
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
    rows = setting.rows * (setting.burst if batch == setting.batches - 1 else 1)
    times = np.sort(rng.integers(batch * span, (batch + 1) * span, rows, dtype=np.int64))
    keys = rng.integers(0, setting.keys, rows, dtype=np.int64)
    if setting.hot:
        keys[rng.random(rows) < setting.hot] = 0
    values = rng.random(rows)
    return pa.table({"key": keys, "ts": timestamps(times), "v": values})


def streams(spark: SparkSession, source: Path, names: Sequence[str]) -> dict[str, DataFrame]:
    """The streams of a folder, a file of each in a micro-batch."""
    return {
        name: spark.readStream.schema(DDL)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(source / name))
        for name in names
    }


def linked(setting: Setting, source: Path, target: Path, batches: int) -> Path:
    """A folder with the first micro-batches only; links, so that nothing is copied."""
    for stream in setting.names:
        (target / stream).mkdir(parents=True)
    link(setting, source, target, range(batches))
    return target


def link(setting: Setting, source: Path, target: Path, batches: Iterable[int]) -> None:
    """Put further micro-batches into a folder of links."""
    for batch in batches:
        for stream in setting.names:
            name = Path(stream, f"batch-{batch:03d}.parquet")
            os.link(source / name, target / name)


def counting(names: Sequence[str], ordered: bool) -> str:
    """SQL that counts the results of streams; `ordered`: those that all streams have passed.

    Two rows within the window are in the same slot of time or in neighbouring ones; joining on the
    first stream's slot as well keeps the candidates of a hot key few.
    """
    read = "SELECT key, epoch_us(ts) AS t, t // $window AS slot FROM read_parquet(${0})"
    near = "SELECT key, t, slot + unnest([-1, 0, 1]) AS slot FROM ({0})"
    parts = {name: read.format(name) for name in names}
    parts |= {name: near.format(parts[name]) for name in names[1:]}
    tables = ", ".join(f"{name} AS ({part})" for name, part in parts.items())
    joins = " ".join(f"JOIN {name} USING (key, slot)" for name in names[1:])
    within = [f"abs({one}.t - {two}.t) <= $window" for one, two in combinations(names, 2)]
    if ordered:
        newest = f"greatest({', '.join(f'{name}.t' for name in names)})"
        within += [f"{newest} < (SELECT max(t) FROM {name})" for name in names]
    return f"WITH {tables} SELECT count(*) FROM {names[0]} {joins} WHERE {' AND '.join(within)}"


@cache
def results(setting: Setting, folder: Path, batches: int, ordered: bool = False) -> int:
    """How many results the first micro-batches have, by DuckDB's range join.

    In order, those that all streams have passed: a stream that goes on may bring more.
    """
    files = {
        stream: [str(p) for p in sorted((folder / stream).glob("*.parquet"))[:batches]]
        for stream in setting.names
    }
    with duckdb.connect() as connection:
        text = counting(setting.names, ordered)
        found = connection.execute(text, {**files, "window": setting.window_seconds * 1_000_000})
        row = found.fetchone()
    assert row is not None
    return int(row[0])


@cache
def most_within(setting: Setting, folder: Path, batches: int) -> int:
    """The most rows that others could still meet after a micro-batch, from the warm-up on."""
    times = [
        [pq.read_table(path, columns=["ts"])["ts"].cast("int64").to_numpy() for path in paths]
        for stream in setting.names
        if (paths := sorted((folder / stream).glob("*.parquet"))[:batches])
    ]
    most = 0
    for batch in range(setting.warm, batches):
        newest = [int(stream[batch].max()) for stream in times]
        within = 0
        for at, stream in enumerate(times):
            passed = min(newest[:at] + newest[at + 1 :])
            keep_from = passed - setting.window_seconds * 1_000_000
            within += sum(int((each >= keep_from).sum()) for each in stream[: batch + 1])
        most = max(most, within)
    return most
