"""A wide result in a process of its own, which says how far its memory rose.

Started in `tests` as `python -m spark.wide WAY`, with one of `WAYS`. Many tuples of one key meet as
many others; the answer is one line of JSON: the rows that came out, and by how many bytes the peak
of memory grew.
"""

import json
import resource
import sys
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

import windrow as wr
from windrow.api import local_join
from windrow.spark.bucket import BucketJoin
from windrow.spark.output import Output
from windrow.spark.pack import Pack

from .buckets import DictStore, as_packed, flush

#: Tuples of each stream, and the bytes of a tuple's text: 6.4 GB of result.
TUPLES, WIDTH = 400, 20_000

#: By way: where it runs, the key, what is asked of the join, and the rows to come.
WAYS = {
    "in process": ("process", "k", {}, TUPLES**2),
    "in a bucket": ("bucket", "k", {}, TUPLES**2),
    # The last tuple of b has a key of its own.
    "in order": ("bucket", "k", {"how": "full", "order": "filter-order"}, TUPLES * TUPLES + 1),
    "with a condition": ("bucket", "k", {"condition": "a.text = b.text"}, TUPLES),
    "with a wide key": ("bucket", "same", {}, TUPLES**2),
    "nested": ("bucket", "k", {"nested": True}, TUPLES**2),
    "with finals": ("bucket", "k", {"finals": {"n": "count(a.text)"}}, 1),
    # One tuple of a third stream meets all of them.
    "three in process": ("process", "k", {"third": True}, TUPLES**2),
    "three in a bucket": ("bucket", "k", {"third": True}, TUPLES**2),
    "three with a condition": (
        "bucket",
        "k",
        {"third": True, "condition": "a.text = b.text"},
        TUPLES,
    ),
}


def table(count, key, nested, last=None):
    """Tuples of one key, each with its own text."""
    text = ["x" * (WIDTH - 5) + f"{n:05}" for n in range(count)]
    keys = {
        "k": pa.array([1] * count if last is None else [1] * count + [last], pa.int64()),
        "same": ["y" * WIDTH] * count,
    }
    text += ["z"] * (len(keys[key]) - count)
    rows = len(text)
    return pa.table(
        {
            key: keys[key],
            "t": pa.array(range(rows), pa.timestamp("us", "UTC")),
            "text": [[each] for each in text] if nested else text,
            "over": pa.array([False] * rows),
        }
    )


def plan_of(count, key, how="inner", nested=False, finals=None, third=False, **more):
    """The join of so many tuples with as many."""
    last = 2 if how == "full" else None
    tables = [table(count, key, nested), table(count, key, nested, last)]
    if third:
        tables.append(table(1, key, nested))
    if finals:
        more["finals"] = finals
        tables = [with_end(each) for each in tables]
    common = {"key": key, "time": "t", "window": "1 hour", "ends": "over" if finals else None}
    sides = [wr.stream(each, name=n, **common) for n, each in zip("abc", tables, strict=False)]
    return wr.plan(*sides, how=how, **more)


def with_end(whole):
    """The rows, and one that says that the key is over."""
    end = whole.slice(whole.num_rows - 1).set_column(3, "over", pa.array([True]))
    return pa.concat_tables([whole, end])


def in_process(plan):
    """Every batch of the result, one after the other."""
    join = local_join(plan)
    return sum(batch.num_rows for batch in join.record_batches(join.pieces()))


def in_a_bucket(plan):
    """One micro-batch as a worker runs it, up to the frames that go to the JVM."""
    schemas = tuple(from_arrow_schema(stream.schema) for stream in plan.streams)
    bare = replace(plan, streams=tuple(replace(s, data=None) for s in plan.streams))
    output = Output(bare, schemas, schemas[0]["t"].dataType)
    packed = []
    for side, stream in enumerate(plan.streams):
        for row in Pack(bare.streams[side], side, (0,)).pack(stream.data.to_batches()).to_pylist():
            del row["bucket"]
            packed.append(as_packed(row))
    join = BucketJoin.open(bare, 1, DictStore())
    rows = 0
    for piece in join.process([*packed, *flush(len(plan.streams))]):
        frame = output.frame(join.pipeline, piece)
        rows += len(frame) if output.flat else len(piece)
    return rows


def peak():
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(way):
    place, key, options, expected = WAYS[way]
    run = in_process if place == "process" else in_a_bucket
    # Once with few tuples, so that compiled kernels do not count.
    run(plan_of(3, key, **options))
    before = peak()
    rows = run(plan_of(TUPLES, key, **options))
    print(json.dumps({"rows": rows, "expected": expected, "growth": peak() - before}))


if __name__ == "__main__":
    main(sys.argv[1])
