"""The aggregates' buckets: what leaves is what plain loops make of the queries' results."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests.cql.test_aggregation import Result, expected, plain
from tests.shared.test_law import histories
from tests.spark.buckets import DictStore
from windrow.spark.queries import aggregates
from windrow.spark.queries.aggregates import AggregateBucket
from windrow.spark.queries.control import Asked
from windrow.spark.queries.gathering import gathered

from .runs import SharedRun

ITEMS = ["COUNT(*)", "SUM(A.v)"]


def text(window, slide, grouped):
    columns = ["A.k AS g"] * grouped + [f"{item} AS `{item}`" for item in ITEMS]
    return (
        f"SELECT {', '.join(columns)} FROM s0 A, s1 B WHERE A.k = B.k AND A.v % 3 > 0 "
        f"{'GROUP BY A.k ' * grouped}WINDOW {window} us{f' SLIDE {slide} us' if slide else ''}"
    )


class Answers:
    """The aggregates' buckets over what a run writes."""

    def __init__(self, run, buckets):
        self.run = run
        self.stores = [DictStore() for _ in range(buckets)]
        self.got = {}
        self.hits = []

    def take(self, lose=False):
        if lose:
            aggregates._kept.clear()
        rows = [
            row
            for b in self.run.written
            for row in gathered(b, range(len(self.stores)), 0).to_pylist()
        ]
        for number, store in enumerate(self.stores):
            mine = [row for row in rows if row["bucket"] == number]
            bucket = AggregateBucket(self.run.sharing, store, number, len(self.stores))
            notes = [row["note"] for row in mine if row["note"] is not None]
            parts = [row["blob"] for row in mine if row["blob"] is not None]
            self.hits.append(bucket.hit)
            for id, batch in bucket.process(notes, parts):
                self.got.setdefault(id, []).extend(plain(batch))


def ask(run, name, sql):
    run.queries[name] = Asked(run.next_id, name, sql)
    run.next_id += 1
    run.changed = True
    return run.queries[name].id


@settings(max_examples=40)
@given(data=st.data())
def test_answers_are_those_of_plain_loops(data):
    lateness, batches = data.draw(histories(2))
    run = SharedRun(2, data.draw(st.sampled_from(["swf", "mqt"])), 2, lateness=lateness)
    answers = Answers(run, data.draw(st.sampled_from([1, 3])))
    come = [[row for batch in batches for row in batch.rows[s]] for s in range(2)]
    asked = {}
    for batch in batches:
        for name, reach in batch.added:
            window, slide = max(reach, 1), data.draw(st.sampled_from([None, 1, 3, 7]))
            grouped = data.draw(st.booleans())
            id = ask(run, name, text(window, slide, grouped))
            run.add(f"plain {name}", window, " AND A.v % 3 > 0")
            asked[name] = id, run.queries[f"plain {name}"].id, window, slide, grouped
        for name in batch.dropped:
            run.drop(name)
            run.drop(f"plain {name}")
        run.limit(batch.budget)
        run.batch(batch.rows)
        answers.take(data.draw(st.booleans()))
    run.finish()
    answers.take()
    for name in list(run.queries):
        run.drop(name)
    run.finish()
    answers.take()
    for id, twin, window, slide, grouped in asked.values():
        pairs = [pair for bucket in range(2) for pair in run.got.get((twin, bucket), [])]
        found = []
        for a, b in pairs:
            times = come[0][a][1], come[1][b][1]
            found.append(Result(min(times), max(times), {"k": come[0][a][0], "v": a}))
        assert answers.got.get(id, []) == expected(found, window, slide, ["k"] * grouped, ITEMS)
    # What is over leaves nothing behind.
    assert [store.blobs for store in answers.stores] == [{}] * len(answers.stores)


def test_an_answer_leaves_once_all_streams_have_passed_it_and_all_results_before_are_found():
    run = SharedRun(2, "mqt")
    answers = Answers(run, 1)
    id = ask(run, "count", "SELECT COUNT(*) AS n FROM s0 A, s1 B WHERE A.k = B.k WINDOW 10 us")
    run.limit(0)
    run.batch([[(1, 10)], [(1, 11)]])
    answers.take()
    run.batch([[(1, 30)], [(1, 31)]])
    answers.take()
    assert answers.got == {}
    run.limit(None)
    run.batch([[], []])
    answers.take()
    assert answers.got == {id: [(1, 11)]}
    run.batch([[(1, 32)], []])
    answers.take()
    assert answers.got == {id: [(1, 11)]}
    run.batch([[], [(1, 33)]])
    answers.take()
    assert answers.got == {id: [(1, 11), (1, 31)]}


def test_the_log_follows_the_window_and_has_few_chunks():
    run = SharedRun(2, "mqt")
    answers = Answers(run, 1)
    ask(run, "count", "SELECT COUNT(*) AS n FROM s0 A, s1 B WHERE A.k = B.k WINDOW 20 us")
    for t in range(0, 200, 2):
        run.batch([[(1, t)], [(1, t + 1)]])
        answers.take()
        assert len(answers.stores[0].blobs) <= aggregates.MOST_CHUNKS
    assert len(answers.stores[0].text) < 2000


def test_aggregates_of_another_format_are_refused():
    store = DictStore()
    run = SharedRun(2)
    AggregateBucket(run.sharing, store, 0, 1)
    bucket = AggregateBucket(run.sharing, store, 0, 1)
    list(bucket.process([], []))
    store.text = json.dumps({**json.loads(store.text), "format": 99})
    with pytest.raises(wr.WindrowError, match="have format 99"):
        AggregateBucket(run.sharing, store, 0, 1)
