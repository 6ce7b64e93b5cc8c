"""The gate of the adaptive policy: paper 4, section 6.

It begins synchronised (Sync-Filter), opens (Filter-Order) when the measured c|w|λ_1λ_2 reaches
alpha, and synchronises again when it falls below. Then the hold buffer empties while input waits
again (steps E to L): one path, so there is no state between.

It decides at the start of a batch by what was measured before it, so two attempts at a batch
decide alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.model import BEGINNING, END, JoinPlan
from windrow.operators.arrivals import Arrivals, Rows
from windrow.operators.gate.gate import Gate, Passed
from windrow.operators.gate.rates import Rates
from windrow.state.join_state import JoinState


class Adaptive(Gate):
    """A gate that opens and closes by what it measures. `clock` tells the seconds."""

    def __init__(self, plan: JoinPlan, clock: Callable[[], float]) -> None:
        super().__init__(plan)
        self.clock = clock
        self.rates = Rates(plan.reaches)
        streams = len(plan.streams)
        #: Since input last began to wait: rows of each stream from these ids on do, and what the
        #: progress was then. `next_rows` are the ids to come.
        self.since = [0] * streams
        self.since_progress = [BEGINNING] * streams
        self.next_rows = [0] * streams
        self._arrived = [0] * streams
        self._newest = END

    def pass_on(
        self, tuples: Sequence[Arrivals], ends: Sequence[Arrivals], after: Sequence[int]
    ) -> Passed:
        """Choose the approach for this batch, then let it pass."""
        wanted = self.rates.load() < self.plan.alpha
        if wanted != self.synchronised:
            self.synchronised = wanted
            self.switches += 1
            if wanted:
                self.since, self.since_progress = list(self.next_rows), list(self.joined)
        for stream, parts in enumerate(zip(tuples, ends, strict=True)):
            newest = max(int(part.row.max(initial=-1)) for part in parts)
            self.next_rows[stream] = max(self.next_rows[stream], newest + 1)
        # Rates are of what arrives, which is smoother than what is let through.
        self._arrived = [len(side.ts) for side in tuples]
        self._newest = max((now for now in after if now != END), default=END)
        return super().pass_on(tuples, ends, after)

    @contextmanager
    def measuring(self, passed: Passed, state: JoinState) -> Iterator[None]:
        """Take down what this batch says about rates and cost."""
        streams = range(state.streams)
        before = [state.live_rows(stream) for stream in streams]
        begun = self.clock()
        yield
        seconds = self.clock() - begun
        met = [(before[stream] + state.live_rows(stream)) / 2 for stream in streams]
        pairs = sum(
            len(side.ts) * (sum(met) - mine) for side, mine in zip(passed.tuples, met, strict=True)
        )
        self.rates.observe(self._arrived, self._newest, seconds, pairs)

    # -- what waits ------------------------------------------------------------------------

    def tuples_wait(
        self, stream: int, rows: Rows, ts: Rows, progress: Sequence[int]
    ) -> NDArray[np.bool_]:
        """Those that came since input last began to wait."""
        waits = super().tuples_wait(stream, rows, ts, progress)
        return waits & (rows >= self.since[stream])

    def ends_wait(
        self, stream: int, rows: Rows, ts: Rows, marked: NDArray[np.bool_], progress: Sequence[int]
    ) -> NDArray[np.bool_]:
        """One that came before input began to wait acted when its stream had reached it."""
        if not self.synchronised:
            return super().ends_wait(stream, rows, ts, marked, progress)
        before = rows < self.since[stream]
        waits: NDArray[np.bool_] = ts >= min(progress)
        waits &= ~before | (ts > self.since_progress[stream])
        return waits & (before | marked)

    def renumber(self, kept: Sequence[Rows]) -> None:
        """Rows have new ids: their places among those that are kept, by stream."""
        pairs = zip(kept, self.since, strict=True)
        self.since = [int(np.searchsorted(rows, since)) for rows, since in pairs]
        self.next_rows = [len(rows) for rows in kept]

    # -- what is written down --------------------------------------------------------------

    def standing(self) -> dict[str, Any]:
        """Which approach, since when, and what was measured."""
        return {
            **super().standing(),
            "synchronised": self.synchronised,
            "switches": self.switches,
            "since": self.since,
            "since progress": self.since_progress,
            "rows": self.next_rows,
            "rates": self.rates.snapshot(),
        }

    def stand(self, standing: dict[str, Any]) -> None:
        """Go on from what was measured."""
        super().stand(standing)
        self.synchronised, self.switches = standing["synchronised"], standing["switches"]
        self.since, self.since_progress = list(standing["since"]), list(standing["since progress"])
        self.next_rows = list(standing["rows"])
        self.rates.restore(standing["rates"])
