"""Who is served next in a join that queries share: LWO, SWF and MQT (paper 2, section 3).

Tuples are numbered as they arrive. Windows are levels, the smallest first; `marks[k]` says how many
arrivals have scanned level k. No later tuple overtakes an earlier one, so marks never grow with k,
and the tuples that wait for a level are a stretch of arrivals between two marks:

    levels    1 s      5 s      60 s                  windows of three queries
    marks     19       17       12                    20 arrivals so far
    waiting   19       17, 18   12 .. 16              SchedulingQueue(1 s), (5 s), (60 s)

    LWO   12 scans all that is left to it
    SWF   19, because it waits for the smallest window
    MQT   whichever serves most queries for the tuples that it has to scan

A step lets one tuple scan one partial window. `RELEASED` is the window up to which a tuple's
results have been given out: a query's results leave in the order of arrival, whichever tuple was
served first.

With a clock (`turn.timed`) a tuple is there when the clock has reached its time of arrival, and
each step moves the clock by what it has scanned and produced: that is how the paper's response
times are measured. Without one, all that have come are there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import inlined
from windrow.kernels.task import Records

#: Schedules.
LWO, SWF, MQT = range(3)
#: No arrival, no level.
NOBODY = -1
#: Where a scan stands of which that is not known any more: at the newest.
AFRESH = -3

#: Columns of an arrival: time, key, row id, stream; the largest window that some query of its time
#: has; the windows up to which it has scanned, and up to which its results have been given out (-1:
#: none yet); of two streams where its scan stands, and whether all that it can find is in time
#: order and not after it. Then, for each stream, how far that one's list had come when this tuple
#: was stored, and the smallest time of arrivals from this one on.
TS, KEY, ROW, STREAM, NEED, SCANNED, RELEASED, POINTER, ORDERED, MARKS = range(10)

#: Whose turn it is. `first` is the number of the arrival in the first row, `came` how many have
#: come and `there` how many of them the clock has reached; `serving` and `level` are the step under
#: way, which scans ages after `above` up to `upto`; `opening`: whether it is its tuple's first, and
#: is at its beginning. `looked` and `made` are what it has scanned and found; `settled` results are
#: of steps that are done; `budget` is what may be scanned yet, and `spent` what the step takes of
#: it: one for itself and one for each tuple of its key in the partial window. How many others it
#: meets depends on how the state has grown; one that is made again must stop at the same step.
TURN = np.dtype(
    [
        (name, np.int64)
        for name in (
            "schedule", "first", "came", "there", "serving", "level", "above", "upto", "opening",
            "begun", "looked", "made", "spent", "settled", "budget", "timed", "events",
        )
    ],
    align=True,
)  # fmt: skip

#: The clock, when the step began, and the prices of a tuple scanned and of a result.
NOW, BEGAN, SCAN, PRODUCE = range(4)


class Sharing(NamedTuple):
    """All that the scheduler needs, beside the task of the join.

    max_qt: MaxQT(PW(w_i, w_j)), by i and j; row 0 is of a tuple that has scanned nothing.
    of: by result in the buffer, the arrival that it is of.
    clock, arrives, produced: see `turn.timed`; events: arrival, window, and when it was that its
        results were given out up to that window.
    """

    turn: Records
    arrivals: NDArray[np.int64]
    levels: NDArray[np.int64]
    marks: NDArray[np.int64]
    max_qt: NDArray[np.float64]
    of: NDArray[np.int64]
    clock: NDArray[np.float64]
    arrives: NDArray[np.float64]
    produced: NDArray[np.float64]
    events: NDArray[np.int64]
    event_clock: NDArray[np.float64]


@inlined
def waiting_to(sharing: Sharing, level: int) -> int:
    """The end of the stretch of arrivals that wait for a level."""
    end = sharing.turn[0].there
    if level > 0:
        end = sharing.marks[level - 1]
    return end


@inlined
def look_at_clock(sharing: Sharing) -> None:
    """Let the tuples be there that have arrived by now."""
    turn = sharing.turn[0]
    if turn.timed:
        while turn.there < turn.came and (
            sharing.arrives[turn.there - turn.first] <= sharing.clock[NOW]
        ):
            turn.there += 1


@inlined
def sleep(sharing: Sharing) -> bool:
    """Nothing waits: let the clock go on to the next arrival. False: there is none."""
    turn = sharing.turn[0]
    if turn.timed and turn.there < turn.came:
        arrives = sharing.arrives[turn.there - turn.first]
        sharing.clock[NOW] = max(sharing.clock[NOW], arrives)
        return True
    return False


@inlined
def choose(sharing: Sharing) -> int:
    """The level whose first waiting tuple is served next; NOBODY if none waits."""
    turn, marks = sharing.turn[0], sharing.marks
    levels, chosen = marks.shape[0], NOBODY
    if levels == 0:
        return NOBODY
    if turn.schedule == LWO:
        if marks[levels - 1] < turn.there:
            chosen = levels - 1
    elif turn.schedule == SWF:
        level = 0
        while chosen == NOBODY and level < levels:
            if marks[level] < waiting_to(sharing, level):
                chosen = level
            level += 1
    else:
        best, older = -1.0, levels
        for down in range(levels):
            level = levels - 1 - down
            if marks[level] < waiting_to(sharing, level):
                # Its first tuple has scanned so many levels, and may scan as far as the older one,
                # but not to windows that came after it.
                last, need = older, sharing.arrivals[marks[level] - turn.first, NEED]
                while last > level + 1 and sharing.levels[last - 1] > need:
                    last -= 1
                served = sharing.max_qt[level, last]
                if served > best:
                    best, chosen = served, level
                older = level
    return chosen


@inlined
def give_out(sharing: Sharing, arrival: int, reach: int) -> None:
    """Let the results of an arrival go to all windows up to one."""
    turn = sharing.turn[0]
    at = arrival - turn.first
    if sharing.arrivals[at, RELEASED] < reach:
        sharing.arrivals[at, RELEASED] = reach
        if turn.timed:
            n = turn.events
            sharing.events[0, n], sharing.events[1, n] = arrival, reach
            sharing.event_clock[n] = sharing.clock[NOW]
            turn.events = n + 1


@inlined
def served_to(sharing: Sharing, arrival: int, level: int) -> int:
    """The largest window, from a level on, that all earlier arrivals have scanned."""
    while level + 1 < sharing.marks.shape[0] and sharing.marks[level + 1] >= arrival:
        level += 1
    return sharing.levels[level]


@inlined
def begin_step(sharing: Sharing, level: int) -> None:
    """Let the first tuple that waits for a level scan it."""
    turn, arrival = sharing.turn[0], sharing.marks[level]
    at = arrival - turn.first
    turn.serving, turn.level = arrival, level
    turn.above = sharing.arrivals[at, SCANNED]
    # A window that came or went since then may be smaller than what has been scanned.
    turn.upto = max(min(sharing.levels[level], sharing.arrivals[at, NEED]), turn.above)
    turn.begun = 0
    turn.opening = int(turn.above < 0)
    turn.looked = turn.made = 0
    turn.spent = 1
    sharing.clock[BEGAN] = sharing.clock[NOW]
    if turn.opening:
        # A new tuple's results go at once where no earlier tuple can have a result before them.
        give_out(sharing, arrival, served_to(sharing, arrival, level))


@inlined
def pass_level(sharing: Sharing, level: int, arrival: int) -> None:
    """An arrival has no more to do with a level."""
    turn = sharing.turn[0]
    sharing.marks[level] = arrival + 1
    after = arrival + 1 - turn.first
    if turn.schedule == MQT and arrival + 1 < turn.came and sharing.arrivals[after, SCANNED] >= 0:
        # The next one's results follow those of this one, which are all there.
        give_out(sharing, arrival + 1, sharing.levels[level])


@inlined
def skip(sharing: Sharing) -> None:
    """Let tuples pass the levels that no query of their time has."""
    turn = sharing.turn[0]
    for level in range(sharing.marks.shape[0]):
        end = waiting_to(sharing, level)
        while sharing.marks[level] < end and (
            sharing.arrivals[sharing.marks[level] - turn.first, NEED] < sharing.levels[level]
        ):
            pass_level(sharing, level, sharing.marks[level])


@inlined
def end_step(sharing: Sharing) -> None:
    """A scan is done: say so, and let go what has waited for it."""
    turn = sharing.turn[0]
    arrival, level = turn.serving, turn.level
    if turn.timed:
        prices = sharing.clock[SCAN] * turn.looked + sharing.clock[PRODUCE] * turn.made
        sharing.clock[NOW] = sharing.clock[BEGAN] + prices
    sharing.arrivals[arrival - turn.first, SCANNED] = turn.upto
    if turn.schedule == LWO:
        give_out(sharing, arrival, turn.upto)
        for each in range(level + 1):
            sharing.marks[each] = max(sharing.marks[each], arrival + 1)
    else:
        give_out(sharing, arrival, served_to(sharing, arrival, level))
        pass_level(sharing, level, arrival)
    skip(sharing)
    turn.serving = NOBODY
