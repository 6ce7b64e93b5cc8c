"""A bucket of a shared join and its log, without Spark: any batches, any loss, any budget."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shared.runs import Batch, naive
from tests.shared.test_law import SCHEDULES, histories
from tests.spark.buckets import arenas

from .runs import SharedRun, assert_same


def run_history(run, batches, losses=(), other=None):
    """Feed a history; `other` is called before each batch."""
    ids = {}
    for number, batch in enumerate(batches):
        for name, reach in batch.added:
            run.add(name, reach)
            ids[name] = run.queries[name].id
        for name in batch.dropped:
            run.drop(name)
        run.limit(batch.budget)
        attempt = run.attempt() if other else None
        run.batch(batch.rows, lose=number in losses)
        if attempt is not None:
            attempt.batch(batch.rows)
            other(run, attempt)
    return ids


def check(run, ids, streams, batches):
    """Each query's rows in their order; of one that came later all from `complete_from` on."""
    for name, answers in naive(streams, batches, "lwo").answers.items():
        rows = [a.result.rows for a in answers]
        got = run.got.get((ids[name], 0), [])
        mine = set(got)
        assert len(mine) == len(got)
        assert got == [each for each in rows if each in mine], name
        since = run.complete_from[name, 0]
        assert {a.result.rows for a in answers if a.result.ts >= since} <= mine, name


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("streams", [2, 3])
@settings(max_examples=25)
@given(data=st.data())
def test_any_history_and_any_loss_give_each_query_its_own_rows(schedule, streams, data):
    lateness, batches = data.draw(histories(streams, rows=8 if streams == 2 else 4))
    losses = data.draw(st.sets(st.integers(0, 5)))
    with arenas() as folder:
        run = SharedRun(streams, schedule, lateness=lateness, folder=folder)
        ids = run_history(run, batches, losses)
        run.finish()
    check(run, ids, streams, batches)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("streams", [2, 3])
@settings(max_examples=25)
@given(data=st.data())
def test_two_attempts_write_the_same(schedule, streams, data):
    """One has the arena and one rebuilds: results and logs are the same, blob by blob."""
    lateness, batches = data.draw(histories(streams, rows=8 if streams == 2 else 4))
    with arenas() as folder:
        run = SharedRun(streams, schedule, lateness=lateness, folder=folder)
        run_history(run, batches, other=assert_same)
    assert run.hits == [None] + [True] * (len(run.hits) - 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_suspended_work_survives_the_merging_of_chunks(schedule):
    """Made again from the log before each micro-batch, with a budget that is soon far behind."""
    rng = np.random.default_rng(1)
    batches = []
    for number in range(36):
        times = np.sort(3 * number + rng.integers(0, 3, (2, 2)), axis=1).tolist()
        keys = rng.integers(0, 2, (2, 2)).tolist()
        rows = [list(zip(*each, strict=True)) for each in zip(keys, times, strict=True)]
        added = [("small", 2), ("large", 40)] if number == 0 else []
        batches.append(Batch(rows, added, [], 9 if number < 30 else None))
    run = SharedRun(2, schedule)
    merged = []

    def look(run, attempt):
        directory = json.loads(run.stores[0].text)
        merged.append(run.suspended[0] and any(chunk[-1] for chunk in directory["chunks"]))

    ids = run_history(run, batches, other=look)
    run.finish()
    assert sum(map(bool, merged)) > 10
    check(run, ids, 2, batches)


def test_the_log_forgets_what_is_over():
    run = SharedRun(2, "swf")
    run.add("one", 10)
    for number in range(200):
        run.limit(3 if number < 50 else None)
        run.batch([[(1, 5 * number)], [(1, 5 * number + 1)]])
    directory = json.loads(run.stores[0].text)
    assert len(run.stores[0].blobs) <= 12
    assert len(directory["chunks"]) <= 12
    assert directory["deltas"] == []
    run.drop("one")
    run.batch([[], []])
    assert json.loads(run.stores[0].text)["queries"]["lives"] == {}
    run.batch([[(1, 2000)], [(1, 2001)]])
    assert json.loads(run.stores[0].text)["chunks"] == []
