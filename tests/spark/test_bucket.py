"""A bucket's join and its log, without Spark: random batches, random loss of the cached state."""

from dataclasses import replace
from datetime import timedelta
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.model import END
from windrow.operators.pipeline import output_schema
from windrow.spark.arena import Arena
from windrow.spark.bucket import BucketJoin, Packed
from windrow.spark.engine import bucket_count
from windrow.spark.log import Directory
from windrow.spark.pack import NOTHING, NOW, Pack
from windrow.testing import assert_same_rows, cases, duckdb_join, naive_batches

HOWS = ("inner", "left", "right", "full", "semi", "anti")
KEYED = ("int64", "string", "composite", "double", "dotted")
BUCKETS = 2
#: A heartbeat that frees everything.
FLUSH = [Packed(side, None, None, END // 4, 0, 1) for side in (0, 1)]


class DictStore:
    """A bucket's log in memory."""

    def __init__(self):
        self.blobs = {}
        self.text = None

    def read(self, number):
        return self.blobs[number]

    def write(self, number, blob):
        assert number not in self.blobs, "a blob is written once"
        self.blobs[number] = blob

    def remove(self, number):
        del self.blobs[number]

    def directory(self):
        return self.text

    def set_directory(self, text):
        self.text = text


class Run:
    """All buckets of one join, fed micro-batch by micro-batch, with arenas in a folder."""

    def __init__(self, plan, folder=None):
        self.plan = plan
        self.bare = replace(plan, streams=tuple(replace(s, data=None) for s in plan.streams))
        self.buckets = bucket_count(plan, BUCKETS)
        self.packs = [
            Pack(s, side, tuple(range(self.buckets))) for side, s in enumerate(self.bare.streams)
        ]
        self.stores = [DictStore() for _ in range(self.buckets)]
        self.folder = folder
        self.hits = []
        self.pieces = []

    def ask(self, plan):
        """Go on with another plan, as a restart would."""
        self.plan = plan
        self.bare = replace(plan, streams=tuple(replace(s, data=None) for s in plan.streams))

    def batch(self, tables, lose=False, now=None):
        packed = [[] for _ in range(self.buckets)]
        for pack, table in zip(self.packs, tables, strict=True):
            if table.num_rows:
                if now is not None:
                    stamp = pa.array([now] * table.num_rows, pa.timestamp("us", "UTC"))
                    table = table.append_column(NOW, stamp)
                for row in pack.pack(table.to_batches()).to_pylist():
                    packed[row.pop("bucket")].append(as_packed(row))
        self.feed(packed, lose)

    def feed(self, packed, lose=False):
        for bucket in range(self.buckets):
            if packed[bucket]:
                self.one(bucket, packed[bucket], lose)

    def one(self, bucket, packed, lose=False):
        arena = Arena.enter(self.folder, str(bucket)) if self.folder and not lose else None
        try:
            join = BucketJoin.open(self.bare, self.buckets, self.stores[bucket], arena)
            for piece in join.process(packed):
                self.pieces.append(join.pipeline.record_batch(piece))
            self.hits.append(join.hit)
        finally:
            if arena is not None:
                arena.leave()

    def results(self):
        return pa.Table.from_batches(self.pieces, output_schema(self.plan))

    def finish(self):
        self.feed([FLUSH] * self.buckets)
        return self.results()


def as_packed(row):
    numbers = ("newest", "newest_beat", "now")
    return Packed(**{k: None if k in numbers and v == NOTHING else v for k, v in row.items()})


def pieces(table, rows):
    return [table.slice(at, rows) for at in range(0, max(table.num_rows, 1), rows)]


def run_case(case, rows, losses, folder, **choices):
    options = {**case.options, **choices}
    if options["between"] is not None:
        options["between"] = tuple(timedelta(microseconds=bound) for bound in options["between"])
    plan = wr.plan(*case.streams, **options)
    run = Run(plan, folder)
    sides = [pieces(stream.data, rows) for stream in plan.streams]
    for number in range(max(map(len, sides))):
        tables = [side[number] if number < len(side) else side[0].slice(0, 0) for side in sides]
        run.batch(tables, lose=number in losses)
    return run


@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=25)
@given(data=st.data())
def test_any_batches_and_any_loss_give_the_oracles_rows(how, data):
    case = data.draw(cases(hows=[how], key_kinds=KEYED))
    rows = data.draw(st.sampled_from([1, 2, 3, 7, 100]))
    losses = data.draw(st.sets(st.integers(0, 9)))
    with TemporaryDirectory() as folder:
        run = run_case(case, rows, losses, folder)
    assert_same_rows(run.finish(), duckdb_join(*case.streams, **case.options))


@pytest.mark.parametrize("how", ["inner", "full", "anti"])
@settings(max_examples=25)
@given(data=st.data())
def test_late_rows_are_the_same_after_a_loss(how, data):
    case = data.draw(cases(hows=[how], key_kinds=["string"], late=True, beats=True))
    rows = data.draw(st.sampled_from([1, 2, 4]))
    run = run_case(case, rows, set(range(10)), None, late="keep")
    expected, _ = naive_batches(*case.streams, **case.options, late="keep", batch_rows=rows)
    assert_same_rows(run.finish(), expected)


def stream_table(ts, key=1):
    return pa.table(
        {"k": pa.array([key] * len(ts), pa.int64()), "t": pa.array(ts, pa.timestamp("us"))}
    )


def plan_of(how="left", window="10 microseconds"):
    empty = stream_table([])
    a = wr.stream(empty, name="a", key="k", time="t", window=window)
    b = wr.stream(empty, name="b", key="k", time="t", window=window)
    return wr.plan(a, b, how=how)


def test_the_log_shrinks_as_the_window_moves():
    run = Run(plan_of())
    for start in range(0, 1000, 10):
        run.batch([stream_table([start]), stream_table([start + 5])])
    sizes = [len(store.blobs) for store in run.stores]
    assert max(sizes) <= 8


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
        (lambda d: d.replace('"format": 1', '"format": 99'), "has format 99"),
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
