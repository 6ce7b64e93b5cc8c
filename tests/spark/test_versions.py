"""What differs between versions of Spark: `make test-versions` runs it on the oldest and newest.

The other tests that it runs are those marked `versions` in this folder.
"""

import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions

import windrow as wr
from windrow.operators.sizes import PIECE_BYTES
from windrow.spark import auction_source, versions
from windrow.testing import assert_same_rows
from windrow.workload import auctions

pytestmark = pytest.mark.versions

BATCH = """
import windrow as wr
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", "1")
spark = wr.configure(builder.config("spark.ui.enabled", "false")).getOrCreate()
rows = spark.range(100).selectExpr("id % 7 AS k", "timestamp_seconds(id) AS t")
a, b = (wr.stream(rows, name=name, key="k", time="t", window="10 seconds") for name in "ab")
print(wr.join(a, b).count())
"""


def test_a_batch_join_may_be_the_first_thing_that_a_session_does():
    done = subprocess.run([sys.executable, "-c", BATCH], capture_output=True, text=True)
    # Each of 100 rows meets itself, and the one of its key that is 7 seconds away, both ways.
    assert (done.returncode, done.stdout.strip()) == (0, str(100 + 2 * 93)), done.stderr[-2000:]


def test_types_in_arrow_have_their_instants_in_utc(spark):
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        frame = spark.sql(
            "SELECT now() AS t, array(now()) AS l, map('k', struct(now() AS x)) AS m, 1 AS n, "
            "TIMESTAMP_NTZ '2026-01-01' AS w"
        )
        found = versions.arrow_schema(frame.schema)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    utc = pa.timestamp("us", "UTC")
    assert (found.field("t").type, found.field("n").type) == (utc, pa.int32())
    assert found.field("l").type.value_type == utc
    assert found.field("m").type.item_type.field("x").type == utc
    assert found.field("w").type == pa.timestamp("us")


def test_a_stream_of_the_data_source_ends_with_all_rows(spark, tmp_path):
    auction_source.register(spark)
    reader = spark.readStream.format(auction_source.NAME)
    frame = reader.options(table="bids", auctions=300, seed=5, rows_per_batch=400).load()
    query = (
        frame.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    assert query.awaitTermination(60), "the stream did not end"
    found = spark.read.parquet(str(tmp_path / "out")).toArrow()
    assert_same_rows(found, auctions(300, seed=5)[1])


@pytest.mark.parametrize("extra", ["", "nested"])
def test_a_result_wider_than_a_piece(spark, files, extra):
    """As flat columns and, with a nested one, as blobs."""
    side, text = 60, 20_000
    assert side * side * 2 * text > 2 * PIECE_BYTES
    made = pa.table(
        {
            "k": [1] * side,
            "t": pa.array(range(side), pa.timestamp("us", "UTC")),
            "text": [chr(97 + n % 26) * text for n in range(side)],
            **({"nested": [[n] for n in range(side)]} if extra else {}),
        }
    )
    for name in "ab":
        files.write(name, made, side)
    a, b = (
        wr.stream(files.stream(name), name=name, key="k", time="t", window="1 second")
        for name in "ab"
    )
    short = [
        functions.substring(f"{name}.text", text - 1, 2).alias(name)
        if not extra
        else functions.col(f"{name}.nested")[0].alias(name)
        for name in "ab"
    ]
    found = files.run(wr.join(a, b).select(*short, functions.length("a.text").alias("length")))
    assert found.num_rows == side * side
    assert pc.unique(found["length"]).to_pylist() == [text]
    values = range(side) if extra else [2 * chr(97 + n % 26) for n in range(side)]
    expected = sorted((one, two) for one in values for two in values)
    assert sorted(zip(found["a"].to_pylist(), found["b"].to_pylist(), strict=True)) == expected
