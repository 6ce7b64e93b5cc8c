"""Bytes of state beside the payload, per live tuple, while the standard workload runs."""

from __future__ import annotations

import windrow as wr
from benchmarks.measure import Target, show
from windrow import workload
from windrow.api import local_join
from windrow.state.room import allocated


def main() -> None:
    one, two = workload.standard()
    rows: list[list[str]] = []
    worst = 0.0
    for batch_rows in (20_000, 100_000):
        a = wr.stream(one, name="a", key="key", time="time", window="30 seconds")
        b = wr.stream(two, name="b", key="key", time="time", window="30 seconds")
        run = local_join(wr.plan(a, b, batch_rows=batch_rows))
        for start in range(0, one.num_rows - batch_rows, batch_rows):
            for _ in run.batch([(start, start + batch_rows)] * 2):
                pass
            state = run.join.state
            live = state.live_rows(0) + state.live_rows(1)
            each = allocated(state.lists.handover()) / live
            # From the first full window on, it is in its steady state.
            if start + batch_rows >= one.num_rows // 2:
                worst = max(worst, each)
        rows.append([f"{batch_rows:,}", f"{live:,}", f"{each:.1f}"])
    show(
        "State beside the payload, standard workload",
        ["rows a batch", "live tuples", "bytes a tuple"],
        rows,
        [Target("bytes a live tuple, steady state, worst sample", worst, 64, " bytes")],
    )


if __name__ == "__main__":
    main()
