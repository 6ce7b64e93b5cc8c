"""Continuous queries on Spark: one shared join beside joins for each query, on the same data.

Each run has a process of its own, with a time limit. See `--help`.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.spark import data, processes
from benchmarks.spark.queries.expected import Counts, Oracle
from benchmarks.spark.queries.report import Run, print_workload
from benchmarks.spark.queries.run_one import Figures, Parameters
from benchmarks.spark.queries.workloads import SYSTEMS, WORKLOADS
from benchmarks.spark.systems import arena_of_its_own
from windrow.bar import progress_bar


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark.queries", description=__doc__)
    parser.add_argument(
        "workloads", nargs="*", help=f"of {', '.join(WORKLOADS)}; all of them if none is given"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="so many times as many rows and keys"
    )
    parser.add_argument("--turns", type=int, help="at most so many runs of a system")
    parser.add_argument("--out", type=Path, default=Path("out/bench-queries.json"))
    found = parser.parse_args(given)
    unknown = sorted(set(found.workloads) - set(WORKLOADS))
    if unknown:
        parser.error(f"no {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    found.workloads = found.workloads or list(WORKLOADS)
    return found


def turns_of(name: str, most: int | None) -> list[str]:
    """The systems of a workload in the order in which they run, each at most so often."""
    chosen: list[str] = []
    for system in WORKLOADS[name].turns:
        if most is None or chosen.count(system) < most:
            chosen.append(system)
    return chosen


def measure(parameters: Parameters, expected: Counts, limit_seconds: int, log: Path) -> Run:
    """Run one system in a process of its own; `log` gets what a failed one had to say."""
    text = json.dumps(asdict(parameters))
    command = [sys.executable, "-m", "benchmarks.spark.queries.run_one", text]
    ended = processes.run(command, limit_seconds)
    told, trouble = ended.told(log, f"at its limit of {limit_seconds} s")
    return Run(
        parameters.system,
        parameters.workload,
        None if told is None else Figures(**told),
        expected,
        ended.peak_bytes,
        ended.others_cores,
        trouble,
    )


def main(given: Sequence[str] | None = None) -> int:
    chosen = arguments(given)
    # A signal that ends this process ends what it started as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench-queries: ended"))
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    todo = {name: turns_of(name, chosen.turns) for name in chosen.workloads}
    runs: list[Run] = []
    with (
        tempfile.TemporaryDirectory(prefix="windrow-bench-data-") as folder,
        progress_bar("bench-queries") as progress,
    ):
        progress.expect(sum(map(len, todo.values())))
        for name, systems in todo.items():
            workload = WORKLOADS[name].scaled(chosen.scale)
            source = Path(folder) / name
            data.write(workload.setting, source)
            oracle = Oracle(workload.setting, source)
            for system in systems:
                progress.note(f"{name}: {system}")
                expected = oracle.counts(SYSTEMS[system].asked)
                parameters = Parameters(system, name, str(source), chosen.scale)
                log = chosen.out.with_name(f"{chosen.out.stem}-{name}-{len(runs)}-{system}.log")
                with arena_of_its_own(SYSTEMS[system].session) as conf:
                    its = replace(parameters, conf=conf)
                    runs.append(measure(its, expected, workload.setting.limit_seconds, log))
                progress.advance()
            print_workload(name, workload, [run for run in runs if run.workload == name])
            chosen.out.write_text(json.dumps([asdict(run) for run in runs], indent=1))
    return 0 if all(run.right for run in runs) else 1


if __name__ == "__main__":
    raise SystemExit(main())
