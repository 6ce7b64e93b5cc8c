"""Judges of candidates, asked in bulk: do combinations with equal hashes have equal keys, and does
the condition hold on them?"""

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
    """A part of a condition, and the streams that it names. All parts must hold."""

    streams: frozenset[int]
    holds: Verify
