"""`windrow inspect`: figures against the blobs and the rows that were fed, and what is refused."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions
from typer.testing import CliRunner

import windrow as wr
from windrow.cli import app
from windrow.duration import moment
from windrow.spark import log
from windrow.spark.inspection import Stored, inspect

from .conftest import Files

SECOND = 1_000_000
#: Files of 100 rows cover 20 seconds each, so with these windows only the last file is kept.
REACHES = {"a": 6 * SECOND, "b": 5 * SECOND}
ROWS, FILE = 300, 100


def table(seed, payload):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 60 * SECOND, ROWS))
    return pa.table(
        {
            "k": pa.array([f"key {k}" for k in rng.integers(0, 20, ROWS)]),
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            payload: pa.array(np.arange(ROWS)),
        }
    )


TABLES = {"a": table(1, "v"), "b": table(2, "w")}
TIMES = {name: t["t"].cast(pa.int64()).to_numpy() for name, t in TABLES.items()}


def streams(files):
    return [
        wr.stream(files.stream("a"), name="a", key="k", time="t", window="6 seconds"),
        wr.stream(files.stream("b"), name="b", key="k", time="t", window="5 seconds"),
    ]


@pytest.fixture
def fed(files):
    """All rows in one file, so that a query has one batch."""
    for name, t in TABLES.items():
        files.write(name, t, ROWS)
    return files


@pytest.fixture(scope="module")
def kept(spark, tmp_path_factory):
    """The checkpoint of a left join that has read all there is and is still running."""
    files = Files(spark, tmp_path_factory.mktemp("kept"))
    for name, t in TABLES.items():
        files.write(name, t, FILE)
    checkpoint = files.folder / "checkpoint"
    query = (
        wr.join(*streams(files), how="left")
        .writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    query.processAllAvailable()
    yield checkpoint
    query.stop()


def call(*arguments):
    result = CliRunner().invoke(app, ["inspect", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def last_commit(checkpoint):
    return max(int(name) for name in os.listdir(checkpoint / "commits") if name.isdigit())


# -- figures -----------------------------------------------------------------------------------


@pytest.mark.versions
def test_a_running_querys_buckets_are_what_their_blobs_say(spark, kept):
    found = inspect(spark, kept)
    assert found.batch == last_commit(kept)
    [join] = found.joins
    assert (join.kind, join.format, join.all_buckets) == ("left", log.FORMAT, 2)
    assert [dataclasses.replace(s, total=None) for s in join.streams] == [
        dataclasses.replace(join.streams[0], name=name, key=("k",), time="t", reach=reach,
                            count=None, per=None, total=None)
        for name, reach in REACHES.items()
    ]  # fmt: skip
    progress = {name: int(times.max()) for name, times in TIMES.items()}
    blobs = (
        spark.read.format("statestore")
        .options(operatorId=join.operator, stateVarName="blobs")
        .load(str(kept))
        .selectExpr("key.bucket", "user_map_value.blob")
        .collect()
    )
    assert {row["bucket"] for row in blobs} == {bucket.bucket for bucket in join.buckets}
    for bucket in join.buckets:
        mine = [bytes(row["blob"]) for row in blobs if row["bucket"] == bucket.bucket]
        # An Arrow stream begins with this mark; the rest are ids of matched rows, of stream a.
        chunks = [blob for blob in mine if blob.startswith(b"\xff\xff\xff\xff")]
        flags = sum(len(blob) for blob in mine) - sum(len(blob) for blob in chunks)
        assert flags > 0
        for name, other, payload in (("a", "b", "v"), ("b", "a", "w")):
            batches = [(pa.ipc.open_stream(chunk).read_all(), len(chunk)) for chunk in chunks]
            batches = [(t, size) for t, size in batches if payload in t.column_names]
            times = np.concatenate([t["t"].cast(pa.int64()).to_numpy() for t, _ in batches])
            assert bucket.stored[name] == Stored(
                live=int((times + REACHES[name] >= progress[other]).sum()),
                rows=len(times),
                chunks=len(batches),
                bytes=sum(size for _, size in batches) + (flags if name == "a" else 0),
                oldest=int(times.min()),
                newest=int(times.max()),
                progress=progress[name],
            )


def test_totals_are_those_of_the_rows_that_were_fed(spark, kept):
    [join] = inspect(spark, kept).joins
    for stream, other in zip(join.streams, reversed(join.streams), strict=True):
        times, last = TIMES[stream.name], TIMES[stream.name][-FILE:]
        total = stream.total
        assert total.live == (times + stream.reach >= TIMES[other.name].max()).sum() > 0
        assert (total.rows, total.oldest, total.newest) == (FILE, last.min(), last.max())
        parts = [bucket.stored[stream.name] for bucket in join.buckets]
        assert total.chunks == sum(part.chunks for part in parts) == len(parts)
        assert total.bytes == sum(part.bytes for part in parts)


def test_every_join_of_a_query_is_shown(fed):
    a, b = streams(fed)
    counted = dataclasses.replace(a, window=wr.rows(3))
    ab = wr.stream(wr.join(counted, b), name="ab", key="a.k", time="ts", lateness="5 seconds")
    c = wr.stream(fed.stream("b"), name="c", key="k", time="t")
    fed.run(wr.join(ab, c, how="semi", between=("-1 second", "5 seconds")))
    code, out, err = call("--json", fed.folder / "checkpoint")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["batch"] == last_commit(fed.folder / "checkpoint")
    assert found["waiting"] == []
    joins = {tuple(s["name"] for s in join["streams"]): join for join in found["joins"]}
    assert sorted(join["operator"] for join in joins.values()) == [0, 1]
    inner, outer = joins["a", "b"], joins["ab", "c"]
    assert (inner["kind"], outer["kind"]) == ("inner", "semi")
    windows = [[(s["reach"], s["count"], s["per"]) for s in j["streams"]] for j in (inner, outer)]
    assert windows == [
        [(None, 3, "key"), (5 * SECOND, None, None)],
        [(5 * SECOND, None, None), (SECOND, None, None)],
    ]
    newest = outer["streams"][1]["total"]["newest"]
    assert newest == TIMES["b"].max()
    for join in (inner, outer):
        for stream in join["streams"]:
            parts = [bucket["stored"][stream["name"]] for bucket in join["buckets"]]
            assert len(parts) == join["all_buckets"] == 2
            assert stream["total"]["live"] == sum(part["live"] for part in parts) > 0
    _, text, _ = call(fed.folder / "checkpoint")
    assert "semi join of ab and c" in text
    assert "3 rows per key" in text


def test_a_join_that_no_row_has_reached(spark, fed):
    a, b = (dataclasses.replace(s, data=s.data.where("k IS NULL")) for s in streams(fed))
    fed.run(wr.join(a, b))
    found = inspect(spark, fed.folder / "checkpoint")
    assert (found.joins, found.waiting) == ((), (0,))
    assert "has not had a row yet" in call(fed.folder / "checkpoint")[1]


def test_a_path_that_spark_would_escape_or_take_for_a_pattern(spark, kept, tmp_path):
    odd = tmp_path / "run [1] {ä} *"
    odd.symlink_to(kept)
    assert inspect(spark, odd) == dataclasses.replace(inspect(spark, kept), checkpoint=str(odd))


def test_the_sum_of_nothing():
    empty = Stored(0, 0, 0, 0, None, None, None)
    full = Stored(1, 2, 3, 4, 5, 6, 7)
    assert Stored.total([empty, empty]) == empty
    assert Stored.total([empty, full, full]) == Stored(2, 4, 6, 8, 5, 6, 7)


def test_times_beyond_the_calendar():
    assert moment(None) == "-"
    assert moment(-1) == "1969-12-31 23:59:59.999"
    assert moment(2**61) == "2,305,843,009,213,693,952 µs"


# -- the command -------------------------------------------------------------------------------


def command(folder, *arguments, **environment):
    """The real command in a process of its own, which starts a Spark of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from windrow.cli import app; app()", "inspect", *arguments],
        capture_output=True,
        text=True,
        timeout=180,
        cwd=folder,
        env={**os.environ, **environment},
    )


