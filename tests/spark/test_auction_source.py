"""The data source of auctions and bids: the generator's rows, as a batch and as a stream."""

import pyarrow as pa
import pytest

import windrow as wr
from windrow.spark import auction_source
from windrow.spark.auction_source import Range, Rows, StreamReader
from windrow.testing import assert_same_rows
from windrow.workload import auctions

COUNT, SEED = 300, 5
DRAWN = dict(zip(auction_source.TABLES, auctions(COUNT, SEED), strict=True))


@pytest.fixture
def reading(spark):
    auction_source.register(spark)

    def options(reader, table, rows_per_batch):
        given = {"auctions": COUNT, "seed": SEED, "rows_per_batch": rows_per_batch}
        return reader.format(auction_source.NAME).options(table=table, **given).load()

    return options


@pytest.mark.parametrize("table", auction_source.TABLES)
def test_a_batch_has_the_generators_rows_in_their_order(spark, reading, table):
    frame = reading(spark.read, table, 100)
    assert frame.rdd.getNumPartitions() == DRAWN[table].num_rows // 100
    got = frame.toArrow()
    assert got.schema.names == DRAWN[table].schema.names
    assert got.cast(DRAWN[table].schema).equals(DRAWN[table])


def test_a_stream_has_them_too_in_micro_batches_and_ends(spark, reading, tmp_path):
    def run():
        query = (
            reading(spark.readStream, "bids", 400)
            .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(tmp_path / "out"))
        )
        assert query.awaitTermination(60), "the stream did not end"
        return [each.numInputRows for each in query.recentProgress if each.numInputRows]

    assert run() == [400, 400, 400, 300]
    assert_same_rows(spark.read.parquet(str(tmp_path / "out")).toArrow(), DRAWN["bids"])
    assert run() == [], "the offsets of the first run were forgotten"


def test_limits_are_kept():
    limits = pytest.importorskip(
        "pyspark.sql.streaming.datasource", reason="Spark 4.1 has no limits"
    )
    everything, most = limits.ReadAllAvailable, limits.ReadMaxRows
    reader = StreamReader(Rows("auctions", COUNT, SEED, 100))
    assert reader.getDefaultReadLimit() == most(100)
    assert reader.latestOffset({"row": 50}, most(7)) == {"row": 57}
    assert reader.latestOffset({"row": 250}, most(100)) == {"row": COUNT}
    assert reader.latestOffset({"row": 0}, everything()) == {"row": COUNT}
    assert reader.latestOffset({"row": COUNT}, most(7)) == {"row": COUNT}
    assert reader.latestOffset() == {"row": COUNT}, "as Spark 4.1 asks"
    assert reader.partitions({"row": 50}, {"row": 270}) == [
        Range(50, 150),
        Range(150, 250),
        Range(250, 270),
    ]
    assert reader.partitions({"row": 50}, {"row": 50}) == []
    pieces = [batch for part in (Range(0, 120), Range(120, COUNT)) for batch in reader.read(part)]
    assert pa.Table.from_batches(pieces).equals(DRAWN["auctions"].combine_chunks())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "option table is None; expected one of auctions, bids"),
        ({"table": "sales"}, "option table is 'sales'"),
        ({"table": "bids", "auctions": "0"}, "option auctions is '0'; give a number, 1 or more"),
        ({"table": "bids", "seed": "seven"}, "option seed is 'seven'; give a number, 0 or more"),
        ({"table": "bids", "rows_per_batch": "-1"}, "option rows_per_batch is '-1'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(wr.WindrowError, match=message):
        Rows.of(options)


def test_a_wrong_option_is_named_when_the_frame_is_made(spark):
    auction_source.register(spark)
    with pytest.raises(Exception, match="option table is 'sales'"):
        spark.read.format(auction_source.NAME).option("table", "sales").load()
