"""The set-up of paper 3, section 6.1, and how its figures are measured.

Both streams are fed by time, one sampling step after the other and as fast as it goes
(CPU-limited mode); after each step the figures of the join are read.

PWJoin heeds punctuations and windows. WJoin is the same join, but punctuations only move its
progress. PJoin is PWJoin without windows. So all three have the same structures, as in the paper.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow import api, planning
from windrow.experiments.frame import Panel, measured
from windrow.model import JoinPlan, Metrics, Stream, TimeWindow
from windrow.operators.arrivals import Piece
from windrow.operators.payload import Payload
from windrow.workload import Uniform, punctuated, stream_table
from windrow.workload.arrivals import MICROS
from windrow.workload.punctuations import GAP
from windrow.workload.tables import START

PAPER = "Ding and Rundensteiner, Evaluating Window Joins over Punctuated Streams"
NAMES = ("a", "b")

Join = Literal["PWJoin", "WJoin", "PJoin"]
#: Seconds by stream; None is no window.
Windows = tuple[float | None, float | None]

#: How often a run is repeated for its time.
REPEATS = 5


@dataclass(frozen=True)
class Setup:
    """What the streams are like, in the paper's notation; None is a stream without punctuations.

    `every` is the sampling step. `values` bounds the keys, and a stream without punctuations
    has each of them equally often. `marked=False` leaves the punctuations' rows out, and
    `irrelevant` lets them name keys that no tuple has.
    """

    patterns: tuple[str | None, str | None]
    seconds: float = 120
    every: float = 2
    values: int | None = None
    marked: bool = True
    irrelevant: bool = False
    gap: float = GAP
    seed: int = 1

    @property
    def steps(self) -> list[float]:
        """When the figures are read, in seconds of stream."""
        return [self.every * (i + 1) for i in range(round(self.seconds / self.every))]

    def parameters(self) -> dict[str, Any]:
        """What a result says about the set-up."""
        return {
            "streams A and B": [pattern or "no punctuations" for pattern in self.patterns],
            "seconds of tuples": self.seconds,
            "mean gap between tuples (ms)": 1000 * self.gap,
            "sampling step (s)": self.every,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Run:
    """What a join had done up to each sampling step.

    `work` counts operations on stored tuples and flags: comparisons of probes, insertions,
    tuples invalidated and purged, punctuations looked up. `ended` counts the keys that were
    propagated, each once. `seconds` are on the clock.
    """

    steps: tuple[float, ...]
    stored: tuple[tuple[int, int], ...]
    results: tuple[int, ...]
    work: tuple[int, ...]
    ended: tuple[int, ...]
    seconds: tuple[float, ...]
    last: Metrics

    @property
    def both(self) -> list[int]:
        """Tuples in both states."""
        return [sum(sides) for sides in self.stored]

    def level(self, since: float) -> float:
        """The mean of the tuples in both states from a time on."""
        kept = [n for at, n in zip(self.steps, self.both, strict=True) if at >= since]
        return sum(kept) / len(kept)


def measure(setup: Setup, join: Join, windows: Windows, repeats: int = 1) -> Run:
    """Run a join over the set-up's streams; of several runs, the one that took the least time."""
    if repeats > 1:
        _compile(join)
    runs = [_run(setup, join, windows) for _ in range(repeats)]
    return min(runs, key=lambda run: run.seconds[-1])


def _run(setup: Setup, kind: Join, windows: Windows) -> Run:
    join = api.local_join(plan(setup, kind, windows))
    stored, results, work, seconds = [], [], [], []
    ended: list[NDArray[np.int64]] = []
    last, clock = Metrics(), 0.0
    for ranges in _ranges(setup):
        started = time.perf_counter()
        pieces = [piece for piece in join.batch(ranges) if isinstance(piece, Piece)]
        clock += time.perf_counter() - started
        last = join.figures()
        stored.append((last.live_rows[NAMES[0]], last.live_rows[NAMES[1]]))
        results.append(last.matches)
        work.append(operations(last))
        seconds.append(clock)
        ended.append(_ended_keys(pieces, join.payloads))
    return Run(
        steps=tuple(setup.steps),
        stored=tuple(stored),
        results=tuple(results),
        work=tuple(work),
        ended=tuple(first_seen(ended)),
        seconds=tuple(seconds),
        last=last,
    )


def operations(figures: Metrics) -> int:
    """Operations on stored tuples and flags; a join without punctuations has none of the last two.

    >>> operations(Metrics(comparisons=9, inserted={"a": 4}, invalidated={"a": 2}, purged={"a": 1}))
    16
    """
    moved = (figures.inserted, figures.invalidated, figures.purged, figures.punctuations)
    return figures.comparisons + sum(sum(counts.values()) for counts in moved)


