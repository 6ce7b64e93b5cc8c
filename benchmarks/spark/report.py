"""What the runs say: tables, and the targets as met or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.measure import CONSOLE, show
from benchmarks.spark.run_one import Figures
from benchmarks.spark.settings import SETTINGS, Setting
from benchmarks.spark.systems import SYSTEMS

#: Setting, peer, and how many times as fast windrow is to be.
FASTER = (
    ("standard-200k", "tuned", 4.0),
    ("standard-200k", "in-memory", 3.0),
    ("standard-1200k", "tuned", 6.0),
    ("standard-1200k", "in-memory", 3.0),
)
#: Windrow's time is to stay below so many times that of its path without the join.
BY_PATH = 1.3
#: With an order it is to have so much of its throughput without.
IN_ORDER = 0.7
#: And below so many times its own at a window of a sixtieth.
BY_SHORT_WINDOW = 1.5
SHORT, LONG = "window-10s", "window-600s"
EVEN, SKEWED = "even", "skewed"
#: Joins of many streams: how many times as fast as the faster of Spark's own and as Windrow's joins
#: of two, chained; and at eight matches a row how many times fewer rows are to be held.
BY_NATIVE, BY_CHAINED, FEWER_ROWS = 5.0, 1.3, 3.0
MANY_FASTER, EIGHT = ("3-streams", "4-streams"), "3-streams-eight"
NATIVE = tuple(name for name, system in SYSTEMS.items() if system.native and system.joins)
#: A run beside which other work took this many cores is marked as disturbed.
DISTURBED = 0.25


@dataclass(frozen=True)
class Run:
    """One system on one setting, once."""

    system: str
    setting: str
    #: None if the process failed or was ended.
    figures: Figures | None
    peak_bytes: int | None
    #: Results by DuckDB, of the micro-batches that this run had.
    expected: int
    #: The most rows of the streams that were within their windows after a micro-batch.
    within: int
    others_cores: float
    trouble: str = ""

    @property
    def title(self) -> str:
        """The system, in words."""
        return SYSTEMS[self.system].title

    @property
    def seconds(self) -> float | None:
        """The median micro-batch after the warm-up."""
        if self.figures is None:
            return None
        return self.figures.median_after(SETTINGS[self.setting].warm)

    @property
    def results(self) -> int | None:
        """How many results came out in all."""
        return None if self.figures is None else sum(self.figures.results)

    @property
    def held(self) -> int | None:
        """The most rows in its state after a micro-batch, from the warm-up on."""
        if self.figures is None:
            return None
        return self.figures.most_held(SETTINGS[self.setting].warm)

    @property
    def right(self) -> bool:
        """Whether all of the input was joined, with as many results as DuckDB has."""
        return self.figures is not None and self.figures.finished and self.results == self.expected


class Runs:
    """All runs, by setting and system."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs: dict[tuple[str, str], list[Run]] = {}
        for run in runs:
            self._runs.setdefault((run.setting, run.system), []).append(run)

    def of(self, setting: str) -> list[list[Run]]:
        """The runs of a setting, those of a system together."""
        return [runs for (name, _), runs in self._runs.items() if name == setting]

    def seconds(self, setting: str, system: str) -> list[float]:
        """The median micro-batch of each run that came so far."""
        runs = self._runs.get((setting, system), [])
        return [run.seconds for run in runs if run.seconds is not None]

    def held(self, setting: str, system: str) -> int | None:
        """The most rows that a system had in its state."""
        runs = self._runs.get((setting, system), [])
        return max((run.held for run in runs if run.held is not None), default=None)

    def ratio(self, one: tuple[str, str], other: tuple[str, str]) -> float | None:
        """One system's time by another's, each given as setting and system.

        If they ran in turns, that is the median of the turns' ratios.
        """
        mine, its = self.seconds(*one), self.seconds(*other)
        if not mine or not its:
            return None
        if len(mine) == len(its):
            return median(a / b for a, b in zip(mine, its, strict=True))
        return median(mine) / median(its)


