"""Judges of candidates: is a combination with equal hashes one of equal keys, on which the
condition holds? They are asked in bulk, with row ids by stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Judges candidates, given their row ids by stream.
Verify = Callable[[Sequence[NDArray[np.int64]]], NDArray[np.bool_]]


@dataclass(frozen=True)
class Part:
    """A part of a condition, which all its parts together make: it names these streams."""

    streams: frozenset[int]
    holds: Verify


def verdict_of(
    judges: Sequence[Verify], rows: Sequence[NDArray[np.int64]], length: int
) -> NDArray[np.bool_]:
    """What all judges agree on; each is asked about what the ones before it have left."""
    verdict = np.ones(length, np.bool_)
    for judge in judges:
        verdict[verdict] = judge([mine[verdict] for mine in rows])
    return verdict
