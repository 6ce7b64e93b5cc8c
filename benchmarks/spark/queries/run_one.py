"""One system on one workload, in this process.

    python -m benchmarks.spark.queries.run_one '{"system": "shared", "workload": "windows",
        "data": "FOLDER"}'

prints all figures as JSON. `scale` is as in `python -m benchmarks.spark.queries`, `conf` are
settings of the session on top of the system's. All systems write what they find into Parquet files.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import windrow as wr
from benchmarks.spark import data, systems
from benchmarks.spark.queries import expected
from benchmarks.spark.queries.expected import Counts
from benchmarks.spark.queries.workloads import SYSTEMS, WORKLOADS, Query, System, Workload, asked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MEMORY, CORES = "6g", 2


@dataclass(frozen=True)
class Parameters:
    """What to run; `data` has the workload's files."""

    system: str
    workload: str
    data: str
    scale: float = 1.0
    conf: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Figures:
    """What was measured.

    `seconds`: of a micro-batch, by the clock, from the end of the warm-up until all queries were
    done. `out`: by query, seconds from the start of the largest micro-batch until all its answers
    were out. `batches`: how many micro-batches with input the joins had.
    """

    seconds: float
    counts: Counts
    out: dict[str, float]
    batches: int
    whole_seconds: float


@dataclass(frozen=True)
class Batch:
    """A micro-batch of a Spark query with input, from start to end in seconds since 1970."""

    rows: int
    start: float
    end: float


def run(parameters: Parameters, folder: Path) -> Figures:
    """Run it; `folder` is for what comes and goes."""
    system = SYSTEMS[parameters.system]
    workload = WORKLOADS[parameters.workload].scaled(parameters.scale)
    spark = systems.session(system.session, CORES, MEMORY, str(folder / "local"))
    for name, value in parameters.conf.items():
        spark.conf.set(name, value)
    try:
        source = Path(parameters.data)
        frames = data.streams(spark, source, workload.setting.names)
        queries = asked(workload.setting, system.asked)
        start = time.perf_counter()
        if system.shared:
            counts, last = _shared(spark, frames, system, workload, queries, folder)
        else:
            counts, last = _each(system, frames, queries, folder), {}
        whole = time.perf_counter() - start
        return _figures(spark, workload, source, counts, last, whole)
    finally:
        spark.stop()


def _shared(
    spark: SparkSession,
    frames: Mapping[str, DataFrame],
    system: System,
    workload: Workload,
    queries: Sequence[Query],
    folder: Path,
) -> tuple[Counts, dict[str, float]]:
    """All queries on one join."""
    streams = [wr.stream(frame, name=name, key="key", time="ts") for name, frame in frames.items()]
    place = folder / "checkpoint"
    running = wr.ContinuousQueries(
        *streams, schedule=system.schedule, budget=workload.budget, checkpoint=str(place)
    )
    for query in queries:
        running.add(query.sql, name=query.name)
    running.start()
    running.process_all_available()
    counts, last = expected.released(place / "join-0" / "results", queries)
    for query in queries:
        if query.slide is not None:
            answers, over = running.answers(query.name).selectExpr("count(*)", "sum(n)").first()
            counts[query.name] = answers, over or 0
    return counts, last


def _each(
    system: System, frames: Mapping[str, DataFrame], queries: Sequence[Query], folder: Path
) -> Counts:
    """A join for each query, all at the same time."""
    started = []
    for number, query in enumerate(queries):
        joined = systems.joined(system.session, frames, f"{query.window} microseconds")
        started.append(
            joined.writeStream.format("parquet")
            .option("checkpointLocation", str(folder / f"checkpoint-{number}"))
            .start(str(folder / f"results-{number}"))
        )
    for stream in started:
        stream.processAllAvailable()
    return {
        query.name: (expected.written(folder / f"results-{number}"), 0)
        for number, query in enumerate(queries)
    }


def _figures(
    spark: SparkSession,
    workload: Workload,
    source: Path,
    counts: Counts,
    last: Mapping[str, float],
    whole_seconds: float,
) -> Figures:
    setting = workload.setting
    joins: list[list[Batch]] = []
    others: list[list[Batch]] = []
    for query in spark.streams.active:
        reports = [json.loads(each.json) for each in query.recentProgress]
        batches = [_batch(report) for report in reports if report["numInputRows"]]
        reads = any(str(source) in each["description"] for each in reports[0]["sources"])
        (joins if reads else others).append(batches)
    begin = max(batches[setting.warm - 1].end for batches in joins)
    end = max(batches[-1].end for batches in (*joins, *others) if batches)
    batches = joins[0]
    largest = max(batches, key=lambda batch: batch.rows)
    # A file counts when the micro-batch that has written it has ended.
    out = {
        name: next(batch.end for batch in batches if batch.end >= at) - largest.start
        for name, at in last.items()
        if at
    }
    return Figures(
        seconds=(end - begin) / (setting.batches - setting.warm),
        counts=counts,
        out=out,
        batches=sum(len(batches) for batches in joins),
        whole_seconds=whole_seconds,
    )


def _batch(report: Mapping[str, Any]) -> Batch:
    start = datetime.fromisoformat(report["timestamp"]).timestamp()
    took = report["durationMs"]["triggerExecution"] / 1000
    return Batch(int(report["numInputRows"]), start, start + took)


def main(text: str) -> None:
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        print(json.dumps(asdict(run(Parameters(**json.loads(text)), Path(folder)))))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
