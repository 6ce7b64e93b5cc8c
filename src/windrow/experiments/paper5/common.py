"""The set-up of paper 5, section 5, and what complete results need.

    Query 1     S1, S2, S3 joined on their epoch, in one operator
    Query 2     S7 = J1(S1, S2, S3), S8 = J2(S4, S5, S6), joined by J3

Streams are Poisson with gaps of 20 ms, two tuples an epoch, 24 bytes a tuple; the scrambling factor
of each is drawn from 0 to 500. At 10 s the rate of S2 falls to 1/8 for 30 s; in Query 1 that of S3
rises to 8 times at 80 s for 10 s. All is repeated thirty times with other streams, and curves are
averages.

The *optimal* buffer is found by backtracking from each result, as the paper has it: how many of a
stream's latest tuples there had to be for its tuple in the result to be still there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.experiments.paper5.driver import Numbers, Seconds, Trace, epoch, micros, span_of
from windrow.workload.arrivals import MICROS
from windrow.workload.epochs import BURST, CONGESTION, MOST_SCRAMBLED, MULTIPLICITY, query_1

PAPER = (
    "Wu, Tan and Zhou, "
    "Window-Oblivious Join: A Data-Driven Memory Management Scheme for Stream Join"
)
#: Bytes of a tuple.
BYTES = 24
#: What happens to the streams of each query.
CHANGES = {
    1: ((), (CONGESTION,), (BURST,)),
    2: ((), (CONGESTION,), (), (), (), ()),
}
#: The streams of J1 and J2; their outputs are S7 and S8.
UPSTREAM = (slice(0, 3), slice(3, 6))


@dataclass(frozen=True)
class Setup:
    """Seconds of stream, the largest scrambling factor, and how many repetitions."""

    seconds: float = 120
    scrambling: int = MOST_SCRAMBLED
    repetitions: int = 30

    @property
    def seeds(self) -> range:
        """One for each repetition."""
        return range(1, self.repetitions + 1)

    def factors(self, query: int, seed: int) -> list[int]:
        """Scrambling factors of a query's streams, which no stream exceeds."""
        chance = np.random.default_rng([seed, query])
        drawn = chance.integers(0, self.scrambling, len(CHANGES[query]), endpoint=True)
        # Equal keys count as out of order.
        return [max(int(each), MULTIPLICITY - 1) for each in drawn]

    def streams(self, query: int, seed: int) -> tuple[pa.Table, ...]:
        """The streams of a query."""
        factors, changes = self.factors(query, seed), CHANGES[query]
        return query_1(self.seconds, scrambling=factors, changes=changes, seed=seed)

    def parameters(self) -> dict[str, Any]:
        """What a result says about the set-up."""
        return {
            "seconds of stream": self.seconds,
            "scrambling factor of each stream": f"drawn from 0 to {self.scrambling}",
            "multiplicity": MULTIPLICITY,
            "mean gap (ms)": 20,
            "repetitions": self.repetitions,
        }


# -- exactly, with hindsight -----------------------------------------------------------------


def complete(tables: Sequence[pa.Table]) -> int:
    """All results that there can be: for each key the product of its tuples."""
    keys = [epoch(table) for table in tables]
    most = max((int(each.max()) for each in keys if len(each)), default=-1) + 1
    return int(np.prod([np.bincount(each, minlength=most) for each in keys], axis=0).sum())


def combinations(tables: Sequence[pa.Table]) -> list[Numbers]:
    """All results, as the rows of each stream.

    >>> made = [pa.table({"epoch": keys}) for keys in ([1, 2, 2], [2, 3, 2])]
    >>> [rows.tolist() for rows in combinations(made)]
    [[1, 1, 2, 2], [0, 2, 0, 2]]
    """
    first = epoch(tables[0])
    found = [np.arange(len(first))]
    for table in tables[1:]:
        keys = epoch(table)
        order = np.argsort(keys, kind="stable")
        wanted = first[found[0]]
        begin = np.searchsorted(keys[order], wanted)
        count = np.searchsorted(keys[order], wanted, side="right") - begin
        which = np.repeat(np.arange(len(wanted)), count)
        places = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
        found = [rows[which] for rows in found]
        found.append(order[begin[which] + places])
    return found


@dataclass(frozen=True)
class Needs:
    """By result: when its last tuple came, in seconds, and how many of the latest tuples of each
    stream there had to be; 0 of the stream of that last tuple, which need not be stored."""

    at: Seconds
    stored: Numbers

    def accuracy(self, most: Sequence[float]) -> float:
        """The share of results that buffers of so many latest tuples would find."""
        return float((self.stored <= np.asarray(most)).all(axis=1).mean())


def needs(tables: Sequence[pa.Table], start: int | None = None) -> Needs:
    """Backtrack from every result. `start`: the µs from which seconds count, if not the first."""
    start = span_of(tables)[0] if start is None else start
    times = [micros(table) for table in tables]
    stream = np.repeat(np.arange(len(tables)), [len(ts) for ts in times])
    row = np.concatenate([np.arange(len(ts)) for ts in times])
    order = np.lexsort((row, stream, np.concatenate(times)))
    when = np.empty(len(order), np.int64)
    when[order] = np.arange(len(order))
    came = np.split(when, np.cumsum([len(ts) for ts in times])[:-1])
    rows = combinations(tables)
    arrivals = np.stack([mine[ids] for mine, ids in zip(came, rows, strict=True)], axis=1)
    last = arrivals.max(axis=1)
    stored = np.stack(
        [
            np.where(ids == last, 0, np.searchsorted(mine, last) - own)
            for mine, ids, own in zip(came, arrivals.T, rows, strict=True)
        ],
        axis=1,
    )
    return Needs((np.concatenate(times)[order][last] - start) / MICROS, stored)


# -- curves ----------------------------------------------------------------------------------


def most_by_second(at: Seconds, values: Numbers, seconds: int) -> Seconds:
    """The largest in each second, by column; 0 where there is none."""
    found = np.zeros((seconds, values.shape[1]))
    which = np.clip(at.astype(np.int64), 0, seconds - 1)
    np.maximum.at(found, which, values)
    return found


def by_second(trace: Trace, values: Numbers, seconds: int) -> Seconds:
    """The same of what there is after each step, up to the end of the step."""
    return most_by_second(np.maximum(trace.at - 1e-9, 0), values, seconds)


def repeated(setup: Setup, one: Callable[[int], Any], track: Callable[..., Any]) -> list[Any]:
    """Every repetition, by its seed."""
    return [one(seed) for seed in track(setup.seeds, label=lambda seed: f"repetition {seed}")]


def percent(share: float) -> str:
    """A share that is nearly whole.

    >>> percent(1.0), percent(0.99649), percent(0.9999999)
    ('100 %', '99.65 %', '99.9999 %')
    """
    if share == 1:
        return "100 %"
    digits = 2 if share < 0.9999 else 4
    return f"{int(share * 10 ** (2 + digits) + (digits == 2) / 2) / 10**digits:.{digits}f} %"
