"""A Spark driver that runs streaming joins on request, as a process that can be killed.

Started as `python job.py SETTINGS`, with the master and the Spark settings as JSON. Each line on
stdin is a request and gets one line on stdout:

    {"run": [query, ...], "seconds": n}   start all, wait for all; an outcome for each
    {"read": query}                       the sink's rows, as Spark reads them, into one file

An outcome has the `error`, or None, and how many buckets found their state in an arena (`hits`) or
made it again (`rebuilds`); `manager` is how the session writes checkpoints, if it says so.

A query is a dict: `folder` and what `DEFAULTS` names.
"""

import json
import os
import sys
import time

import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import SparkSession, functions

import windrow as wr
from windrow.spark.session import FILE_MANAGER

SCHEMA = "k STRING, t TIMESTAMP, v BIGINT, beat BOOLEAN"
#: For short runs: no optimising compiler, and one thread for garbage.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

NAMES = ("a", "b", "c")
WINDOWS = ("8 seconds", "5 seconds", "6 seconds")

DEFAULTS = {
    "how": "full",
    # Files of each stream in a micro-batch.
    "files": 1,
    # Tasks of the join.
    "partitions": 2,
    # What goes wrong behind the join: a name of HOOKS.
    "hook": None,
    # Where arenas go; None: in the query's folder.
    "arena": None,
    # Whether arenas stay when the query ends.
    "keep": True,
    # The length of a text that every row of the first stream has inside the join; 0: none.
    "text": 0,
    # The streams' names, their windows (a number counts rows), further options of both, and
    # further options of the join.
    "names": NAMES,
    "windows": WINDOWS,
    "streams": {},
    "choices": {},
    # The first stream's columns, as SQL.
    "columns": ["*"],
    # Which joins there are in the query: a name of JOINS.
    "joins": "one",
    # How many streams there are.
    "inputs": 2,
}


def streams(*data, windows=WINDOWS, names=NAMES, **more):
    """The join's streams; on tables for the oracle, on DataFrames for Spark."""
    common = {"key": "k", "time": "t", "beats": "beat", "lateness": "1 second", **more}
    windows = [wr.rows(window) if isinstance(window, int) else window for window in windows]
    return tuple(
        wr.stream(each, name=name, window=window, **common)
        for each, name, window in zip(data, names, windows, strict=False)
    )


# -- the joins of a query ----------------------------------------------------------------------


def one_join(frames, query):
    """One, of the kind that is asked for."""
    asked = streams(*frames, windows=query["windows"], names=query["names"], **query["streams"])
    return wr.join(*asked, how=query["how"], **query["choices"])


def second_of(ab, two):
    """The streams of a join of an inner join's result and one of its inputs, read again."""
    return (
        # Rows leave the first join out of order, but never by as much as this.
        wr.stream(ab, name="ab", key="a.k", time="ts", window="6 seconds", lateness="1 hour"),
        wr.stream(two, name="c", key="k", time="t", window="4 seconds", beats="beat",
                  lateness="1 second"),
    )  # fmt: skip


def chain(frames, query):
    """A join whose first stream is a join."""
    ab = wr.join(*streams(*frames), how="inner")
    return wr.join(*second_of(ab, frames[1]), how=query["how"])


def twice(frames, query):
    """The same join twice, side by side."""
    return one_join(frames, query).unionAll(one_join(frames, query))


JOINS = {"one": one_join, "chain": chain, "twice": twice}


# -- what can go wrong behind the join ---------------------------------------------------------


def attempt():
    """Which task this is, and which try of it."""
    context = TaskContext.get()
    batch = int(context.getLocalProperty("streaming.sql.batchId"))
    return batch, context.partitionId(), context.attemptNumber()


def note(folder, kind, task):
    """Leave word that a task came here, and in which executor, known by its Python daemon."""
    words = (kind, *task, os.getppid())
    with open(os.path.join(folder, "notes", "-".join(map(str, words))), "w"):
        pass


def fail_after(folder):
    """Every task of every micro-batch fails at its first attempt, after all its input is used."""

    def run(batches):
        yield from batches
        batch, partition, number = attempt()
        note(folder, "attempt", (batch, partition, number))
        if number == 0:
            raise RuntimeError("failed on purpose, after the join was done")

    return run


