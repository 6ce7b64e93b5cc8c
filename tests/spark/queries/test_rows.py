"""Windows of rows on Spark: shared, added while they run, begun again."""

import pyarrow.compute as pc

import windrow as wr
from windrow.testing import assert_same_rows
from windrow.testing.queries_oracle import duckdb_select

from .streams import Fed

PAIRS = "SELECT A.v AS c0, B.v AS c1 FROM a A, b B WHERE A.k = B.k"


def queries(fed, spark):
    streams = fed.streams(spark)
    return wr.ContinuousQueries(*streams, checkpoint=str(fed.folder / "checkpoint"))


def expected(fed, rows, first=0, last=2**62, where=None):
    """The oracle's results that all streams have passed: what is later waits."""
    newest = "greatest(A.__ts, B.__ts)"
    asked = fed._asked("ab", 0, where, first, last, select=("A.v", "B.v", newest), rows=rows)
    found = duckdb_select(asked)
    passed = pc.less(found.column("c2"), fed.progress("ab"))
    return found.filter(passed).select(["c0", "c1"])


def test_windows_of_rows_share_a_join_for_each_kind(spark, tmp_path):
    fed = Fed(tmp_path, 5)
    first = queries(fed, spark)
    first.add(f"{PAIRS} WINDOW 6 ROWS PER KEY", name="key")
    first.add(f"{PAIRS} WINDOW 9 ROWS", name="stream")
    first.add(f"{PAIRS} WINDOW 2 seconds", name="time")
    fed.write(2)
    first.start()
    first.process_all_available()
    first.add(f"{PAIRS} AND A.v > 50 WINDOW 3 ROWS PER KEY", name="late")
    fed.write()
    first.process_all_available()
    status = first.status()
    first.drop("stream")
    fed.write()
    first.process_all_available()
    first.stop()
    fed.write()
    second = queries(fed, spark)
    second.start()
    second.process_all_available()
    second.stop()
    assert status.shared_with("key") == ("late",)
    assert status.shared_with("stream") == ()
    found = expected(fed, (6, "key"))
    assert found.num_rows > 100
    assert_same_rows(second.answers("key").toArrow(), found)
    late = expected(fed, (3, "key"), first=2, where="A.v > 50")
    assert late.num_rows > 20
    assert_same_rows(second.answers("late").toArrow(), late)
    dropped = expected(fed, (9, "stream"), last=3)
    assert dropped.num_rows > 100
    assert_same_rows(second.answers("stream").toArrow(), dropped)
