"""Arrivals of a shared join that are under way: as its kernel has them, and as plain data.

As plain data they are stretches that are alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import sharing as kernel
from windrow.model import END
from windrow.operators.arrivals import Arrivals

#: What is alike in a stretch: what its arrivals need, have scanned and may release.
ALIKE = (kernel.NEED, kernel.SCANNED, kernel.RELEASED)


def in_order_of_arrival(tuples: Sequence[Arrivals], need: int, width: int) -> NDArray[np.int64]:
    """A batch by time, stream and row id, of which nothing has been scanned."""
    ts = np.concatenate([side.ts for side in tuples])
    order = np.argsort(ts, kind="stable")
    rows = np.empty((len(ts), width), np.int64)
    rows[:, kernel.TS] = ts[order]
    rows[:, kernel.KEY] = np.concatenate([side.key for side in tuples])[order]
    rows[:, kernel.ROW] = np.concatenate([side.row for side in tuples])[order]
    lengths = [len(side.ts) for side in tuples]
    rows[:, kernel.STREAM] = np.repeat(np.arange(len(tuples)), lengths)[order]
    rows[:, kernel.NEED] = need
    rows[:, [kernel.SCANNED, kernel.RELEASED]] = -1
    rows[:, kernel.POINTER], rows[:, kernel.ORDERED] = kernel.AFRESH, 0
    return rows


def note_least(arrivals: NDArray[np.int64], streams: int) -> None:
    """By stream, the smallest time of the arrivals from each one on."""
    for stream in range(streams):
        times = np.where(arrivals[:, kernel.STREAM] == stream, arrivals[:, kernel.TS], END)
        least = np.minimum.accumulate(times[::-1])[::-1]
        arrivals[:, kernel.MARKS + streams + stream] = least


def stretches_of(under_way: NDArray[np.int64]) -> list[list[int]]:
    """How many arrivals in a row are alike, and in what."""
    if not len(under_way):
        return []
    alike = under_way[:, ALIKE]
    changes = np.flatnonzero((alike[1:] != alike[:-1]).any(axis=1)) + 1
    starts = np.concatenate([[0], changes, [len(alike)]])
    found: list[list[int]] = np.column_stack([np.diff(starts), alike[starts[:-1]]]).tolist()
    return found


def by_batch(under_way: NDArray[np.int64], cuts: Sequence[int], streams: int) -> list[list[int]]:
    """How many arrivals of each stream every batch has."""
    parts = np.split(under_way[:, kernel.STREAM], cuts)
    return [np.bincount(part, minlength=streams).tolist() for part in parts if len(part)]


def made_again(
    arrivals: NDArray[np.int64], stretches: Sequence[Sequence[int]], width: int
) -> NDArray[np.int64]:
    """Arrivals (time, key, row id, stream) with what their stretches say; marks are left open."""
    rows = np.empty((len(arrivals), width), np.int64)
    rows[:, [kernel.TS, kernel.KEY, kernel.ROW, kernel.STREAM]] = arrivals
    lengths = [count for count, *_ in stretches]
    for at, column in enumerate(ALIKE):
        rows[:, column] = np.repeat([each[at + 1] for each in stretches], lengths)
    rows[:, kernel.POINTER], rows[:, kernel.ORDERED] = kernel.AFRESH, 0
    return rows


def mark_lists(arrivals: NDArray[np.int64], appended: Sequence[int]) -> None:
    """Let each know what its lists had before it; `appended`: how many records each list has had.

    Those that had begun are the newest of their lists.
    """
    begun = arrivals[:, kernel.SCANNED] >= 0
    for stream, count in enumerate(appended):
        stored = begun & (arrivals[:, kernel.STREAM] == stream)
        arrivals[:, kernel.MARKS + stream] = count - stored[::-1].cumsum()[::-1]
