"""Figure 9: the buffer of S3 under the memory reduction strategies, in Query 1.

"The memory reduction achieved by MSF is insignificant", since sorting needs buffers itself; under
DBF the buffer "is always below a certain value regardless of the amount of Lag"; "the major memory
cost for the hybrid approach comes from the buffer for tuple pre-sorting" (section 5.1).

A buffer is what a stream has in memory: what its join stores, and what waits in the gate before the
join to be sorted, or for its turn, but not what waits on disk.

Scrambling factors are given. A sort that must find them out lets through what comes before it knows
them, and what a join has seen out of order it remembers: the last claim has what that costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim, measured
from windrow.experiments.paper5 import common, queries
from windrow.experiments.paper5.common import PAPER, Setup
from windrow.experiments.paper5.driver import Seconds
from windrow.experiments.paper5.figure_5 import MARKS, S3
from windrow.model import Strategy

SETUP = Setup()
STRATEGIES: dict[Strategy, str] = {
    "data": "WO-Join", "msf": "MSF", "dbf": "DBF", "hybrid": "Hybrid",
}  # fmt: skip
#: MSF gains little if it keeps at least this share; a sort buffer is most of all from this one on.
LITTLE, MOST = 0.75, 0.5
#: Seconds after the congestion, and after the burst, when S3 is four times as far ahead.
BEFORE, AFTER = (45, 80), (95, 118)
#: DBF does not follow the lag if it rises by less than this.
BOUNDED = 1.25


@dataclass(frozen=True)
class Buffer:
    """S3's, by second on average, and what of it waits in the gate."""

    stored: Seconds
    waiting: Seconds

    @property
    def share(self) -> float:
        """Of all that is stored, what waits in the gate."""
        return float(self.waiting.sum() / max(self.stored.sum(), 1))

    def level(self, between: tuple[int, int]) -> float:
        """The average over some seconds; 0 where there are none."""
        part = self.stored[slice(*between)]
        return float(part.sum() / max(len(part), 1))


def run(progress: Progress, setup: Setup = SETUP) -> Outcome:
    """Measure S3's buffer under every strategy."""
    progress.expect((len(STRATEGIES) + 1) * setup.repetitions)
    found = {strategy: buffer(setup, strategy, True, progress) for strategy in STRATEGIES}
    learning = buffer(setup, "hybrid", False, progress)
    marks = tuple(mark for mark in MARKS if mark.x < setup.seconds)
    x = np.arange(1, int(setup.seconds) + 1)
    series = tuple(measured(STRATEGIES[s], x, each.stored) for s, each in found.items())
    panel = Panel("counted", "seconds of stream", "buffer of S3 (tuples)", series, marks=marks)
    return Outcome(setup.parameters(), (panel,), claims(found, learning))


def buffer(setup: Setup, strategy: Strategy, apriori: bool, progress: Progress) -> Buffer:
    """S3's under a strategy."""
    both = []
    for seed in setup.seeds:
        trace = queries.single(setup, seed, strategy, apriori)
        kinds = trace.stored, trace.waiting
        both.append([common.by_second(trace, each, int(setup.seconds))[:, S3] for each in kinds])
        progress.advance()
    return Buffer(*np.mean(both, axis=0))


def claims(found: Mapping[Strategy, Buffer], learning: Buffer) -> tuple[Claim, ...]:
    """What the paper says of Figure 9. `learning`: Hybrid, with no scrambling factors given."""
    means = {strategy: float(each.stored.mean()) for strategy, each in found.items()}
    before, after = (found["dbf"].level(between) for between in (BEFORE, AFTER))
    plain = [found["data"].level(between) for between in (BEFORE, AFTER)]
    return (
        claim(
            f"MSF gains little: it keeps {LITTLE:.0%} of WO-Join's buffer or more",
            means["msf"] >= LITTLE * means["data"],
            f"{means['msf']:,.0f} against {means['data']:,.0f} tuples on average",
        ),
        claim(
            f"DBF's buffer does not follow the lag: after the burst it is at most {BOUNDED:g} "
            "times what it was before",
            after <= BOUNDED * before,
            f"{before:,.0f} before, {after:,.0f} after; WO-Join's {plain[0]:,.0f} and "
            f"{plain[1]:,.0f} tuples",
        ),
        claim(
            "Hybrid has the smallest buffer",
            means["hybrid"] == min(means.values()),
            ", ".join(f"{STRATEGIES[s]} {mean:,.0f}" for s, mean in means.items()),
        ),
        claim(
            f"Most of Hybrid's buffer ({MOST:.0%} or more) is for sorting",
            found["hybrid"].share >= MOST,
            f"{found['hybrid'].share:.0%} of it waits in the gate",
        ),
        claim(
            "The same where scrambling factors must be found out (ours)",
            learning.share >= MOST,
            f"{learning.share:.0%} of {float(learning.stored.mean()):,.0f} tuples: what passes "
            "before a factor is known is out of order, and a join's own never falls",
        ),
    )


EXPERIMENT = Experiment("5.9", "Memory reduction strategies", f"{PAPER}, Figure 9", run)
