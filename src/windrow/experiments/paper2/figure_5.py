"""Figure 5: average response time for the four distributions of window sizes.

"MQT has the best average response time of the three algorithms, while LWO provides the second-best
response time for all of the distributions except for (as might be expected) Mostly-Small"; nested
loops "resemble those obtained with the hash-based implementations, with approximately order of
magnitude increase" (section 5.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim
from windrow.experiments.paper2 import by_thread, common
from windrow.experiments.paper2.by_thread import ThreadSetup
from windrow.experiments.paper2.common import PAPER, SCHEDULES, WINDOWS, Setup, Three, said
from windrow.model import Schedule

SETUP = Setup()
#: Nested loops look at 9,000 tuples where hash looks at 120, so they get fewer a second.
NESTED = Setup(nested=True, rate=15)

#: "Approximately order of magnitude".
MORE, MOST = 5, 20

#: The three schedules' response times by distribution.
Times = Mapping[str, Sequence[float]]


def run(
    progress: Progress,
    setup: Setup = SETUP,
    nested: Setup = NESTED,
    its_own: ThreadSetup = by_thread.SETUP,
) -> Outcome:
    """Measure the three schedules with every distribution."""
    hashed = measure(progress, setup)
    looped = measure(progress, nested)
    timed: dict[str, list[float]] = {}
    for name in progress.track(list(WINDOWS), label=lambda name: f"{name}, thread time"):
        runs = by_thread.all_three(replace(its_own, windows=WINDOWS[name]))
        timed[name] = [run.mean for run in runs.values()]
    return Outcome(
        parameters={
            **setup.parameters(),
            "nested loops": nested.parameters(),
            "thread time": its_own.parameters(),
        },
        panels=panels(hashed, looped, timed),
        claims=(*claims(hashed), same_shape(hashed, looped), on_time(timed)),
    )


def measure(progress: Progress, setup: Setup) -> dict[str, Three]:
    """The three schedules, by distribution."""
    return {
        name: common.all_three(replace(setup, windows=WINDOWS[name]))
        for name in progress.track(list(WINDOWS))
    }


def averages(found: Mapping[str, Three]) -> dict[str, list[float]]:
    """Over the windows."""
    return {name: [three[s].mean for s in SCHEDULES] for name, three in found.items()}


def panels(
    hashed: Mapping[str, Three], looped: Mapping[str, Three], timed: Times
) -> tuple[Panel, ...]:
    """Averages by distribution: hash, nested loops, by the thread's own time."""
    x = range(1, len(hashed) + 1)
    label = ", ".join(f"{n} {name}" for n, name in zip(x, hashed, strict=True))
    by_result = {name: [pooled(three, s) for s in SCHEDULES] for name, three in hashed.items()}
    shown = [
        common.averages(label, list(x), list(times.values()), title)
        for times, title in (
            (averages(hashed), "Hash, each window once"),
            (by_result, "Hash, each result once"),
            (averages(looped), "Nested loops, each window once"),
        )
    ]
    return (*shown, by_thread.panel(label, list(x), list(timed.values())))


def pooled(three: Three, schedule: Schedule) -> float:
    """The average over all results, which the large windows have most of."""
    return three[schedule].weighted(three[schedule].counts)


def claims(found: Mapping[str, Three]) -> tuple[Claim, ...]:
    """What the paper says of Figure 5."""
    times = averages(found)
    best = [name for name, (lwo, swf, mqt) in times.items() if mqt < min(lwo, swf)]
    second = [name for name, (lwo, swf, _) in times.items() if lwo < swf]
    expected = [name for name in times if name != "Mostly-Small"]
    missing = [name for name in expected if name not in second]
    each = "; ".join(f"{name} {said(three)}" for name, three in times.items())
    by_result = {name: [pooled(three, s) for s in SCHEDULES] for name, three in found.items()}
    return (
        claim(
            "MQT has the best average in all four distributions",
            best == list(times),
            f"LWO / SWF / MQT: {each}",
        ),
        claim(
            "LWO is second, but for Mostly-Small",
            second == expected,
            f"ahead of SWF in {', '.join(second)}"
            + "".join(
                f"; in {name} {said(times[name][:2])}, where what SWF saves the smaller windows is "
                "more than what it costs the largest"
                for name in missing
            ),
        ),
        claim(
            "With each result counted once, SWF is last in all four (ours)",
            all(swf > max(lwo, mqt) for lwo, swf, mqt in by_result.values()),
            "; ".join(f"{name} {said(three)}" for name, three in by_result.items()),
        ),
        claim(
            "All schedules give each window the same number of results",
            all(len({three[s].counts for s in SCHEDULES}) == 1 for three in found.values()),
            f"{sum(sum(three['lwo'].counts) for three in found.values()):,} results",
        ),
    )


def same_shape(hashed: Mapping[str, Three], looped: Mapping[str, Three]) -> Claim:
    """Nested loops against hash."""
    slower = [looped[name][s].mean / hashed[name][s].mean for name in hashed for s in SCHEDULES]
    orders = [
        [sorted(SCHEDULES, key=lambda s: three[s].mean) for three in by.values()]
        for by in (hashed, looped)
    ]
    return claim(
        "Nested loops are about ten times slower, with the same order of schedules",
        all(MORE <= ratio <= MOST for ratio in slower) and orders[0] == orders[1],
        f"{min(slower):.1f} to {max(slower):.1f} times; "
        + "; ".join(f"{name} {said(three)}" for name, three in averages(looped).items()),
    )


def on_time(timed: Times) -> Claim:
    """The same by the seconds that the join takes."""
    return claim(
        f"{by_thread.WHERE}, MQT has the best average in all four distributions",
        all(mqt < min(lwo, swf) for lwo, swf, mqt in timed.values()),
        "; ".join(f"{name} {said(three)}" for name, three in timed.items()),
    )


EXPERIMENT = Experiment("2.5", "Four distributions of window sizes", f"{PAPER}, Figure 5", run)
