"""A bucket's join with punctuations and its log, without Spark: any batches, any loss."""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.operators.results import finals
from windrow.spark.bucket import Packed
from windrow.spark.log import finals as partial_rows
from windrow.spark.log import renew
from windrow.spark.log.directory import Directory
from windrow.spark.log.log import Log
from windrow.testing import assert_same_rows, naive_join
from windrow.testing.broken import broken_cases
from windrow.testing.punctuated import punctuated_cases

from .buckets import (
    BUCKETS,
    Run,
    arenas,
    assert_attempts_agree,
    ends,
    once,
    run_case,
)

MAYBE_BROKEN = {True: punctuated_cases, False: broken_cases}
HOWS = ("inner", "left", "right", "full", "semi", "anti")


@pytest.fixture(autouse=True, scope="module")
def hasty():
    """Logs are merged and written anew at every turn, which else takes thousands of rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renew, "LEAST_RENEWED", 4)
        patch.setattr(Log, "MERGED_AT_ONCE", 2)
        patch.setattr(partial_rows, "MOST_PARTIALS", 2)
        patch.setattr(finals, "LEAST_RENEWED", 3)
        patch.setattr(finals, "LEAST_MERGED", 2)
        yield


def results(table):
    return table.filter(pc.field("kind") != "end").drop_columns("kind")


@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=25)
@given(data=st.data())
def test_any_batches_and_any_loss_give_the_same_rows_and_ends(how, data):
    case = data.draw(punctuated_cases().map(lambda case: with_how(case, how)))
    rows = data.draw(st.sampled_from([1, 2, 3, 100]))
    losses = data.draw(st.sets(st.integers(0, 9)))
    if not wr.plan(*case.streams, **case.options).can_end:
        return
    with arenas() as folder:
        run = run_case(case, rows, losses, folder, punctuate=True)
        found = run.finish()
    assert_same_rows(results(found), naive_join(*case.streams, **case.options))
    local = wr.join(*case.streams, **case.options, batch_rows=rows, punctuate=True)
    assert once(ends(found), case) == once(ends(local), case)


@settings(max_examples=60)
@given(data=st.data())
def test_without_windows_too(data):
    case = data.draw(punctuated_cases(windows=False))
    rows = data.draw(st.sampled_from([1, 2, 3]))
    losses = data.draw(st.sets(st.integers(0, 9)))
    with arenas() as folder:
        run = run_case(case, rows, losses, folder)
        found = run.end()
    assert_same_rows(found, naive_join(*case.streams, **case.options))


@settings(max_examples=80)
@given(data=st.data())
def test_finals_survive_any_loss(data):
    case = data.draw(punctuated_cases())
    rows = data.draw(st.sampled_from([1, 2, 3, 100]))
    losses = data.draw(st.sets(st.integers(0, 9)))
    asked = {"n": "count(*)", "most": "max(left.v)"}
    if not wr.plan(*case.streams, **case.options).can_end:
        return
    with arenas() as folder:
        run = run_case(case, rows, losses, folder, finals=asked)
        found = run.finish()
    local = wr.join(*case.streams, **case.options, batch_rows=rows, finals=asked)
    assert as_rows(found) == as_rows(local)


def as_rows(table):
    return sorted(str(row) for row in table.to_pylist())


def with_how(case, how):
    return replace(case, how=how)


@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=15)
@given(data=st.data())
def test_an_attempt_that_rebuilds_writes_the_same_log(how, data):
    """Two attempts at a micro-batch may both reach the state store, one with the arena."""
    kept = st.booleans().flatmap(lambda keep: MAYBE_BROKEN[keep](max_rows=20))
    case = with_how(data.draw(kept), how)
    rows = data.draw(st.sampled_from([1, 2, 4]))
    plan = wr.plan(*case.streams, **case.options)
    if plan.can_end and data.draw(st.booleans()):
        plan = wr.plan(*case.streams, **case.options, finals={"n": "count(*)"})
    assert_attempts_agree(plan, rows)


class Counting(Run):
    """A run that adds up the violations of all buckets and micro-batches."""

    def __init__(self, plan, folder=None):
        super().__init__(plan, folder)
        self.violations = Counter()

    def one(self, *given, **more):
        super().one(*given, **more)
        counted = self.join.pipeline.join.counted.violations.tolist()
        for stream, count in zip(self.plan.streams, counted, strict=True):
            self.violations[stream.name] += count


@settings(max_examples=60)
@given(data=st.data())
def test_broken_promises_are_what_they_are_in_process(data):
    """The same rows, ends and violations for the same batches, whatever is lost."""
    windows = data.draw(st.booleans())
    case = data.draw(broken_cases(windows=windows))
    rows = data.draw(st.sampled_from([1, 2, 3]))
    losses = data.draw(st.sets(st.integers(0, 9)))
    more = {}
    if wr.plan(*case.streams, **case.options).can_end:
        finals = {"finals": {"n": "count(*)", "most": "max(left.v)"}}
        more = data.draw(st.sampled_from([{}, {"punctuate": True}, finals]))
    if "finals" not in more and (windows or case.how == "inner"):
        order = data.draw(st.sampled_from(["none", "sync-filter", "filter-order"]))
        more = {**more, "order": order}
    local, counted = without_an_end(case, rows, more)
    with arenas() as folder:
        run = run_case(case, rows, losses, folder, kind=Counting, **more)
        found = run.results()
    if "punctuate" in more:
        # The time of an end may be any that no result exceeds.
        assert ends(found) == ends(local)
        found, local = results(found), results(local)
    assert {name: run.violations[name] for name in counted} == counted
    if "finals" not in more or not any(counted.values()):
        # A final may count what a tuple had met before the promise came that it breaks.
        assert_same_rows(found, local)


def without_an_end(case, rows, more):
    """In process, but as streams that go on: a table that ends is at the end of time."""
    streams = []
    for stream in case.streams:
        row = pa.table([[0], [0], [0], [False]], names=stream.data.column_names)
        whole = pa.concat_tables([stream.data, row.cast(stream.schema)])
        streams.append(replace(stream, data=whole))
    join = local_join(wr.plan(*streams, **case.options, **more, batch_rows=rows))
    there = [stream.data.num_rows for stream in case.streams]
    batches = []
    for start in range(0, max(there), rows):
        fed = [(min(start, stop), min(start + rows, stop)) for stop in there]
        batches += join.record_batches(join.batch(fed))
    figures = join.join.figures()[0]["violations"]
    names = [stream.name for stream in case.streams]
    return pa.Table.from_batches(batches, join.schema), dict(zip(names, figures, strict=True))


def said(rows):
    return pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.int64()),
            "t": pa.array([row[1] for row in rows], pa.timestamp("us")),
            "over": pa.array([len(row) == 3 for row in rows], pa.bool_()),
        }
    )


def test_the_log_shrinks_with_the_state():
    """Without windows nothing expires; what punctuations free is written out of the log."""
    a, b = (wr.stream(said([]), name=name, key="k", time="t", ends="over") for name in "ab")
    run = Run(wr.plan(a, b))
    run.batch([said([(-1, 0)]), said([])])
    for key in range(200):
        run.batch([said([(key, key), (key, key, 1)]), said([(key, key), (key, key, 1)])])
    assert sum(batch.num_rows for batch in run.pieces) == 200
    assert max(len(store.blobs) for store in run.stores) < 40
    for bucket in range(BUCKETS):
        assert len(run.stores[bucket].text) < 4_000


@pytest.mark.parametrize("lose", [False, True])
def test_partial_rows_of_open_keys_do_not_add_up_in_the_log(lose, monkeypatch):
    """Three keys stay open over 300 micro-batches, each with results for all of them."""
    monkeypatch.setattr(partial_rows, "MOST_PARTIALS", 8)
    monkeypatch.setattr(finals, "LEAST_MERGED", 32)
    a, b = (
        wr.stream(said([]), name=name, key="k", time="t", ends="over", window="0 seconds")
        for name in "ab"
    )
    with arenas() as folder:
        run, most = Run(wr.plan(a, b, finals={"n": "count(*)"}), folder), 0
        for at in range(300):
            run.batch([said([(key, at) for key in range(3)])] * 2, lose=lose and at % 7 == 0)
            for store in run.stores:
                kept = Directory.from_text(store.text)
                most = max(most, sum(part.rows for part in kept.partials))
                assert len(kept.partials) <= 8
                assert len(store.blobs) < 60
        run.batch([said([(key, 300, 1) for key in range(3)])] * 2)
        found = run.finish()
    assert [row["n"] for row in found.to_pylist()] == [300] * 3
    assert most <= 32 + 3


@pytest.mark.parametrize("lose", [False, True])
def test_finals_merge_in_the_micro_batch_in_which_a_punctuation_and_its_chunk_go(lose, monkeypatch):
    """Key 2 ends where time jumps so far that nothing of that time is kept; key 1 stays open."""
    monkeypatch.setattr(finals, "LEAST_MERGED", 256)
    common = {"key": "k", "time": "t", "ends": "over", "window": "5 microseconds"}
    a, b = (wr.stream(said([]), name=n, lateness="2 microseconds", **common) for n in "ab")
    with arenas() as folder:
        run = Run(replace(wr.plan(a, b, finals={"n": "count(*)"}), buckets=1), folder)
        for rows in ([(1, 0)], [(1, 4), (2, 8, 1)], [(1, 1000)], [(1, 1001, 1)]):
            run.batch([said(rows)] * 2, lose=lose)
        assert [(row["k"], row["n"]) for row in run.finish().to_pylist()] == [(1, 5)]


@pytest.mark.parametrize("lose", [False, True])
def test_an_end_is_not_before_its_keys_results_under_another_lateness_either(lose):
    """After the restart progress is a second behind what was seen, and no lateness says so."""

    def plan(lateness):
        common = {"key": "k", "time": "t", "ends": "over", "window": "20 microseconds"}
        sides = [wr.stream(said([]), name=n, lateness=lateness, **common) for n in "ab"]
        return replace(wr.plan(*sides, punctuate=True), buckets=1)

    with arenas() as folder:
        run = Run(plan("1 second"), folder)
        run.batch([said([(1, 490), (1, 490, 1)]), said([(1, 505)])])
        run.ask(plan("0 seconds"))
        run.feed([[Packed(side, None, None, 1000, 0, 1) for side in (0, 1)]], lose)
        found = [(row["kind"], row["ts"].microsecond) for row in run.results().to_pylist()]
    assert found == [("match", 505), ("end", 505)]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"ends": None, "unique": True}, "written with punctuations"),
        ({"window": "9 microseconds"}, "written with windows beside punctuations"),
    ],
)
def test_what_a_restart_may_not_change(more, message):
    window = {"window": "10 microseconds"}
    common = {"key": "k", "time": "t", "ends": "over", **window}
    a, b = (wr.stream(said([]), name=name, **common) for name in "ab")
    run = Run(wr.plan(a, b))
    run.batch([said([(1, 0)]), said([(1, 0)])])
    changed = wr.stream(said([]), name="a", **{**common, **more})
    run.ask(wr.plan(changed, b))
    with pytest.raises(wr.WindrowError, match=message):
        run.batch([said([(1, 1)]), said([(1, 1)])])
