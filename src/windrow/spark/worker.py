"""A Python worker of Spark's, which outlives the tasks it runs."""

from __future__ import annotations

import gc

from pyspark import TaskContext

_tasks = 0


def begin_task() -> None:
    """Say that a task begins. By the second one, what is in memory is there to stay.

    Spark collects garbage after each task, and that looks at every object of the libraries that are
    loaded: 150 ms, on a core that the next stage wants. So they are taken out of its sight. Not in
    the first task, which still loads, nor after one, while its state is alive: a cycle that is
    frozen stays for ever. And only in Spark's own processes.
    """
    global _tasks
    if TaskContext.get() is None:
        return
    _tasks += 1
    if _tasks == 2:
        gc.collect()
        gc.freeze()
