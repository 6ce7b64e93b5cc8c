"""Punctuations, case by case: what one does to whom, and when."""

from dataclasses import replace

import pyarrow as pa
import pytest

import windrow as wr
from windrow.api import local_join
from windrow.cost.paper3 import synchronised_most
from windrow.model import TimeWindow, WindrowError
from windrow.operators.join.punctuated import PunctuatedJoin


def stream(rows, name, window=10, **more):
    """Rows (key, time) or (key, time, "end")."""
    data = pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.int64()),
            "t": pa.array([row[1] for row in rows], pa.timestamp("us")),
            "over": pa.array([len(row) == 3 for row in rows], pa.bool_()),
        }
    )
    made = wr.stream(data, name=name, key="k", time="t", **{"ends": "over", **more})
    return made if window is None else replace(made, window=TimeWindow(window))


def shown(table):
    return [
        (
            row["kind"],
            *(None if row[n] is None else row[n]["t"] and row[n]["t"].microsecond for n in "ab"),
            row["ts"].microsecond,
        )
        for row in table.to_pylist()
    ]


def run(a, b, batch_rows=1, **asked):
    return wr.join(a, b, batch_rows=batch_rows, punctuate=True, **asked)


def test_a_purged_tuple_meets_nobody_and_frees_its_place():
    a = stream([(1, 0), (1, 1, "end"), (9, 2)], "a", 100)
    b = stream([(1, 0), (2, 1), (1, 2)], "b", 100, ends=None)
    figures = wr.metrics(wr.join(a, b, batch_rows=1))
    assert figures.purged == {"a": 0, "b": 1}
    assert figures.discarded == {"a": 0, "b": 1}
    assert figures.matches == 2


@pytest.mark.parametrize(("gap", "matches"), [(10, 1), (11, 0)])
def test_the_flag_of_a_key_reaches_as_far_as_the_window(gap, matches):
    """At the far edge b still meets a; one later, it is skipped: the key has ended early."""
    a = stream([(1, 0), (1, 0, "end"), (2, 30)], "a")
    b = stream([(5, 0), (1, gap), (2, 30)], "b", ends=None)
    result = wr.join(a, b)
    figures = wr.metrics(result)
    assert figures.matches == 1 + matches
    assert (figures.discarded["b"], figures.skipped["b"]) == ((1, 0) if matches else (0, 0))


def test_a_tuple_of_a_propagated_key_is_skipped():
    a = stream([(1, 0, "end"), (2, 1)], "a")
    b = stream([(1, 1), (2, 1)], "b", ends=None)
    figures = wr.metrics(wr.join(a, b, batch_rows=1))
    assert figures.skipped == {"a": 0, "b": 1}
    assert figures.ended_early == 1


@pytest.mark.parametrize(
    ("ts", "violations"),
    [(5, 0), (6, 1), (15, 1), (16, 0)],
    ids=["at its time", "after it", "at the end of its life", "in the next life"],
)
def test_a_broken_promise(ts, violations):
    a = stream([(1, 5, "end"), (1, ts), (2, 40)], "a")
    b = stream([(1, ts), (2, 40)], "b", ends=None)
    figures = wr.metrics(wr.join(a, b))
    assert figures.violations == {"a": violations, "b": 0}


def test_a_tuple_that_comes_after_its_key_has_ended_breaks_the_promise_at_the_same_time_too():
    a = stream([(1, 5, "end"), (1, 5)], "a")
    b = stream([(2, 5), (2, 5)], "b")
    assert wr.metrics(wr.join(a, b, batch_rows=1)).violations["a"] == 1
    assert wr.metrics(wr.join(a, b, batch_rows=2)).violations["a"] == 0


def test_violations_can_fail_the_join():
    a = stream([(1, 5, "end"), (1, 6)], "a")
    b = stream([(1, 5)], "b")
    with pytest.raises(WindrowError, match="stream 'a': 1 tuples came after a punctuation"):
        wr.join(a, b, violations="fail")


