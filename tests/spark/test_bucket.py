"""A bucket's join and its log, without Spark: random batches, random loss of the cached state."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.spark.arena import Arena
from windrow.spark.bucket import BucketJoin
from windrow.spark.log.directory import FORMAT, Directory
from windrow.testing import assert_same_rows, cases, duckdb_join, naive_batches

from .buckets import BUCKETS, Run, arenas, as_packed, plan_of, run_case, stream_table

HOWS = ("inner", "left", "right", "full", "semi", "anti")
KEYED = ("int64", "string", "composite", "double", "dotted")


@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=25)
@given(data=st.data())
def test_any_batches_and_any_loss_give_the_oracles_rows(how, data):
    case = data.draw(cases(hows=[how], key_kinds=KEYED))
    rows = data.draw(st.sampled_from([1, 2, 3, 7, 100]))
    losses = data.draw(st.sets(st.integers(0, 9)))
    with arenas() as folder:
        found = run_case(case, rows, losses, folder).finish()
    assert_same_rows(found, duckdb_join(*case.streams, **case.options))


@pytest.mark.parametrize("how", ["inner", "full", "anti"])
@settings(max_examples=25)
@given(data=st.data())
def test_late_rows_are_the_same_after_a_loss(how, data):
    case = data.draw(cases(hows=[how], key_kinds=["string"], late=True, beats=True))
    rows = data.draw(st.sampled_from([1, 2, 4]))
    run = run_case(case, rows, set(range(10)), None, late="keep")
    expected, _ = naive_batches(*case.streams, **case.options, late="keep", batch_rows=rows)
    assert_same_rows(run.finish(), expected)


def test_the_log_shrinks_as_the_window_moves():
    run = Run(plan_of())
    for start in range(0, 1000, 10):
        run.batch([stream_table([start]), stream_table([start + 5])])
    sizes = [len(store.blobs) for store in run.stores]
    assert max(sizes) <= 8


def test_the_arena_is_found_again(tmp_path):
    run = Run(plan_of(), str(tmp_path))
    for start in range(0, 1000, 10):
        run.batch([stream_table([start]), stream_table([start + 5])])
    assert run.hits == [None] * BUCKETS + [True] * (99 * BUCKETS)


def test_a_matched_flag_survives_the_loss_of_the_state():
    run = Run(plan_of())
    run.batch([stream_table([100]), stream_table([100])])
    run.batch([stream_table([500]), stream_table([500])], lose=True)
    unmatched = [row for row in run.finish().to_pylist() if row["b"] is None]
    assert unmatched == []


def test_a_task_that_fails_half_way_leaves_no_changed_state(tmp_path):
    run = Run(plan_of("full"), str(tmp_path))
    run.batch([stream_table([100]), stream_table([])])
    bucket = next(n for n, store in enumerate(run.stores) if store.blobs)
    packed = [
        as_packed({k: v for k, v in row.items() if k != "bucket"})
        for row in run.packs[1].pack(stream_table([101]).to_batches()).to_pylist()
        if row["bucket"] == bucket
    ]
    arena = Arena.enter(str(tmp_path), str(bucket))
    join = BucketJoin.open(run.bare, BUCKETS, run.stores[bucket], arena)
    next(iter(join.process(packed)))
    arena.leave()
    before = len(run.pieces)
    run.one(bucket, packed)
    assert run.hits[-1] is False
    assert sum(batch.num_rows for batch in run.pieces[before:]) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.replace(f'"format": {FORMAT}', '"format": 99'), "has format 99"),
        (lambda d: d.replace('"buckets": 2', '"buckets": 3'), "written with 3 buckets"),
        (lambda d: d.replace('"times": ["t", "t"]', '"times": ["x", "t"]'), "written with times"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(change, message):
    run = Run(plan_of())
    run.batch([stream_table([100]), stream_table([100])])
    store = run.stores[0]
    store.text = change(store.text)
    with pytest.raises(wr.WindrowError, match=message):
        BucketJoin.open(run.bare, BUCKETS, store)


def test_the_directory_reads_back_what_it_wrote():
    run = Run(plan_of())
    run.batch([stream_table([100, 101]), stream_table([100])])
    for store in run.stores:
        assert Directory.from_text(store.text).to_text() == store.text


def test_the_order_in_which_blobs_arrive_leaves_no_trace():
    """Two attempts at a micro-batch must write the same log, apart from the token."""
    texts = []
    for turn in (1, -1):
        run = Run(plan_of("full"))
        packed = [[] for _ in range(BUCKETS)]
        for place, ts in enumerate([[100, 101], [103], [102, 90]]):
            for pack in run.packs:
                for row in pack.pack(stream_table(ts).to_batches(), place).to_pylist():
                    packed[row.pop("bucket")].append(as_packed(row))
        run.feed([rows[::turn] for rows in packed])
        logs = [(store.text, store.blobs) for store in run.stores]
        texts.append([(text.replace(Directory.from_text(text).token, ""), b) for text, b in logs])
    assert texts[0] == texts[1]
