"""Cells: a state is split by key, so that each part fits the cache; a batch is split likewise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import inlined, kernel


@inlined
def cell_of(key: int, cells: int) -> int:
    """Spread keys over any number of cells by their upper half: a product, not a modulo."""
    return (((key >> 32) & 0xFFFFFFFF) * cells) >> 32


@kernel
def count_cells(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """How many keys fall into each cell."""
    for i in range(keys.shape[0]):
        counts[cell_of(keys[i], counts.shape[0])] += 1


@kernel
def scatter_cells(
    ts: NDArray[np.int64],
    keys: NDArray[np.int64],
    rows: NDArray[np.int64],
    places: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Write (time, key, row id) to its cell's next place, keeping the order."""
    for i in range(keys.shape[0]):
        cell = cell_of(keys[i], places.shape[0])
        place = places[cell]
        places[cell] = place + 1
        out[place, 0] = ts[i]
        out[place, 1] = keys[i]
        out[place, 2] = rows[i]
