"""One system on one setting, in this process.

    python -m benchmarks.spark.run_one '{"system": "windrow", "setting": "standard-200k"}'

prints what each micro-batch took to stderr and all figures as JSON to stdout. Further parameters:
`batches` (fewer than the setting's), `data` (a folder; the setting's files are written there if it
has none), `limit_seconds`, `cores`, `memory`, `conf` (settings of the session on top of the
system's), and `progress` (a file for Spark's own reports).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.spark import data
from benchmarks.spark.settings import SETTINGS
from benchmarks.spark.systems import SYSTEMS, joined, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Parameters:
    """What to run."""

    system: str
    setting: str
    batches: int | None = None
    data: str | None = None
    limit_seconds: int | None = None
    cores: int = 2
    memory: str = "6g"
    conf: dict[str, str] = field(default_factory=dict)
    progress: str | None = None

    def count(self) -> int:
        """How many micro-batches that is."""
        asked = (SETTINGS[self.setting].batches, self.batches, SYSTEMS[self.system].most_batches)
        return min(number for number in asked if number is not None)

    def limit(self) -> int:
        """Seconds after which the query is stopped."""
        return self.limit_seconds or SETTINGS[self.setting].limit_seconds


@dataclass(frozen=True)
class Figures:
    """What was measured."""

    system: str
    setting: str
    #: Seconds and results of each micro-batch that had input.
    seconds: list[float]
    results: list[int]
    finished: bool
    whole_seconds: float
    #: Rows in all joins' state after each of them; None where they are not counted.
    held: list[int] | None = None

    def median_after(self, warm: int) -> float | None:
        """The figure that counts; None if the run did not come that far."""
        counted = self.seconds[warm:]
        return median(counted) if counted else None

    def most_held(self, warm: int) -> int | None:
        """The most rows in all joins' state after a micro-batch; None if they are not counted."""
        return max((self.held or [])[warm:], default=None)


def run(parameters: Parameters, folder: Path) -> Figures:
    """Run it; `folder` is for what comes and goes."""
    setting = SETTINGS[parameters.setting]
    source = Path(parameters.data) if parameters.data else folder / "data"
    data.write(setting, source)
    source = data.linked(setting, source, folder / "input", parameters.count())
    spark = session(parameters.system, parameters.cores, parameters.memory, str(folder / "local"))
    for name, value in parameters.conf.items():
        spark.conf.set(name, value)
    try:
        return _stream(spark, parameters, source, folder)
    finally:
        spark.stop()


def _stream(spark: SparkSession, parameters: Parameters, source: Path, folder: Path) -> Figures:
    """Run the query to the end of its input, or to the limit."""
    setting = SETTINGS[parameters.setting]
    frames = data.streams(spark, source, setting.names)
    start = time.perf_counter()
    query = (
        joined(parameters.system, frames, f"{setting.window_seconds} seconds")
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    finished = bool(query.awaitTermination(parameters.limit()))
    progress: list[dict[str, Any]] = [json.loads(p.json) for p in query.recentProgress]
    if not finished:
        query.stop()
    if parameters.progress:
        Path(parameters.progress).write_text(json.dumps(progress, indent=1))
    with_input = [report for report in progress if report["numInputRows"]]
    return Figures(
        parameters.system,
        parameters.setting,
        [report["durationMs"]["triggerExecution"] / 1000 for report in with_input],
        [int(report["sink"]["numOutputRows"]) for report in with_input],
        finished,
        time.perf_counter() - start,
        _held(parameters.system, query, with_input),
    )


def _held(system: str, query: Any, progress: list[dict[str, Any]]) -> list[int] | None:
    """Rows in all joins' state after each micro-batch; None if the system does not count them."""
    if not SYSTEMS[system].counted or not SYSTEMS[system].joins:
        return None
    if SYSTEMS[system].native:
        return [sum(each["numRowsTotal"] for each in p["stateOperators"]) for p in progress]
    import windrow as wr

    held = {int(report["batchId"]): 0 for report in progress}
    for figures in wr.metrics(query):
        if figures.batch in held:
            held[figures.batch] += sum(figures.live_rows.values())
    return list(held.values())


def main(text: str) -> None:
    parameters = Parameters(**json.loads(text))
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        figures = run(parameters, Path(folder))
    for number, (seconds, results) in enumerate(
        zip(figures.seconds, figures.results, strict=True), start=1
    ):
        print(f"micro-batch {number}: {seconds:.3f} s, {results:,} results", file=sys.stderr)
    counted = figures.median_after(SETTINGS[parameters.setting].warm)
    if counted is not None:
        print(f"{parameters.system}: median {counted:.3f} s", file=sys.stderr)
    print(json.dumps(asdict(figures)))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
