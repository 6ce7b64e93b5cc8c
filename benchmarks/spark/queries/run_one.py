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
    from pyspark.sql.streaming.query import StreamingQuery

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

    `seconds`: of a micro-batch, by the clock, from the end of the warm-up (of joins side by side,
    of the last one's) until all Spark queries were done. `out`: by query, seconds from the start of
    the largest micro-batch until all its answers were out. `batches`: how many micro-batches with
    input the joins had.
    """

    seconds: float
    counts: Counts
    out: dict[str, float]
    batches: int


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
    setting = workload.setting
    # What starts does so with the first micro-batch and one by one: Spark waits ten seconds for a
    # Python worker to start, which seven at a time may take.
    source = data.linked(setting, Path(parameters.data), folder / "input", 1)

    def bring_the_rest() -> None:
        data.link(setting, Path(parameters.data), source, range(1, setting.batches))

    spark = systems.session(system.session, CORES, MEMORY, str(folder / "local"))
    for name, value in parameters.conf.items():
        spark.conf.set(name, value)
    try:
        frames = data.streams(spark, source, setting.names)
        queries = asked(setting, system.asked)
        if system.shared:
            running = _shared(frames, system, workload.budget, queries, folder)
            bring_the_rest()
            running.process_all_available()
            counts, last = _answers(running, queries, folder)
        else:
            joins = _each(system, frames, queries, folder)
            bring_the_rest()
            for join in joins:
                join.processAllAvailable()
            counts, last = _written(queries, folder), {}
        return _figures(spark, workload, source, counts, last)
    finally:
        # One that still reads would make its folder anew.
        for query in spark.streams.active:
            query.stop()
        spark.stop()


def _shared(
    frames: Mapping[str, DataFrame],
    system: System,
    budget: int | None,
    queries: Sequence[Query],
    folder: Path,
) -> wr.ContinuousQueries:
    """All queries on one join, with the first micro-batch done."""
    streams = [wr.stream(frame, name=name, key="key", time="ts") for name, frame in frames.items()]
    running = wr.ContinuousQueries(
        *streams,
        schedule=system.schedule,
        budget=budget,
        checkpoint=str(folder / "checkpoint"),
    )
    for query in queries:
        running.add(query.sql, name=query.name)
    running.start()
    running.process_all_available()
    return running


def _answers(
    running: wr.ContinuousQueries, queries: Sequence[Query], folder: Path
) -> tuple[Counts, dict[str, float]]:
    """How many answers each query has, and when the last one of a plain select was written."""
    # A hundred looks at the results would take longer than the run.
    counts, last = expected.released(folder / "checkpoint" / "join-0" / "results", queries)
    for query in queries:
        if query.slide is not None:
            answers, over = running.answers(query.name).selectExpr("count(*)", "sum(n)").first()
            counts[query.name] = answers, over or 0
    return counts, last


def _each(
    system: System, frames: Mapping[str, DataFrame], queries: Sequence[Query], folder: Path
) -> list[StreamingQuery]:
    """A join for each query, all at the same time, with the first micro-batch done."""
    started = []
    for number, query in enumerate(queries):
        joined = systems.joined(system.session, frames, f"{query.window} microseconds")
        started.append(
            joined.writeStream.format("parquet")
            .option("checkpointLocation", str(folder / f"checkpoint-{number}"))
            .start(str(_place(folder, number)))
        )
        started[-1].processAllAvailable()
    return started


def _written(queries: Sequence[Query], folder: Path) -> Counts:
    """How many results each join has written."""
    return {
        query.name: (expected.written(_place(folder, number)), 0)
        for number, query in enumerate(queries)
    }


def _place(folder: Path, number: int) -> Path:
    """Where a join writes its results."""
    return folder / f"results-{number}"


def _figures(
    spark: SparkSession,
    workload: Workload,
    source: Path,
    counts: Counts,
    last: Mapping[str, float],
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
