"""What a memory manager must know of streams while they come: paper 5 (Wu et al.), section 5.

Python's side of `kernels/ordering.py`. Keys are whole numbers in whose order the streams' join keys
ascend in the long run; of streams that descend, `~key` ascends.

    figure                  is                                          is final
    scrambling(i)           the largest so far, exactly, if no tuple    never; it only rises
                            is `astray`
    past(j)                 a key that S_j sends no more, nor below     at once, if k_j is
    pair(i, j).lag          L of a moment k_j tuples of S_j ago         once S_i is k_i further
    pair(i, j).over         tuples of S_i since that moment             at once
    multiplicity(i)         the largest so far, of keys whose tuples    never; it only rises
                            are no further apart than k so far

An arrival costs a compare and a store, a `pair` 2 k_j + k_i looks, so it is asked once for some
thousands of arrivals. Counting keys costs more than all the rest: only the join that takes this
one's output asks for it. Memory is 24 bytes for each tuple that a partner has not passed yet, or of
the latest 2k, up to a limit; and as much for each of 16 k places of keys, where they are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import ordering as kernel
from windrow.kernels.ordering import Track
from windrow.kernels.task import NEVER
from windrow.state.room import HEAP, Room

Numbers = NDArray[np.int64]

#: In place of a key that a stream is past: there is none yet.
NOTHING = -NEVER
#: Positions that are remembered of each stream: at first, and at most.
LEAST_POSITIONS, MOST_POSITIONS = 1 << 10, 1 << 20
#: Places in a table of keys that are counted: at first, and at most.
LEAST_PLACES, MOST_PLACES = 1 << 12, 1 << 20
#: Places for each key that may come again, at least: the more, the rarer a table is made anew.
ROOMY = 16
#: From so many tuples on it can be told whether a key is ordered in the long run.
ENOUGH = 4096
#: Of the tuples that came, k is a smaller share than one in this many if they are ordered.
SHARE = 4


@dataclass(frozen=True)
class Pair:
    """How far S_i is ahead of S_j, by the latest tuple of S_j whose place is final.

    lag: L from S_i to S_j when it came (Definition 2.6); an upper bound until S_i has come further.
    over: tuples of S_i that came since, while k_j of S_j did: r_i k_j / r_j of Equation (7).
    memory: how many of the latest tuples of S_i those of S_j that are still to come may need.
    settled: whether the lag is final, so long as k is.
    """

    lag: int
    over: int
    memory: int
    settled: bool


class Ordering:
    """What is known of streams that are ordered in the long run.

    >>> ordering = Ordering(2)
    >>> ordering.observe(np.array([0, 0, 0, 0, 1]), np.array([1, 3, 2, 4, 1]))
    >>> ordering.scrambling(0), ordering.pair(0, 1), ordering.memory(1)
    (1, Pair(lag=3, over=0, memory=5, settled=True), 1)

    Parameters
    ----------
    streams: how many.
    k: scrambling factors that are known before, by stream; 0 for one that is to be found out.
    counted: whether multiplicities are wanted.
    most: positions that are remembered of each stream, a power of two.
    """

    def __init__(
        self,
        streams: int,
        k: Sequence[int] | None = None,
        *,
        counted: bool = False,
        most: int = MOST_POSITIONS,
        room: Room = HEAP,
    ) -> None:
        self.room = room
        self.track = Track(
            room.empty((streams, min(LEAST_POSITIONS, most), 3)),
            room.empty((streams, kernel.FIELDS)),
            room.empty((2,)),
        )
        self.track.standing[:] = 0
        self.track.whole[:] = 0, most
        self.track.standing[:, [kernel.FROM, kernel.NEEDED]] = 1
        if k is not None:
            self.track.standing[:, kernel.K] = self.track.standing[:, kernel.GIVEN] = k
        #: By stream, if multiplicities are wanted.
        self.tables = [self._table(LEAST_PLACES) for _ in range(streams if counted else 0)]

    def observe(self, streams: Numbers, keys: Numbers) -> None:
        """Take tuples in, in order of arrival: the stream and the key of each."""
        done = 0
        while done < len(keys):
            done = kernel.observe(self.track, streams, keys, done)
            if done < len(keys):
                self._make_room()
        self._count(streams, keys)

    def observe_past(self, streams: Numbers, keys: Numbers) -> Numbers:
        """The same; what a stream was `past` when each of its tuples had come, NOTHING if nothing.

        >>> ordering, of_one = Ordering(1, [1]), np.zeros(4, np.int64)
        >>> ordering.observe_past(of_one, np.array([1, 3, 2, 4]))[1:].tolist()
        [1, 3, 3]
        """
        past, done = np.empty(len(keys), np.int64), 0
        while done < len(keys):
            done = kernel.observe_past(self.track, streams, keys, done, past)
            if done < len(keys):
                self._make_room()
        self._count(streams, keys)
        return past

    def _count(self, streams: Numbers, keys: Numbers) -> None:
        for stream in range(len(self.tables)):
            self._tally(stream, keys[streams == stream])

    # -- a stream --------------------------------------------------------------------------

    def arrived(self, stream: int) -> int:
        """How many tuples of a stream have come: the PI of its latest."""
        return int(self.track.standing[stream, kernel.COUNT])

    def scrambling(self, stream: int) -> int:
        """A stream's scrambling factor so far, or what was given, if that is more."""
        return int(self.track.standing[stream, kernel.K])

    def astray(self, stream: int) -> int:
        """How many tuples were further out of order than is remembered.

        Each raised k to as much as was remembered, and made that twice as much, up to the limit.
        """
        return int(self.track.standing[stream, kernel.BEYOND])

    def multiplicity(self, stream: int) -> int:
        """The most tuples of one key so far; 0 unless they are counted."""
        return int(self.track.standing[stream, kernel.MULTIPLICITY])

    def past(self, stream: int) -> int | None:
        """A key that the stream sends no more, nor any below; None if there is none yet."""
        mine = self.track.standing[stream]
        position = int(mine[kernel.COUNT] - mine[kernel.K])
        if position < mine[kernel.FROM]:
            return None
        ring = self.track.rings[stream]
        return int(ring[position & (len(ring) - 1), kernel.TOP])

    def ordered(self, stream: int) -> bool:
        """Is the key ordered in the long run, by what has come?

        It is not if k has grown with the stream, or if a good part of the tuples come from before
        what is remembered. An ordered stream that is still short for its k may be taken for one.
        """
        mine = self.track.standing[stream]
        count, k = mine[kernel.COUNT], mine[kernel.K]
        grown = k > mine[kernel.GIVEN] and SHARE * k >= count >= ENOUGH
        since = count - mine[kernel.FIRST_BEYOND]
        lost = self.astray(stream) >= ENOUGH and SHARE * self.astray(stream) >= since
        return not (grown or lost)

    # -- a stream and its partners ---------------------------------------------------------

    def pair(self, i: int, j: int) -> Pair | None:
        """How S_i stands to S_j; None while no next-of-kin is known: then nothing may be evicted.

        So it is until more than k_j tuples of S_j have come, and one of S_i that is not above them
        all; where S_i is further ahead than is remembered; and for a while after k_j has become
        larger than that.
        """
        place = self._place(i, j)
        if not place.known:
            return None
        came, k = self.arrived(i), self.scrambling(i)
        over, lag = came - place.came, place.came - place.kin
        return Pair(lag, over, k + over + lag + 1, came >= place.first + k)

    def memory(self, i: int) -> int | None:
        """How many of the latest tuples of S_i are still needed: Equation (8). None: all."""
        most = 0
        for j in range(len(self.track.standing)):
            pair = self.pair(i, j) if j != i else Pair(0, 0, 0, True)
            if pair is None:
                return None
            most = max(most, pair.memory)
        return most

    def _place(self, i: int, j: int) -> kernel.Place:
        scratch = np.empty(2 * self.scrambling(j) + 1, np.int64)
        return kernel.Place(*kernel.place_of_kin(self.track, i, j, scratch))

    # -- room ------------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Find out what is still needed; give the rings twice the room if that is much."""
        standing, rings = self.track.standing, self.track.rings
        size = rings.shape[1]
        for i, mine in enumerate(standing):
            places = [self._place(i, j) for j in range(len(standing)) if j != i]
            oldest = min((min(place.came, place.first - 1) for place in places), default=0)
            own = mine[kernel.COUNT] - 2 * mine[kernel.K] - 1
            mine[kernel.NEEDED] = max(1, min(oldest, own))
        used = standing[:, kernel.COUNT] - standing[:, kernel.NEEDED] + 1
        if 2 * used.max() > size or 2 * standing[:, kernel.K].max() + 2 > size:
            larger = self.room.empty((len(standing), 2 * size, 3))
            kernel.move(rings, standing, larger)
            self.track = self.track._replace(rings=larger)

    def _tally(self, stream: int, keys: Numbers) -> None:
        """Count the tuples of each key."""
        mine, done = self.track.standing[stream], 0
        while done < len(keys):
            done = kernel.tally(mine, keys, done, self.tables[stream])
            if done < len(keys):
                self._forget_old(stream, int(mine[kernel.COUNT]) - len(keys) + done + 1)

    def _forget_old(self, stream: int, position: int) -> None:
        """A table without the keys that cannot come at that position any more."""
        mine, old = self.track.standing[stream], self.tables[stream]
        apart = min(int(mine[kernel.K]), MOST_PLACES // ROOMY)
        size = LEAST_PLACES
        while size < ROOMY * apart:
            size *= 2
        self.tables[stream] = self._table(size)
        kernel.refill(old, position - apart, self.tables[stream], mine)

    def _table(self, size: int) -> Numbers:
        table = self.room.empty((size, 3))
        table[:] = 0
        return table

    # -- memory that outlives a process ----------------------------------------------------

    def told(self) -> dict[str, Any]:
        """All but what the rings hold, as plain data: small."""
        track = self.track
        return {
            "positions": track.rings.shape[1],
            "standing": track.standing.tolist(),
            "clock": track.whole.tolist(),
        }

    def stand(self, told: dict[str, Any]) -> None:
        """Take over what was told; rings of another size begin with nothing in them."""
        size, streams = told["positions"], len(self.track.standing)
        if size != self.track.rings.shape[1]:
            self.track = self.track._replace(rings=self.room.empty((streams, size, 3)))
        self.track.standing[:] = told["standing"]
        self.track.whole[:] = told["clock"]

    def remembers_from(self, stream: int) -> int:
        """The oldest position of a stream that is remembered."""
        return int(self.track.standing[stream, kernel.FROM])

    def seen(self, stream: int, after: int = 0) -> Numbers:
        """What is remembered of a stream's tuples behind a position: KEY, TOP and WHEN of each."""
        at = self._places(stream, after)
        found: Numbers = self.track.rings[stream, at]
        return found

    def recall(self, stream: int, seen: Numbers) -> None:
        """Put back what `seen` found of all that is remembered."""
        self.track.rings[stream, self._places(stream)] = seen

    def _places(self, stream: int, after: int = 0) -> Numbers:
        """Where in its ring a stream's positions are, in order of arrival."""
        mine = self.track.standing[stream]
        positions = np.arange(max(int(mine[kernel.FROM]), after + 1), mine[kernel.COUNT] + 1)
        places: Numbers = positions & (self.track.rings.shape[1] - 1)
        return places

    def handover(self) -> dict[str, NDArray[Any]]:
        """Every array, as it is."""
        named = {f"ordering_{name}": array for name, array in self.track._asdict().items()}
        return named | {f"ordering_table_{s}": table for s, table in enumerate(self.tables)}

    @classmethod
    def attach(cls, arrays: dict[str, NDArray[Any]], room: Room) -> Ordering:
        """Go on with the arrays of `handover`, in place."""
        ordering = cls.__new__(cls)
        ordering.room = room
        ordering.track = Track(*(arrays[f"ordering_{name}"] for name in Track._fields))
        tables = sum(name.startswith("ordering_table_") for name in arrays)
        ordering.tables = [arrays[f"ordering_table_{stream}"] for stream in range(tables)]
        return ordering
