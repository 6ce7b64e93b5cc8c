"""Workers of Spark's: what they load once is not looked at again when they collect garbage."""

import gc

import pyarrow as pa
import pytest

from windrow.spark import auction_source, output, pack, processor
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


class Handle:
    """As much of Spark's handle as declaring variables takes."""

    def getMapState(self, *_):  # noqa: N802
        return None

    def getValueState(self, *_):  # noqa: N802
        return None


@pytest.mark.parametrize(
    ("module", "run"),
    [
        (pack, lambda: list(pack.Pack(None, 0, (0,))(iter([])))),
        (output, lambda: list(output.Unpack(None)(iter([])))),
        (processor, lambda: processor.JoinProcessor(None).init(Handle())),
        (
            auction_source,
            lambda: list(auction_source.Rows("bids", 1, 0, 1).read(auction_source.Range(0, 1))),
        ),
    ],
    ids=["pack", "unpack", "join", "source"],
)
def test_whatever_runs_in_a_task_says_so_once(module, run, monkeypatch):
    said = []
    monkeypatch.setattr(module, "begin_task", lambda: said.append(1))
    run()
    assert said == [1]


def test_outside_of_a_task_nothing_is_frozen():
    before = gc.get_freeze_count()
    for _ in range(3):
        begin_task()
    assert gc.get_freeze_count() == before
