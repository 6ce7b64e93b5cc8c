"""The two queries of paper 5's Figure 4, run once over the streams of a seed.

Query 2's joins run one after the other, which changes nothing: what J1 and J2 find arrives at J3
when it has been found. Twice a second J3 is told k, rate and lag of S7 and S8, by what is known of
S1 to S6 (section 3.2, `windrow.upstream`), and does not measure them itself. What is not known of
streams that were spilled or sorted on their way, it measures: after DBF the lag; after MSF the
rates, too, since a sorted stream comes in spurts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from windrow.experiments.paper5 import common, driver
from windrow.experiments.paper5.common import UPSTREAM, Needs, Setup
from windrow.experiments.paper5.driver import STEP, Trace
from windrow.model import DataMemory, Strategy
from windrow.operators.build import bounds
from windrow.operators.join.oblivious import ObliviousJoin
from windrow.upstream import Upstream
from windrow.workload.arrivals import MICROS
from windrow.workload.epochs import MULTIPLICITY

NAMES = ("s1", "s2")
#: Steps from one hand-over to the next.
HANDED = 5
#: Strategies that sort first.
SORTS: tuple[Strategy, ...] = ("msf", "hybrid")
#: What is sorted before a join stays so: J3 need not sort again.
DOWNSTREAM: dict[Strategy, Strategy] = {
    "data": "data", "msf": "data", "dbf": "dbf", "hybrid": "dbf",
}  # fmt: skip


@dataclass(frozen=True)
class Tree:
    """A run of Query 2: its joins, what J3 took, and what there can be."""

    upstream: tuple[Trace, Trace]
    last: Trace
    inputs: tuple[pa.Table, pa.Table]
    complete: int
    start: int

    @property
    def accuracy(self) -> float:
        """Produced by producible."""
        return self.last.results / self.complete

    @property
    def memory(self) -> float:
        """Tuples that the three joins store on average."""
        return sum(join.memory for join in (*self.upstream, self.last))


@lru_cache(maxsize=512)
def single(setup: Setup, seed: int, strategy: Strategy = "data", apriori: bool = False) -> Trace:
    """Query 1. `apriori`: scrambling factors are given, and nothing else."""
    tables = setup.streams(1, seed)
    return driver.run(tables, given(setup.factors(1, seed), strategy, apriori))


@lru_cache(maxsize=64)
def needs(setup: Setup, seed: int) -> Needs:
    """What the results of Query 1 need."""
    return common.needs(setup.streams(1, seed))


@lru_cache(maxsize=256)
def tree(setup: Setup, seed: int, strategy: Strategy = "data", apriori: bool = False) -> Tree:
    """Query 2."""
    tables, factors = setup.streams(2, seed), setup.factors(2, seed)
    span = driver.span_of(tables)
    joins = [
        driver.run(tables[which], given(factors[which], strategy, apriori), span=span)
        for which in UPSTREAM
    ]
    outputs = [
        output(tables[which], join, span[0]) for which, join in zip(UPSTREAM, joins, strict=True)
    ]
    upstream = Upstream([3, 3], factors if apriori else None, sorts=strategy in SORTS)
    told = [known(each, strategy) for each in handed(upstream, tables, span)]

    def before(step: int, join: ObliviousJoin) -> None:
        if step % HANDED == 0:
            join.memory.take(bounds(told[step // HANDED], NAMES))

    last = driver.run(
        outputs, replace(told[0], strategy=DOWNSTREAM[strategy]), span=span, before=before
    )
    return Tree(
        (joins[0], joins[1]), last, (outputs[0], outputs[1]), common.complete(tables), span[0]
    )


def windowed(setup: Setup, seed: int, rows: Sequence[Sequence[float]]) -> tuple[float, float]:
    """W-Join: the accuracy, and the tuples of all buffers.

    `rows`: by join, the latest tuples of each stream that stay. One join is Query 1, three are
    Query 2.
    """
    query = 1 if len(rows) == 1 else 2
    tables = setup.streams(query, seed)
    # Results leave when they are found, however long a step is.
    step = 1.0
    if query == 1:
        found = driver.run(tables, None, rows=rows[0], step=step)
    else:
        span = driver.span_of(tables)
        outputs = [
            output(
                tables[which],
                driver.run(tables[which], None, rows=most, step=step, span=span),
                span[0],
            )
            for which, most in zip(UPSTREAM, rows, strict=False)
        ]
        found = driver.run(outputs, None, rows=rows[2], step=step, span=span)
    return found.results / common.complete(tables), float(sum(map(sum, rows)))


def given(factors: Sequence[int], strategy: Strategy, apriori: bool) -> DataMemory:
    """What a join of streams is told; one that sorts is told how often keys come, too."""
    if not apriori:
        return DataMemory(strategy)
    names = [f"s{n}" for n in range(1, len(factors) + 1)]
    times = dict.fromkeys(names, MULTIPLICITY) if strategy in SORTS else {}
    return DataMemory(strategy, k=dict(zip(names, factors, strict=True)), multiplicity=times)


def output(tables: Sequence[pa.Table], join: Trace, start: int) -> pa.Table:
    """A join's results as the next one's stream: they arrive when they have been found."""
    step = float(np.diff(join.at[:2]).sum())
    begun = join.at[join.left] - (step or STEP)
    found = np.maximum.accumulate(np.maximum(join.times, begun)) if join.results else join.times
    came = start + np.round(found * MICROS).astype(np.int64)
    return pa.table(
        {
            "epoch": driver.epoch(tables[0])[join.key_rows],
            "time": pa.array(came).view(pa.timestamp("us", "UTC")),
        }
    )


def known(told: DataMemory, strategy: Strategy) -> DataMemory:
    """What of that is still true of what J3 joins."""
    rate = {} if strategy in SORTS else told.rate
    return replace(told, rate=rate, lag=told.lag if strategy == "data" else {})


def handed(
    upstream: Upstream, tables: Sequence[pa.Table], span: tuple[int, int]
) -> list[DataMemory]:
    """What is known of S7 and S8, every few steps."""
    times = [driver.micros(table) for table in tables]
    streams = np.repeat(np.arange(len(times)), [len(ts) for ts in times])
    order = np.argsort(np.concatenate(times), kind="stable")
    streams, keys = streams[order], np.concatenate([driver.epoch(t) for t in tables])[order]
    stops = np.searchsorted(np.concatenate(times)[order], driver.ends_of(span))
    told, fed = [], 0
    for stop in stops[::HANDED].tolist():
        upstream.observe(streams[fed:stop], keys[fed:stop])
        told.append(upstream.memory(NAMES))
        fed = stop
    return told
