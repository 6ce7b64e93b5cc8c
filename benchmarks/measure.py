"""How things are timed here: alternately, warm, and reported as a ratio.

The machines are shared, so an absolute time means little. Both sides run in turn, so that a
slow moment hits both, and the median of the rounds' ratios counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.table import Table

CONSOLE = Console(width=110)


@dataclass(frozen=True)
class Target:
    """A promise, and what was measured of it."""

    name: str
    measured: float
    limit: float
    unit: str = "x"

    @property
    def met(self) -> bool:
        return self.measured <= self.limit


def seconds(run: Callable[[], object]) -> float:
    """How long one run takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def alternately(
    runs: dict[str, Callable[[], object]], *, warm: int = 3, rounds: int = 9
) -> dict[str, list[float]]:
    """Times of each, round by round, after some rounds that do not count."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(warm + rounds):
        for name, run in runs.items():
            taken = seconds(run)
            if number >= warm:
                times[name].append(taken)
    return times


def ratio(times: dict[str, list[float]], ours: str, peer: str) -> float:
    """The median over the rounds of our time by the peer's."""
    return median(a / b for a, b in zip(times[ours], times[peer], strict=True))


def show(title: str, header: list[str], rows: list[list[str]], targets: list[Target]) -> None:
    """Print a table, then the promises."""
    table = Table(title=title, title_justify="left")
    for number, name in enumerate(header):
        table.add_column(name, justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*row)
    CONSOLE.print(table)
    for target in targets:
        word = "met" if target.met else "NOT met"
        CONSOLE.print(
            f"  {target.name}: {target.measured:.2f}{target.unit}, "
            f"at most {target.limit:g}{target.unit} wanted: {word}"
        )
    CONSOLE.print()
