"""Where the arrays of a state are made: on the heap, or wherever an engine wants to keep them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Room(Protocol):
    """Makes arrays."""

    def empty(self, shape: tuple[int, ...], kind: type[Any] = np.int64) -> NDArray[Any]:
        """An array of that shape, with anything in it."""


def allocated(arrays: Mapping[str, NDArray[Any]]) -> int:
    """The bytes that arrays take up, used or not. Two names can be of one place: it counts once.

    >>> whole = np.zeros(10, np.int64)
    >>> allocated({"whole": whole, "begun": whole[:3], "other": np.zeros(2, np.int64)})
    96
    """
    places: dict[int, int] = {}
    for array in arrays.values():
        at = array.ctypes.data
        places[at] = max(places.get(at, 0), array.nbytes)
    return sum(places.values())


class Heap:
    """Ordinary memory."""

    def empty(self, shape: tuple[int, ...], kind: type[Any] = np.int64) -> NDArray[Any]:
        """An array of that shape, with anything in it."""
        return np.empty(shape, kind)


HEAP = Heap()
