"""What a join kernel is asked, what it counts and where it stands: arrays that outlive one call.

    Task  asked    a record for each stream     reach, progress, is it preserved, ...
          rules    one record                   what to emit and mark, paper 1's strategy, ...
          counted  a record for each stream     tuples inserted, dropped, purged, ...
          work     one record                   comparisons, checks, keys that ended
          stand    one record                   part, step, scan pointer, how full buffers are
          groups   a record for each stream     the count join's tuples of one time
          cursor   a record for each level      the search for combinations of many streams
          probing  the order of many streams    and where a condition is asked
          matched, lists, matches, gone         flags, state, and where results go

A record has named fields and a compiled kernel reads one as fast as a plain array, so
`task.asked[stream].reach` is a load. (An array for each field would be forty arguments a call, and
numba unpacks each of them.)

A kernel runs until its input is used up, an output buffer is full or a state must grow, and
says so by its return value. Called again with the same arrays, it goes on where it stopped,
in the middle of a scan if need be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import inlined, kernel
from windrow.kernels.lists import ListArrays
from windrow.model import END

#: An array of records; a field of one is read and written as an attribute.
Records = np.recarray[Any, np.dtype[Any]]

#: Return values. FULL: empty the buffers and call again. GROW: give the state room first. A step
#: may also return RUNG: it dropped the last tuple of a punctuated key.
DONE, FULL, GROW, RUNG = range(4)
#: What becomes of a tuple that arrives, beside the statuses of a kernel: it is out of the way.
ASIDE = -1

#: How many tuples ahead heads and records are fetched. Without it a state larger than the cache
#: costs a wait for memory at each touch; `benchmarks/state_growth.py` shows what is left of it.
FAR, NEAR = 16, 8

#: Later than any time; and, negated, earlier.
NEVER = 2**63 - 1

#: Steps within one tuple; a resumed kernel skips those that are done.
ARRIVED, SCANNING, STORING, CLEANING = range(4)
#: Steps between two tuples of a punctuated join: a list of tuples, or of I-Nodes, is compacted.
COMPACTING, COMPACTING_FLAGS = 4, 5
#: Steps of the count join within a group of equal times.
APPENDING, EXPIRING, PROBING = range(3)

#: What to emit: every candidate, only the first match of each tuple of the first stream, or none.
EMIT_PAIRS, EMIT_FIRST, EMIT_NOTHING = range(3)
#: Paper 1's invalidation strategies: which buckets each invalidates beside the probed one.
PROBE, PROBE_INSERT, PROBE_ALL, ALL = range(4)
#: Kinds of windows: by time, by count per stream, by count per key.
BY_TIME, PER_STREAM, PER_KEY = range(3)


def _records(*fields: str) -> np.dtype[Any]:
    return np.dtype([(name, np.int64) for name in fields], align=True)


#: Of a stream: how far its tuples reach to later ones of the others, its progress before and after
#: the batch, whether its unmatched tuples are wanted; the kind and size of a window that counts;
#: whether its punctuations propagate early; what to add to a row id to find its matched flag, which
#: holds for rows from `first_row` on (older ones are pinned).
ASKED = _records(
    "reach", "before", "after", "preserved", "kind", "count", "early", "shift", "first_row"
)
#: Of the join: what to emit, whether to mark, the strategy; how long a punctuation's flag lives
#: after its time, whether to tell what flags touch, and a time that no tuple so far is after; of
#: many streams whether the first's rows count once, and may leave before their reach is passed; and
#: the smallest age of results that are wanted, where all streams reach equally far.
RULES = _records("emit", "mark", "strategy", "span", "tell", "seen", "once", "forsake", "age_from")
#: Of a stream: tuples inserted and dropped; with punctuations tuples purged, discarded on the fly,
#: skipped without a probe, and in breach of a promise, and punctuations that acted; of many streams
#: how often it was probed, and the tuples that were found.
COUNTED = _records(
    "inserted", "dropped", "purged", "discarded", "skipped", "violations", "acted",
    "probes", "found",
)  # fmt: skip
#: Stored tuples looked at by probes and by invalidation; keys that ended, and of those early.
WORK = _records("comparisons", "checks", "ended", "early")
#: The part of the batch, the step within a tuple, the scan pointer; how full each buffer is; the
#: list that is being compacted, up to where; the I-Node that an arriving tuple has met (of many
#: streams, how many have ended its key); and of the
#: tuple that a RUNG is about, its key and the largest time of its results, less the reach; of many
#: streams the level of the search, how many partial combinations there are, the one that is being
#: extended, how many tuples may arrive until the kernel stops to be asked anew, and whether the
#: flags of `rung_key` are to be looked at, and as of which time.
STAND = _records(
    "part", "step", "scan", "matches", "gone", "ends", "touched",
    "compacted", "compacted_to", "met", "rung_key", "rung_time",
    "level", "partials", "extended", "patience", "unsettled", "rung_at",
)  # fmt: skip
#: The count join's group of equal times: how far it is appended, and where it ends.
GROUP = _records("at", "end")
#: A level of the search for combinations (level 0 is the tuple that arrives): its stream, the list
#: that is probed, where the scan stands, and the sequence number that the list had come to when
#: the tuple arrived; what is bound, as row id and time; of all that is bound so far the largest
#: time, and the time that all of it reaches; and, at level 0, the time that no tuple is before in
#: the life of the key.
CURSOR = _records("stream", "lst", "scan", "mark", "row", "ts", "newest", "limit", "oldest")


class Element(NamedTuple):
    """A tuple or a punctuation of a stream: its time, its key, the id of its row."""

    stream: int
    t: int
    key: int
    row: int


class Matched(NamedTuple):
    """Matched flags: first those of the pinned rows, then a stretch of row ids for each stream.

    `pinned` has streams * row id + stream of each pinned row, ascending.

        flags    [ 3 7 | 40 41 42 .. | 90 91 .. ]      pinned   [2 * 3 + 1, 2 * 7 + 0]
    """

    flags: NDArray[np.uint8]
    pinned: NDArray[np.int64]


class Batch(NamedTuple):
    """A batch as the kernel takes it: parts, each with one slice per stream, in time order.

    `tuples` holds (time, key, row id). Part p has stream s of n in
    tuples[at[n * p + s] : end[n * p + s]].
    """

    tuples: NDArray[np.int64]
    at: NDArray[np.int64]
    end: NDArray[np.int64]


class Buffers(NamedTuple):
    """Where results go.

    matches: by row, the row ids of all streams, then their times.
    gone: (row id, time, stream, early) of tuples that left unmatched. Early: it has been emptied.
    partials: combinations of some of many streams, which the condition is asked about.
    """

    matches: NDArray[np.int64]
    gone: NDArray[np.int64]
    partials: NDArray[np.int64]


class Probing(NamedTuple):
    """In which order many streams are probed: a row for each stream that a tuple can arrive on.

    order: [stream, level]: the stream that is bound at a level, from the one that arrives on.
    asks: [stream, level]: whether the condition is asked there.
    """

    order: NDArray[np.int64]
    asks: NDArray[np.bool_]


class Task(NamedTuple):
    """All that the steps of a kernel need."""

    asked: Records
    rules: Records
    counted: Records
    work: Records
    stand: Records
    groups: Records
    cursor: Records
    probing: Probing
    matched: Matched
    lists: ListArrays
    out: Buffers


def new(streams: int, rows: int) -> Task:
    """A task in which nothing is asked yet, with no lists, and with buffers of so many rows."""
    none, flat = np.zeros((0, 0), np.int64), np.zeros(0, np.int64)

    def records(kind: np.dtype[Any], count: int = 1) -> Records:
        return np.zeros(count, kind).view(np.recarray)

    return Task(
        asked=records(ASKED, streams),
        rules=records(RULES),
        counted=records(COUNTED, streams),
        work=records(WORK),
        stand=records(STAND),
        groups=records(GROUP, streams),
        cursor=records(CURSOR, streams),
        probing=Probing(
            np.zeros((streams, streams), np.int64), np.zeros((streams, streams), np.bool_)
        ),
        matched=Matched(np.zeros(1, np.uint8), np.zeros(0, np.int64)),
        lists=ListArrays(none, none, flat, flat, flat, none, flat),
        out=Buffers(
            np.empty((2 * streams, rows), np.int64), np.empty((4, rows), np.int64), none.copy()
        ),
    )


@inlined
def element(batch: Batch, stream: int, at: int) -> Element:
    """The tuple at a place of the batch."""
    return Element(stream, batch.tuples[at, 0], batch.tuples[at, 1], batch.tuples[at, 2])


@inlined
def progress_at(task: Task, stream: int, t: int) -> int:
    """A stream's progress while the batch is at time t: never ahead of either."""
    return max(task.asked[stream].before, min(t, task.asked[stream].after))


@inlined
def passed_at(task: Task, stream: int, t: int) -> int:
    """How far all other streams are while the batch is at time t."""
    least = END
    for other in range(task.asked.shape[0]):
        if other != stream:
            least = min(least, progress_at(task, other, t))
    return least


@inlined
def passed_after(task: Task, stream: int) -> int:
    """How far all other streams are after the batch: what lets this stream's tuples go."""
    least = END
    for other in range(task.asked.shape[0]):
        if other != stream:
            least = min(least, task.asked[other].after)
    return least


@kernel
def pinned_at(pinned: NDArray[np.int64], code: int) -> int:
    """The place of a pinned row: a binary search, which a few old rows pay for."""
    low, high = 0, pinned.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if pinned[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def flag_at(task: Task, stream: int, row: int) -> int:
    """Where the matched flag of a row is."""
    at = row + task.asked[stream].shift
    if row < task.asked[stream].first_row:
        at = pinned_at(task.matched.pinned, task.asked.shape[0] * row + stream)
    return at
