"""What punctuations cost where there are none, and what they save where there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

import windrow as wr
from benchmarks.measure import Target, alternately, ratio, show
from windrow import workload
from windrow.api import local_join
from windrow.model import JoinPlan

#: Rows of each stream in a batch, and seconds of the clustered streams: long enough for many
#: windows, short enough that two independent streams do not drift apart by one.
BATCH_ROWS, SECONDS, WINDOW = 20_000, 240, 15


def plan(tables: tuple[pa.Table, pa.Table], window: int, **choices: object) -> JoinPlan:
    one, two = (
        wr.stream(table, name=name, key="key", time="time", window=f"{window} seconds", ends="over")
        for table, name in zip(tables, "ab", strict=True)
    )
    return replace(wr.plan(one, two), **choices)  # type: ignore[arg-type]


def drained(asked: JoinPlan) -> Callable[[], object]:
    """A run whose results are counted and forgotten."""

    def run() -> int:
        return sum(len(piece.ts) for piece in local_join(asked).pieces())

    return run


def live(asked: JoinPlan, tables: tuple[pa.Table, pa.Table]) -> float:
    """Tuples stored, on average over the second half of the streams; fed by time."""
    run = local_join(asked)
    times = [table["time"].cast(pa.int64()).to_numpy() for table in tables]
    first, last = min(t[0] for t in times), max(t[-1] for t in times)
    at, sizes = [0, 0], []
    for step in np.linspace(first, last, SECONDS * 4)[1:]:
        to = [int(np.searchsorted(t, step, side="right")) for t in times]
        for _ in run.batch(list(zip(at, to, strict=True))):
            pass
        at = to
        if step < last:
            sizes.append(run.join.state.live_rows(0) + run.join.state.live_rows(1))
    return float(np.mean(sizes[len(sizes) // 2 :]))


def main() -> None:
    silent = tuple(
        table.append_column("over", pa.array(np.zeros(len(table), np.bool_)))
        for table in workload.standard()
    )
    heeding = plan(silent, 30, batch_rows=BATCH_ROWS)
    runs = {
        "PWJoin": drained(heeding),
        "WJoin": drained(replace(heeding, heeding=False)),
    }
    cost = ratio(alternately(runs), "PWJoin", "WJoin")
    rows, shares = [], []
    for pattern in ("cluster-asc-20", "cluster-asc-100", "punct-asc-100-40"):
        one, two = (workload.punctuated(pattern, seconds=SECONDS, seed=s) for s in (1, 2))
        asked = plan((one, two), WINDOW)
        held = [live(replace(asked, heeding=heeds), (one, two)) for heeds in (True, False)]
        share = held[0] / held[1]
        if pattern.startswith("cluster"):
            shares.append(share)
        rows.append([pattern, f"{held[0]:,.0f}", f"{held[1]:,.0f}", f"{share:.0%}"])
    show(
        f"Punctuations: tuples stored at windows of {WINDOW} s",
        ["streams", "PWJoin", "WJoin", "share"],
        rows,
        [
            Target("time of PWJoin by WJoin's, no punctuations in the data", cost, 1.05),
            Target("clustered streams: stored by WJoin's, worst", 100 * max(shares), 20, " %"),
        ],
    )


if __name__ == "__main__":
    main()
