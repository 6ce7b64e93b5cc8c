"""What the loops over two streams share: which tuple is next, and what it will touch."""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined, prefetch
from windrow.kernels.steps import match
from windrow.kernels.task import DONE, FULL, NEVER, Batch, Element, Task

#: How many tuples ahead heads and records are fetched. Without it a state larger than the cache
#: costs a wait for memory at each touch; `benchmarks/state_growth.py` shows what is left of it.
FAR, NEAR = 16, 8


@inlined
def earliest(batch: Batch, first: int) -> tuple[int, int, int]:
    """The next tuple of a part: its stream, its place in the batch, its time (or NEVER).

    Which stream is next is a coin toss, so it is computed and not branched on.
    """
    i, k = batch.at[first], batch.at[first + 1]
    t_one = batch.tuples[i, 0] if i < batch.end[first] else NEVER
    t_two = batch.tuples[k, 0] if k < batch.end[first + 1] else NEVER
    stream = int(t_two < t_one)
    return stream, i + stream * (k - i), min(t_one, t_two)


@inlined
def look_ahead(batch: Batch, at: int, s: ls.ListArrays, own: int, other: int) -> None:
    """Fetch what coming tuples of this stream will touch: heads first, then the newest records."""
    tuples, end = batch.tuples, batch.end[own]
    if at + FAR < end:
        key = tuples[at + FAR, 1]
        prefetch(s.heads, ls.head_at(s, other, key))
        prefetch(s.heads, ls.head_at(s, own, key))
    if at + NEAR < end:
        seq = s.heads[ls.head_at(s, other, tuples[at + NEAR, 1])]
        if seq >= s.meta[other, ls.LOW]:
            prefetch(s.records, ls.place(s, other, seq))


@inlined
def element(batch: Batch, stream: int, at: int) -> Element:
    """The tuple at a place of the batch."""
    return Element(stream, batch.tuples[at, 0], batch.tuples[at, 1], batch.tuples[at, 2])


@inlined
def scan(task: Task, lst: int, new: Element, earliest: int, latest: int) -> int:
    """Probe a list of the partner, from where the scan stands, and report what is found.

    FULL: the buffer is.
    """
    now, partner = task.stand[0], 1 - new.stream
    status, seq = DONE, now.scan
    while seq >= 0:
        seq, ts, found, link, looked = ls.probe(task.lists, lst, new.key, earliest, latest, seq)
        task.work[0].comparisons += looked
        if seq >= 0:
            if match(task, new, partner, found, ts):
                seq = link
            else:
                # It is looked at again.
                task.work[0].comparisons -= 1
                now.scan = seq
                status, seq = FULL, -1
    return status
