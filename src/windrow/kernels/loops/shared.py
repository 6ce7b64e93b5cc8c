"""The join that queries share: one scan of one partial window at a time (paper 2, section 3).

    1. the scheduler chooses a tuple and a level (`kernels.sharing`),
    2. a tuple whose first step it is invalidates all lists and is stored; the lists then have what
       came before it, and nothing else,
    3. it scans the partial window: stored tuples with ages after what it has scanned already,
    4. the scheduler is told, and chooses again.

Of two streams, a scan goes on where the tuple's last one stopped: at the newest record that is
older than what it has scanned. That holds where the list is in time order; elsewhere the rest of
the chain is looked at again, by age. Of more streams, the search begins again for each window
(`kernels.combine`) and gives only what is older.

A stored tuple stays as long as a tuple that waits may scan it.
"""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels.combine import aim, bind, combine
from windrow.kernels.jit import inlined, kernel, prefetch
from windrow.kernels.loops.binary import partner_of
from windrow.kernels.sharing import (
    AFRESH,
    BEGAN,
    KEY,
    MARKS,
    NOBODY,
    ORDERED,
    POINTER,
    PRODUCE,
    ROW,
    SCAN,
    STREAM,
    TS,
    Sharing,
    begin_step,
    choose,
    end_step,
    look_at_clock,
    skip,
    sleep,
)
from windrow.kernels.steps import expire
from windrow.kernels.task import (
    DONE,
    FAR,
    FULL,
    GROW,
    NEAR,
    Element,
    Task,
    passed_after,
    passed_at,
)
from windrow.model import END


@inlined
def kept_from(task: Task, sharing: Sharing, stream: int, passed: int) -> int:
    """The time before which no tuple of a stream is needed, when the others have `passed` that far.

    Tuples of the others that have come and have not scanned all may be behind their progress.
    """
    turn, levels = sharing.turn[0], sharing.levels.shape[0]
    streams = task.asked.shape[0]
    if levels == 0:
        return END
    at = sharing.marks[levels - 1] - turn.first
    if sharing.marks[levels - 1] < turn.came:
        for other in range(streams):
            if other != stream:
                passed = min(passed, sharing.arrivals[at, MARKS + streams + other])
    return passed - sharing.levels[levels - 1]


@inlined
def arrive(task: Task, sharing: Sharing, at: int) -> int:
    """Invalidate, and store a tuple. GROW: the state has no room for it yet."""
    arrivals, streams = sharing.arrivals, task.asked.shape[0]
    stream, t = arrivals[at, STREAM], arrivals[at, TS]
    for each in range(streams):
        expire(task, each, each, kept_from(task, sharing, each, passed_at(task, each, t)))
    for each in range(streams):
        arrivals[at, MARKS + each] = task.lists.meta[each, ls.NEXT]
    arrivals[at, POINTER] = AFRESH
    # Also one that is past its reach: what is stored is then always the newest of what has come.
    if not ls.append(task.lists, stream, t, arrivals[at, KEY], arrivals[at, ROW], 0):
        return GROW
    task.counted[stream].inserted += 1
    return DONE


@inlined
def look_ahead(task: Task, sharing: Sharing, at: int) -> None:
    """Fetch what coming tuples will touch: heads first, then the newest records."""
    turn, s, arrivals = sharing.turn[0], task.lists, sharing.arrivals
    left = turn.came - turn.first - at
    if s.meta[0, ls.HEADS] > 0 and left > FAR:
        prefetch(s.heads, ls.head_at(s, 0, arrivals[at + FAR, KEY]))
        prefetch(s.heads, ls.head_at(s, 1, arrivals[at + FAR, KEY]))
        other = int(arrivals[at + NEAR, STREAM] == 0)
        seq = s.heads[ls.head_at(s, other, arrivals[at + NEAR, KEY])]
        if seq >= s.meta[other, ls.LOW]:
            prefetch(s.records, ls.place(s, other, seq))


@inlined
def in_order(s: ls.ListArrays, lst: int, mark: int, t: int) -> bool:
    """Are all records before a mark in time order, and none after a time?

    Then all that is older comes later in a chain.
    """
    ordered, low = True, s.meta[lst, ls.LOW]
    if mark > low:
        ts, _, _, _ = ls.read(s, lst, mark - 1)
        ordered = low >= s.meta[lst, ls.DISORDER] and ts <= t
    return ordered


