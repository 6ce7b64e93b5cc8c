"""Continuous queries on Spark: shared, added and dropped while they run, begun again."""

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import assert_same_rows

from .streams import SECOND, Fed

PAIRS = "SELECT A.v AS c0, B.v AS c1 FROM a A, b B WHERE A.k = B.k"
SELECT = ("A.v", "B.v")


class Scene:
    """One history, which the tests look at: a run, a second one from its checkpoint."""

    def __init__(self, spark, folder):
        self.spark, self.folder = spark, folder
        self.fed = Fed(folder, 8)
        first = self.queries(budget=40)
        first.add(f"{PAIRS} WINDOW 1 second", name="small")
        first.add(f"{PAIRS} AND A.v > 30 AND B.v < 80 WINDOW 3 seconds", name="filtered")
        first.add(
            "SELECT COUNT(DISTINCT A.k) AS a0 FROM a A, b B WHERE A.k = B.k AND A.v > 30 "
            "WINDOW 2 seconds SLIDE 1 second",
            name="count",
        )
        self.fed.write(2)
        first.start()
        first.process_all_available()
        before = {query.id: query.runId for query in spark.streams.active}
        first.add(f"{PAIRS} WINDOW 3 seconds", name="late")
        self.just_added = first.status()
        first.add(
            "SELECT A.v AS c0, C.words AS c1, C.v AS c2 FROM a A JOIN c C ON A.k = C.k "
            "WINDOW 2 seconds",
            name="other",
        )
        after = {query.id: query.runId for query in spark.streams.active}
        self.kept = before.items() <= after.items() and len(after) == len(before) + 1
        self.fed.write(2)
        first.process_all_available()
        self.status = first.status()
        first.drop("small")
        self.fed.write()
        first.process_all_available()
        first.stop()
        self.fed.write()
        self.second = self.queries()
        self.second.start()
        self.just_begun = self.second.status()
        self.second.process_all_available()
        self.second.add(
            "SELECT A.k AS g0, SUM(B.v) AS a0 FROM a A, b B WHERE A.k = B.k GROUP BY A.k "
            "WINDOW 2 seconds",
            name="sums",
        )
        self.fed.write(2)
        self.second.process_all_available()

    def queries(self, **more):
        streams = self.fed.streams(self.spark)
        return wr.ContinuousQueries(*streams, checkpoint=str(self.folder / "checkpoint"), **more)

    def answers(self, name):
        return self.second.answers(name).toArrow()


@pytest.fixture(scope="module")
def scene(spark, tmp_path_factory):
    made = Scene(spark, tmp_path_factory.mktemp("queries"))
    yield made
    made.second.stop()


@pytest.mark.versions
def test_each_query_has_the_oracle_s_rows(scene):
    filtered = scene.fed.plain(SELECT, 3 * SECOND, where="A.v > 30 AND B.v < 80")
    assert filtered.num_rows > 100
    assert_same_rows(scene.answers("filtered"), filtered)


def test_a_query_has_the_results_whose_last_row_came_while_it_ran(scene):
    assert_same_rows(scene.answers("small"), scene.fed.plain(SELECT, SECOND, last=4))
    assert_same_rows(scene.answers("late"), scene.fed.plain(SELECT, 3 * SECOND, first=2))


def test_a_new_signature_runs_beside_the_others(scene):
    assert scene.kept
    other = scene.fed.plain(("A.v", "B.words", "B.v"), 2 * SECOND, names="ac")
    assert_same_rows(scene.answers("other"), other)


def test_aggregates_are_the_oracle_s(scene):
    asked = ("count", "A.k", True)
    count = scene.fed.aggregates((asked,), 2 * SECOND, SECOND, where="A.v > 30")
    assert len(count) > 10
    assert [(row["a0"], row["t"]) for row in count] == times(scene.answers("count"))
    groups = scene.fed.aggregates((("sum", "B.v", False),), 2 * SECOND, None, 6, groups=("A.k",))
    found = scene.answers("sums")
    assert sorted(zip(found["g0"].to_pylist(), times(found), strict=True)) == sorted(
        (row["g0"], (row["a0"], row["t"])) for row in groups
    )


def times(table):
    """Answers and their times, in the order of these."""
    numbers = table["ts"].cast(pa.int64()).to_pylist()
    return sorted(zip(table["a0"].to_pylist(), numbers, strict=True), key=lambda each: each[1])


def test_answers_can_be_followed(scene, tmp_path):
    query = (
        scene.second.follow("filtered")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    assert query.awaitTermination(120)
    followed = scene.spark.read.parquet(str(tmp_path / "out")).toArrow()
    assert_same_rows(followed, scene.answers("filtered"))


def test_the_status_says_who_shares_with_whom(scene):
    assert scene.status.shared_with("late") == ("small", "filtered", "count")
    assert scene.status.shared_with("other") == ()
    assert [(join.streams, join.suspended, join.held) for join in scene.status.joins] == [
        (("a", "b"), 0, 0),
        (("a", "c"), 0, 0),
    ]
    assert scene.status.query("filtered").complete_from is None


def test_nothing_is_said_of_completeness_before_a_bucket_has(scene):
    """Of what has just been added, and of what goes on after a restart."""
    late = [status.query("late") for status in (scene.just_added, scene.status)]
    assert [query.known for query in late] == [False, True]
    assert "late: WINDOW 3 seconds, not known yet from when on it is complete" in str(
        scene.just_added
    )
    assert late[0].complete_from is None
    assert late[1].complete_from is not None
    assert "late: WINDOW 3 seconds, complete from 1970-01-01" in str(scene.status)
    assert scene.just_added.query("small").known
    assert not scene.just_begun.query("other").known
    assert scene.second.status().query("other").known


def test_each_result_is_written_once(scene):
    """Whichever queries get it; a result that some get later comes again, with the others only."""
    written = scene.spark.read.parquet(str(scene.folder / "checkpoint" / "join-0" / "results"))
    rows = written.where("note IS NULL").select("a", "b", "queries", "aggregates").toArrow()
    got = set()
    for row in rows.to_pylist():
        assert row["queries"] or row["aggregates"]
        for id in [*(row["queries"] or ()), *(row["aggregates"] or ())]:
            line = (str(row["a"]), str(row["b"]), id)
            assert line not in got
            got.add(line)
    assert got
