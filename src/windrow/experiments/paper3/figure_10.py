"""Figure 10: what punctuations cost that match nothing.

All punctuations name values that no tuple has, so none purges. "Even in this case, the extra
overhead of PWJoin is insignificant": an irrelevant punctuation costs a look into a hash table,
and here there are 30 times as many tuples. And "if punctuations never happen, no extra cost would
be incurred in PWJoin" (section 6.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim
from windrow.experiments.paper3 import common
from windrow.experiments.paper3.common import PAPER, REPEATS, WORK, Join, Run, Setup

SETUP = Setup(("punct-asc-30-40", "punct-random-30-40"), seconds=240, every=12, irrelevant=True)
#: The paper names none for this figure; this is the smaller one of Figure 9.
WINDOW = 5
#: As much more work as that counts as insignificant.
LITTLE = 0.05


@dataclass(frozen=True)
class Found:
    """PWJoin with irrelevant punctuations and with none, and WJoin, over the same tuples."""

    pwjoin: Run
    silent: Run
    wjoin: Run


def run(
    progress: Progress, setup: Setup = SETUP, window: float = WINDOW, repeats: int = REPEATS
) -> Outcome:
    """Measure both joins, and PWJoin on streams that could have punctuations but have none."""
    silent = replace(setup, marked=False)
    asked: tuple[tuple[Setup, Join], ...] = (
        (setup, "PWJoin"),
        (silent, "PWJoin"),
        (setup, "WJoin"),
    )
    found = Found(
        *(
            common.measure(at, join, (window, window), repeats)
            for at, join in progress.track(asked, label=lambda pair: pair[1])
        )
    )
    return Outcome(
        parameters={
            "window of both streams (s)": window,
            **setup.parameters(),
            "punctuations": "all irrelevant",
        },
        panels=panels(found),
        claims=claims(found),
    )


def panels(found: Found) -> tuple[Panel, ...]:
    """Output over work, and over time."""
    named = (
        ("PWJoin", found.pwjoin),
        ("WJoin", found.wjoin),
        ("PWJoin, no punctuations", found.silent),
    )
    return common.outputs(named)


def claims(found: Found) -> tuple[Claim, ...]:
    """What the paper says of Figure 10."""
    pwjoin, silent, wjoin = found.pwjoin, found.silent, found.wjoin
    figures = pwjoin.last
    touched = sum(figures.purged.values()) + sum(figures.discarded.values())
    punctuations, tuples = sum(figures.punctuations.values()), sum(figures.tuples.values())
    return (
        claim(
            "Irrelevant punctuations purge nothing and change no output",
            punctuations > 0 and touched == 0 and pwjoin.results == wjoin.results,
            f"{punctuations:,} punctuations among {tuples:,} tuples: {touched} tuples purged or "
            f"discarded, {pwjoin.results[-1]:,} against {wjoin.results[-1]:,} output tuples",
        ),
        _cheap(f"Their extra cost is insignificant, at most {LITTLE:.0%} more work", pwjoin, wjoin),
        _cheap(
            f"Without punctuations PWJoin costs as WJoin, at most {LITTLE:.0%} more work",
            silent,
            wjoin,
        ),
    )


def _cheap(text: str, run: Run, wjoin: Run) -> Claim:
    extra = run.work[-1] / wjoin.work[-1] - 1
    return claim(
        text,
        extra <= LITTLE,
        f"{extra:+.2%} {WORK}; on the clock {common.milliseconds(run)} against "
        f"{common.milliseconds(wjoin)}, {run.seconds[-1] / wjoin.seconds[-1]:.2f} times as much",
    )


EXPERIMENT = Experiment("3.10", "Irrelevant punctuations", f"{PAPER}, Figure 10", run)
