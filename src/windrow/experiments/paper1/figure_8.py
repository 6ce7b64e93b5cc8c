"""Figure 8: what the invalidation strategies keep in memory, with our time list added.

The probed stream B is 100 times as fast as A, and its stored tuples are counted every 2 seconds
for 60 seconds. "With the exception of probe time invalidation, all the other strategies had
approximately the same average memory usage", and the steady state is reached after 30 seconds
(section 4.2).

Section 3.2 predicts N λ_B/λ_A stale tuples for probe. They build up from the moment the first
tuple expires, as a bucket waits N/λ_A seconds for its next probe: after a time s with
exponential gaps, N λ_B/λ_A (1 - exp(-s λ_A/N)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windrow.bar import Progress
from windrow.cost.optimizer import cells
from windrow.cost.paper1 import stale_tuples
from windrow.experiments.frame import (
    Claim,
    Experiment,
    Mark,
    Outcome,
    Panel,
    claim,
    measured,
    modelled,
)
from windrow.experiments.paper1 import common
from windrow.experiments.paper1.common import PAPER, STRATEGIES, Setup
from windrow.model import Invalidation

SETUP = Setup(rates=(20, 2000))
BUCKETS = 100
EVERY = 2.0

PROBED = 1
#: As much as that from the level counts as having reached it.
NEAR = 0.05


@dataclass(frozen=True)
class Occupancy:
    """The tuples stored for B after each `every` seconds, by strategy."""

    setup: Setup
    buckets: int
    every: float
    stored: Mapping[Invalidation, Sequence[int]]

    @property
    def times(self) -> list[float]:
        """When they were counted."""
        return [self.every * (i + 1) for i in range(len(self.stored["all"]))]

    def level(self, name: Invalidation) -> float:
        """The mean of the last half of the steady time."""
        last = max(1, round(self.setup.counted / self.every / 2))
        values = self.stored[name][-last:]
        return sum(values) / len(values)

    def steady_from(self, name: Invalidation) -> float:
        """The time from which on every count is near the level."""
        level, since = self.level(name), self.times[0]
        after = [*self.times[1:], math.inf]
        for following, count in zip(after, self.stored[name], strict=True):
            if abs(count / level - 1) > NEAR:
                since = following
        return since

    def modelled(self, name: Invalidation, t: float) -> float:
        """λ_B T tuples in the window, and the stale ones that the strategy leaves."""
        rate_a, rate_b = self.setup.rates
        window = self.setup.window
        stale = stale_tuples(name, rate_a, rate_b, self.buckets) if t > window else 0.0
        if name == "probe":
            stale *= 1 - math.exp(-(t - window) * rate_a / self.buckets)
        return rate_b * min(t, window) + stale


def run(
    progress: Progress, setup: Setup = SETUP, buckets: int = BUCKETS, every: float = EVERY
) -> Outcome:
    """Count the stored tuples with every strategy."""
    found = Occupancy(
        setup,
        buckets,
        every,
        {
            name: common.occupancy(setup, common.strategy(name, buckets, setup), PROBED, every)
            for name in progress.track(STRATEGIES, label=str)
        },
    )
    return Outcome(
        parameters={
            "rates of A and of B, the probed stream (tuples/s)": list(setup.rates),
            "selectivity": setup.selectivity,
            "buckets": buckets,
            "cells of the time list": cells(setup.live, 2),
            "counted every (s)": every,
            **{k: v for k, v in setup.parameters().items() if k != "counted and timed"},
        },
        panels=panels(found),
        claims=claims(found),
    )


def panels(found: Occupancy) -> tuple[Panel, ...]:
    """Stored tuples over time, and how many of them are stale."""
    times = found.times
    stored = [measured(name, times, found.stored[name]) for name in STRATEGIES]
    for name in ("probe", "all"):
        stored.append(modelled(name, times, [found.modelled(name, t) for t in times]))
    least = found.stored["all"]
    extra = [
        measured(name, times, [a - b for a, b in zip(found.stored[name], least, strict=True)])
        for name in STRATEGIES
        if name != "all"
    ]
    extra += [
        modelled(name, times, [found.modelled(name, t) - found.modelled("all", t) for t in times])
        for name in ("probe", "probe-insert", "probe-all")
    ]
    x = "seconds"
    marks = (Mark(found.setup.window, "one window"),)
    return (
        Panel("counted", x, "stored tuples of B", tuple(stored), "Memory", marks=marks),
        Panel("counted", x, "more than all keeps", tuple(extra), "Stale tuples", marks=marks),
    )


def claims(found: Occupancy) -> tuple[Claim, ...]:
    """What the paper says of Figure 8, and what we say of the time list."""
    rate_a, rate_b = found.setup.rates
    least = found.level("all")
    more = {name: found.level(name) - least for name in STRATEGIES}
    others = [name for name in STRATEGIES if name not in ("probe", "all")]
    most = max(abs(more[name]) / least for name in others)
    settled = max(found.steady_from(name) for name in STRATEGIES if name != "probe")
    predicted = found.modelled("probe", found.setup.seconds) - found.setup.window * rate_b
    wait = found.buckets / rate_a
    return (
        claim(
            "Only probe accumulates stale tuples; the others keep as much as all, within 2 %",
            more["probe"] > 0.05 * least and most <= 0.02,
            f"all keeps {least:,.0f} tuples; probe {more['probe']:+,.0f}, "
            + ", ".join(f"{name} {more[name]:+,.0f}" for name in others),
        ),
        claim(
            "Probe keeps N λ_B/λ_A stale tuples (section 3.2)",
            abs(more["probe"] / predicted - 1) <= 0.15,
            f"{more['probe']:,.0f} measured, {predicted:,.0f} predicted",
        ),
        claim(
            f"Steady from {found.setup.window:g} s on, one window, for all but probe",
            settled <= found.setup.window,
            f"within {NEAR:.0%} of the level from {settled:g} s on at the latest",
        ),
        claim(
            "Probe is steady later: its stale tuples build up for a few times N/λ_A",
            found.setup.window < found.steady_from("probe") <= found.setup.window + 3 * wait,
            f"from {found.steady_from('probe'):g} s on; N/λ_A is {wait:g} s",
        ),
        claim(
            "Our time list has the memory of all",
            abs(more["time-list"]) <= 0.001 * least,
            f"{found.level('time-list'):,.0f} against {least:,.0f} tuples",
        ),
    )


EXPERIMENT = Experiment("1.8", "Memory of the invalidation strategies", f"{PAPER}, Figure 8", run)
