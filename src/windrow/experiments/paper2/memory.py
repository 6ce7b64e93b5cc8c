"""Section 5.4: what SWF and MQT keep beside the join buffer.

"We experimentally obtained lower bounds for the maximum input buffer size, and found them to be
less than 10% of the joinBuffer size, for SWF [...] The maximum size for the output buffer in both
the SWF and MQT algorithm was less than 3% the size of the joinBuffer." A join buffer is one
stream's tuples within the largest window; the input buffer is the arrivals that have not scanned
all, the output buffer the results that some query does not have yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.bar import Progress
from windrow.experiments.frame import Claim, Experiment, Outcome, Panel, claim, measured
from windrow.experiments.paper2 import common
from windrow.experiments.paper2.common import PAPER, SCHEDULES, Setup, Three
from windrow.experiments.paper2.figure_7 import BURSTS, SETUP

#: Of the join buffer: the input buffer, and the output buffer.
INPUT, OUTPUT = 0.1, 0.03


def run(progress: Progress, setup: Setup = SETUP, bursts: Sequence[float] = BURSTS) -> Outcome:
    """Look at the runs of Figure 7."""
    found = [
        common.all_three(replace(setup, burst=size))
        for size in progress.track(bursts, label=lambda size: f"bursts of {size:g}")
    ]
    whole = setup.rate * setup.windows[-1]
    return Outcome(
        parameters={
            "join buffer (tuples)": whole,
            "windows (s)": list(setup.windows),
            **setup.parameters(),
        },
        panels=panels(bursts, found, whole),
        claims=claims(bursts, found, whole, setup.windows),
    )


def panels(bursts: Sequence[float], found: Sequence[Three], whole: float) -> tuple[Panel, ...]:
    """Both buffers over the size of bursts."""
    return tuple(
        Panel(
            "counted",
            "expected size of a burst (tuples)",
            "share of the join buffer",
            tuple(
                measured(name, bursts, [getattr(three[s], what) / whole for three in found])
                for s, name in SCHEDULES.items()
            ),
            title,
        )
        for what, title in (("waiting", "Input buffer"), ("held", "Output buffer"))
    )


def claims(
    bursts: Sequence[float],
    found: Sequence[Three],
    whole: float,
    windows: Sequence[float] = SETUP.windows,
) -> tuple[Claim, ...]:
    """What the paper says of memory."""
    waiting = [three["swf"].waiting / whole for three in found]
    held = {s: [three[s].held / whole for three in found] for s in ("swf", "mqt")}
    largest = found[-1]
    # Small-Large: MQT takes a tuple through the large windows in one go, SWF stops before each.
    ahead, (before, last) = windows[2], windows[-2:]
    last_window = (
        f". What keeps a tuple waiting under SWF is its last partial window, {last - before:g} of "
        f"{last:g} s, so the work of one tuple that waits under LWO is that of up to "
        f"{last / (last - before):g} under SWF; the paper's worst case is 20 %"
    )
    sizes = " / ".join(f"{size:g}" for size in bursts)
    return (
        claim(
            f"SWF's input buffer stays below {INPUT:.0%} of the join buffer",
            max(waiting) < INPUT,
            f"{percents(waiting)} at bursts of {sizes}, at most, of any seed; LWO's and MQT's "
            + percents([max(three[s].waiting for s in ("lwo", "mqt")) / whole for three in found])
            + ("" if max(waiting) < INPUT else last_window),
        ),
        claim(
            f"SWF's output buffer stays below {OUTPUT:.0%}",
            max(held["swf"]) < OUTPUT,
            f"{percents(held['swf'])}: a waiting tuple has up to 120 results, one for each 500 "
            "tuples that it has scanned, and all of them wait for those before it",
        ),
        claim(
            f"MQT's output buffer stays below {OUTPUT:.0%}",
            max(held["mqt"]) < OUTPUT,
            percents(held["mqt"])
            + (
                ""
                if max(held["mqt"]) < OUTPUT
                else f": a waiting tuple has scanned {ahead:g} of {windows[-1]:g} s, and what it "
                f"found there waits for the tuples before it; {largest['mqt'].held:,} results of "
                f"{largest['mqt'].waiting:,} tuples at bursts of {bursts[-1]:g}"
            ),
        ),
    )


def percents(shares: Sequence[float]) -> str:
    """Shares in a row.

    >>> percents([0.0031, 0.25, 11.5])
    '0.31 / 25 / 1,150 %'
    """
    hundred = [100 * share for share in shares]
    return " / ".join(f"{s:,.0f}" if s >= 1000 else f"{s:.3g}" for s in hundred) + " %"


EXPERIMENT = Experiment("2.mem", "Input and output buffers", f"{PAPER}, section 5.4", run)