def test_a_punctuation_waits_for_its_streams_progress():
    """Under lateness tuples up to its time may still come, and count."""
    a = stream([(1, 5, "end"), (1, 4), (2, 20)], "a", lateness="10 microseconds")
    b = stream([(1, 4), (2, 19), (2, 20)], "b")
    figures = wr.metrics(wr.join(a, b, batch_rows=1))
    assert figures.violations["a"] == 0
    assert figures.matches == 3


def test_an_unmatched_row_leaves_when_the_other_side_ends_its_key():
    a = stream([(1, 0), (3, 1), (3, 2)], "a", 1000)
    b = stream([(2, 0), (1, 1, "end"), (2, 2)], "b", 1000)
    plan = replace(wr.plan(a, b, how="left"), batch_rows=1)
    join, left_at = local_join(plan), {}
    for start in range(3):
        for piece in join.batch([(start, start + 1)] * 2):
            if piece.kind == "unmatched":
                left_at[start] = list(piece.ts)
    assert left_at[1] == [0]


def test_a_key_that_comes_back_has_a_life_and_an_end_of_its_own():
    a = stream([(1, 0), (1, 0, "end"), (1, 100), (1, 101, "end"), (2, 300)], "a")
    b = stream([(1, 5), (1, 105), (2, 300)], "b", ends=None)
    for batch_rows in (None, 1):
        result = shown(run(a, b, batch_rows))
        assert [row for row in result if row[0] == "match"] == [
            ("match", 0, 5, 5),
            ("match", 100, 105, 105),
            ("match", 300, 300, 300),
        ]
        first, second = [row[3] for row in result if row[0] == "end"]
        # The exact time depends on what was still stored when the punctuation acted.
        assert 5 <= first <= 10
        assert 105 <= second <= 111


def test_said_twice_is_said_once():
    a = stream([(1, 0), (1, 1, "end"), (1, 2, "end"), (2, 50)], "a")
    b = stream([(1, 1), (2, 50)], "b", ends=None)
    result = shown(run(a, b, None))
    assert [row[0] for row in result].count("end") == 1


def test_a_key_does_not_end_before_its_rows_that_wait_behind_others():
    """A list out of order drops from its old end only; its rows leave before the key ends."""
    late = {"lateness": "30 microseconds"}
    a = stream([(2, 20), (1, 0), (1, 0, "end"), (3, 45), (3, 45), (3, 100)], "a", **late)
    b = stream([(9, 0), (9, 1), (9, 2), (9, 12), (9, 13), (9, 100)], "b", ends=None)
    kinds = [row["kind"] for row in run(a, b, how="left").to_pylist() if key_of_a(row) == 1]
    assert kinds == ["unmatched", "end"]


def key_of_a(row):
    return row["a"] and row["a"]["k"]


def test_an_end_is_no_later_than_what_was_seen():
    """Without windows there is no other bound."""
    a = stream([(1, 0), (1, 1, "end")], "a", None)
    b = stream([(2, 0), (2, 1, "end")], "b", None)
    assert {row["ts"].microsecond for row in run(a, b, None).to_pylist()} == {1}


def test_a_key_said_again_and_again_keeps_no_other_flag():
    many = range(1, 1_000)
    rows = sorted(
        [(key, 5 * key, "end") for key in many] + [(0, 5 * key, "end") for key in many],
        key=lambda row: row[1],
    )
    join = local_join(replace(wr.plan(stream(rows, "a", 20), stream(rows, "b", 20)), batch_rows=10))
    alone = replace(
        join.plan, streams=(join.plan.streams[0], replace(join.plan.streams[1], ends=None))
    )
    join, most = local_join(alone), 0
    for start in range(0, len(rows), 10):
        for _ in join.batch([(start, start + 10)] * 2):
            pass
        most = max(most, join.join.state.live_flags(0))
    assert most <= 20


def test_a_state_with_emptied_records_goes_on_elsewhere(elsewhere):
    a = stream([(0, 0), (1, 1), (1, 2, "end"), (7, 3), (1, 150)], "a", 100)
    b = stream([(8, 0), (8, 1), (1, 2, "end"), (8, 3), (1, 160)], "b", 20)
    plan = replace(wr.plan(a, b), batch_rows=1)
    whole = local_join(plan).run()
    step, found = local_join(plan), 0
    for start in range(5):
        found += sum(len(p.ts) for p in step.batch([(start, start + 1)] * 2) if p.kind == "match")
        step = elsewhere(step)
    assert found == whole.num_rows == 1


