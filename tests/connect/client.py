"""Joins through Spark Connect, whose server it starts: `python -m connect.client FOLDER`.

Writes `told.json`: by question, the answer, or the message of what was refused.
"""

import json
import os
import sys
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession, functions

import windrow as wr

SCHEMA = "k LONG, t TIMESTAMP, v LONG"
MINUTE = 60_000_000
BEGIN = 1_767_268_800_000_000


def table(*minutes):
    """Rows of one key at these minutes, numbered."""
    return pa.table(
        {
            "k": [1] * len(minutes),
            "t": pa.array([BEGIN + at * MINUTE for at in minutes], pa.timestamp("us", "UTC")),
            "v": range(len(minutes)),
        }
    )


#: Of the first stream a row a micro-batch; the third is six minutes late. Then one more.
FIRST, SECOND, MORE = table(0, 10, 4), table(0), table(7)


class Client:
    """A session and the folder in which everything is."""

    def __init__(self, folder):
        self.folder = Path(folder)
        # So that the server takes a port that is free.
        os.environ["SPARK_TESTING"] = "1"
        builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
        self.spark = wr.configure(builder).getOrCreate()
        self.spark.conf.set("spark.sql.shuffle.partitions", "2")
        self.spark.conf.set("spark.sql.session.timeZone", "UTC")
        self.spark.conf.set("spark.windrow.arena.dir", folder)
        self.told = {}

    def write(self, name, rows):
        """A file a row."""
        (self.folder / name).mkdir(exist_ok=True)
        there = len(list((self.folder / name).glob("*")))
        for number in range(rows.num_rows):
            path = self.folder / name / f"{there + number:03}.parquet"
            pq.write_table(rows.slice(number, 1), path)
            # The file source goes by age.
            os.utime(path, (1_700_000_000 + there + number,) * 2)

    def stream(self, name):
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder / name))

    def batch(self, name):
        return self.spark.read.schema(SCHEMA).parquet(str(self.folder / name))

    def run(self, joined, name):
        """Run to the end; the rows as numbers, the figures, and what was warned of."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            query = (
                joined.writeStream.format("parquet")
                .option("checkpointLocation", str(self.folder / f"checkpoint-{name}"))
                .trigger(availableNow=True)
                .start(str(self.folder / f"out-{name}"))
            )
            query.awaitTermination(180)
            failed = query.exception()
            if failed is not None:
                raise RuntimeError(str(failed))
            figures = wr.metrics(query)
        said = [str(each.message) for each in warned if each.category is RuntimeWarning]
        written = self.spark.read.parquet(str(self.folder / f"out-{name}"))
        return {"rows": numbers(written.toArrow()), "figures": figures, "warned": said}

    def ask(self, question, answer):
        try:
            self.told[question] = answer()
        except Exception as refused:
            self.told[question] = f"{type(refused).__name__}: {refused}"


def numbers(joined):
    return sorted([row["a"]["v"], row["b"] and row["b"]["v"]] for row in joined.to_pylist())


def stream(frame, name, time="t", **given):
    return wr.stream(frame, name=name, key="k", time=time, window="1 hour", **given)


def shapes(frame):
    """A DataFrame with a watermark, in shapes that keep it and in two that do not."""
    moved = frame.withColumn("at", functions.expr("t + INTERVAL 1 MINUTE"))
    inside = frame.select("k", functions.struct("t", "v").alias("s"))
    return {
        "itself": (frame, "t"),
        "renamed": (frame.withColumnRenamed("t", "at"), "at"),
        "in a struct": (inside, "s.t"),
        "out of a struct": (inside.select("k", "s.t"), "t"),
        "in a union": (frame.union(frame), "t"),
        "moved": (moved, "at"),
        "moved and dropped": (moved.drop("t"), "at"),
    }


def main(folder):
    client = Client(folder)
    ask, run = client.ask, client.run
    client.write("a", FIRST)
    client.write("b", SECOND)
    a, b = client.stream("a"), client.stream("b")
    marked = a.withWatermark("t", "10 minutes")
    for shape, (frame, time) in shapes(marked).items():
        ask(f"lateness: {shape}", lambda f=frame, t=time: stream(f, "a", t).lateness)

    ask("watermark", lambda: run(wr.join(stream(marked, "a"), stream(b, "b")), "watermark"))
    ask("default", lambda: run(wr.join(stream(a, "a"), stream(b, "b"), how="left"), "default"))
    batch = [stream(client.batch(name), name) for name in "ab"]
    ask("batch", lambda: numbers(wr.join(*batch, how="left", condition="a.v < 2").toArrow()))
    lower = functions.col("a.v") < functions.col("b.v")
    ask("a Column", lambda: wr.join(stream(a, "a"), stream(b, "b"), condition=lower))
    joined = wr.join(stream(marked, "a"), stream(b, "b"))
    ask("check", lambda: wr.check(joined, str(client.folder / "checkpoint-watermark")))

    client.write("a", MORE)
    ask("restart", lambda: run(wr.join(stream(marked, "a"), stream(b, "b")), "watermark"))
    ask("other kind", lambda: run(wr.join(stream(a, "a"), stream(b, "b")), "default"))
    owners = [path.read_text() for path in client.folder.glob("windrow-*/*/lock")]
    client.told["owners"] = owners
    (client.folder / "told.json").write_text(json.dumps(client.told))
    client.spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
