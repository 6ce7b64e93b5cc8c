"""What monitoring costs: joins without windows beside window joins of the same buffers.

In process. Two and three streams of epochs, in order but for a few places and in step, so that few
tuples must stay and all is in the cache. Windows are so long that as many tuples are stored as the
memory manager keeps; results leave as row ids.

    python -m benchmarks.windowless [TUPLES]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import pyarrow as pa

import windrow as wr
from benchmarks.measure import Target, alternately, ratio, show
from windrow.api import local_join
from windrow.model import JoinPlan
from windrow.workload import epochs

#: Tuples of each stream, and seconds between two.
TUPLES, GAP = 400_000, 0.001
NAMES = "abc"
#: At most so many times the window join's time.
LIMIT = 1.15


@dataclass(frozen=True)
class Case:
    """So many streams, scrambled by so many places."""

    streams: int
    scrambling: int

    def tables(self, tuples: int) -> tuple[pa.Table, ...]:
        """Streams that come together, each scrambled in its own way."""
        made = [
            epochs(1.1 * tuples * GAP, scrambling=self.scrambling, gap=GAP, seed=seed)[:tuples]
            for seed in range(self.streams)
        ]
        times = made[0]["time"]
        return tuple(table.set_column(1, "time", times) for table in made)

    def __str__(self) -> str:
        return f"{self.streams} streams, scrambled by {self.scrambling}"


CASES = (Case(2, 20), Case(3, 20), Case(2, 500), Case(3, 500))


def plan(tables: tuple[pa.Table, ...], rows: float | None) -> JoinPlan:
    """The join of the tables: with windows of about so many rows, or none."""
    window = None if rows is None else f"{round(rows * GAP * 1000)} milliseconds"
    streams = [
        wr.stream(table, name=name, key="epoch", time="time", window=window)
        for table, name in zip(tables, NAMES, strict=False)
    ]
    return wr.plan(*streams, memory="data" if rows is None else "window")


def stored(asked: JoinPlan) -> float:
    """Tuples of a stream that are stored, on average, where all streams are alike."""
    join = local_join(asked)
    longest = max(len(table) for table in join.tables)
    step, seen = max(1, longest // 50), []
    for start in range(0, longest - step, step):
        for _ in join.batch([(start, start + step)] * len(join.tables)):
            pass
        seen.append(sum(join.figures().live_rows.values()) / len(join.tables))
    return median(seen[len(seen) // 5 :])


def run(case: Case, tuples: int) -> None:
    """Measure a case and print it."""
    tables = case.tables(tuples)
    without = plan(tables, None)
    rows = stored(without)
    windowed = plan(tables, rows)

    def joined(asked: JoinPlan) -> int:
        return sum(len(piece) for piece in local_join(asked).pieces())

    ours, peer = "without windows", "windows of the same buffers"
    runs: dict[str, Callable[[], object]] = {
        ours: lambda: joined(without),
        peer: lambda: joined(windowed),
    }
    results = {ours: joined(without), peer: joined(windowed)}
    assert len(set(results.values())) == 1, results
    times = alternately(runs, warm=2, rounds=9)
    whole = sum(len(table) for table in tables)
    lines = [
        [
            name,
            f"{median(taken):.3f} s",
            f"{median(taken) / whole * 1e9:.0f} ns",
            f"{ratio(times, name, peer):.2f}x",
            f"{results[name]:,}",
            f"{stored(without if name == ours else windowed):,.0f}",
        ]
        for name, taken in times.items()
    ]
    targets = [Target("monitoring, by a window join", ratio(times, ours, peer), LIMIT)]
    header = ["", "median", "a tuple", "by windows", "results", "stored of a stream"]
    show(f"{case}, {tuples:,} tuples each", header, lines, targets)


def main() -> None:
    tuples = int(sys.argv[1]) if len(sys.argv) > 1 else TUPLES
    for case in CASES:
        run(case, tuples)


if __name__ == "__main__":
    main()
