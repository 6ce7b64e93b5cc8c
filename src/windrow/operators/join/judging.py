"""Judges of candidates: is a combination with equal hashes one of equal keys, on which the
condition holds? They are asked in bulk, with row ids by stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Row ids of candidates, by stream.
Rows = Sequence[NDArray[np.int64]]
#: Judges candidates.
Verify = Callable[[Rows], NDArray[np.bool_]]


@dataclass(frozen=True)
class Part:
    """A part of a condition, which all its parts together make: it names these streams."""

    streams: frozenset[int]
    holds: Verify
