"""A join whose results leave in the order of their times: paper 4's three approaches.

    arrivals --> synchronise --> join --> hold --> results
                 sync-filter              everything before TS_trigger, in order

*Sync-Filter*: input waits until every stream has passed it; what is joined is in global order.
*Filter-Order*: input is joined at once, and results wait. *Adaptive*: begins as the first, becomes
the second when the measured c|w|λ_1λ_2 reaches alpha, and goes back when it falls below. Then the
hold buffer empties while input waits again (steps E to L): one path, so there is no state between.

TS_trigger is the smallest progress. Where single rows of X reach the output, an unmatched one say,
their fate is known only when the others have passed the window of X, so the trigger stays that far
behind. Two things can make it later still, and both are part of the trigger, so that it is the
same in every bucket: input that waits is joined only up to the smallest progress, and a list that
is out of order by X's lateness lets a row go that much later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from windrow.kernels.runs import PEAK
from windrow.model import BEGINNING, END, JoinPlan
from windrow.operators.arrivals import Arrivals, Piece, Result
from windrow.operators.hold import Hold
from windrow.operators.punctuated_join import PunctuatedJoin
from windrow.operators.rates import Rates
from windrow.operators.synchronise import Synchronise
from windrow.operators.window_join import WindowJoin
from windrow.state.room import HEAP, Room
from windrow.state.runs import Runs


class InOrder:
    """Order around a join. `clock` tells the seconds that the adaptive policy measures."""

    def __init__(
        self,
        plan: JoinPlan,
        room: Room = HEAP,
        told: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.plan = plan
        self.told = told
        self.clock = clock
        streams = len(plan.streams)
        # A count window synchronises by itself.
        self.synchronised = plan.order != "filter-order" and not plan.counted
        self.begin(room)
        self.rates = Rates(plan.reaches)
        self.switches = 0
        #: How far each stream has been joined: what lets stored tuples of the others go.
        self.joined = [BEGINNING] * streams
        #: Since input last began to wait: rows of each stream from these ids on do, and what the
        #: progress was then. `rows` are the next ids.
        self.since = [0] * streams
        self.since_progress = [BEGINNING] * streams
        self.rows = [0] * streams

    def begin(self, room: Room) -> None:
        """Start with nothing waiting, in that room."""
        streams = len(self.plan.streams)
        self.sync = Synchronise(streams, room)
        self.ends = Synchronise(streams, room)
        mixed = self.plan.punctuate or (any(self.plan.preserved) and self.plan.how != "anti")
        self.hold = Hold(streams, room, self.told, mixed)

    # -- a batch ---------------------------------------------------------------------------

    def process(
        self,
        join: WindowJoin,
        arrivals: Sequence[Arrivals],
        ends: Sequence[Arrivals],
        after: Sequence[int],
    ) -> Iterator[Result]:
        """Join a batch, and let go what the trigger has passed. `after`: progress now.

        What went around the join must be in `hold` already.
        """
        self._adapt(join)
        for stream, parts in enumerate(zip(arrivals, ends, strict=True)):
            newest = max(int(part.row.max(initial=-1)) for part in parts)
            self.rows[stream] = max(self.rows[stream], newest + 1)
        ready, said = self._ready(arrivals, ends, after)
        before, self.joined = self.joined, self._joined(after)
        if isinstance(join, PunctuatedJoin):
            join.announce(
                [
                    Arrivals.concatenate([mine, tuples]) if stream.unique else mine
                    for stream, mine, tuples in zip(self.plan.streams, said, ready, strict=True)
                ]
            )
        if join.waiting is None:
            join.waiting = self.sync
        stored = self._stored(join)
        begun = self.clock()
        for piece in join.process(ready, before, self.joined):
            if piece.kind != "lapse" and (piece.kind != "end" or self.plan.punctuate):
                self.hold.add(piece)
        self._measure(arrivals, ready, after, self.clock() - begun, stored, self._stored(join))
        yield from self.hold.release(self.trigger(after))

    def keep(self, piece: Piece) -> None:
        """A row that goes around the join, in its place."""
        self.hold.add(piece)

    def _ready(
        self, arrivals: Sequence[Arrivals], ends: Sequence[Arrivals], after: Sequence[int]
    ) -> tuple[list[Arrivals], list[Arrivals]]:
        """The tuples and punctuations that are joined now."""
        bound = min(after) if self.synchronised else END
        return self.sync.pass_on(arrivals, bound), self.ends.pass_on(ends, bound)

    def _joined(self, after: Sequence[int]) -> list[int]:
        """How far each stream is joined after this batch. It never goes back."""
        reached = [min(after)] * len(after) if self.synchronised else after
        return [max(now, new) for now, new in zip(self.joined, reached, strict=True)]

    def trigger(self, after: Sequence[int]) -> int:
        """TS_trigger: results before it are complete."""
        return trigger(self.plan, after)

    # -- adaptive --------------------------------------------------------------------------

    def _adapt(self, join: WindowJoin) -> None:
        """Steps B and D: choose the approach for this batch by what was measured before it."""
        if self.plan.order != "adaptive" or self.plan.counted:
            return
        wanted = self.rates.load() < self.plan.alpha
        if wanted == self.synchronised:
            return
        self.synchronised = wanted
        self.switches += 1
        if wanted:
            self.since, self.since_progress = list(self.rows), list(self.joined)
            if isinstance(join, PunctuatedJoin):
                # They wait for their stream's progress in there; now they wait for all of them.
                self.ends.keep(join.pending)
                join.pending = [Arrivals.empty() for _ in join.pending]

    def _stored(self, join: WindowJoin) -> list[int]:
        """Tuples that are stored, where somebody measures."""
        measured = self.plan.order == "adaptive"
        return [join.state.live_rows(s) if measured else 0 for s in range(len(self.joined))]

    def _measure(
        self,
        arrivals: Sequence[Arrivals],
        ready: Sequence[Arrivals],
        after: Sequence[int],
        seconds: float,
        before: Sequence[int],
        stored: Sequence[int],
    ) -> None:
        """Take down what this batch says about rates and cost."""
        if self.plan.order != "adaptive":
            return
        met = [(one + two) / 2 for one, two in zip(before, stored, strict=True)]
        pairs = sum(len(side.ts) * (sum(met) - met[at]) for at, side in enumerate(ready))
        newest = max((now for now in after if now != END), default=END)
        # Rates are of what arrives, which is smoother than what is let through.
        tuples = [len(side.ts) for side in arrivals]
        self.rates.observe(tuples, newest, seconds, pairs)

    def waiting(self, join: WindowJoin) -> list[Runs]:
        """The input that waits, by stream."""
        return (join.waiting or self.sync).waiting

    def forget_peaks(self, join: WindowJoin) -> None:
        """Let the high-water marks begin anew."""
        for runs in (*self.waiting(join), self.hold.runs):
            runs.meta[PEAK] = len(runs)

    # -- memory that outlives a process ----------------------------------------------------

    def parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """The arrays as they are, and what else must be known."""
        arrays, facts = self.hold.parts()
        return {**arrays, **self.sync.parts("input"), **self.ends.parts("ends")}, facts

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `parts`, in place."""
        streams = len(self.plan.streams)
        self.hold.attach(arrays, facts, room)
        self.sync = Synchronise.attach(arrays, "input", streams, room)
        self.ends = Synchronise.attach(arrays, "ends", streams, room)

    def snapshot(self) -> dict[str, Any]:
        """What cannot be told from the rows that wait: small, and plain data."""
        return {
            "synchronised": self.synchronised,
            "switches": self.switches,
            "joined": self.joined,
            "since": self.since,
            "since progress": self.since_progress,
            "rows": self.rows,
            "released": self.hold.released,
            "rates": self.rates.snapshot(),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """What a snapshot was taken of, except for the rows."""
        self.synchronised = snapshot["synchronised"]
        self.switches = snapshot["switches"]
        self.joined, self.since = list(snapshot["joined"]), list(snapshot["since"])
        self.since_progress = list(snapshot["since progress"])
        self.rows = list(snapshot["rows"])
        self.hold.released = snapshot["released"]
        self.rates.restore(snapshot["rates"])


def trigger(plan: JoinPlan, after: Sequence[int]) -> int:
    """TS_trigger of a plan at these progresses."""
    bound = min(after)
    synchronised = plan.order == "sync-filter" or plan.counted
    found = bound
    for stream, single in enumerate(plan.singles):
        if single:
            others = [now for other, now in enumerate(after) if other != stream]
            passed = min(others) if plan.order == "filter-order" and not plan.counted else bound
            disorder = 0 if synchronised else plan.streams[stream].lateness
            found = min(found, _back(passed, plan.reaches[stream] + disorder))
    return found


def _back(progress: int, by: int) -> int:
    return progress if progress in (BEGINNING, END) else progress - by
