"""Bucket ids against Spark's own hash."""

import pytest
from pyspark.sql import functions

from windrow.spark.buckets import bucket_ids, of_task


def by_spark(spark, count):
    """For each partition the smallest number that Spark sends there."""
    number = functions.col("id").cast("int")
    place = functions.pmod(functions.hash(number), functions.lit(count))
    drawn = spark.range(200 * count).select(number.alias("id"), place.alias("place"))
    found = drawn.groupBy("place").agg(functions.min("id").alias("id")).collect()
    return tuple(row["id"] for row in sorted(found))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 64, 200])
def test_ids_are_those_that_spark_spreads(spark, count):
    assert bucket_ids(count) == by_spark(spark, count)


def test_ids_of_many_buckets_are_all_different():
    assert len(set(bucket_ids(10_000))) == 10_000
    assert 0 in bucket_ids(10_000)


def test_without_a_task_the_drivers_number_counts():
    assert of_task(5) == 5
