"""What order costs in process: the standard workload under each policy, against none.

Once the streams are in step, which is what the target is about, and once the second is ten seconds
behind, so that what waits or is held matters. Results go to Arrow, as a user gets them.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import get_args

import numpy as np
import pyarrow as pa

import windrow as wr
from benchmarks.measure import Target, alternately, ratio, show
from windrow import workload
from windrow.api import local_join
from windrow.model import Order

#: Rows of each stream in a batch, and how far the second stream is behind, in batches.
BATCH_ROWS, BEHIND = 20_000, 5
#: At least 0.7x the throughput of no order.
MOST = 1 / 0.7


def run(order: str, tables: tuple[pa.Table, pa.Table], behind: int) -> Callable[[], object]:
    """A join whose batches bring the second stream's rows some batches later."""
    a, b = (
        wr.stream(table, name=name, key="key", time="time", window="30 seconds")
        for table, name in zip(tables, "ab", strict=True)
    )
    plan = wr.plan(a, b, order=order)

    def joined() -> int:
        join = local_join(plan)
        rows = 0
        steps = -(-len(tables[0]) // BATCH_ROWS) + behind
        for step in range(steps):
            places = [step, step - behind]
            ranges = [(max(at, 0) * BATCH_ROWS, (at + 1) * BATCH_ROWS) for at in places]
            ranges = [(start, max(start, stop)) for start, stop in ranges]
            rows += sum(part.num_rows for part in join.record_batches(join.batch(ranges)))
        return rows

    return joined


def main() -> None:
    tables = workload.standard()
    counts = set()
    for behind in (0, BEHIND):
        runs = {order: run(order, tables, behind) for order in get_args(Order)}
        counts |= {made() for made in runs.values()}
        times = alternately(runs, warm=1, rounds=5)
        rows, targets = [], []
        for order, taken in times.items():
            factor = ratio(times, order, "none")
            rows.append([order, f"{median(taken):.3f} s", f"{1 / factor:.2f}x"])
            if order != "none" and not behind:
                targets.append(Target(f"time of {order} by that of no order", factor, MOST))
        way = "in step" if not behind else f"one stream {behind} batches behind"
        title = f"In order, streams {way}, {np.max(list(counts)):,} results"
        show(title, ["order", "median", "throughput by none"], rows, targets)
    assert len(counts) == 1, counts


if __name__ == "__main__":
    main()
