"""The join with count windows: x stays joinable until n later tuples of its key, or stream, came.

See `groups` for tuples of one time. The second stream's tuples see ties, the first stream's do
not: so each tie is found once.
"""

from __future__ import annotations

from windrow.kernels import lists as ls
from windrow.kernels.jit import kernel
from windrow.kernels.loops.binary import earliest, partner_of, scan
from windrow.kernels.loops.groups import FRESH_SCAN, KEYLESS, expire_after, list_of, open_group
from windrow.kernels.task import APPENDING, DONE, FULL, NEVER, Batch, Task, element


@kernel
def probe_group(task: Task, batch: Batch, t: int) -> int:
    """Let each tuple of a group probe the partner. FULL: the buffer is; calling again goes on."""
    now, lists = task.stand[0], task.lists
    for stream in range(2):
        partner = partner_of(stream)
        while batch.at[stream] < task.groups[stream].end:
            at = batch.at[stream]
            new, part = element(batch, stream, at), batch.tuples[at, 3]
            other = list_of(task, partner, part)
            if part != KEYLESS and other >= 0:
                if now.scan == FRESH_SCAN:
                    now.scan = ls.newest(lists, other, new.key)
                if scan(task, other, new, -NEVER, t if stream == 1 else t - 1) == FULL:
                    return FULL
                now.scan = FRESH_SCAN
            batch.at[stream] += 1
    return DONE


@kernel
def join_counted(task: Task, batch: Batch) -> int:
    """Run the batch (one part; a fourth column has each tuple's part) from where it stands."""
    now = task.stand[0]
    while True:
        _, _, t = earliest(batch, 0)
        if t == NEVER:
            break
        status = open_group(task, batch, t)
        if status != DONE:
            return status
        if probe_group(task, batch, t) == FULL:
            return FULL
        now.step = APPENDING
        for stream in range(task.asked.shape[0]):
            task.groups[stream].at = batch.at[stream]
    return expire_after(task)
