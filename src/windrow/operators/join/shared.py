"""The shared join: batches of arrivals in, results for the windows of all queries out.

    arrivals --> numbered --> kernel: choose a tuple, scan a window --> judges --> results
                               |  ^
                        marks, lists, tuples under way

Tuples are numbered in the order of (batch, ts, stream, row id). The kernel serves them as the
schedule says: LWO, SWF or MQT (paper 2, section 3). All of a batch is served before the next one
comes, unless a budget says how many stored tuples may be scanned; what is left then is *suspended*.

What is served first can be seen only where something is suspended, or by a clock. Otherwise tuples
are served one after the other (LWO): their results are the same, in the same order, and it costs
least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import sharing as kernel
from windrow.kernels import task
from windrow.model import BEGINNING, END, Schedule, WindrowError
from windrow.operators.arrivals import Arrivals, Rows
from windrow.operators.gate import Passed
from windrow.operators.join.base import Join
from windrow.operators.join.flags import Flags
from windrow.operators.join.judging import Verify
from windrow.operators.join.levels import Levels
from windrow.operators.join.under_way import (
    by_batch,
    in_order_of_arrival,
    made_again,
    mark_lists,
    note_least,
    stretches_of,
)
from windrow.operators.progress import of_the_others
from windrow.operators.released import NONE, Released
from windrow.operators.stage import Figures, Handover
from windrow.state.join_state import JoinState, Layout
from windrow.state.room import HEAP, Room

SCHEDULES: dict[Schedule, int] = {"lwo": kernel.LWO, "swf": kernel.SWF, "mqt": kernel.MQT}
#: Results that the kernel hands over at a time.
BUFFER_ROWS = 1 << 17
NO_LIMIT = 2**62
NO_TIMES = np.empty(0)


@dataclass(frozen=True)
class SharedConfig:
    """What the operator needs to know of a plan. `same` is as in `JoinConfig`."""

    streams: int
    schedule: Schedule = "mqt"
    same: Verify | None = None
    #: Every kind is inner, so no row needs to know whether it was matched.
    flags_matches: bool = False


@dataclass
class Clock:
    """A simulated clock: when each arrival of a batch comes, and what work costs, in seconds.

    `arrives` has one for each suspended arrival and then each of the batch, in the order of their
    numbers. A scanned tuple costs `scan`, a result `produce`.
    """

    arrives: NDArray[np.float64]
    scan: float
    produce: float = 0.0
    now: float = 0.0


class SharedJoin(Join):
    """The operator. One `process` call per batch; `add` and `drop` are of the next arrival on."""

    releases = True

    def __init__(self, config: SharedConfig, layout: Layout) -> None:
        self.config = config
        self.layout = layout
        self.levels = Levels(config.streams)
        #: Of the next batches: how many stored tuples may be scanned (None: any), and a clock.
        self.budget: int | None = None
        self.clock: Clock | None = None
        #: With a clock: (arrivals, windows up to which their results were released, when).
        self.events: list[tuple[Rows, Rows, NDArray[np.float64]]] = []
        #: Arrivals so far.
        self.came = 0
        #: All tuples from this time on are stored; the largest time of any that came.
        self.complete = self.newest = BEGINNING
        self.matches = self.candidates = self.unmatched = 0
        self._task = self._new_task()
        self.counted, self.work = self._task.counted, self._task.work[0]
        self._turn = np.zeros(1, kernel.TURN).view(np.recarray)
        self._of = np.empty(BUFFER_ROWS, np.int64)
        # What a clock needs; see `_begin_turn`.
        self._times, self._produced, self._event_clock = np.zeros(4), NO_TIMES, NO_TIMES
        self._events = np.empty((2, 0), np.int64)

    def _new_task(self) -> task.Task:
        streams = self.config.streams
        made = task.new(streams, BUFFER_ROWS)
        # The order of probing: from each stream, the others as they are numbered.
        for stream in range(streams):
            others = [each for each in range(streams) if each != stream]
            made.probing.order[stream] = [stream, *others]
        return made

    # -- its life --------------------------------------------------------------------------

    def begin(self, room: Room = HEAP) -> Self:
        """Start with an empty state. What has been counted stays."""
        self.state = JoinState(self.layout, room)
        self.flags = Flags(self.config.streams)
        self.first = 0
        self._arrivals = np.empty((0, self._width), np.int64)
        #: Of the batches that have arrivals under way, the number of the arrival after them.
        self._ends: list[int] = []
        return self

    @property
    def _width(self) -> int:
        return kernel.MARKS + 2 * self.config.streams

    def add(self, reach: int) -> None:
        """A query more has this window."""
        self.levels.add(reach, self.came)

    def drop(self, reach: int) -> None:
        """A query less has it."""
        self.levels.drop(reach, self.came)
        self.levels.tidy()

    def complete_from(self, reach: int) -> int:
        """The smallest `ts` from which on results of a window that is added now are complete."""
        return BEGINNING if self.complete == BEGINNING else self.complete + reach

    # -- a batch ---------------------------------------------------------------------------

    def process(self, passed: Passed) -> Iterator[Released]:
        """Serve what was suspended, and the tuples of a batch."""
        self._number(passed.tuples)
        asked = self._task.asked
        asked.before, asked.after = passed.before, passed.after
        self._begin_turn()
        status = task.FULL
        while status == task.FULL:
            sharing = self._sharing()
            status = self.state.run_shared(self._task, sharing)
            yield from self._drain()
        self.levels.tidy()
        self._let_go(passed.after)
        if self.clock is not None:
            self.clock.now = float(self._times[kernel.NOW])

    def _number(self, tuples: Sequence[Arrivals]) -> None:
        """Put the batch behind the arrivals that are under way, in the order of arrival."""
        self.newest = max(self.newest, *(int(side.ts.max(initial=BEGINNING)) for side in tuples))
        if self.levels.needed < 0:
            # No query asks for them: they are no arrivals.
            tuples = [Arrivals.empty() for _ in tuples]
        first = self.levels.passed(self.came)
        new = in_order_of_arrival(tuples, self.levels.needed, self._width)
        self._arrivals = np.concatenate([self._arrivals[first - self.first :], new])
        self.first = first
        self.came += len(new)
        if len(new):
            self._ends.append(self.came)
        self._ends = [end for end in self._ends if end > first]
        note_least(self._arrivals, self.config.streams)

    def _begin_turn(self) -> None:
        turn, clock = self._turn[0], self.clock
        seen = clock is not None or self.budget is not None
        turn.schedule = SCHEDULES[self.config.schedule] if seen else kernel.LWO
        turn.first, turn.came, turn.there = self.first, self.came, self.came
        turn.serving = kernel.NOBODY
        turn.settled = turn.events = 0
        turn.budget = NO_LIMIT if self.budget is None else self.budget
        turn.timed = int(clock is not None)
        if clock is not None:
            if len(clock.arrives) != len(self._arrivals):
                raise WindrowError(
                    f"the clock has {len(clock.arrives)} times for {len(self._arrivals)} arrivals; "
                    "give one for each suspended arrival and each of the batch"
                )
            turn.there = self.first
            self._times = np.array([clock.now, clock.now, clock.scan, clock.produce])
            self._produced = np.empty(len(self._of))
            # Each arrival's results are released to each window once, at most.
            most = len(self._arrivals) * len(self.levels.levels)
            self._events = np.empty((2, most), np.int64)
            self._event_clock = np.empty(most)
        self._max_qt = self.levels.max_qt()
        self.levels.begin_batch()

    def _sharing(self) -> kernel.Sharing:
        return kernel.Sharing(
            turn=self._turn,
            arrivals=self._arrivals,
            levels=self.levels.levels,
            marks=self.levels.marks,
            max_qt=self._max_qt,
            of=self._of,
            clock=self._times,
            arrives=NO_TIMES if self.clock is None else self.clock.arrives,
            produced=self._produced,
            events=self._events,
            event_clock=self._event_clock,
        )

    def _let_go(self, after: Sequence[int]) -> None:
        """Drop what no window needs, and note it: windows that come later cannot have it.

        The kernel has dropped most of it, but not what only levels needed that are gone by now.
        """
        if self.levels.needed < 0 and self.newest != BEGINNING:
            # Without a window nothing comes in.
            self.complete = max(self.complete, self.newest + 1)
        for stream in range(self.config.streams):
            least = of_the_others(after, stream)
            if len(self.levels.levels) and BEGINNING < least < END:
                # Before the first tuple of another stream nothing has left, and after the last one
                # of all others nothing is needed of this one.
                self.complete = max(self.complete, least - int(self.levels.levels[-1]))
            self.state.drop_expired(stream, 0, self.stored_from(stream, after))

    def stored_from(self, stream: int, progress: Sequence[int]) -> int:
        """The time before which no stored tuple of a stream is needed."""
        if not len(self.levels.levels):
            return END
        rows = self._under_way()
        others = rows[rows[:, kernel.STREAM] != stream, kernel.TS]
        passed = min(of_the_others(progress, stream), int(others.min(initial=END)))
        return passed - int(self.levels.levels[-1])

    # -- results ---------------------------------------------------------------------------

    def _drain(self) -> Iterator[Released]:
        """Empty the buffer of the results of steps that are done, but not of the one at hand."""
        turn, stand = self._turn[0], self._task.stand[0]
        if turn.events:
            (arrivals, reaches), clock = self._events, self._event_clock
            noted = slice(int(turn.events))
            self.events.append((arrivals[noted].copy(), reaches[noted].copy(), clock[noted].copy()))
            turn.events = 0
        settled, rest = int(turn.settled), int(stand.matches)
        matches, of = self._task.out.matches, self._of
        found = matches[:, :settled].copy(), of[:settled].copy()
        produced = self._produced[:settled].copy() if turn.timed else None
        left = rest - settled
        matches[:, :left], of[:left] = matches[:, settled:rest].copy(), of[settled:rest].copy()
        if turn.timed:
            self._produced[:left] = self._produced[settled:rest].copy()
        stand.matches, turn.settled = left, 0
        if settled == 0 and left == matches.shape[1]:
            self._widen()
        if settled:
            yield from self._judged(*found, produced)

    def _widen(self) -> None:
        """The results of one step fill the whole buffer: make it larger, since they are sorted."""
        matches = self._task.out.matches
        wider = np.empty((matches.shape[0], 2 * matches.shape[1]), np.int64)
        wider[:, : matches.shape[1]] = matches
        self._task = self._task._replace(out=self._task.out._replace(matches=wider))
        self._of = np.concatenate([self._of, np.empty_like(self._of)])
        if self._turn[0].timed:
            self._produced = np.concatenate([self._produced, np.empty_like(self._produced)])

    def _judged(
        self, matches: NDArray[np.int64], of: Rows, produced: NDArray[np.float64] | None
    ) -> Iterator[Released]:
        """Results whose keys are equal, not only their hashes."""
        streams = self.config.streams
        self.candidates += matches.shape[1]
        if self.config.same is not None:
            verdict = self.config.same(list(matches[:streams]))
            matches, of = matches[:, verdict], of[verdict]
            produced = None if produced is None else produced[verdict]
        self.matches += matches.shape[1]
        if matches.shape[1]:
            yield Released.found(matches[:streams], matches[streams:], of, produced)

    def released(self, arrivals: Rows) -> tuple[Rows, Rows]:
        """By arrival, the windows up to which its results may go, and up to which they have to."""
        under_way = arrivals >= self.levels.passed(self.came)
        upto, need = np.full(len(arrivals), END), np.zeros(len(arrivals), np.int64)
        at = arrivals[under_way] - self.first
        upto[under_way] = self._arrivals[at, kernel.RELEASED]
        need[under_way] = self._arrivals[at, kernel.NEED]
        return upto, need

    def moved(self) -> Rows:
        """The arrivals that are not done whose results may go further since the batch began."""
        return self.levels.moved(self.came)

    def _under_way(self) -> NDArray[np.int64]:
        """The arrivals that have not scanned all that they need."""
        return self._arrivals[self.levels.passed(self.came) - self.first :]

    @property
    def under_way_from(self) -> int:
        """The number of the first arrival that has not scanned all it needs."""
        return self.levels.passed(self.came)

    def waits_from(self, reach: int) -> int:
        """The smallest time of an arrival whose results for a window have not all left; or END."""
        rows = self._under_way()
        left = np.minimum(rows[:, kernel.SCANNED], rows[:, kernel.RELEASED])
        waits = left < np.minimum(reach, rows[:, kernel.NEED])
        return int(rows[waits, kernel.TS].min(initial=END))

    def needed_from(self, stream: int, progress: Sequence[int]) -> int:
        """The time before which no tuple of a stream is stored, under way, or in what is held.

        A list drops from its old end only, so a tuple may sit there for longer behind another.
        """
        rows = self._under_way()
        own = rows[rows[:, kernel.STREAM] == stream, kernel.TS]
        return min(self.stored_from(stream, progress), int(own.min(initial=END)))

    # -- what a pipeline asks of any join -----------------------------------------------------

    def take_removed(self, stream: int) -> Rows:
        """No row leaves before its time."""
        return NONE

    # -- figures ---------------------------------------------------------------------------

    def suspended(self) -> int:
        """Arrivals that have not scanned all that they need."""
        return self.came - self.levels.passed(self.came)

    def figures(self) -> Figures:
        """As of any join, with what is suspended."""
        per_stream, whole = super().figures()
        return per_stream, whole | {"suspended": self.suspended()}

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> Handover:
        """The operator between two batches: its arrays as they are, and what else it must know."""
        arrays = {**self.state.arrays(), "under_way": self._under_way()}
        return arrays, {"parts": self.state.parts}

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place. `stand` follows."""
        own = {name: array for name, array in arrays.items() if name != "under_way"}
        self.state = JoinState.attach(self.layout, facts["parts"], own, room)
        self.flags = Flags(self.config.streams)
        self._arrivals = arrays["under_way"]

    def standing(self) -> dict[str, Any]:
        """What neither the arrays nor the input tell.

        Of arrivals under way, stretches with what they need, have scanned and may release.
        """
        under_way = self._under_way()
        first = self.came - len(under_way)
        cuts = [end - first for end in self._ends if first < end < self.came]
        streams = range(self.config.streams)
        return {
            "windows": self.levels.facts(),
            # What is stored is the newest of what has come, so to count it is enough.
            "live": [self.state.live_rows(stream) for stream in streams],
            # Arrivals from `first` on are under way; those from `begun` on are not stored yet.
            "came": self.came,
            "first": first,
            "begun": first + int((under_way[:, kernel.SCANNED] >= 0).sum()),
            "complete": self.complete,
            "newest": self.newest,
            "under_way": stretches_of(under_way),
            # By batch, how many arrivals of each stream are: a log knows them by stream alone.
            "batches": by_batch(under_way, cuts, self.config.streams),
        }

    def stand(self, standing: dict[str, Any]) -> None:
        """Take a standing over."""
        if not standing:
            return
        self.levels.take(standing["windows"])
        self.came, self.newest = standing["came"], standing["newest"]
        self.complete = standing["complete"]
        self.first = self.levels.passed(self.came)
        self._stretches = standing["under_way"]
        counts = [sum(each) for each in standing["batches"]]
        self._ends = (self.first + np.cumsum(np.array(counts, np.int64))).tolist()

    def restore(self, under_way: NDArray[np.int64]) -> None:
        """Put the arrivals that were under way back, after `stand`; the lists have been filled.

        `under_way` has (time, key, row id, stream) of each, in the order of arrival.
        """
        self._arrivals = made_again(under_way, self._stretches, self._width)
        mark_lists(self._arrivals, [self.state.appended(s) for s in range(self.config.streams)])
