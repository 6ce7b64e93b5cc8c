"""The gate before the join: what of the input is joined now, and what waits.

    tuples, punctuations --> gate --> those that are joined now, how far each stream is joined

*Open*: tuples pass at once; a punctuation waits until its own stream's progress reaches its time.
*Synchronised*: both wait until every stream has passed them, so that what passes is in global time
order (paper 4's Sync-Filter; a count window needs the same).

How far a stream is joined is what lets stored tuples of the others go. It never moves back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.model import BEGINNING, END, JoinPlan
from windrow.operators.arrivals import Arrivals, Rows
from windrow.operators.gate.broken import broken
from windrow.operators.gate.waiting import Waiting
from windrow.operators.stage import Figures, Handover
from windrow.state.join_state import JoinState
from windrow.state.room import HEAP, Room

#: By stream, row ids of tuples that break a promise that waits, and of those promises.
Breach = tuple[Rows, Rows]


@dataclass(frozen=True)
class Past:
    """What streams are past: words, and what makes them ascend (0, or -1 where keys descend)."""

    words: Rows
    flip: int


@dataclass(frozen=True)
class Passed:
    """What a gate lets through of a batch, by stream; tuples are in time order.

    Where a gate delays tuples they are in the order of `turns`, which never fall within a stream:
    of all streams the tuple with the smallest turn is next. `limits`: how many tuples of each the
    join may store, where memory has a limit. `past`: after the batch, the word of a key that each
    sends no more, nor any below.
    """

    tuples: Sequence[Arrivals]
    before: Sequence[int]
    after: Sequence[int]
    ends: Sequence[Arrivals] = ()
    breaches: Sequence[Breach] = ()
    turns: Sequence[Rows] | None = None
    limits: Sequence[int] | None = None
    past: Past | None = None


class Gate:
    """Holds back what cannot be joined yet."""

    def __init__(self, plan: JoinPlan) -> None:
        self.plan = plan
        #: Does input wait until all streams have passed it?
        self.synchronised = plan.counted or plan.waits
        self.switches = 0

    def begin(self, room: Room = HEAP) -> Gate:
        """Start with nothing waiting."""
        streams = len(self.plan.streams)
        self.joined = [BEGINNING] * streams
        # Arrays that are never used would be files for nothing.
        used = self._waiting_names()
        self.tuples = Waiting(streams, room if "tuples" in used else HEAP)
        self.ends = Waiting(streams, room if "ends" in used else HEAP)
        return self

    # -- a batch ---------------------------------------------------------------------------

    def pass_on(
        self, tuples: Sequence[Arrivals], ends: Sequence[Arrivals], after: Sequence[int]
    ) -> Passed:
        """Take a batch in; give out what is joined now. `after`: each stream's progress now."""
        before = self.joined
        if self.synchronised:
            ready = self.tuples.pass_on(tuples, [min(after)] * len(after))
            reached = [self._reached(stream, after) for stream in range(len(after))]
        else:
            ready = self._let_in(tuples)
            reached = list(after)
        self.joined = [max(now, new) for now, new in zip(before, reached, strict=True)]
        if not self.plan.punctuated:
            return Passed(ready, before, self.joined)
        if self.synchronised:
            # A tuple of a unique key says so itself, once it is joined.
            said = self._said(self.ends.pass_on(ends, [min(after)] * len(after)), ready)
            return Passed(ready, before, self.joined, said)
        said = self.ends.pass_on(self._said(ends, ready), [now + 1 for now in after])
        ready, breaches = self._kept(ready)
        return Passed(ready, before, self.joined, said, breaches)

    def _let_in(self, tuples: Sequence[Arrivals]) -> list[Arrivals]:
        """All of them, with those that have waited until the gate opened."""
        if self.plan.ordered:
            return self.tuples.pass_on(tuples, [END] * len(tuples))
        return [side.in_time_order() for side in tuples]

    def _reached(self, stream: int, after: Sequence[int]) -> int:
        """How far a stream is joined where input waits.

        Under count windows the end of a stream frees the others' tuples once nothing of it waits.
        """
        ended = self.plan.counted and after[stream] == END and not self.tuples.held(stream)
        return END if ended else min(after)

    def _said(self, ends: Sequence[Arrivals], tuples: Sequence[Arrivals]) -> list[Arrivals]:
        """The punctuations. Where keys are unique, every tuple is one."""
        return [
            Arrivals.concatenate([mine, theirs]) if stream.unique else mine
            for stream, mine, theirs in zip(self.plan.streams, ends, tuples, strict=True)
        ]

    def _kept(self, ready: Sequence[Arrivals]) -> tuple[list[Arrivals], list[Breach]]:
        """The tuples that break no promise which still waits, and those that do."""
        kept, breaches = [], []
        for side, waiting in zip(ready, self.ends.arrivals(), strict=True):
            places, promises = broken(side, waiting, self.plan.span)
            breaches.append((side.row[places], waiting.row[promises]))
            if len(places):
                stays = np.ones(len(side.ts), np.bool_)
                stays[places] = False
                side = side.chosen(stays)
            kept.append(side)
        return kept, breaches

    def measuring(self, passed: Passed, state: JoinState) -> AbstractContextManager[None]:
        """Around the join of what has passed, for a gate that adapts to what it takes."""
        return nullcontext()

    # -- what waits ------------------------------------------------------------------------

    def rows(self, stream: int) -> Rows:
        """The ids of rows that will come to the join yet."""
        return np.concatenate([self.tuples.rows(stream), self.ends.rows(stream)])

    def held(self, stream: int) -> int:
        """How many rows of a stream wait."""
        return self.tuples.held(stream) + self.ends.held(stream)

    def tuples_wait(
        self, stream: int, rows: Rows, ts: Rows, progress: Sequence[int]
    ) -> NDArray[np.bool_]:
        """Which tuples of a log wait to be joined, at these progresses."""
        waits: NDArray[np.bool_] = (ts >= min(progress)) & self.synchronised
        return waits

    def ends_wait(
        self, stream: int, rows: Rows, ts: Rows, marked: NDArray[np.bool_], progress: Sequence[int]
    ) -> NDArray[np.bool_]:
        """Which punctuations of a log have not acted yet. `marked`: those that are no tuples."""
        if not self.synchronised:
            later: NDArray[np.bool_] = ts > progress[stream]
            return later
        waits: NDArray[np.bool_] = ts >= min(progress)
        # A tuple of a unique key that waits says so itself when it is joined.
        return waits & marked

    def renumber(self, kept: Sequence[Rows]) -> None:
        """Rows have new ids: their places among those that are kept, by stream."""

    def figures(self) -> Figures:
        """Tuples that wait, and how often the approach has changed."""
        runs = self.tuples.streams
        per_stream = {
            "waiting": [len(each) for each in runs],
            "waiting_bytes": [each.nbytes for each in runs],
            "peak_waiting": [each.peak for each in runs],
        }
        return per_stream, {"switches": self.switches}

    def forget_peaks(self) -> None:
        """Let high-water marks begin anew."""
        for runs in self.tuples.streams:
            runs.forget_peak()

    # -- memory that outlives a process ----------------------------------------------------

    def _waiting_names(self) -> list[str]:
        """What may wait under this plan."""
        used = {"tuples": self.plan.counted or self.plan.waits, "ends": self.plan.punctuated}
        return [name for name, waits in used.items() if waits]

    def handover(self) -> Handover:
        """The arrays as they are."""
        arrays: dict[str, NDArray[Any]] = {}
        for name in self._waiting_names():
            arrays |= getattr(self, name).handover(name)
        return arrays, {}

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place."""
        self.begin()
        streams = len(self.plan.streams)
        for name in self._waiting_names():
            setattr(self, name, Waiting.attach(arrays, name, streams, room))

    def standing(self) -> dict[str, Any]:
        """How far each stream is joined."""
        return {"joined": self.joined}

    def stand(self, standing: dict[str, Any]) -> None:
        """Go on from how far each stream was joined."""
        self.joined = list(standing["joined"])
