"""Picks the access path and the state structure of a join: paper 1's equations as a choice.

Each rule in `RULES` looks at the plan and either answers or passes; the first answer counts. What
the plan says explicitly is honoured; `algorithm="auto"` goes to the cheaper of Equation (1) with
the constants of nested loops and Equation (2) with those of the time list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from windrow.cost import paper1
from windrow.cost.calibrate import AccessPath, Constants, constants
from windrow.model import CountWindow, JoinPlan
from windrow.state.join_state import Layout, Structure

MICROS = 1_000_000
#: Rows looked at to estimate rates and keys.
SAMPLE_ROWS = 10_000
#: This share of the times is left out at either end: a few odd ones must not stretch the span.
ODD_SHARE = 0.01

#: Paper 1's number of buckets, section 4.1.
BUCKETS = 100
#: Live tuples in a list of a time list: at most that many, so that a cell stays in the cache.
LIST_ROWS = 2400
MOST_CELLS = 256
#: So few tuples that scanning all of them is no loss.
HANDFUL = 32
#: Live tuples to make room for at once; a state that holds more grows.
MOST_EXPECTED = 4_000_000


@dataclass(frozen=True)
class Statistics:
    """What the choice depends on, beside the plan.

    Parameters
    ----------
    rates: tuples a second of each stream, λ in the paper.
    distinct: how many equally frequent keys would make as many pairs agree: 1 / selectivity, in
        the paper's setting the distinct values. A skewed key counts as the fewer it behaves like.
        Of many streams it is that of the two which agree most.
    rows: all the tuples there will be of each stream, where the input is finite.
    pairs: the same as `distinct` for each two of many streams.
    ending: whether there are punctuations in the streams.
    """

    rates: tuple[float, ...]
    distinct: int
    rows: tuple[int, ...] | None = None
    pairs: Mapping[tuple[int, int], int] = field(default_factory=dict, repr=False)
    ending: bool = field(default=False, repr=False)

    @classmethod
    def of(cls, *columns: NDArray[np.int64]) -> Statistics:
        """Estimates from a sample of each stream's event times (µs) and key hashes, in turns.

        >>> ts = np.arange(0, 10_000_000, 1000)
        >>> Statistics.of(ts, ts % 7, ts, ts % 7)
        Statistics(rates=(1000.1..., 1000.1...), distinct=7, rows=(10000, 10000))
        """
        rng = np.random.default_rng(0)
        times, hashes = columns[::2], columns[1::2]
        rows = tuple(len(ts) for ts in times)
        looked_at = [_sample(count, rng) for count in rows]
        sampled = [mine[at] for mine, at in zip(hashes, looked_at, strict=True)]
        pairs = {
            (i, k): _distinct(sampled[i], sampled[k], rows[i] + rows[k])
            for i, k in combinations(range(len(rows)), 2)
        }
        return cls(
            rates=tuple(_rate(ts[at], len(ts)) for ts, at in zip(times, looked_at, strict=True)),
            distinct=min(pairs.values()),
            rows=rows,
            pairs=pairs,
        )

    def windows(self, plan: JoinPlan) -> tuple[float, ...]:
        """Seconds a tuple of each stream stays; no longer than the stream itself lasts."""
        return tuple(self._window(stream, reach) for stream, reach in enumerate(plan.reaches))

    def distinct_of(self, one: int, two: int) -> int:
        """How many equally frequent keys two streams behave like."""
        return self.pairs.get((min(one, two), max(one, two)), self.distinct)

    def matches(self, plan: JoinPlan) -> tuple[float, ...]:
        """Stored tuples of each stream that a probe is expected to find."""
        windows = self.windows(plan)
        return tuple(
            self.rates[stream] * windows[stream] * self._agreeing(stream)
            for stream in range(len(windows))
        )

    def _agreeing(self, stream: int) -> float:
        """The share of a stream that agrees with a tuple of any other."""
        others = [other for other in range(len(self.rates)) if other != stream]
        probes = sum(self.rates[other] for other in others)
        if not probes:
            return 1 / self.distinct
        agree = sum(self.rates[other] / self.distinct_of(other, stream) for other in others)
        return agree / probes

    def _window(self, stream: int, reach: int) -> float:
        # A reach of less than nothing (a range that excludes 0) stores next to nothing.
        seconds = max(reach, 0) / MICROS
        if self.rows is None or not self.rates[stream]:
            return seconds
        return min(seconds, self.rows[stream] / self.rates[stream])

    def live(self, plan: JoinPlan) -> int:
        """Tuples of all streams in their windows at one time."""
        windows = self.windows(plan)
        live = sum(rate * window for rate, window in zip(self.rates, windows, strict=True))
        return round(min(live, MOST_EXPECTED))


@dataclass(frozen=True)
class Choice:
    """How a join runs, and why. `costs`: seconds of work a second of stream, by access path."""

    algorithm: Literal["hash", "nested-loops"]
    layout: Layout
    costs: dict[AccessPath, float]
    reason: str


@dataclass(frozen=True)
class Case:
    """What a rule looks at."""

    plan: JoinPlan
    statistics: Statistics
    costs: dict[AccessPath, float]

    def choice(self, structure: Structure, parts: int, reason: str) -> Choice:
        """An answer; one bucket is nested loops."""
        plan = self.plan
        # What punctuations leave of it cannot be told beforehand.
        ending = plan.punctuated and self.statistics.ending
        expected = 0 if ending or plan.memory is not None else self.statistics.live(plan)
        streams = len(plan.streams)
        # Between two streams there is no order of probing to choose.
        matches = self.statistics.matches(plan) if streams > 2 else ()
        return Choice(
            algorithm="nested-loops" if (structure, parts) == NESTED_LOOPS else "hash",
            layout=Layout(streams, structure, parts, expected, plan.punctuated, matches),
            costs=self.costs,
            reason=reason,
        )


NESTED_LOOPS: tuple[Structure, int] = ("buckets", 1)


def choose(
    plan: JoinPlan,
    statistics: Statistics,
    prices: Mapping[AccessPath, Constants] | None = None,
) -> Choice:
    """How to run a plan; `prices` are this machine's `constants` unless given."""
    case = Case(plan, statistics, _costs(plan, statistics, prices or constants()))
    return next(choice for rule in RULES if (choice := rule(case)) is not None)


