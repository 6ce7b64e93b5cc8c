"""Arrivals of a shared join that are under way, as plain data: stretches that are alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import sharing as kernel

#: What is alike in a stretch: what its arrivals need, have scanned and may release.
ALIKE = (kernel.NEED, kernel.SCANNED, kernel.RELEASED)


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