def print_setting(runs: Runs, setting: Setting) -> None:
    """One setting's table, the targets that it can judge, and what went wrong."""
    name = setting.name
    title = (
        f"{name}: {setting.streams * setting.rows:,} rows a micro-batch, {setting.keys:,} keys, "
        f"windows of {setting.window_seconds} s"
    )
    if setting.hot:
        title += f", {setting.hot:.0%} of the rows in one key"
    rows = [
        [
            same[0].title,
            " ".join(f"{taken:.3f}" for taken in runs.seconds(name, same[0].system)) or "-",
            _or_dash(runs.ratio((name, same[0].system), (name, "windrow")), "{:.2f}x"),
            _or_dash(max(run.peak_bytes or 0 for run in same) / 2**30 or None, "{:.2f} GiB"),
            _or_dash(runs.held(name, same[0].system), "{:,}"),
            _or_dash(next((run.results for run in same if run.results is not None), None), "{:,}"),
            "yes" if all(run.right for run in same) else "NO",
        ]
        for same in runs.of(name)
    ]
    header = ["", "seconds a micro-batch", "by windrow", "peak memory", "rows held", "results",
              "as DuckDB"]  # fmt: skip
    show(title, header, rows, [])
    lines = (_targets, _growth, _many, _troubles)
    for line in [line for each in lines for line in each(runs, name)]:
        CONSOLE.print(f"  {line}", markup=False, highlight=False)
    CONSOLE.print()


def _targets(runs: Runs, name: str) -> Iterator[str]:
    """The promises of a setting, as far as its runs can tell."""
    ours = (name, "windrow")
    for setting, peer, wanted in FASTER:
        times = runs.ratio((name, peer), ours)
        if setting == name and times is not None:
            yield (
                f"{times:.2f} times as fast as {SYSTEMS[peer].title}, "
                f"at least {wanted:g} wanted: {_word(times >= wanted)}"
            )
    by_path = runs.ratio(ours, (name, "no-join"))
    if by_path is not None:
        yield (
            f"{by_path:.2f}x the path with the join left out, at most {BY_PATH:g}x wanted: "
            f"{_word(by_path <= BY_PATH)}"
        )
    for order in ("sync-filter", "filter-order", "adaptive"):
        kept = runs.ratio(ours, (name, order))
        if kept is not None:
            yield (
                f"{order}: {kept:.2f}x the throughput of no order, at least {IN_ORDER:g}x wanted: "
                f"{_word(kept >= IN_ORDER)}"
            )
    by_short = runs.ratio(ours, (SHORT, "windrow"))
    if name == LONG and by_short is not None:
        yield (
            f"{by_short:.2f}x the time at windows of 10 s, below {BY_SHORT_WINDOW:g}x wanted: "
            f"{_word(by_short < BY_SHORT_WINDOW)}"
        )


def _growth(runs: Runs, name: str) -> Iterator[str]:
    """How a setting's times compare with those of its plainer counterpart."""
    for harder, plainer, words in ((LONG, SHORT, "10 s windows"), (SKEWED, EVEN, "even keys")):
        for run, *_ in runs.of(name) if name == harder else ():
            times = runs.ratio((harder, run.system), (plainer, run.system))
            if times is not None:
                yield f"{run.title}: {times:.2f}x its time with {words}"


def _many(runs: Runs, name: str) -> Iterator[str]:
    """The promises of joins of many streams: throughput, and rows held."""
    if SETTINGS[name].streams == 2:
        return
    peers = {system: runs.ratio((name, system), (name, "windrow")) for system in NATIVE}
    times = min((ratio for ratio in peers.values() if ratio is not None), default=None)
    chained = runs.ratio((name, "chained"), (name, "windrow"))
    if name in MANY_FASTER and times is not None:
        yield (
            f"{times:.2f} times as fast as the faster of Spark's own, at least {BY_NATIVE:g} "
            f"wanted: {_word(times >= BY_NATIVE)}"
        )
    if name in MANY_FASTER and chained is not None:
        yield (
            f"{chained:.2f} times as fast as windrow's joins, chained, at least {BY_CHAINED:g} "
            f"wanted: {_word(chained >= BY_CHAINED)}"
        )
    mine = runs.held(name, "windrow")
    within = max(run.within for same in runs.of(name) for run in same)
    if mine is not None:
        yield (
            f"{mine:,} rows held, of {within:,} within their windows, so none of what is in "
            f"between: {_word(mine <= within)}"
        )
    its = [held for system in NATIVE if (held := runs.held(name, system)) is not None]
    if mine is not None and its:
        times = min(its) / mine
        wanted = f", at least {FEWER_ROWS:g} wanted: {_word(times >= FEWER_ROWS)}"
        yield f"{times:.2f} times fewer rows held than Spark's own" + wanted * (name == EIGHT)


def _troubles(runs: Runs, name: str) -> Iterator[str]:
    for same in runs.of(name):
        for number, run in enumerate(same, start=1):
            who = run.title if len(same) == 1 else f"{run.title}, run {number}"
            if run.trouble:
                yield f"{who}: {run.trouble}"
            elif not run.right:
                yield f"{who}: {run.results:,} results, but DuckDB has {run.expected:,}"
            if run.others_cores > DISTURBED:
                yield f"{who}: disturbed, others kept {run.others_cores:.1f} cores busy meanwhile"


def _word(met: bool) -> str:
    return "met" if met else "NOT met"


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)
