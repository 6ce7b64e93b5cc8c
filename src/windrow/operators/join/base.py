"""What a pipeline asks of any join: which tuples it wants, and what it has done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windrow.kernels.task import Records
from windrow.operators.arrivals import Rows
from windrow.operators.stage import Figures
from windrow.state.join_state import JoinState


class Join:
    """A join with its state, and the records that its kernels count in."""

    state: JoinState
    counted: Records
    work: Any
    candidates: int
    matches: int
    #: Has a log rows that are gone here, and that a join made from it would have?
    outgrown = False

    def counts_keyless(self, stream: int) -> bool:
        """Are tuples with a null key wanted too?"""
        return False

    def counts_mute(self, stream: int) -> bool:
        """Are tuples wanted that fail the condition's part about their stream alone?"""
        return False

    def notices(self) -> dict[str, str]:
        """What a user should know of the input, in words, by the stream that it is about."""
        return {}

    def renumber(self, kept: Sequence[Rows]) -> None:
        """Rows have new ids: their places among those that are kept, by stream."""

    def promised(self, stream: int, before: int) -> tuple[Rows, Rows]:
        """Rows and times of a stream's punctuations before a time that are flags or act now."""
        none = np.empty(0, np.int64)
        return none, none

    # -- figures ---------------------------------------------------------------------------

    def stored(self, stream: int) -> tuple[int, int]:
        """Tuples of a stream inserted and invalidated so far."""
        counted = self.counted[stream]
        return int(counted.inserted), int(counted.dropped)

    def looked_at(self) -> tuple[int, int]:
        """Stored tuples looked at so far: by probes, by invalidation."""
        return int(self.work.comparisons), int(self.work.checks)

    def figures(self) -> Figures:
        """What it stores, and what it has done."""
        state, counted = self.state, self.counted
        streams = range(state.streams)
        per_stream = {
            "inserted": counted.inserted.tolist(),
            "invalidated": counted.dropped.tolist(),
            "live_rows": [state.live_rows(stream) for stream in streams],
            "live_bytes": [state.live_bytes(stream) for stream in streams],
            "peak_rows": [state.peak_rows(stream) for stream in streams],
        }
        comparisons, checks = self.looked_at()
        whole = {
            "comparisons": comparisons,
            "checks": checks,
            "candidates": self.candidates,
            "matches": self.matches,
        }
        return per_stream, whole

    def forget_peaks(self) -> None:
        """The state's are its own."""