def plan(setup: Setup, kind: Join, windows: Windows) -> JoinPlan:
    """The join over the set-up's streams."""
    asked = planning.plan(*(_stream(setup, side, windows[side]) for side in range(len(NAMES))))
    # The time list, whatever else might be cheaper: it is what PWJoin works on.
    if kind == "WJoin":
        return replace(asked, heeding=False, algorithm="hash")
    return replace(asked, punctuate=True)


def _stream(setup: Setup, side: int, window: float | None) -> Stream:
    return api.stream(
        table(setup, side),
        name=NAMES[side],
        key="key",
        time="time",
        window=None if window is None else TimeWindow(round(window * MICROS)),
        ends=None if setup.patterns[side] is None else "over",
    )


@lru_cache(maxsize=8)
def table(setup: Setup, side: int) -> pa.Table:
    """One stream; its tuples do not depend on the other's pattern."""
    rng = np.random.default_rng([setup.seed, side])
    pattern = setup.patterns[side]
    if pattern is None:
        return stream_table(1 / setup.gap, setup.seconds, Uniform(setup.values or 1), seed=rng)
    return punctuated(
        pattern,
        setup.seconds,
        seed=rng,
        gap=setup.gap,
        values=setup.values,
        marked=setup.marked,
        irrelevant=setup.irrelevant,
    )


def _ranges(setup: Setup) -> list[list[tuple[int, int]]]:
    """Rows of each table up to each sampling step."""
    borders = np.array(setup.steps) * MICROS + np.datetime64(START, "us").astype(np.int64)
    cuts = []
    for side in range(len(NAMES)):
        times = micros(table(setup, side))
        # A table that has given its last row has ended, and its keys with it: so one stays back.
        cuts.append([0, *np.minimum(np.searchsorted(times, borders), len(times) - 1).tolist()])
    return [[(cut[step], cut[step + 1]) for cut in cuts] for step in range(len(setup.steps))]


def micros(stream: pa.Table) -> NDArray[np.int64]:
    """A stream's times."""
    found: NDArray[np.int64] = stream["time"].cast(pa.int64()).to_numpy()
    return found


def _ended_keys(pieces: Sequence[Piece], payloads: Sequence[Payload]) -> NDArray[np.int64]:
    """The keys that were propagated in these pieces."""
    found = [np.empty(0, np.int64)]
    for piece in pieces:
        for side, rows in enumerate(piece.rows):
            if piece.kind == "end" and rows is not None:
                found.append(payloads[side].column("key", rows).to_numpy())
    return np.concatenate(found)


def first_seen(steps: Sequence[NDArray[np.int64]]) -> list[int]:
    """How many different keys there are up to each step.

    >>> first_seen([np.array([7, 8]), np.array([8]), np.array([9, 7])])
    [2, 2, 3]
    """
    step_of = np.repeat(np.arange(len(steps)), [len(keys) for keys in steps])
    _, first = np.unique(np.concatenate(steps), return_index=True)
    found: list[int] = np.cumsum(np.bincount(step_of[first], minlength=len(steps))).tolist()
    return found


@cache
def _compile(join: Join) -> None:
    """Let numba do its work before anything is timed."""
    _run(Setup(("punct-asc-10-40",) * 2, seconds=4), join, (1, 1))


# -- words -------------------------------------------------------------------------------------

WORK = "operations on stored tuples and flags"


def outputs(named: Sequence[tuple[str, Run]]) -> tuple[Panel, ...]:
    """Panels of the output of named runs: over work, and over time."""
    counted = tuple(measured(name, run.work, run.results) for name, run in named)
    timed = tuple(measured(name, run.seconds, run.results) for name, run in named)
    y = "output tuples so far"
    return (
        Panel("counted", WORK, y, counted, "Output over work"),
        Panel("wall time", "seconds of work", y, timed, "Output over time"),
    )


def milliseconds(run: Run) -> str:
    """A run's time on the clock.

    >>> milliseconds(Run((), (), (), (), (), (0.1, 0.25), Metrics()))
    '250 ms'
    """
    return f"{1000 * run.seconds[-1]:.3g} ms"


def at_equal_work(one: Run, two: Run) -> float:
    """Output of one by output of two, after as much work as the lesser of them did in all."""
    spent = min(one.work[-1], two.work[-1])
    outputs = [float(np.interp(spent, run.work, run.results)) for run in (one, two)]
    return outputs[0] / outputs[1]
