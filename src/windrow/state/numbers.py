"""Numbers of keys: each key once, with a number. Count windows need them to count by key.

Hashes can collide, and counting two keys as one would be wrong, so a number is a key's only
after the key columns have been compared with those of the row that stands for it. A key whose
number belongs to another tries again with its hash salted by the round. Numbers start at 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import contents, hashing
from windrow.state.lists import Lists
from windrow.state.room import HEAP, Room

#: Are these rows' keys (of the asking stream) those of these standing rows? Pair by pair.
#: A standing row is (stream, row id).
SameKey = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]

ABSENT = -1


class KeyNumbers:
    """Key numbers by hash, verified; and for each number a row that has the key."""

    def __init__(self, room: Room = HEAP) -> None:
        self.room = room
        self.lists = Lists(1, bits=6, chained=1, room=room)
        self.count = 0
        #: Stream and row id that stand for each number; number 0 is no key.
        self.stands = np.zeros((2, 1), np.int64)

    def numbers(
        self,
        stream: int,
        rows: NDArray[np.int64],
        hashes: NDArray[np.int64],
        same: SameKey | None,
        add: bool,
    ) -> NDArray[np.int64]:
        """Each row's key number; unknown keys are added, or ABSENT. `same` None: hashes decide."""
        result = np.full(len(rows), ABSENT, np.int64)
        open_ = np.arange(len(rows))
        salted = hashes
        salt = 0
        while len(open_):
            found = self._look_up(stream, rows[open_], salted, add)
            if same is None:
                return found
            known = found != ABSENT
            right = known.copy()
            standing = self.stands[:, found[known]]
            right[known] = same(rows[open_[known]], standing[0], standing[1])
            result[open_[right]] = found[right]
            # Newest rows stand for their keys: those are the ones that stay stored longest.
            if add:
                self.stands[0, found[right]] = stream
                self.stands[1, found[right]] = rows[open_[right]]
            open_ = open_[known & ~right]
            salt += 1
            salted = np.full(len(open_), salt, np.int64)
            hashing.fold(hashes[open_], salted)
        return result

    def _look_up(
        self, stream: int, rows: NDArray[np.int64], keys: NDArray[np.int64], add: bool
    ) -> NDArray[np.int64]:
        found = np.empty(len(keys), np.int64)
        before = following = self.count + 1
        done = 0
        while done < len(keys):
            done, after = contents.find_all(
                self.lists.arrays(), 0, keys, done, following if add else ABSENT, found
            )
            if add:
                following = after
            if done < len(keys):
                self.lists.make_room()
        self.lists.forget_old()
        self.count = following - 1
        if following > self.stands.shape[1]:
            larger = self.room.empty((2, 2 * following))
            larger[:, : self.stands.shape[1]] = self.stands
            self.stands = larger
        fresh = np.flatnonzero(found >= before)[::-1]
        # Backwards, so that the first row with a new number is the one that stands for it.
        self.stands[0, found[fresh]] = stream
        self.stands[1, found[fresh]] = rows[fresh]
        return found

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The arrays as they are, and how many keys there are."""
        arrays = {f"numbers_{name}": array for name, array in self.lists.handover().items()}
        return {**arrays, "stands": self.stands}, {"keys": self.count}

    @classmethod
    def attach(
        cls, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room
    ) -> KeyNumbers:
        """Go on with the arrays of `handover`, in place."""
        prefix = "numbers_"
        mine = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
        numbers = cls(room)
        numbers.lists = Lists.attach(mine, 1, room)
        numbers.stands, numbers.count = arrays["stands"], facts["keys"]
        return numbers