def slow_first(folder):
    """The first attempt of one task hangs every third micro-batch, after all its input is used."""

    def run(batches):
        yield from batches
        batch, partition, number = attempt()
        note(folder, "attempt", (batch, partition, number))
        if number == 0 and partition == batch // 3 % 2 and batch % 3 == 1:
            time.sleep(20)

    return run


def hold(folder):
    """The first attempts of one micro-batch wait in the middle of it, to be killed there."""

    def run(batches):
        batch, partition, number = attempt()
        for part in batches:
            yield part
            if batch == 2 and number == 0:
                note(folder, "hold", (batch, partition, number))
                time.sleep(20)

    return run


HOOKS = {"fail_after": fail_after, "slow_first": slow_first, "hold": hold}


# -- the driver --------------------------------------------------------------------------------


def session(settings):
    """A Spark session with the join's settings and these."""
    builder = (
        SparkSession.builder.master(settings.pop("master"))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", JAVA)
        .config("spark.executor.extraJavaOptions", JAVA)
    )
    builder = wr.configure(builder)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def start(spark, query):
    """Start the join over all files there are now."""
    folder = query["folder"]
    spark.conf.set("spark.windrow.arena.dir", query["arena"] or folder)
    spark.conf.set("spark.windrow.arena.keep", str(query["keep"]).lower())
    spark.conf.set("spark.sql.shuffle.partitions", query["partitions"])
    frames = [
        spark.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", query["files"])
        .parquet(f"{folder}/{name}")
        for name in NAMES[: query["inputs"]]
    ]
    frames[0] = with_text(frames[0].selectExpr(*query["columns"]), query["text"])
    joined = without_text(JOINS[query["joins"]](frames, query), query["text"])
    if query["hook"]:
        os.makedirs(f"{folder}/notes", exist_ok=True)
        joined = joined.mapInArrow(HOOKS[query["hook"]](folder), joined.schema)
    return (
        joined.writeStream.format("parquet")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{folder}/out")
    )


def with_text(frame, length):
    """The rows with a text of that length."""
    return frame.withColumn("text", functions.expr(f"repeat('x', {length})")) if length else frame


def without_text(joined, length):
    """The results without it, of those that have it as it was."""
    if not length:
        return joined
    whole = joined.filter(functions.length("a.text") == length)
    return whole.withColumn("a", functions.col("a").dropFields("text"))


def run(spark, queries, seconds):
    """Start them all and wait; an outcome for each."""
    running = []
    for query in queries:
        try:
            running.append(start(spark, {**DEFAULTS, **query}))
        except Exception as error:
            running.append(short(error))
    deadline = time.monotonic() + seconds
    manager = spark.conf.get(FILE_MANAGER, None)
    return [{**outcome(query, deadline), "manager": manager} for query in running]


def outcome(query, deadline):
    """How a query ended, and what became of its arenas in this run."""
    if isinstance(query, str):
        return {"error": query, "hits": 0, "rebuilds": 0}
    try:
        ended = query.awaitTermination(max(1, deadline - time.monotonic()))
        error = None if ended else "still running"
        query.stop()
    except Exception as failure:
        error = short(failure)
    figures = wr.metrics(query)
    hits, rebuilds = (sum(getattr(f, f"arena_{n}") for f in figures) for n in ("hits", "rebuilds"))
    return {"error": error, "hits": hits, "rebuilds": rebuilds}


def short(error):
    """The message without the plan of the query."""
    return str(error).partition("=== Streaming Query ===")[0]


def main():
    # Spark writes to stdout as well; the answers go to where stdout was.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark = session(json.loads(sys.argv[1]))
    for line in sys.stdin:
        request = json.loads(line)
        if "run" in request:
            answer = run(spark, request["run"], request["seconds"])
        else:
            folder = request["read"]["folder"]
            # A restart may have brought other columns.
            merged = spark.read.option("mergeSchema", "true")
            found = merged.parquet(f"{folder}/out").toArrow()
            answer = f"{folder}/found.parquet"
            pq.write_table(found, answer)
        print(json.dumps(answer), file=answers, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