@pytest.mark.versions
def test_the_command_prints_its_tables_and_nothing_else(spark, kept, tmp_path):
    done = command(tmp_path, str(kept))
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(tmp_path) == []
    lines = done.stdout.splitlines()
    assert lines[0] == f"{kept} after batch {last_commit(kept)}"
    assert lines[2].startswith("left join of a and b")
    [join] = inspect(spark, kept).joins
    for stream in join.streams:
        total = stream.total
        [row] = [line.split() for line in lines if line.startswith(f"all     {stream.name} ")]
        assert row[-5:-2] == [str(total.live), str(total.rows), str(total.chunks)]
        times = [moment(at) for at in (total.oldest, total.newest, total.progress)]
        assert " ".join(row[2:8]) == " ".join(times)


def test_without_java_it_says_so(kept, tmp_path):
    done = command(tmp_path, str(kept), JAVA_HOME="/nonexistent")
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("windrow: there is no Java at /nonexistent/bin/java")


# -- refusals ----------------------------------------------------------------------------------


def refusal(path):
    code, out, err = call(path)
    assert (code, out) == (2, "")
    [line] = err.splitlines()
    return line


def test_what_is_no_checkpoint(spark, tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file", tmp_path / "absent", tmp_path / "[", ""):
        assert "is not the checkpoint of a streaming query" in refusal(path)


def test_checkpoints_without_a_join_of_windrows(fed):
    fed.run(fed.stream("a"), checkpoint="stateless")
    assert "it has no state" in refusal(fed.folder / "stateless")
    one, two = (
        fed.stream(name).withWatermark("t", "1 second").withColumnRenamed("t", f"t{name}")
        for name in "ab"
    )
    near = functions.expr("tb BETWEEN ta AND ta + INTERVAL 1 SECOND")
    native = one.alias("one").join(two.alias("two"), (one["k"] == two["k"]) & near)
    fed.run(native.select("v", "w"), out="native", checkpoint="native")
    assert "its state is of symmetricHashJoin" in refusal(fed.folder / "native")


def test_nothing_committed_yet(fed):
    def fail(frame, number):
        frame.count()
        raise ArithmeticError("no such number")

    checkpoint = fed.folder / "checkpoint"
    query = (
        wr.join(*streams(fed))
        .writeStream.foreachBatch(fail)
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    with pytest.raises(StreamingQueryException, match="no such number"):
        query.awaitTermination(180)
    assert "has not committed a batch yet" in refusal(checkpoint)


def test_another_format(kept, monkeypatch):
    monkeypatch.setattr(log, "FORMAT", log.FORMAT + 1)
    line = refusal(kept)
    assert f"has format {log.FORMAT - 1}, but this version" in line


def test_what_spark_cannot_read_is_one_line(kept, tmp_path):
    broken = tmp_path / "checkpoint"
    shutil.copytree(kept, broken)
    shutil.rmtree(broken / "offsets")
    assert "Spark cannot read the state in" in refusal(broken)
