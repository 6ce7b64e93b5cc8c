"""The memory manager's arrays: Python's side of `kernels/manager.py` and `kernels/sampling.py`.

Bounds     what is given of the streams: k, L, r_i k_j / r_j
Ordering   what is found out of them (`state/ordering.py`)
Sample     how complete results are
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import manager as kernel
from windrow.kernels import ordering
from windrow.kernels.hashing import words_of
from windrow.kernels.manager import Manager
from windrow.kernels.sampling import Sample
from windrow.kernels.task import NEVER
from windrow.state.ordering import MOST_POSITIONS, Numbers, Ordering
from windrow.state.room import HEAP, Room

#: Places of the sample's table, which is at most half full.
SAMPLE_PLACES = 1 << 12
#: The manager looks after so many arrivals at least, and after one for so many steps of its last
#: look: a step takes some nanoseconds, and joining a tuple a hundred.
LEAST_DUE, STEPS_A_TUPLE = 256, 4
PREFIX = "memory_"
#: What decides beside the rings. The sample is not among it: it is a figure only.
TOLD = ("keep", "counted", "whole")


@dataclass(frozen=True)
class Bounds:
    """What is given of streams, by number; what is not is found out.

    k: scrambling factors. over: by (i, j), how many tuples of S_i arrive at most while k_j of S_j
    do. lag: by (i, j), L from S_i to S_j. limit: by stream, the most tuples to store. part: whether
    a part of the keys is here only; then it holds here what is needed of whole streams.
    """

    streams: int
    k: dict[int, int] = field(default_factory=dict)
    over: dict[tuple[int, int], int] = field(default_factory=dict)
    lag: dict[tuple[int, int], int] = field(default_factory=dict)
    limit: dict[int, int] = field(default_factory=dict)
    part: bool = False

    def fixed(self, i: int) -> bool:
        """Is all given that tells how many tuples of S_i must stay?"""
        pairs = [(i, j) for j in range(self.streams) if j != i]
        return i in self.k and all(pair in self.over and pair in self.lag for pair in pairs)


class MemoryManager(Ordering):
    """What is known of a join's streams, and how many tuples of each are to stay."""

    def __init__(self, bounds: Bounds, room: Room = HEAP, most: int = MOST_POSITIONS) -> None:
        streams = bounds.streams
        super().__init__(
            streams, [bounds.k.get(each, 0) for each in range(streams)], room=room, most=most
        )
        self._own = {
            "sample_keys": room.empty((SAMPLE_PLACES, 1 + streams)),
            "sample_results": room.empty((SAMPLE_PLACES, 2), np.float64),
            "sample_whole": room.empty((2,)),
            "keep": room.empty((streams,)),
            "counted": room.empty((streams, 2)),
            "whole": room.empty((5,)),
        }
        for array in self._own.values():
            array[:] = 0
        self._own["keep"][:] = NEVER
        self._own["whole"][[kernel.LEAST, kernel.STEPS]] = LEAST_DUE, STEPS_A_TUPLE
        self.take(bounds)

    def take(self, bounds: Bounds) -> None:
        """Heed these bounds from now on. A scrambling factor that was larger stays."""
        streams = range(bounds.streams)
        self.bounds = bounds
        standing = self.track.standing
        standing[:, ordering.GIVEN] = [bounds.k.get(each, 0) for each in streams]
        standing[:, ordering.K] = np.maximum(standing[:, ordering.K], standing[:, ordering.GIVEN])
        self._over = np.full((bounds.streams, bounds.streams), -1, np.int64)
        self._lag = np.full((bounds.streams, bounds.streams), NEVER, np.int64)
        for pair, most in bounds.over.items():
            self._over[pair] = most
        for pair, most in bounds.lag.items():
            self._lag[pair] = most
        self._own["whole"][kernel.PART] = bounds.part
        self._limit = np.array([bounds.limit.get(each, NEVER) for each in streams], np.int64)
        self._fixed = np.array([self._fixed_memory(each) for each in streams], np.int64)
        self._scratch = np.empty(0, np.int64)

    def attend(self, least: int, steps: int) -> None:
        """Look after so many arrivals, and after one for so many of the steps of a look."""
        self._own["whole"][[kernel.LEAST, kernel.STEPS]] = least, steps

    def limit_to(self, most: Sequence[int]) -> None:
        """Let no stream store more tuples than this."""
        self._limit[:] = most

    def _fixed_memory(self, i: int) -> int:
        """The tuples of S_i that stay at any time, if all is given that tells how many."""
        if not self.bounds.fixed(i):
            return NEVER
        partners = [j for j in range(self.bounds.streams) if j != i]
        k = self.scrambling(i)
        return max(max(1, k + self.bounds.over[i, j] + self.bounds.lag[i, j] + 1) for j in partners)

    def arrays(self) -> Manager:
        """What a kernel takes. To be asked for anew after `make_room`."""
        own = self._own
        if len(self._scratch) < self.track.rings.shape[1]:
            self._scratch = np.empty(self.track.rings.shape[1], np.int64)
        if not hasattr(self, "_others"):
            self._others = np.empty_like(own["sample_keys"]), np.empty_like(own["sample_results"])
        sample = Sample(
            own["sample_keys"], own["sample_results"], *self._others, own["sample_whole"]
        )
        return Manager(
            self.track, sample, self._over, self._lag, self._limit, self._fixed, own["keep"],
            own["counted"], own["whole"], self._scratch,
        )  # fmt: skip

    def make_room(self) -> None:
        """The rings are full: forget what is not needed, or make them larger."""
        self._make_room()

    # -- a descending key ------------------------------------------------------------------

    @property
    def descends(self) -> bool:
        """Are keys taken to descend?"""
        return bool(self._own["whole"][kernel.FLIP])

    def look_at_direction(self) -> bool:
        """Turn round if keys descend by all that has come (footnote 2). True: they have turned.

        Of a stream that descends, each tuple is out of order with all before it, so nothing has
        been evicted up to then. Once some of what came is forgotten it is too late.
        """
        standing = self.track.standing
        if (standing[:, ordering.FROM] > 1).any() or not any(
            map(self._falls, range(len(standing)))
        ):
            return False
        arrived = np.concatenate([self.seen(stream) for stream in range(len(standing))])
        streams = np.repeat(np.arange(len(standing)), standing[:, ordering.COUNT])
        order = np.argsort(arrived[:, ordering.WHEN], kind="stable")
        self._own["whole"][kernel.FLIP] ^= -1
        given = standing[:, ordering.GIVEN].copy()
        standing[:] = 0
        standing[:, ordering.K] = standing[:, ordering.GIVEN] = given
        standing[:, [ordering.FROM, ordering.NEEDED]] = 1
        self.track.whole[ordering.CLOCK] = 0
        self._own["counted"][:, kernel.BROKEN] = 0
        self.observe(streams[order], ~arrived[order, ordering.KEY])
        return True

    def _falls(self, stream: int) -> bool:
        """Do a stream's keys descend, on the whole?"""
        mine = self.track.standing[stream]
        count = int(mine[ordering.COUNT])
        if count < 4 or 2 * mine[ordering.K] < count:
            return False
        keys = self.seen(stream)[:, ordering.KEY]
        half = len(keys) // 2
        return bool(np.median(keys[:half]) > np.median(keys[-half:]))

    # -- figures ---------------------------------------------------------------------------

    @property
    def keep(self) -> list[int | None]:
        """By stream, the tuples that are to stay; None: all."""
        found = np.minimum(np.minimum(self._fixed, self._own["keep"]), self._limit)
        return [None if most == NEVER else int(most) for most in found]

    def forced(self, stream: int) -> int:
        """Tuples that a limit has evicted."""
        return int(self._own["counted"][stream, kernel.FORCED])

    def broken(self, stream: int) -> int:
        """Tuples, and moments that were looked at, that broke what was given."""
        return int(self._own["counted"][stream, kernel.BROKEN])

    def sampled(self) -> tuple[int, int]:
        """Of the keys that were drawn, the results that were produced, and that could be."""
        produced, producible = self._own["sample_results"].sum(axis=0)
        return round(float(produced)), round(float(producible))

    # -- memory that outlives a process ----------------------------------------------------

    def told(self) -> dict[str, Any]:
        """All but the rings and the sample."""
        own = {name: self._own[name].tolist() for name in TOLD}
        return super().told() | own | {"descends": self.descends}

    def stand(self, told: dict[str, Any]) -> None:
        """Take over what was told, and what it says for the bounds there are now."""
        super().stand(told)
        for name in TOLD:
            self._own[name][:] = told[name]
        self.take(self.bounds)

    def handover(self) -> dict[str, NDArray[Any]]:
        """Every array, as it is."""
        own = {f"{PREFIX}{name}": array for name, array in self._own.items()}
        return super().handover() | own

    @classmethod
    def attached(cls, bounds: Bounds, arrays: dict[str, NDArray[Any]], room: Room) -> MemoryManager:
        """Go on with the arrays of `handover`, in place, and with these bounds."""
        found = Ordering.attach(arrays, room)
        manager = cls.__new__(cls)
        manager.room, manager.track, manager.tables = room, found.track, found.tables
        manager._own = {
            name.removeprefix(PREFIX): array
            for name, array in arrays.items()
            if name.startswith(PREFIX)
        }
        manager.take(bounds)
        return manager


def words(hashes: Numbers) -> Numbers:
    """The key words of exact hashes, in whose order keys ascend."""
    found = np.empty_like(hashes)
    words_of(hashes, found)
    return found
