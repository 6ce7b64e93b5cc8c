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

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.task import ARRIVED, DONE, Batch, Task
from windrow.operators.arrivals import Piece
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
        self._noticed: dict[str, str] = {}

    def begin(self, room: Room = HEAP) -> Self:
        """Start with an empty state, and nothing known of the streams."""
        self.memory = MemoryManager(self.bounds, room)
        return super().begin(room)

    # -- a batch ---------------------------------------------------------------------------

    def process(self, passed: Passed) -> Iterator[Piece]:
        """Join what the gate has let through, within the limits that it gives."""
        if passed.limits is not None:
            self.memory.limit_to(passed.limits)
            self.state.cut_to_limits(self._task, self.memory)
        yield from super().process(passed)
        if passed.past is not None and passed.past.flip == -int(self.memory.descends):
            self.state.cut_to_past(self._task, self.memory, passed.past.words)

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
        if self._arrived() < FIRST_VISIT:
            stand.patience = min(int(stand.patience), FIRST_VISIT)
        status = self.state.run_oblivious(now, batch, self.memory)
        patient = stand.patience > 0 or self._arrived() < FIRST_VISIT
        if status == DONE or (stand.step == ARRIVED and not patient):
            self.memory.look_at_direction()
            self._notice_disorder()
        return status

    def _arrived(self) -> int:
        """Tuples of all streams so far."""
        return sum(map(self.memory.arrived, range(len(self.names))))

    def _notice_disorder(self) -> None:
        """Note of each stream whether its key is not ordered."""
        for stream, name in enumerate(self.names):
            if name not in self._noticed and not self.memory.ordered(stream):
                self._noticed[name] = (
                    f"stream {name!r}: its key is not ordered in the long run (its scrambling "
                    f"factor is {self.memory.scrambling(stream):,} after "
                    f"{self.memory.arrived(stream):,} tuples), so memory='data' keeps most of "
                    "what comes; give the streams windows, or say where keys end (ends=)"
                )

    def notices(self) -> dict[str, str]:
        """Streams that are not ordered."""
        return self._noticed

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
        """How much of each stream is stored, and what decides how much of it stays.

        Progress does not tell. What probes found is among it, because the order of probing says
        when partial combinations wait, and while some do nothing is evicted. Whoever inspects a
        checkpoint is told the scrambling factors and how many tuples are to stay.
        """
        decides = {"seen": self.memory.told(), "search": self.search.facts()}
        streams = range(len(self.names))
        shown = {"scrambling": [self.memory.scrambling(each) for each in streams]}
        return {"live": self.live(), **decides, **shown, "memory": self.memory.keep}

    def stand(self, standing: dict[str, Any]) -> None:
        """Take a standing over; rings that were lost are recalled apart."""
        self.memory.stand(standing["seen"])
        self.search.attach(standing["search"])
