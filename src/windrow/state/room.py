"""Where the arrays of a state are made: on the heap, or wherever an engine wants to keep them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Room(Protocol):
    """Makes arrays."""

    def empty(self, shape: tuple[int, ...], kind: type[Any] = np.int64) -> NDArray[Any]:
        """An array of that shape, with anything in it."""


class Heap:
    """Ordinary memory."""

    def empty(self, shape: tuple[int, ...], kind: type[Any] = np.int64) -> NDArray[Any]:
        """An array of that shape, with anything in it."""
        return np.empty(shape, kind)


HEAP = Heap()
