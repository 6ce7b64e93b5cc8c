"""Buckets of a join without Spark: packed by hand, fed one after the other, logs in dicts."""

import json
import os
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc

import windrow as wr
from windrow.model import END
from windrow.operators.pipeline import output_schema
from windrow.spark.arena import Arena
from windrow.spark.bucket import BucketJoin, Packed
from windrow.spark.engine import bucket_count
from windrow.spark.pack import NOTHING, NOW, Pack

BUCKETS = 2


def flush(streams):
    """Heartbeats that free everything."""
    return [Packed(side, None, None, END // 4, 0, 1) for side in range(streams)]


#: Of two streams.
FLUSH = flush(2)


def arenas():
    """A folder for arenas, in memory where that can be had: files come and go by the hundred."""
    return TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


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
        self.buckets = bucket_count(plan, BUCKETS)
        self.ask(plan)
        self.stores = [DictStore() for _ in range(self.buckets)]
        self.folder = folder
        self.built = 0
        #: To when the progress of each stream is asked to be set back.
        self.back_to = ()
        self.hits = []
        self.pieces = []
        #: The join of the bucket that was last fed.
        self.join = None

    def ask(self, plan):
        """Go on with another plan, as a restart would."""
        self.plan = plan
        self.bare = replace(plan, streams=tuple(replace(s, data=None) for s in plan.streams))
        self.packs = [
            Pack(s, side, tuple(range(self.buckets)), bad=plan.bad_of(side))
            for side, s in enumerate(self.bare.streams)
        ]

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

    def one(self, bucket, packed, lose=False, ended=False):
        arena = Arena.enter(self.folder, str(bucket)) if self.folder and not lose else None
        try:
            store = self.stores[bucket]
            join = BucketJoin.open(
                self.bare, self.buckets, store, arena, self.built, back_to=self.back_to
            )
            join.finite = ended
            self.join = join
            for piece in join.process(packed):
                finished = isinstance(piece, pa.RecordBatch)
                self.pieces.append(piece if finished else join.pipeline.record_batch(piece))
            self.hits.append(join.hit)
        finally:
            if arena is not None:
                arena.leave()

    def results(self):
        return pa.Table.from_batches(self.pieces, output_schema(self.plan))

    def end(self):
        """As if the streams had ended: only that frees the tuples of a count window."""
        for bucket in range(self.buckets):
            self.one(bucket, flush(len(self.plan.streams)), ended=True)
        return self.results()

    def finish(self):
        self.feed([flush(len(self.plan.streams))] * self.buckets)
        return self.results()


def as_packed(row):
    numbers = ("newest", "newest_beat", "now")
    return Packed(**{k: None if k in numbers and v == NOTHING else v for k, v in row.items()})


def pieces(table, rows):
    return [table.slice(at, rows) for at in range(0, max(table.num_rows, 1), rows)]


def run_case(case, rows, losses, folder, kind=Run, **choices):
    options = {**case.options, **choices}
    if options["between"] is not None:
        options["between"] = tuple(timedelta(microseconds=bound) for bound in options["between"])
    plan = wr.plan(*case.streams, **options)
    run = kind(plan, folder)
    for number, tables in enumerate(batches(plan.streams, rows)):
        run.batch(tables, lose=number in losses)
    return run


def batches(streams, rows):
    """So many rows of each stream at a time."""
    sides = [pieces(stream.data, rows) for stream in streams]
    for number in range(max(map(len, sides))):
        yield [side[number] if number < len(side) else side[0].slice(0, 0) for side in sides]


def assert_attempts_agree(plan, rows):
    """Of two attempts at each micro-batch, one has the arena and one rebuilds: the same log."""
    assert_attempts_agree_on(plan, batches(plan.streams, rows))


def assert_attempts_agree_on(plan, tables):
    """The same, for these micro-batches."""
    with arenas() as folder:
        run = Run(plan, folder)
        for batch in tables:
            other = Run(plan)
            for mine, its in zip(other.stores, run.stores, strict=True):
                mine.blobs, mine.text = dict(its.blobs), its.text
            other.batch(batch)
            run.batch(batch)
            assert logs(other) == logs(run)


def logs(run):
    """What was written, but for the tokens."""
    found = []
    for store in run.stores:
        if store.text is not None:
            text = {**json.loads(store.text), "token": "", "live": [], "arena": ""}
            found.append((text, store.blobs))
    return found


def ends(table):
    """How often each key has ended."""
    rows = table.filter(pc.field("kind") == "end").to_pylist()
    return Counter(next(v["k"] for v in row.values() if isinstance(v, dict)) for row in rows)


def once(ended, case):
    """Without keys said twice: after both streams have ended a key it ends once more if it is."""
    said = Counter()
    for side in case.streams:
        said.update(
            (side.name, key) for key in side.data.filter(side.data["over"])["k"].to_pylist()
        )
    twice = {key for (_, key), times in said.items() if times > 1}
    return {key: count for key, count in ended.items() if key not in twice}


def stream_table(ts, key=1):
    return pa.table(
        {"k": pa.array([key] * len(ts), pa.int64()), "t": pa.array(ts, pa.timestamp("us"))}
    )


def plan_of(how="left", window="10 microseconds"):
    empty = stream_table([])
    a = wr.stream(empty, name="a", key="k", time="t", window=window)
    b = wr.stream(empty, name="b", key="k", time="t", window=window)
    return wr.plan(a, b, how=how)
