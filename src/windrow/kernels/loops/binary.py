"""What the loops over two streams share: which tuple is next, and what it will touch.

That there are two is known to these loops alone; all else of the kernels counts streams.
"""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels.jit import inlined, prefetch
from windrow.kernels.steps import match
from windrow.kernels.task import DONE, FAR, FULL, NEAR, NEVER, Batch, Element, Task


@inlined
def partner_of(stream: int) -> int:
    """Of two streams, the other one."""
    return 1 - stream


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
def scan(task: Task, lst: int, new: Element, earliest: int, latest: int) -> int:
    """Probe a list of the partner, from where the scan stands, and report what is found.

    FULL: the buffer is.
    """
    now, partner = task.stand[0], partner_of(new.stream)
    status, seq, compared = DONE, now.scan, 0
    while seq >= 0:
        seq, ts, found, link, looked = ls.probe(task.lists, lst, new.key, earliest, latest, seq)
        compared += looked
        if seq >= 0:
            if match(task, new, partner, found, ts):
                seq = link
            else:
                # It is looked at again.
                compared -= 1
                now.scan = seq
                status, seq = FULL, -1
    task.work[0].comparisons += compared
    return status
