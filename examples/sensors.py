"""A data centre's sensors, and questions about them that come and go (paper 2, section 2.1).

    python examples/sensors.py

Temperature and humidity are read at each location. Two queries run from the start: at how many
places is it hot and damp now, and what were the highest values of each place in the last hour? They
differ in their windows and filters and share one join. A third one is added while they run, and the
first is dropped: nothing is restarted.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, functions

import windrow as wr

LOCATIONS, SECOND = 20, 1_000_000
#: A reading of each sensor every minute, and half an hour in a file.
EVERY, SPAN = 60 * SECOND, 1800 * SECOND

DAMP = """
SELECT COUNT(DISTINCT A.LocationId)
FROM Temperature A, Humidity B
WHERE A.LocationId = B.LocationId AND A.Value > 30 AND B.Value > 60
WINDOW 1 min
"""
HIGHEST = """
SELECT A.LocationId, MAX(A.Value), MAX(B.Value)
FROM Temperature A, Humidity B
WHERE A.LocationId = B.LocationId
GROUP BY A.LocationId
WINDOW 1 hour SLIDE 30 min
"""
ALARM = """
SELECT A.LocationId AS location, A.Value AS temperature, B.Value AS humidity, ts
FROM Temperature A, Humidity B
WHERE A.LocationId = B.LocationId AND A.Value > 33 AND B.Value > 70
WINDOW 30 s
"""


def main() -> None:
    """Run the queries on Spark in local mode, and show what they answer."""
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[2]").appName("sensors")
        spark = (
            wr.configure(builder)
            .config("spark.sql.shuffle.partitions", 2)
            .config("spark.sql.warehouse.dir", folder)
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
        try:
            run(spark, Path(folder))
        finally:
            spark.stop()


def run(spark: SparkSession, folder: Path) -> None:
    """Queries that come and go, over half an hour after half an hour."""

    def stream(name: str) -> wr.Stream:
        place = folder / name
        place.mkdir()
        frame = spark.readStream.schema("LocationId INT, Value DOUBLE, at TIMESTAMP")
        return wr.stream(frame.parquet(str(place)), name=name, key="LocationId", time="at")

    queries = wr.ContinuousQueries(
        stream("Temperature"), stream("Humidity"), checkpoint=str(folder / "checkpoint")
    )
    queries.add(DAMP, name="hot and damp")
    queries.add(HIGHEST, name="highest values")
    read(folder, 0)
    queries.start()
    queries.process_all_available()
    show("Places that are hot and damp:", queries.answers("hot and damp"))

    queries.add(ALARM, name="alarms")
    queries.drop("hot and damp")
    for half_hour in (1, 2, 3):
        read(folder, half_hour)
        queries.process_all_available()
    print(queries.status())
    show("Alarms since the query was added:", queries.answers("alarms"))
    highest = queries.answers("highest values")
    newest = functions.lit(highest.agg({"ts": "max"}).collect()[0][0])
    show("The highest values of the last hour:", highest.where(functions.col("ts") == newest))
    queries.stop()


def show(what: str, answers: DataFrame) -> None:
    """Some of the answers. Names as those of the paper have dots and brackets."""
    print(what)
    names = [f"`{name}`" for name in answers.columns if name != "ts"]
    answers.orderBy("ts", *names).show(5, truncate=False)


def read(folder: Path, half_hour: int) -> None:
    """Half an hour of readings. Where it gets hot, it does so for some minutes."""
    chance = np.random.default_rng(half_hour)
    count = SPAN // EVERY
    for name, usual, spread in (("Temperature", 24.0, 6.0), ("Humidity", 55.0, 12.0)):
        location = np.tile(np.arange(LOCATIONS, dtype=np.int32), count)
        drift = np.repeat(chance.normal(0, 1, (count // 5, LOCATIONS)), 5, axis=0).ravel()
        value = usual + spread * (0.8 * drift + 0.6 * chance.normal(0, 1, len(location)))
        at = half_hour * SPAN + np.repeat(np.arange(count), LOCATIONS) * EVERY
        at = np.sort(at + chance.integers(0, 20 * SECOND, len(at)))
        rows = {
            "LocationId": location,
            "Value": np.round(value, 1),
            "at": pa.array(at, pa.timestamp("us", "UTC")),
        }
        hidden = folder / name / f".{half_hour}.parquet"
        pq.write_table(pa.table(rows), hidden)
        hidden.rename(folder / name / f"{half_hour}.parquet")


if __name__ == "__main__":
    main()