@inlined
def scan_pairs(task: Task, sharing: Sharing, new: Element, at: int) -> int:
    """Scan the partial window of a tuple in the list of its partner. FULL: the buffer is."""
    turn, s, partner = sharing.turn[0], task.lists, partner_of(new.stream)
    low, mark = s.meta[partner, ls.LOW], sharing.arrivals[at, MARKS + partner]
    chained = s.meta[partner, ls.HEADS] > 0
    if not turn.begun:
        if sharing.arrivals[at, POINTER] == AFRESH:
            sharing.arrivals[at, POINTER] = ls.newest(s, partner, new.key)
            sharing.arrivals[at, ORDERED] = int(in_order(s, partner, mark, new.t))
        task.stand[0].scan = sharing.arrivals[at, POINTER]
        turn.begun = 1
    # What does not change while it runs is read once, and what it counts is written once.
    seq, above, upto = task.stand[0].scan, turn.above, turn.upto
    matches, of, n = task.out.matches, sharing.of, task.stand[0].matches
    ordered = sharing.arrivals[at, ORDERED] != 0
    timed, looked, made, spent = turn.timed != 0, turn.looked, turn.made, 0
    looked_before, status, going = looked, DONE, True
    while going and seq >= low:
        ts, its, row, link = ls.read(s, partner, seq)
        following = link if chained else seq - 1
        age = abs(new.t - ts)
        if seq >= mark:
            # It came later; a scan that began again meets it.
            seq = following
        elif ordered and age > upto:
            going = False
        else:
            within = above < age <= upto
            found = within and its == new.key
            if found and n == matches.shape[1]:
                status, going = FULL, False
            else:
                looked += 1
                spent += int(within and (its == new.key or not chained))
                if found:
                    matches[new.stream, n], matches[partner, n] = new.row, row
                    matches[2 + new.stream, n], matches[2 + partner, n] = new.t, ts
                    of[n] = turn.serving
                    made += 1
                    if timed:
                        prices = sharing.clock[SCAN] * looked + sharing.clock[PRODUCE] * made
                        sharing.produced[n] = sharing.clock[BEGAN] + prices
                    n += 1
                seq = following
    task.work[0].comparisons += looked - looked_before
    turn.looked, turn.made = looked, made
    turn.spent += spent
    task.stand[0].matches, task.stand[0].scan = n, seq
    if ordered and status == DONE:
        sharing.arrivals[at, POINTER] = seq
    return status


@inlined
def tuples_found(task: Task) -> int:
    """How many tuples of their keys searches have found so far."""
    found = 0
    for each in range(task.asked.shape[0]):
        found += task.counted[each].found
    return found


@inlined
def scan_many(task: Task, sharing: Sharing, new: Element, at: int) -> int:
    """Search the partial window of a tuple in all other streams. FULL: the buffer is."""
    turn, streams = sharing.turn[0], task.asked.shape[0]
    if not turn.begun:
        for each in range(streams):
            task.asked[each].reach = turn.upto
        task.rules[0].age_from = turn.above + 1
        bind(task, new, 0)
        for level in range(1, streams):
            its = task.cursor[level].stream
            task.cursor[level].mark = sharing.arrivals[at, MARKS + its]
        aim(task, 1, new.key)
        turn.begun = 1
    looked, found = task.work[0].comparisons, task.stand[0].matches
    bound_before = tuples_found(task)
    status = combine(task, new, 0, False)
    turn.spent += tuples_found(task) - bound_before
    for n in range(found, task.stand[0].matches):
        sharing.of[n] = turn.serving
    turn.looked += task.work[0].comparisons - looked
    turn.made += task.stand[0].matches - found
    if turn.timed:
        prices = sharing.clock[SCAN] * turn.looked + sharing.clock[PRODUCE] * turn.made
        for n in range(found, task.stand[0].matches):
            sharing.produced[n] = sharing.clock[BEGAN] + prices
    return status


@inlined
def next_step(sharing: Sharing) -> bool:
    """Choose the tuple to serve. False: none waits, or the budget is spent."""
    turn, level = sharing.turn[0], NOBODY
    look_at_clock(sharing)
    skip(sharing)
    level = choose(sharing)
    while level == NOBODY and sleep(sharing):
        look_at_clock(sharing)
        skip(sharing)
        level = choose(sharing)
    if level == NOBODY or turn.budget <= 0:
        return False
    begin_step(sharing, level)
    return True


@kernel
def join_shared(task: Task, sharing: Sharing) -> int:
    """Serve tuples from where it stands. List s is stream s.

    FULL: a buffer is; results up to `turn.settled` are of steps that are done.
    """
    turn, streams = sharing.turn[0], task.asked.shape[0]
    while True:
        if turn.serving == NOBODY and not next_step(sharing):
            break
        at = turn.serving - turn.first
        if turn.opening:
            look_ahead(task, sharing, at)
            if arrive(task, sharing, at) == GROW:
                return GROW
            turn.opening = 0
        new = Element(
            sharing.arrivals[at, STREAM],
            sharing.arrivals[at, TS],
            sharing.arrivals[at, KEY],
            sharing.arrivals[at, ROW],
        )
        if turn.upto > turn.above:
            status = DONE
            if streams == 2:
                status = scan_pairs(task, sharing, new, at)
            else:
                status = scan_many(task, sharing, new, at)
            if status == FULL:
                return FULL
        turn.budget -= turn.spent
        turn.settled = task.stand[0].matches
        end_step(sharing)
    for each in range(streams):
        expire(task, each, each, kept_from(task, sharing, each, passed_after(task, each)))
    return DONE
