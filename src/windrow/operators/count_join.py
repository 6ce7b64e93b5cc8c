"""The join with count windows, on input in global time order.

    arrivals --> synchronise --> number the keys --> kernel: append, expire, probe --> pieces

Which tuples a count window still holds at time t is known only when every tuple up to t is
there, so input waits until the slowest stream has passed it. That costs delay, not exactness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.loops.counted import KEYLESS
from windrow.kernels.task import BY_TIME, PER_KEY, PER_STREAM, Batch
from windrow.model import END, CountWindow, Window
from windrow.operators.arrivals import Arrivals, Piece
from windrow.operators.synchronise import Synchronise
from windrow.operators.window_join import JoinConfig, WindowJoin
from windrow.state.directory import Directory, SameKey
from windrow.state.join_state import JoinState
from windrow.state.lists import Lists, Snapshot
from windrow.state.room import Room

Nulls = Callable[[NDArray[np.int64]], NDArray[np.bool_]]


class CountJoin(WindowJoin):
    """A window join in which at least one window counts rows.

    Parameters
    ----------
    windows: the streams' windows.
    nulls: per stream, which of some row ids have a null key. They match nothing, but where the
        window counts the whole stream they count.
    same: per asking stream, how keys are compared; None where equal hashes are equal keys.
    """

    def __init__(
        self,
        config: JoinConfig,
        state: JoinState,
        windows: Sequence[Window | None],
        nulls: Sequence[Nulls],
        same: Sequence[SameKey] | None,
    ) -> None:
        self.kinds = [_kind(window) for window in windows]
        self.nulls = nulls
        self.same = same
        super().__init__(config, state)
        asked = self._task.asked
        asked.kind = self.kinds
        asked.count = [window.n if isinstance(window, CountWindow) else 0 for window in windows]

    def begin(self, state: JoinState) -> None:
        """Start with an empty state, no key known and nothing waiting."""
        super().begin(state)
        self.directory = Directory(state.lists.room)
        self.waiting = self.sync = Synchronise(state.streams, state.lists.room)

    def counts_keyless(self, stream: int) -> bool:
        """Are tuples with a null key wanted too? They only count."""
        return self.kinds[stream] == PER_STREAM

    def process(
        self, arrivals: Sequence[Arrivals], before: Sequence[int], after: Sequence[int]
    ) -> Iterator[Piece]:
        """Join what this batch has made complete."""
        if self.config.flagged:
            self._cover(arrivals)
        bound = min(after)
        ready = self.sync.pass_on(arrivals, bound)
        # A stream that has ended, with nothing left waiting, needs no tuple of the others any more.
        freed = [
            END if after[stream] == END and not self.sync.held(stream) else bound
            for stream in range(len(after))
        ]
        yield from self._run(self._number(ready), before, freed)

    def _number(self, sides: Sequence[Arrivals]) -> Batch:
        """Lay the tuples out by side and time, with the part that has their key."""
        end = np.cumsum([len(side.ts) for side in sides])
        at = end - [len(side.ts) for side in sides]
        tuples = np.zeros((int(end[-1]), 4), np.int64)
        per_key = [kind == PER_KEY for kind in self.kinds]
        # Streams that bring keys go first, so that the others find them.
        for stream in sorted(range(len(sides)), key=lambda s: not per_key[s]):
            side = sides[stream]
            mine = tuples[at[stream] : end[stream]]
            mine[:, 0], mine[:, 1], mine[:, 2] = side.ts, side.key, side.row
            null = self.nulls[stream](side.row)
            if any(per_key):
                same = None if self.same is None else self.same[stream]
                keyed = np.flatnonzero(~null)
                mine[keyed, 3] = self.directory.numbers(
                    stream, side.row[keyed], side.key[keyed], same, add=per_key[stream]
                )
            mine[null, 3] = KEYLESS
            if self.config.flagged:
                # Already delivered, where their side is preserved: they must not leave again.
                self.flags.set(stream, side.row[null])
        self.state.add_parts(self.directory.count + 1 - self.state.parts)
        self._task.groups.at = at
        return Batch(tuples, at, end)

    # -- memory that outlives a process ----------------------------------------------------

    def parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """As of a window join, with what waits and the directory of keys."""
        arrays, facts = super().parts()
        directory = self.directory
        for name, array in directory.lists.parts().items():
            arrays[f"directory_{name}"] = array
        arrays |= self.sync.parts("waiting")
        return {**arrays, "stands": directory.stands}, {**facts, "keys": directory.count}

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `parts`, in place."""
        super().attach(arrays, facts, room)
        prefix = "directory_"
        mine = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
        self.directory = Directory(room)
        self.directory.lists = Lists.attach(mine, 1, room)
        self.directory.stands, self.directory.count = arrays["stands"], facts["keys"]
        self.waiting = self.sync = Synchronise.attach(arrays, "waiting", self.state.streams, room)

    # -- snapshot --------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """As of a window join, with what waits and the directory of keys."""
        return {
            **super().snapshot(),
            "waiting": self.sync.snapshot(),
            "directory": self.directory.snapshot(),
        }

    def resume(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot."""
        super().resume(snapshot)
        self.waiting = self.sync = Synchronise.restore(snapshot["waiting"])
        self.directory = Directory.restore(snapshot["directory"])


def _kind(window: Window | None) -> int:
    if isinstance(window, CountWindow):
        return PER_KEY if window.per == "key" else PER_STREAM
    return BY_TIME
