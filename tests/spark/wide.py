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
from windrow.model import JoinPlan
from windrow.spark.bucket import BucketJoin, Packed
from windrow.spark.output import Output
from windrow.spark.pack import Pack
from windrow.spark.queries.bucket import SharedBucket, Sharing
from windrow.spark.queries.catalog import Shape
from windrow.spark.queries.control import CONTROL, Asked, Control
from windrow.spark.queries.results import Results

from .buckets import DictStore, as_packed, flush

#: Tuples of each stream, and the bytes of a tuple's text: 6.4 GB of result.
TUPLES, WIDTH = 400, 20_000

_FROM = "FROM a, b WHERE a.k = b.k"
SELECT = f"SELECT a.text LIKE 'x%' AS mine, b.text LIKE 'x%' AS its {_FROM} WINDOW 1 hour"
FILTER = f"SELECT count(*) AS n {_FROM} AND a.text <= b.text WINDOW 1 hour"

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
    # Answers are small, what is gathered for them is not.
    "queries in process": ("queries", "k", {"sql": SELECT}, TUPLES**2),
    "queries with a filter": ("queries", "k", {"sql": FILTER}, TUPLES * (TUPLES + 1) // 2),
    "queries in a bucket": ("shared bucket", "k", {"sql": SELECT}, TUPLES**2),
    "a filter in a bucket": ("shared bucket", "k", {"sql": FILTER}, TUPLES * (TUPLES + 1) // 2),
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


def in_process(*asked, **options):
    """Every batch of the result, one after the other."""
    plan = plan_of(*asked, **options)
    join = local_join(plan)
    return sum(batch.num_rows for batch in join.record_batches(join.pieces()))


def in_a_bucket(*asked, **options):
    """One micro-batch as a worker runs it, up to the frames that go to the JVM."""
    plan = plan_of(*asked, **options)
    schemas = tuple(from_arrow_schema(stream.schema) for stream in plan.streams)
    bare = replace(plan, streams=tuple(replace(s, data=None) for s in plan.streams))
    output = Output(bare, schemas, schemas[0]["t"].dataType)
    join = BucketJoin.open(bare, 1, DictStore())
    rows = 0
    for piece in join.process([*packed_of(plan), *flush(len(plan.streams))]):
        frame = output.frame(join.pipeline, piece)
        rows += len(frame) if output.flat else len(piece)
    return rows


def packed_of(plan):
    """A micro-batch of a stream's rows for one bucket."""
    packed = []
    for side, stream in enumerate(plan.streams):
        bare = replace(stream, data=None)
        for row in Pack(bare, side, (0,)).pack(stream.data.to_batches()).to_pylist():
            del row["bucket"]
            packed.append(as_packed(row))
    return packed


def sides_of(count, key):
    """The streams of continuous queries, whose windows are the queries' own."""
    return [
        wr.stream(table(count, key, False), name=name, key=key, time="t") for name in ("a", "b")
    ]


def in_queries(count, key, sql):
    """The results that a query over tables is answered of."""
    queries = wr.ContinuousQueries(*sides_of(count, key))
    queries.add(sql, name="q")
    answers = queries.run()["q"]
    # Of an aggregate, the last answer counts all.
    return answers["n"][-1].as_py() if "n" in answers.column_names else answers.num_rows


def in_a_shared_bucket(count, key, sql):
    """One micro-batch of a shared join as a worker runs it, up to the frames for the JVM."""
    streams = sides_of(count, key)
    plan = JoinPlan(streams=tuple(streams), schedule="mqt")
    bare = replace(plan, streams=tuple(replace(s, data=None) for s in streams))
    schemas = tuple(from_arrow_schema(stream.schema) for stream in streams)
    output = Results(bare, schemas, schemas[0]["t"].dataType)
    asked = Control(1, (Asked(0, "q", sql),), None).to_text().encode()
    join = SharedBucket.open(bare, 1, DictStore())
    join.share(Sharing(Shape(bare.streams, closed=True), (0, 1)))
    packed = [Packed(CONTROL, asked, None, None, 0, 0, place=1), *packed_of(plan)]
    return sum(
        len(output.routed(join.pipeline, routed)) for routed in join.serve([*packed, *flush(2)])
    )


def peak():
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


RUNS = {
    "process": in_process,
    "bucket": in_a_bucket,
    "queries": in_queries,
    "shared bucket": in_a_shared_bucket,
}


def main(way):
    place, key, options, expected = WAYS[way]
    run = RUNS[place]
    # Once with few tuples, so that compiled kernels do not count.
    run(3, key, **options)
    before = peak()
    rows = run(TUPLES, key, **options)
    print(json.dumps({"rows": rows, "expected": expected, "growth": peak() - before}))


if __name__ == "__main__":
    main(sys.argv[1])
