"""Figure 6: response times by window, for Uniform and Mostly-Small.

LWO is "relatively stable across window sizes" and has "a uniform maximum value over all the
windows"; SWF and MQT "provide faster response times for smaller windows than for large ones" and
are similar "for all but the largest window" with Uniform; SWF's largest "is half as much" with
Mostly-Small (section 5.1).

With Uniform the large windows are equally far apart, so a tuple that has scanned one of them
serves as many queries a tuple as one that waits for the next smaller. The larger window is first
then, so MQT takes a tuple through all of them. With Mostly-Small each window is further from the
one before than that from its own, so the nearest is always first, as it is under SWF.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, claim
from windrow.experiments.paper2 import common
from windrow.experiments.paper2.common import PAPER, WINDOWS, Setup, Three, said
from windrow.experiments.paper2.figure_5 import SETUP

#: Response times within as much of the largest are stable; maxima are uniform; two are alike.
STABLE, EVEN, ALIKE = 0.25, 0.1, 0.25
#: About half.
HALF = (0.35, 0.65)


def run(progress: Progress, setup: Setup = SETUP) -> Outcome:
    """Measure both distributions."""
    names = ("Uniform", "Mostly-Small")
    setups = [replace(setup, windows=WINDOWS[name]) for name in names]
    found = [common.all_three(each) for each in progress.track(setups)]
    panels = [
        common.by_window(three, each, f"{name}, {'largest' if most else 'average'}", most)
        for most in (False, True)
        for three, each, name in zip(found, setups, names, strict=True)
    ]
    return Outcome(
        parameters=setup.parameters(), panels=tuple(panels), claims=claims(found[0], found[1])
    )


def claims(uniform: Three, small: Three) -> tuple[Claim, ...]:
    """What the paper says of Figure 6."""
    return (*of_lwo([uniform, small]), *of_the_others(uniform, small))


def of_lwo(both: Sequence[Three]) -> tuple[Claim, ...]:
    """Flat, with a uniform maximum."""
    means, most = ([getattr(three["lwo"], what) for three in both] for what in ("means", "most"))
    even = all(max(each) - min(each) <= EVEN * max(each) for each in most)
    few = both[0]["lwo"].counts
    return (
        claim(
            f"LWO is stable across windows, within {STABLE:.0%} of its largest",
            all(max(each) - min(each) <= STABLE * max(each) for each in means),
            "; ".join(said(each) for each in means),
        ),
        claim(
            f"Its maxima are uniform, within {EVEN:.0%} of the largest",
            even,
            "; ".join(said(each) for each in most)
            + (
                ""
                if even
                else f"; the smallest window has {few[0] / few[-1]:.2%} of the largest's results, "
                "so the tuple that waits longest may have none there"
            ),
        ),
    )


def of_the_others(uniform: Three, small: Three) -> tuple[Claim, ...]:
    """SWF and MQT."""
    swf, mqt = (uniform[s].means for s in ("swf", "mqt"))
    few = [small[s].means for s in ("swf", "mqt")]
    near = [abs(m - s) <= ALIKE * max(m, s) for s, m in zip(swf, mqt, strict=True)]
    near_few = [abs(m - s) <= ALIKE * max(m, s) for s, m in zip(*few, strict=True)]
    share = few[0][-1] / swf[-1]
    return (
        claim(
            "SWF and MQT are faster for smaller windows than for larger ones",
            all(a < b for times in (swf, mqt, *few) for a, b in pairwise(times)),
            f"SWF {said(swf)}, MQT {said(mqt)} with Uniform",
        ),
        claim(
            f"Uniform: SWF and MQT alike, within {ALIKE:.0%}, but for the largest window",
            all(near[:-1]) and mqt[-1] < swf[-1],
            f"SWF {said(swf)}, MQT {said(mqt)}"
            + ("" if all(near[:-1]) else "; windows equally far apart are served largest first"),
        ),
        claim(
            f"Mostly-Small: alike for all but the largest, within {ALIKE:.0%}, and MQT ahead there",
            all(near_few[:-1]) and few[1][-1] < few[0][-1],
            f"SWF {said(few[0])}, MQT {said(few[1])}",
        ),
        claim(
            "SWF's largest window takes about half as long with Mostly-Small",
            HALF[0] <= share <= HALF[1],
            f"{said([few[0][-1]])} for {said([swf[-1]])}: {share:.0%}",
        ),
        claim(
            "MQT's maximum is below SWF's for the largest window",
            all(three["mqt"].most[-1] < three["swf"].most[-1] for three in (uniform, small)),
            "; ".join(
                f"{said([three['mqt'].most[-1]])} for {said([three['swf'].most[-1]])}"
                for three in (uniform, small)
            )
            + _in_step(small),
        ),
    )


def _in_step(small: Three) -> str:
    """Why the maxima may be equal, if they are in some run with Mostly-Small."""
    ends = [[run.most[-1] for run in small[s].runs] for s in ("swf", "mqt")]
    same = sum(a == b for a, b in zip(*ends, strict=True))
    if not same:
        return ""
    return (
        f"; with Mostly-Small the very same in {same} of {len(ends[0])} runs: MQT serves the "
        "windows in SWF's order, so the tuple that waits longest has its last result at the same "
        "moment, and what it may give out sooner are its other results"
    )


EXPERIMENT = Experiment("2.6", "Response times by window", f"{PAPER}, Figure 6", run)
