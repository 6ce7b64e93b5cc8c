"""What the runs say: tables, and the targets as met or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.measure import CONSOLE, show
from benchmarks.spark.queries.expected import Counts
from benchmarks.spark.queries.run_one import Figures
from benchmarks.spark.queries.workloads import SYSTEMS, Workload, asked
from benchmarks.spark.report import DISTURBED

#: A shared join may take so many times as long as a plain one with the largest window, and Spark's
#: joins of each query are to take at least so many times as long as it.
BY_PLAIN, BY_NATIVE = 1.5, 5.0
#: A hundred queries may take so many times as long as one.
BY_ONE = 3.0
#: After a burst the smallest window's answers are to be out so many times sooner than under LWO.
SOONER = 5.0


@dataclass(frozen=True)
class Run:
    """One system on one workload, once."""

    system: str
    workload: str
    #: None if the process failed or was ended.
    figures: Figures | None
    expected: Counts
    peak_bytes: int | None
    others_cores: float
    trouble: str = ""

    @property
    def wrong(self) -> dict[str, str]:
        """The queries that have another number of answers than DuckDB, and which."""
        if self.figures is None:
            return {}
        found = {name: tuple(count) for name, count in self.figures.counts.items()}
        return {
            name: f"{found.get(name)}, but DuckDB has {count}"
            for name, count in self.expected.items()
            if found.get(name) != count
        }

    @property
    def right(self) -> bool:
        """Whether it came to its end with as many answers as DuckDB has, of each query."""
        return self.figures is not None and not self.wrong


class Turns:
    """The runs of a workload, by system."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs: dict[str, list[Run]] = {}
        for run in runs:
            self.runs.setdefault(run.system, []).append(run)

    def seconds(self, system: str, query: str | None = None) -> list[float]:
        """Of each turn: a micro-batch, or how long a query's answers took after a burst."""
        figures = [run.figures for run in self.runs.get(system, []) if run.figures is not None]
        if query is None:
            return [each.seconds for each in figures]
        return [each.out[query] for each in figures if query in each.out]

    def ratio(self, one: str, other: str, query: str | None = None) -> float | None:
        """One system's time by another's: the median of the turns' ratios, if both had as many."""
        mine, its = self.seconds(one, query), self.seconds(other, query)
        if not mine or not its:
            return None
        if len(mine) == len(its):
            return median(a / b for a, b in zip(mine, its, strict=True))
        return median(mine) / median(its)


def print_workload(name: str, workload: Workload, runs: Sequence[Run]) -> None:
    """A workload's tables, the targets that it can judge, and what went wrong."""
    turns = Turns(runs)
    its = workload.setting
    title = (
        f"{workload.title}: {2 * its.rows:,} rows a micro-batch, {its.keys:,} keys, the largest "
        f"window {its.window_seconds} s"
    )
    if workload.budget is not None:
        title += f", a budget of {workload.budget:,} tuples"
    header = ["", "seconds a micro-batch", "peak memory", "answers", "as DuckDB"]
    rows = [_row(turns, system) for system in turns.runs]
    if workload.budget is not None:
        # The micro-batches that a burst leaves are the budget's size, whatever it takes.
        header, rows = header[:1] + header[2:], [row[:1] + row[2:] for row in rows]
    show(title, header, rows, [])
    if workload.budget is not None:
        _show_burst(turns, workload)
    for line in (*_TARGETS[name](turns, workload), *_troubles(turns)):
        CONSOLE.print(f"  {line}", markup=False, highlight=False)
    CONSOLE.print()


def _row(turns: Turns, system: str) -> list[str]:
    same = turns.runs[system]
    peak = max(run.peak_bytes or 0 for run in same)
    answers = [sum(n for n, _ in run.figures.counts.values()) for run in same if run.figures]
    return [
        SYSTEMS[system].title,
        " ".join(f"{taken:.3f}" for taken in turns.seconds(system)) or "-",
        f"{peak / 2**30:.2f} GiB" if peak else "-",
        f"{answers[0]:,}" if answers else "-",
        "yes" if all(run.right for run in same) else "NO",
    ]


def _show_burst(turns: Turns, workload: Workload) -> None:
    rows = []
    for query in asked(workload.setting, "seven"):
        times = turns.ratio("lwo", "mqt", query.name)
        rows.append(
            [
                query.name,
                *(
                    " ".join(f"{each:.2f}" for each in turns.seconds(system, query.name)) or "-"
                    for system in ("lwo", "mqt")
                ),
                "-" if times is None else f"{times:.2f}x",
            ]
        )
    show(
        "seconds until all of a query's answers are out, from the burst's arrival on",
        ["window", "LWO", "MQT", "LWO by MQT"],
        rows,
        [],
    )


def _of_windows(turns: Turns, workload: Workload) -> Iterator[str]:
    plain, native = turns.ratio("shared", "plain"), turns.ratio("native", "shared")
    if plain is not None:
        yield (
            f"shared: {plain:.2f}x a join with the largest window, at most {BY_PLAIN:g}x wanted: "
            f"{_word(plain <= BY_PLAIN)}"
        )
    if native is not None:
        yield (
            f"Spark's seven joins: {native:.2f} times the shared join's time, at least "
            f"{BY_NATIVE:g} wanted: {_word(native >= BY_NATIVE)}"
        )
    separate = turns.ratio("separate", "shared")
    if separate is not None:
        yield f"windrow's seven joins: {separate:.2f} times the shared join's time"


def _of_hundred(turns: Turns, workload: Workload) -> Iterator[str]:
    times = turns.ratio("hundred", "one")
    if times is not None:
        yield (
            f"a hundred queries: {times:.2f}x the time of one, the aggregates' Spark query "
            f"included, at most {BY_ONE:g}x wanted: {_word(times <= BY_ONE)}"
        )


def _of_burst(turns: Turns, workload: Workload) -> Iterator[str]:
    smallest = asked(workload.setting, "seven")[0].name
    times = turns.ratio("lwo", "mqt", smallest)
    if times is not None:
        yield (
            f"all answers of the smallest window out {times:.2f} times sooner under MQT, at least "
            f"{SOONER:g} wanted: {_word(times >= SOONER)}"
        )


_TARGETS = {"windows": _of_windows, "hundred": _of_hundred, "burst": _of_burst}


def _troubles(turns: Turns) -> Iterator[str]:
    for system, same in turns.runs.items():
        for number, run in enumerate(same, start=1):
            who = f"{SYSTEMS[system].title}, run {number}"
            if run.trouble:
                yield f"{who}: {run.trouble}"
            for query, what in list(run.wrong.items())[:3]:
                yield f"{who}: {query} has {what}"
            if run.others_cores > DISTURBED:
                yield f"{who}: disturbed, others kept {run.others_cores:.1f} cores busy meanwhile"


def _word(met: bool) -> str:
    return "met" if met else "NOT met"
