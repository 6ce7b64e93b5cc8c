"""The stream by which queries reach the buckets."""

import pyarrow as pa

from windrow.spark.bucket import Packed
from windrow.spark.pack import PACKED_DDL
from windrow.spark.queries import control
from windrow.spark.queries.control import Asked, Control, ControlPack
from windrow.spark.queries.files import Folder

ONE, TWO = (Asked(number, f"query {number}", "SELECT 'ü'") for number in (1, 2))


def packed(*texts):
    rows = [{"version": version, "text": text} for version, text in texts]
    found = ControlPack((0, 7), 2).pack(pa.RecordBatch.from_pylist(rows))
    return [
        Packed(r["side"], r["blob"], None, None, 0, 0, place=r["place"]) for r in found.to_pylist()
    ]


def test_the_newest_of_a_micro_batch_counts_for_every_bucket():
    old, new = Control(3, (ONE,)), Control(4, (TWO,), 1000)
    rows = packed((4, new.to_text()), (-1, None), (3, old.to_text()))
    assert len(rows) == 2
    assert [control.newest([row]) for row in rows] == [new, new]
    assert control.newest(rows + packed((3, old.to_text()))) == new


def test_a_tick_asks_for_nothing():
    (row, _) = packed((-1, None))
    assert row.side == control.CONTROL
    assert control.newest([row]) is None


def test_each_file_is_read_once_by_whichever_run_and_goes_then(spark, tmp_path):
    folder = Folder(spark, str(tmp_path / "control"))

    def run():
        frame = control.frame(spark, folder).mapInArrow(ControlPack((0, 1), 2), PACKED_DDL)
        query = (
            frame.writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start(str(tmp_path / "out"))
        )
        try:
            query.processAllAvailable()
            control.send(folder, Control(2, (ONE, TWO)))
            query.processAllAvailable()
            control.tick(folder, str(query.runId), 1)
            query.processAllAvailable()
        finally:
            query.stop()
        rows = spark.read.parquet(str(tmp_path / "out")).orderBy("bucket", "place").collect()
        return [(row.bucket, row.place) for row in rows]

    control.send(folder, Control(1, (ONE,)))
    assert run() == [(bucket, version) for bucket in (0, 1) for version in (-1, 1, 2)]
    # The second run brings another tick, and version 2 once more, in a file of its own.
    found = run()
    for bucket in (0, 1):
        assert [found.count((bucket, version)) for version in (-1, 1, 2)] == [2, 1, 2]
    # Of the five files at least the first is gone; Spark removes them in the background.
    assert len(folder.names()) < 5
