"""Tuples that break a promise which has been given but does not act yet.

Under lateness a punctuation (k, t) waits until its stream's progress has reached t. A tuple of k
after t that comes in the meantime is a violation all the same, and the stream's own word says so:

    (k, 2) waits     k@2   fits: the promise is about what comes after 2
                     k@3   breaks it
                     k@9   with a span of 4: the key's next life
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.operators.arrivals import Arrivals


def broken(
    tuples: Arrivals, waiting: Arrivals, span: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which tuples break a promise that waits: their places, and the places of those promises."""
    none = np.empty(0, np.int64)
    if not len(tuples.ts) or not len(waiting.ts):
        return none, none
    (asked,) = np.nonzero(np.isin(tuples.key, waiting.key))
    if not len(asked):
        return none, none
    said = np.arange(len(waiting.ts))
    key = np.concatenate([tuples.key[asked], waiting.key])
    ts = np.concatenate([tuples.ts[asked], waiting.ts])
    place = np.concatenate([asked, said])
    promise = np.arange(len(key)) >= len(asked)
    # By key, then by time; a tuple at the promised time comes before the promise.
    order = np.lexsort((promise, ts, key))
    key, ts, place, promise = key[order], ts[order], place[order], promise[order]
    last = np.maximum.accumulate(np.where(promise, np.arange(len(key)), -1))
    breaks = ~promise & (last >= 0)
    breaks &= (key[last] == key) & (ts - ts[last] <= span)
    return place[breaks], place[last[breaks]]