def _costs(
    plan: JoinPlan, statistics: Statistics, prices: Mapping[AccessPath, Constants]
) -> dict[AccessPath, float]:
    """Equation (1), and Equation (2) for the time list and for paper 1's buckets.

    The heads of a time list grow with its state, so only the distinct keys limit how finely it
    parts the tuples; buckets stay as many as they are. Of many streams the pairs' costs are added
    up, as if each tuple probed all others.
    """
    windows = statistics.windows(plan)
    costs: dict[AccessPath, float] = {"nested-loops": 0.0}
    if plan.streams[0].key is not None:
        costs |= {"hash": 0.0, "buckets": 0.0}
    for i, k in combinations(range(len(plan.streams)), 2):
        of = (statistics.rates[i], statistics.rates[k], windows[i], windows[k])
        distinct = statistics.distinct_of(i, k)
        buckets = paper1.effective_buckets(plan.buckets or BUCKETS, distinct)
        costs["nested-loops"] += paper1.wnl_total(*of, prices["nested-loops"])
        if "hash" in costs:
            costs["hash"] += paper1.whj_total(*of, distinct, prices["hash"])
            costs["buckets"] += paper1.whj_total(*of, buckets, prices["buckets"])
    return costs


# -- rules -----------------------------------------------------------------------------------


def following_the_data(case: Case) -> Choice | None:
    """Buffers that follow the data are one list for each stream, in the order of arrival."""
    if case.plan.memory is None:
        return None
    return case.choice("time-list", 1, "hash in 1 cell, because buffers follow order of arrival")


def count_windows(case: Case) -> Choice | None:
    """They have a structure of their own, a list per key, whatever else is asked."""
    if not any(isinstance(stream.window, CountWindow) for stream in case.plan.streams):
        return None
    found = case.choice("counted", 1, f"a list per key, for count windows; {_numbers(case)}")
    return replace(found, algorithm="hash")


def punctuations(case: Case) -> Choice | None:
    """They work on time lists, which find a key's tuples by its chain."""
    if not case.plan.punctuated:
        return None
    parts = _cells(case)
    why = f"hash {_in_cells(parts)} with I-Nodes, for punctuations"
    return case.choice("time-list", parts, f"{why}; {_numbers(case)}")


def without_key(case: Case) -> Choice | None:
    """Nothing to hash by: the condition is all there is."""
    if case.plan.streams[0].key is not None:
        return None
    return case.choice(*NESTED_LOOPS, f"nested loops, because there is no key; {_numbers(case)}")


def nested_loops_asked(case: Case) -> Choice | None:
    """`algorithm="nested-loops"`."""
    if case.plan.algorithm != "nested-loops":
        return None
    return case.choice(*NESTED_LOOPS, f"nested loops, as asked; {_numbers(case)}")


def buckets_asked(case: Case) -> Choice | None:
    """An invalidation strategy of paper 1 asks for its buckets."""
    if case.plan.invalidation == "time-list":
        return None
    parts = case.plan.buckets or BUCKETS
    why = f"invalidation={case.plan.invalidation!r} works on them"
    found = case.choice("buckets", parts, f"{parts} hash buckets, because {why}; {_numbers(case)}")
    return replace(found, algorithm="hash")


