"""The join with count windows, on input in global time order.

    passed --> number the keys --> kernel: append, expire, probe --> pieces

Which tuples a count window still holds at time t is known only when every tuple up to t is
there, so the gate lets input wait until all streams have passed it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.loops.groups import KEYLESS, MUTE
from windrow.kernels.task import BY_TIME, PER_KEY, PER_STREAM, Batch
from windrow.operators.gate import Passed
from windrow.operators.join.window import Coming, JoinConfig, WindowJoin
from windrow.operators.stage import Handover
from windrow.state.join_state import Layout
from windrow.state.numbers import KeyNumbers, SameKey
from windrow.state.room import HEAP, Room

Nulls = Callable[[NDArray[np.int64]], NDArray[np.bool_]]


class CountJoin(WindowJoin):
    """A window join in which at least one window counts rows.

    Parameters
    ----------
    nulls: per stream, which of some row ids have a null key. They match nothing, but where the
        window counts the whole stream they count.
    mutes: per stream, which of some row ids are mute. They match nothing, but they count.
    same: per asking stream, how keys are compared; None where equal hashes are equal keys.
    """

    def __init__(
        self,
        config: JoinConfig,
        layout: Layout,
        nulls: Sequence[Nulls],
        mutes: Sequence[Nulls],
        same: Sequence[SameKey] | None,
        coming: Coming | None = None,
    ) -> None:
        super().__init__(config, layout, coming)
        self.kinds = [int(kind) for kind in self._task.asked.kind]
        self.nulls = nulls
        self.mutes = mutes
        self.same = same

    def begin(self, room: Room = HEAP) -> Self:
        """Start with an empty state and no key known."""
        super().begin(room)
        self.numbers = KeyNumbers(room)
        return self

    def count_up_to(self, n: int) -> None:
        """Let every window that counts be one of `n` rows; what has left stays away."""
        counts = [kind != BY_TIME for kind in self.kinds]
        self._task.asked.count[counts] = n

    def counts_keyless(self, stream: int) -> bool:
        """Are tuples with a null key wanted too? They only count."""
        return self.kinds[stream] == PER_STREAM

    def counts_mute(self, stream: int) -> bool:
        """Are mute tuples wanted too? They only count."""
        return self.kinds[stream] != BY_TIME

    def _arrange(self, passed: Passed) -> Batch:
        """Lay the tuples out by side and time, with the part that has their key."""
        sides = passed.tuples
        end = np.cumsum([len(side.ts) for side in sides])
        at = end - [len(side.ts) for side in sides]
        tuples = np.zeros((int(end[-1]), 4), np.int64)
        per_key = [kind == PER_KEY for kind in self.kinds]
        # Streams that bring keys go first, so that the others find them.
        for stream in sorted(range(len(sides)), key=lambda s: not per_key[s]):
            side = sides[stream]
            mine = tuples[at[stream] : end[stream]]
            mine[:, 0], mine[:, 1], mine[:, 2] = side.ts, side.key, side.row
            null, mute = self.nulls[stream](side.row), self.mutes[stream](side.row)
            if any(per_key):
                same = None if self.same is None else self.same[stream]
                keyed = np.flatnonzero(~null)
                mine[keyed, 3] = self.numbers.numbers(
                    stream, side.row[keyed], side.key[keyed], same, add=per_key[stream]
                )
            if per_key[stream]:
                mine[mute, 3] = MUTE - mine[mute, 3]
            else:
                mine[mute, 3] = KEYLESS
            mine[null, 3] = KEYLESS
            if self.config.flagged:
                # Already delivered, where their side is preserved: they must not leave again.
                self.flags.set(stream, side.row[null | mute])
        self.state.add_parts(self.numbers.count + 1 - self.state.parts)
        self._task.groups.at = at
        return Batch(tuples, at, end)

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> Handover:
        """As of a window join, with the numbers of keys."""
        arrays, facts = super().handover()
        more, further = self.numbers.handover()
        return {**arrays, **more}, {**facts, **further}

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place."""
        super().attach(arrays, facts, room)
        self.numbers = KeyNumbers.attach(arrays, facts, room)
