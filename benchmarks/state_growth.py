"""Time per tuple against the number of live tuples, matches per tuple held constant.

The work per tuple (stored tuples looked at) must not grow with the state. Time may grow by what
cache misses explain: a tuple touches two chain heads, the records its probe compares, and half a
cache line each for the record it drops and the place it takes. The yardstick is the time of one
dependent read in as many bytes as the state has, measured in the same run.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import windrow as wr
from benchmarks.measure import Target, show
from windrow.api import local_join
from windrow.kernels.jit import kernel
from windrow.state.room import allocated

WINDOW = 30.0
SIZES = (10_000, 100_000, 1_000_000, 4_000_000)
TIMED = 600_000
BATCH = 50_000


@kernel
def follow(ring: NDArray[np.int64], steps: int) -> int:
    """Walk a ring of indices: each read waits for the one before."""
    at = 0
    for _ in range(steps):
        at = ring[at]
    return at


def stream_of(live: int, seed: int) -> pa.Table:
    """A stream that keeps `live` / 2 tuples in its window, one expected match a tuple and side."""
    rng = np.random.default_rng(seed)
    rows = live // 2 + TIMED // 2
    step = WINDOW * 1e6 / (live / 2)
    return pa.table(
        {
            "key": rng.integers(0, live // 2, rows),
            "time": pa.array((np.arange(rows) * step).astype("int64"), pa.timestamp("us")),
        }
    )


@dataclass(frozen=True)
class Figures:
    """Per tuple: nanoseconds, stored tuples compared and checked, matches; the state's bytes."""

    ns: float
    compared: float
    checked: float
    matches: float
    nbytes: int

    @property
    def touches(self) -> float:
        """Cache lines that a tuple touches at random."""
        return 3 + self.compared


def per_tuple(live: int) -> Figures:
    """Run at that many live tuples."""
    a, b = (
        wr.stream(stream_of(live, seed), name=name, key="key", time="time", window="30 seconds")
        for seed, name in ((1, "a"), (2, "b"))
    )
    run = local_join(wr.plan(a, b, batch_rows=BATCH))
    # The last rows never come: the end of the input would empty the state.
    stop = a.data.num_rows - 1
    warm = live // 2
    start = 0
    while start < stop:
        if start == warm:
            before = (time.perf_counter(), *run.join.looked_at(), run.join.matches)
        end = min(start + BATCH // 2, stop if start >= warm else warm)
        for _ in run.batch([(start, end)] * 2):
            pass
        start = end
    after = (time.perf_counter(), *run.join.looked_at(), run.join.matches)
    took, compared, checked, matches = (
        (b - a) / (2 * (stop - warm)) for a, b in zip(before, after, strict=True)
    )
    nbytes = allocated(run.join.state.lists.handover())
    return Figures(took * 1e9, compared, checked, matches, nbytes)


def dependent_read(nbytes: int) -> float:
    """Nanoseconds of one read that must wait for the one before, at random in so many bytes."""
    places = max(nbytes // 8, 1024)
    order = np.random.default_rng(0).permutation(places)
    ring = np.empty(places, np.int64)
    ring[order] = np.roll(order, -1)
    reads = 1_000_000
    follow(ring, 1000)
    start = time.perf_counter()
    follow(ring, reads)
    return (time.perf_counter() - start) / reads * 1e9


def main() -> None:
    per_tuple(SIZES[0])
    figures = {live: per_tuple(live) for live in SIZES}
    reads = {live: dependent_read(figures[live].nbytes) for live in SIZES}
    least = figures[SIZES[0]]
    rows, worst = [], 0.0
    for live, figure in figures.items():
        explained = figure.touches * (reads[live] - reads[SIZES[0]])
        worst = max(worst, (figure.ns - explained) / least.ns)
        rows.append(
            [f"{live:,}", f"{figure.ns:.0f} ns", f"{figure.compared:.2f}", f"{figure.checked:.2f}",
             f"{figure.matches:.2f}", f"{figure.nbytes / 2**20:.1f}", f"{reads[live]:.0f} ns",
             f"{figure.ns - least.ns:+.0f} ns", f"{explained:+.0f} ns"]
        )  # fmt: skip
    looks = max(
        (f.compared + f.checked) / (least.compared + least.checked) for f in figures.values()
    )
    show(
        "Time per tuple by live tuples (batches of 50,000)",
        ["live", "a tuple", "compared", "checked", "matches", "MiB", "a read", "growth",
         "cache explains"],
        rows,
        [
            Target("stored tuples looked at, by the smallest state's", looks, 1.25),
            Target("time less what cache misses explain, by the smallest state's", worst, 1.25),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
