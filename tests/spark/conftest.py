"""A real Spark session in local mode, and streams of parquet files to read."""

import os

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow as wr


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    )
    session = wr.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


class Files:
    """Tables as folders of parquet files, one file a micro-batch."""

    def __init__(self, spark, folder):
        self.spark = spark
        self.folder = folder

    def write(self, name, table, rows):
        os.makedirs(self.folder / name, exist_ok=True)
        written = len(os.listdir(self.folder / name))
        for number, at in enumerate(range(0, table.num_rows, rows), start=written):
            path = self.folder / name / f"{number:03}.parquet"
            pq.write_table(table.slice(at, rows), path)
            # The file source goes by age; files of one second would come in any order.
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))

    def batch(self, name):
        return self.spark.read.parquet(str(self.folder / name))

    def stream(self, name):
        return (
            self.spark.readStream.schema(self.batch(name).schema)
            .option("maxFilesPerTrigger", 1)
            .parquet(str(self.folder / name))
        )

    def run(self, frame, out="out", checkpoint="checkpoint", **trigger):
        """Run a streaming query over all files there are; returns all that it ever wrote."""
        query = (
            frame.writeStream.format("parquet")
            .option("checkpointLocation", str(self.folder / checkpoint))
            .trigger(**trigger or {"availableNow": True})
            .start(str(self.folder / out))
        )
        if "processingTime" in trigger:
            try:
                query.processAllAvailable()
            finally:
                query.stop()
        assert query.awaitTermination(180), "the query did not end in time"
        return self.spark.read.parquet(str(self.folder / out)).toArrow()


@pytest.fixture
def files(spark, tmp_path):
    return Files(spark, tmp_path)
