"""What is measured: streams, queries over them, and the systems that answer them.

windows    seven queries, one for each of Table 1's Uniform windows (paper 2, section 5),
           scaled so that the largest is the streams' window
hundred    80 plain selects and 20 aggregates over the same windows; a filter passes 2 %
burst      the seven, with a budget; the last micro-batch has ten times the rows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from benchmarks.spark.settings import SETTINGS, Setting
from windrow.model import Schedule

#: Table 1, Uniform, in seconds.
UNIFORM = (1, 100, 200, 300, 400, 500, 600)
#: What a filter passes, of values that are even from 0 to 1; and answers in a window.
PASSED, ANSWERS = 0.02, 5
SELECTS, AGGREGATES = 80, 20

Asked = Literal["seven", "largest", "one", "hundred"]


@dataclass(frozen=True)
class Query:
    """A query over streams a and b; `window` and `slide` in µs, an aggregate has a slide."""

    name: str
    window: int
    where: str = ""
    slide: int | None = None

    @property
    def sql(self) -> str:
        """The query's text."""
        items = "a.key, a.v AS one, b.v AS two"
        over = f"{self.window} us"
        if self.slide is not None:
            items, over = "COUNT(*) AS n, AVG(b.v) AS mean", f"{over} SLIDE {self.slide} us"
        filters = f" AND {self.where}" if self.where else ""
        return f"SELECT {items} FROM a, b WHERE a.key = b.key{filters} WINDOW {over}"


def asked(setting: Setting, which: Asked) -> list[Query]:
    """The queries; the largest window is the setting's."""
    largest = setting.window_seconds * 1_000_000
    windows = [largest * seconds // UNIFORM[-1] for seconds in UNIFORM]
    if which == "hundred":
        return [_filtered(number, windows) for number in range(SELECTS + AGGREGATES)]
    if which == "one":
        return [replace(_filtered(0, windows[-1:]), name="one")]
    queries = [Query(f"{window / 1e6:g} s", window) for window in windows]
    return queries if which == "seven" else queries[-1:]


def _filtered(number: int, windows: Sequence[int]) -> Query:
    """One of the hundred: windows in turn, filters on either stream or on both."""
    window = windows[number % len(windows)]
    least = number * 0.37 % (1 - PASSED)
    where = f"b.v >= {least:.4f} AND b.v < {least + PASSED:.4f}"
    if number % 3 == 0:
        where = where.replace("b.v", "a.v")
    elif number % 3 == 1:
        # A tenth of the one and a fifth of the other.
        least = number * 0.37 % 0.8
        where = (
            f"a.v >= {least:.4f} AND a.v < {least + 0.1:.4f} "
            f"AND b.v >= {least:.4f} AND b.v < {least + 0.2:.4f}"
        )
    if number < SELECTS:
        return Query(f"select {number}", window, where)
    return Query(f"aggregate {number}", window, where, window // ANSWERS)


@dataclass(frozen=True)
class System:
    """A way to answer queries. `session`: whose Spark session it has, of `systems.SYSTEMS`."""

    title: str
    asked: Asked
    session: str = "windrow"
    #: All queries share a join; otherwise each has its own.
    shared: bool = True
    schedule: Schedule = "mqt"


@dataclass(frozen=True)
class Workload:
    """A setting and the systems that run on it, in turns. `budget`: of a bucket, scanned tuples."""

    title: str
    setting: Setting
    turns: tuple[str, ...]
    budget: int | None = None

    def scaled(self, by: float) -> Workload:
        """The same with fewer rows: as many results for each."""
        its = self.setting
        rows, rate, keys = (max(1, round(each * by)) for each in (its.rows, its.rate, its.keys))
        budget = None if self.budget is None else max(1, round(self.budget * by))
        return replace(self, setting=replace(its, rows=rows, rate=rate, keys=keys), budget=budget)


SYSTEMS: Mapping[str, System] = {
    "shared": System("windrow, seven queries, shared", "seven"),
    "plain": System("windrow, a join with the largest window", "largest", shared=False),
    "separate": System("windrow, seven joins", "seven", shared=False),
    # With what a join of windrow sets for itself; Spark is slower without.
    "native": System("Spark, in memory, seven joins", "seven", "few-processes", shared=False),
    "one": System("windrow, one query", "one"),
    "hundred": System("windrow, a hundred queries", "hundred"),
    "lwo": System("windrow, LWO", "seven", schedule="lwo"),
    "mqt": System("windrow, MQT", "seven", schedule="mqt"),
}

#: Half the standard workload's rows: seven of Spark's joins have to fit a heap of 6 GiB.
_STANDARD = replace(
    SETTINGS["standard-200k"],
    name="standard-100k",
    rows=50_000,
    rate=5_000,
    keys=150_000,
    batches=9,
    warm=4,
    limit_seconds=300,
)

WORKLOADS: Mapping[str, Workload] = {
    # What is close runs in turns. The joins of each query are far off, and run once.
    "windows": Workload(
        "seven windows",
        _STANDARD,
        ("shared", "plain") * 3 + ("separate", "native"),
    ),
    "hundred": Workload("a hundred queries", _STANDARD, ("one", "hundred") * 3),
    # A micro-batch before the burst takes two thirds of the budget. The burst's rows scan the
    # smallest window with less than half of it.
    "burst": Workload(
        "a tenfold burst",
        Setting("burst", 4_000, 5, 400, 1_000, 30, limit_seconds=200, burst=10),
        ("lwo", "mqt") * 3,
        budget=120_000,
    ),
}
