"""Figure 8: WO-Join beside W-Join, at equal memory and at equal accuracy.

"We first set the window size (or the buffer size) on par with the amount of buffer consumed by
WO-Join. We get an output accuracy less than 40% for both Query 1 and Query 2. Then we slowly
increase the window size until it is just large enough to produce the equivalent output quality"
(section 5.1).

W-Join is the library's join with `window=wr.rows(n, per="stream")`: the latest n tuples of a stream
stay, which is the paper's buffer of a fixed size. All streams of a join have one n, since whoever
guesses a window does not know which stream will lag; so at equal memory n is what WO-Join stores of
the join's streams on average. For equal accuracy all windows grow by one factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim, measured
from windrow.experiments.paper5 import common, queries
from windrow.experiments.paper5.buffers import ACCURATE
from windrow.experiments.paper5.common import BYTES, PAPER, Setup, percent

SETUP = Setup()
QUERIES = (1, 2)
#: "Less than 40%".
POOR = 0.4
#: "Much larger": by half or more.
LARGER = 1.5
#: The factor of the windows is found to this share.
EXACT = 0.05


@dataclass(frozen=True)
class Pair:
    """A query, on average: tuples that WO-Join stores and its accuracy; W-Join with as many, and
    the factor on its windows that makes it as accurate."""

    stored: float
    accuracy: float
    windowed: float
    factor: float


def run(progress: Progress, setup: Setup = SETUP) -> Outcome:
    """Measure both joins on both queries."""
    pairs = []
    for query in QUERIES:
        found = common.repeated(setup, partial(pair, setup, query), progress.track)
        pairs.append(Pair(*np.mean([tuple(vars(each).values()) for each in found], axis=0)))
    return Outcome(setup.parameters(), panels(pairs), claims(pairs))


@lru_cache(maxsize=128)
def pair(setup: Setup, query: int, seed: int) -> Pair:
    """One repetition."""
    if query == 1:
        trace = queries.single(setup, seed)
        joins, accuracy = [trace], trace.results / common.complete(setup.streams(1, seed))
    else:
        tree = queries.tree(setup, seed)
        joins, accuracy = [*tree.upstream, tree.last], tree.accuracy
    rows = [[join.memory / join.stored.shape[1]] * join.stored.shape[1] for join in joins]

    def windowed(factor: float) -> float:
        wider = [[max(1, round(factor * most)) for most in each] for each in rows]
        return queries.windowed(setup, seed, wider)[0]

    low, high = 1.0, 2.0
    at_par = windowed(low)
    while windowed(high) < min(accuracy, ACCURATE):
        low, high = high, 2 * high
    while high / low > 1 + EXACT:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if windowed(middle) >= ACCURATE else (middle, high)
    return Pair(sum(join.memory for join in joins), accuracy, at_par, high)


def panels(pairs: Sequence[Pair]) -> tuple[Panel, ...]:
    """Both comparisons."""
    x = list(QUERIES[: len(pairs)])
    equal = [100 * each.accuracy for each in pairs], [100 * each.windowed for each in pairs]
    kilobytes = [each.stored * BYTES / 1000 for each in pairs]
    more = [size * each.factor for size, each in zip(kilobytes, pairs, strict=True)]
    return (
        Panel(
            "counted", "query", "accuracy (%)",
            (measured("WO-Join", x, equal[0]), measured("W-Join", x, equal[1])), "Equal memory",
        ),
        Panel(
            "counted", "query", "memory (kB)",
            (measured("WO-Join", x, kilobytes), measured("W-Join", x, more)),
            f"Accuracy of {percent(ACCURATE)}",
        ),
    )  # fmt: skip


def claims(pairs: Sequence[Pair]) -> tuple[Claim, ...]:
    """What the paper says of Figure 8."""
    found = []
    for query, each in zip(QUERIES, pairs, strict=False):
        stored = f"{each.stored:,.0f} tuples"
        found += [
            claim(
                f"Query {query}: with WO-Join's memory, W-Join finds less than {POOR:.0%}",
                each.windowed < POOR,
                f"{each.windowed:.1%} with {stored}, WO-Join {percent(each.accuracy)}",
            ),
            claim(
                f"Query {query}: for {percent(ACCURATE)} it needs much more (by half or more)",
                each.factor >= LARGER,
                f"{each.factor:.2f} times the {stored}",
            ),
        ]
    return tuple(found)


EXPERIMENT = Experiment("5.8", "WO-Join and W-Join", f"{PAPER}, Figure 8", run)
