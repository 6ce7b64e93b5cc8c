"""Windrow's join on Spark beside Spark's own, on the same data.

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
from benchmarks.spark.report import Run, Runs, print_setting
from benchmarks.spark.run_one import Figures, Parameters
from benchmarks.spark.settings import SETTINGS
from benchmarks.spark.systems import SYSTEMS, arena_of_its_own
from windrow.bar import progress_bar

#: What the closest targets compare runs in turns: a shared machine may be half as fast for minutes.
CLOSE = ("windrow", "no-join", "in-memory", "few-processes")
#: Which systems each setting has, in the order they run.
PLAN = {
    "standard-200k": (*CLOSE * 3, "sync-filter", "filter-order", "adaptive", "tuned", "rocksdb"),
    "standard-1200k": (*CLOSE[:3] * 2, "tuned"),
    "window-10s": ("windrow", "tuned"),
    "window-600s": ("windrow", "tuned"),
    "even": ("windrow", "tuned"),
    "skewed": ("windrow", "tuned"),
    "3-streams": (*("windrow", "chained") * 2, "in-memory", "tuned"),
    "4-streams": (*("windrow", "chained") * 2, "in-memory", "tuned"),
    "3-streams-eight": ("windrow", "chained", "in-memory", "tuned-counted"),
}
#: The settings of joins of two streams and of more.
GROUPS = {
    "two": [name for name in PLAN if SETTINGS[name].streams == 2],
    "many": [name for name in PLAN if SETTINGS[name].streams > 2],
}
#: Seconds that starting a session and stopping it may take, beside the query's limit.
START_AND_STOP = 60


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("group", nargs="?", choices=list(GROUPS), help="a part of the settings")
    parser.add_argument("--only", metavar="SETTING,...", help=f"of {', '.join(PLAN)}")
    parser.add_argument("--systems", metavar="SYSTEM,...", help=f"of {', '.join(SYSTEMS)}")
    parser.add_argument("--batches", type=int, help="at most so many micro-batches")
    parser.add_argument("--data", type=Path, help="a folder where the data stays")
    parser.add_argument("--out", type=Path, default=Path("out/bench-spark.json"))
    found = parser.parse_args(given)
    settings = GROUPS.get(found.group, list(PLAN))
    for name, known in (("only", settings), ("systems", list(SYSTEMS))):
        text = getattr(found, name)
        chosen = known if text is None else text.split(",")
        unknown = sorted(set(chosen) - set(known))
        if unknown:
            parser.error(f"no {', '.join(unknown)}; there are {', '.join(known)}")
        setattr(found, name, chosen)
    return found


def measure(parameters: Parameters, expected: int, within: int, log: Path) -> Run:
    """Run one system in a process of its own; `log` gets what a failed one had to say."""
    command = [sys.executable, "-m", "benchmarks.spark.run_one", json.dumps(asdict(parameters))]
    ended = processes.run(command, parameters.limit() + START_AND_STOP)
    told, trouble = ended.told(log, f"{START_AND_STOP} s after its limit; it hung")
    figures = None if told is None else Figures(**told)
    if figures is not None and not figures.finished:
        trouble = (
            f"stopped at its limit of {parameters.limit():g} s after "
            f"{len(figures.seconds)} micro-batches"
        )
    return Run(
        parameters.system,
        parameters.setting,
        figures,
        ended.peak_bytes,
        expected,
        within,
        ended.others_cores,
        trouble,
    )


def run_all(todo: dict[str, list[str]], folder: Path, batches: int | None, out: Path) -> list[Run]:
    """Every setting in turn; its table is printed and all is written as soon as it is done."""
    runs: list[Run] = []
    with progress_bar("bench-spark") as progress:
        progress.expect(sum(map(len, todo.values())))
        for name, systems in todo.items():
            setting = SETTINGS[name]
            data.write(setting, folder / name)
            for system in systems:
                progress.note(f"{name}: {system}")
                parameters = Parameters(system, name, batches, str(folder / name))
                expected = 0
                if SYSTEMS[system].joins:
                    ordered = SYSTEMS[system].order != "none"
                    expected = data.results(setting, folder / name, parameters.count(), ordered)
                within = data.most_within(setting, folder / name, parameters.count())
                log = out.with_name(f"{out.stem}-{name}-{len(runs)}-{system}.log")
                with arena_of_its_own(system) as conf:
                    runs.append(measure(replace(parameters, conf=conf), expected, within, log))
                progress.advance()
            print_setting(Runs(runs), name)
            out.write_text(json.dumps([asdict(run) for run in runs], indent=1))
    return runs


def main(given: Sequence[str] | None = None) -> int:
    chosen = arguments(given)
    # A signal that ends this process ends what it started as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench-spark: ended"))
    todo = {
        name: [system for system in PLAN[name] if system in chosen.systems] for name in chosen.only
    }
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="windrow-bench-data-") as folder:
        runs = run_all(todo, chosen.data or Path(folder), chosen.batches, chosen.out)
    return 0 if all(run.right for run in runs) else 1


if __name__ == "__main__":
    raise SystemExit(main())
