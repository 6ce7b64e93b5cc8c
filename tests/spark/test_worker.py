"""Workers of Spark's: what they load once is not looked at again when they collect garbage."""

import gc

import numpy as np
import pyarrow as pa

import windrow as wr
from windrow.spark.worker import begin_task


def asked(spark, question):
    """What a worker answers: a list of numbers."""

    def answer(batches):
        for _ in batches:
            yield pa.RecordBatch.from_arrays([pa.array(question(), pa.int64())], ["answer"])

    found = spark.range(0, 2, 1, 2).mapInArrow(answer, "answer BIGINT").toArrow()
    return found["answer"].to_pylist()


def test_what_is_there_at_the_second_task_is_frozen_and_garbage_is_not(spark):
    def question():
        import gc
        import weakref

        from windrow.spark import worker

        class Cycle:
            def __init__(self):
                self.itself = self

        worker._tasks = 0
        gc.unfreeze()
        worker.begin_task()
        first, of_first = gc.get_freeze_count(), weakref.ref(Cycle())
        worker.begin_task()
        second, of_second = gc.get_freeze_count(), weakref.ref(Cycle())
        worker.begin_task()
        third = gc.get_freeze_count()
        gc.collect()
        return [first, int(second > 1000), int(third <= second), int(of_first() is of_second())]

    assert asked(spark, question) == [0, 1, 1, 1] * 2


def test_the_workers_that_pack_do_so(spark, files):
    """Streams of six micro-batches; then the same workers are asked."""
    times = pa.array(np.arange(60), pa.timestamp("us", "UTC"))
    for name in "ab":
        files.write(name, pa.table({"k": pa.array([1] * 60), "t": times}), 10)
    a, b = (
        wr.stream(files.stream(name), name=name, key="k", time="t", window="1 second")
        for name in "ab"
    )
    files.run(wr.join(a, b))

    def question():
        import gc

        return [gc.get_freeze_count()]

    assert max(asked(spark, question)) > 1000


def test_outside_of_a_task_nothing_is_frozen():
    for _ in range(3):
        begin_task()
    assert gc.get_freeze_count() == 0
