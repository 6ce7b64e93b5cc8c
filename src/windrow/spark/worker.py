"""A Python worker of Spark's, which outlives the tasks it runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import TaskContext

from windrow.model import WindrowError

_tasks = 0


def begin_task() -> None:
    """Say that a task begins. At a worker's second one, what it has loaded is frozen.

    Spark collects garbage after each task, and that looks at every object of the libraries: some
    0.1 s, on a core that the next stage wants. `gc.freeze` takes them out of its sight. Not in the
    first task, which still loads, and not at the end of one, when its state is alive: a cycle that
    is frozen is never collected. What little of the second task is there already stays, once. And
    only in Spark's own processes.
    """
    global _tasks
    if TaskContext.get() is None:
        return
    _tasks += 1
    if _tasks == 2:
        gc.collect()
        gc.freeze()


@contextmanager
def message_first() -> Iterator[None]:
    """Let a refusal's message come before its stack of calls, which says nothing to users.

    Spark's message is what Python prints, which is a stack with the message at its end; but causes
    are printed first, and one that was never raised has no stack.
    """
    try:
        yield
    except WindrowError as error:
        raise error from WindrowError(*error.args)
