"""The join without windows: what stays follows the data (WO-Join, paper 5).

    admitted, in order of arrival --> kernel: watch, probe, insert, evict --> judges --> pieces
                                        |  ^
                                  memory manager: scrambling factors, lags --> how many tuples stay

A result is any combination with equal keys. Which of them are found depends on what was kept: all,
where the streams keep to bounds that were given; else all that the measured figures do not miss.

    <61>..<64> of S1 have come, S2 is at <62>: S2 lags by two. S1 must keep <63> and <64>, and what
    its own scrambled order may still ask of the tuples before; S2 need keep next to nothing.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.task import ARRIVED, DONE, Batch, Task
from windrow.operators.gate import Passed
from windrow.operators.join.window import Coming, JoinConfig, WindowJoin
from windrow.operators.stage import Figures, Handover
from windrow.state.join_state import Layout
from windrow.state.memory import Bounds, MemoryManager
from windrow.state.room import HEAP, Room

#: Of a tuple in a batch.
COLUMNS = 4
#: The first look at whether keys descend comes after so many tuples; later ones at each visit.
FIRST_VISIT = 1 << 12


class ObliviousJoin(WindowJoin):
    """The operator. Its lists have one part, and its buffers follow a memory manager."""

    memory: MemoryManager

    def __init__(
        self,
        config: JoinConfig,
        layout: Layout,
        bounds: Bounds,
        names: tuple[str, ...],
        coming: Coming | None = None,
    ) -> None:
        super().__init__(config, layout, coming)
        # A row leaves when it is evicted, and not because of a time.
        self._task.rules.forsake = 0
        self._task.rules.once = config.how in ("semi", "anti")
        self.bounds = bounds
        self.names = names
        self._warned: set[str] = set()

    def begin(self, room: Room = HEAP) -> Self:
        """Start with an empty state, and nothing known of the streams."""
        self.memory = MemoryManager(self.bounds, room)
        return super().begin(room)

    # -- a batch ---------------------------------------------------------------------------

    def _arrange(self, passed: Passed) -> Batch:
        """Lay the tuples out by stream, in their turn: (turn, key, row id, time)."""
        sides = passed.tuples
        turns = [side.ts for side in sides] if passed.turns is None else passed.turns
        lengths = np.array([len(side.ts) for side in sides], np.int64)
        end = np.cumsum(lengths)
        if len(self._tuples) < end[-1] or self._tuples.shape[1] != COLUMNS:
            self._tuples = np.empty((int(end[-1]), COLUMNS), np.int64)
        for side, turn, stop in zip(sides, turns, end, strict=True):
            mine = self._tuples[stop - len(side.ts) : stop]
            for column, values in enumerate((turn, side.key, side.row, side.ts)):
                mine[:, column] = values
        return Batch(self._tuples, end - lengths, end)

    def _visit(self, now: Task, batch: Batch) -> int:
        """Let the kernel go on, for a while; then see how the streams are ordered."""
        stand = now.stand[0]
        if sum(map(self.memory.arrived, range(len(self.names)))) < FIRST_VISIT:
            stand.patience = min(int(stand.patience), FIRST_VISIT)
        status = self.state.run_oblivious(now, batch, self.memory)
        if status == DONE or (stand.step == ARRIVED and stand.patience == 0):
            self.memory.look_at_direction()
            self._warn_of_disorder()
        return status

    def _warn_of_disorder(self) -> None:
        """Say once of each stream that its key is not ordered."""
        for stream, name in enumerate(self.names):
            if name not in self._warned and not self.memory.ordered(stream):
                self._warned.add(name)
                warnings.warn(
                    f"stream {name!r}: its key is not ordered in the long run (its scrambling "
                    f"factor is {self.memory.scrambling(stream):,} after "
                    f"{self.memory.arrived(stream):,} tuples), so memory='data' keeps most of "
                    "what comes; give the streams windows, or say where keys end (ends=)",
                    UserWarning,
                    stacklevel=2,
                )

    # -- figures ---------------------------------------------------------------------------

    def figures(self) -> Figures:
        """As of any join, with what the manager knows."""
        per_stream, whole = super().figures()
        streams = range(len(self.names))
        per_stream |= {
            "scrambling": [self.memory.scrambling(each) for each in streams],
            "memory": [most or 0 for most in self.memory.keep],
            "forced": [self.memory.forced(each) for each in streams],
            "broken": [self.memory.broken(each) for each in streams],
        }
        produced, producible = self.memory.sampled()
        return per_stream, whole | {"produced": produced, "producible": producible}

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> Handover:
        """The arrays of the state and of the manager."""
        arrays, facts = super().handover()
        return {**arrays, **self.memory.handover()}, facts

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place."""
        super().attach(arrays, facts, room)
        self.memory = MemoryManager.attached(self.bounds, arrays, room)

    def live(self) -> list[int]:
        """How many of each stream's latest tuples are stored."""
        return [self.state.live_rows(stream) for stream in range(len(self.names))]

    def standing(self) -> dict[str, Any]:
        """How much of each stream is stored: progress does not tell."""
        return {"live": self.live()}