def hash_asked(case: Case) -> Choice | None:
    """`algorithm="hash"`, or a number of buckets, which nested loops do not have."""
    if case.plan.algorithm != "hash" and case.plan.buckets is None:
        return None
    parts = _cells(case)
    return case.choice("time-list", parts, f"hash, as asked, {_in_cells(parts)}; {_numbers(case)}")


def cheaper(case: Case) -> Choice | None:
    """Equation (1) against Equation (2); hash where they are even.

    Rates are means, and a burst can hold far more than the mean: nested loops are taken only
    where they could not lose much, with a single key or a handful of rows. (A key that two of many
    streams have, and a third has not, costs hash next to nothing.)
    """
    loops, hashed = case.costs["nested-loops"], case.costs["hash"]
    rows = case.statistics.rows
    distinct = max(case.statistics.pairs.values(), default=case.statistics.distinct)
    harmless = distinct <= 1 or (rows is not None and max(rows) <= HANDFUL)
    if loops < hashed and harmless:
        why = f"nested loops, cheaper by {_factor(hashed, loops)}"
        return case.choice(*NESTED_LOOPS, f"{why}; {_numbers(case)}")
    parts = _cells(case)
    why = f"hash {_in_cells(parts)}, cheaper by {_factor(loops, hashed)}"
    return case.choice("time-list", parts, f"{why}; {_numbers(case)}")


RULES: tuple[Callable[[Case], Choice | None], ...] = (
    following_the_data,
    count_windows,
    punctuations,
    without_key,
    nested_loops_asked,
    buckets_asked,
    hash_asked,
    cheaper,
)


def _cells(case: Case) -> int:
    return case.plan.buckets or cells(case.statistics.live(case.plan), len(case.plan.streams))


def cells(live: int, streams: int) -> int:
    """Cells of a time list with so many live tuples: each list then holds 1200 to 2400 of them.

    >>> [cells(live, 2) for live in (0, 4_800, 600_000, 100_000_000)]
    [1, 1, 128, 256]
    """
    wanted = 1
    while wanted * streams * LIST_ROWS < live and wanted < MOST_CELLS:
        wanted *= 2
    return wanted


# -- words -----------------------------------------------------------------------------------


def _numbers(case: Case) -> str:
    rates = in_words([_short(rate) for rate in case.statistics.rates])
    windows = in_words([_short(window) for window in case.statistics.windows(case.plan)])
    costs = ", ".join(f"{path} {_short(seconds)}" for path, seconds in case.costs.items())
    keyed = case.plan.streams[0].key is not None
    keys = f", about {case.statistics.distinct:,} keys" if keyed else ""
    return f"{rates} tuples a second kept for {windows} s{keys}, cost in seconds a second: {costs}"


def in_words(parts: Sequence[str]) -> str:
    """A list as people write it.

    >>> in_words(["1", "2", "3"]), in_words(["1", "2"])
    ('1, 2 and 3', '1 and 2')
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _short(number: float) -> str:
    """Three digits, or all there are before the point.

    >>> [_short(x) for x in (0.001234, 12.345, 12345.6)]
    ['0.00123', '12.3', '12,346']
    """
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _in_cells(parts: int) -> str:
    return "in 1 cell" if parts == 1 else f"in {parts} cells"


def _factor(dear: float, cheap: float) -> str:
    return f"a factor of {_short(dear / cheap)}" if cheap else "nothing: no tuples are expected"


# -- estimates -------------------------------------------------------------------------------


def _sample(rows: int, rng: np.random.Generator) -> NDArray[np.int64] | slice:
    """Row numbers to look at. Drawn, not every n-th: keys and times may come in cycles."""
    return slice(None) if rows <= SAMPLE_ROWS else rng.integers(0, rows, SAMPLE_ROWS)


def _rate(ts: NDArray[np.int64], rows: int) -> float:
    """Tuples a second: rows by the time they span."""
    if not len(ts):
        return 0.0
    ordered = np.sort(ts)
    odd = int(len(ordered) * ODD_SHARE)
    span = int(ordered[-1 - odd] - ordered[odd])
    return rows * (1 - 2 * odd / len(ordered)) * MICROS / max(span, 1)


def _distinct(one: NDArray[np.int64], two: NDArray[np.int64], most: int) -> int:
    """One in how many pairs agrees: pairs by those that do.

    No guess at the keys that a sample misses is needed: with 300,000 keys, about 330 of the
    pairs of two samples of 10,000 agree.
    """
    keys_one, times_one = np.unique(one, return_counts=True)
    keys_two, times_two = np.unique(two, return_counts=True)
    _, at_one, at_two = np.intersect1d(keys_one, keys_two, assume_unique=True, return_indices=True)
    agree = int(times_one[at_one] @ times_two[at_two])
    pairs = len(one) * len(two)
    return max(1, min(round(pairs / agree) if agree else most, most))