def test_flags_do_not_leak():
    """One for each key that is still of interest, not one for each key there ever was."""
    many = range(2_000)
    a = stream([(key, 5 * key) for key in many], "a", 20, ends=None, unique=True)
    b = stream([(key, 5 * key) for key in many], "b", 20, ends=None)
    plan = replace(wr.plan(a, b), batch_rows=10)
    join, most = local_join(plan), 0
    for start in range(0, 1_990, 10):
        for _ in join.batch([(start, start + 10)] * 2):
            pass
        most = max(most, join.join.state.live_flags(0))
    assert most <= 16


def test_a_long_run_keeps_the_state_small():
    """Emptied records go although an old one stays at the head: the list is compacted."""
    n = 20_000
    rows = [(0, 0)] + [(1 + i // 2, i) if i % 2 == 0 else (1 + i // 2, i, "end") for i in range(n)]
    a = stream(rows, "a", None)
    b = stream(rows, "b", None)
    join = local_join(replace(wr.plan(a, b), batch_rows=500))
    assert isinstance(join.join, PunctuatedJoin)
    for start in range(0, n, 500):
        for _ in join.batch([(start, start + 500)] * 2):
            pass
    assert join.join.state.live_rows(0) <= 3
    assert int(join.join.state.lists.live().sum()) < 1_000
    assert int(join.join.state.nodes.live().sum()) < 1_000


def test_colliding_hashes_are_noticed(monkeypatch):
    """With text keys a flag acts on a hash; that it acts on the key is checked."""
    from windrow.operators import columns, keys

    def weak(values, length):
        found = keys.hash_keys(values, length)
        return replace(found, hashes=found.hashes * 0 + (1 << 40))

    monkeypatch.setattr(columns, "hash_keys", weak)
    data = pa.table(
        {
            "k": ["x", "y", "x"],
            "t": pa.array([0, 1, 2], pa.timestamp("us")),
            "over": [False, False, True],
        }
    )
    a, b = (
        replace(wr.stream(data, name=n, key="k", time="t", ends="over"), window=TimeWindow(10))
        for n in "ab"
    )
    with pytest.raises(WindrowError, match="the same 64-bit hash"):
        wr.join(a, b)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("inner", "when both streams have said so, or when its last tuple of a has left, by a's"),
        ("left", "a key ends when both streams have said so, or when its last tuple of a has left"),
        ("full", "a key ends when both streams have said so\n"),
    ],
)
def test_the_explanation_says_when_a_key_ends(how, said):
    text = str(wr.explain(stream([(1, 0)], "a"), stream([(1, 0)], "b"), how=how))
    assert said in text
    assert "ends where over" in text
    assert "with I-Nodes, for punctuations" in text


def test_the_best_case_stores_a_cluster_of_one_stream_at_most():
    """Paper 3, Figure 7: each cluster of B comes right after A has punctuated its key."""
    sizes = [3, 7, 1, 12, 5, 9, 2, 12]
    a, b, now = [], [], 0
    for key, size in enumerate(sizes):
        a += [(key, now + i) for i in range(size)] + [(key, now + size, "end")]
        now += size + 1
        b += [(key, now + i) for i in range(size)] + [(key, now + size, "end")]
        now += size + 1
    one, two = stream(a, "a", 10_000), stream(b, "b", 10_000)
    join, most = local_join(wr.plan(one, two)), [0, 0]
    times = [side.data["t"].cast(pa.int64()).to_numpy() for side in (one, two)]
    at = [0, 0]
    for moment in range(now + 1):
        to = [int((t <= moment).sum()) for t in times]
        if to != [len(t) for t in times]:
            for _ in join.batch(list(zip(at, to, strict=True))):
                pass
            most = [max(most[s], join.join.state.live_rows(s)) for s in range(2)]
        at = to
    assert most == [synchronised_most(max(sizes), λ_a=1e6, T_a=0.01), 0]
    assert join.join.matches == sum(size * size for size in sizes)
