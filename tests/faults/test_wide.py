"""A wide result, from few rows: a query that cannot get through it is stuck for ever."""

import pyarrow as pa
import pytest

from .harness import until

pytestmark = pytest.mark.faults

#: 400 rows with 20 kB of text meet 400 others: 8 MB of input, 3.2 GB of result.
FILES, TEXT = 10, 20_000


@pytest.fixture
def wide(query):
    """One micro-batch in which every row of a stream meets every row of the other."""
    job = query(files=FILES, how="inner", files_each=FILES, text=TEXT)
    job.tables = [
        each.set_column(0, "k", pa.array(["one key"] * each.num_rows)) for each in job.tables
    ]
    job.offer()
    return job


def test_a_wide_result(driver, wide):
    spark = driver()
    spark.run(wide, seconds=480)
    found = spark.result(wide)
    assert found.num_rows == 400 * 400
    wide.check(found)


def test_a_driver_killed_in_the_middle_of_a_wide_result(driver, new_driver, wide, chance):
    victim, spark = new_driver(), driver()
    victim.start(wide, seconds=480)
    until(lambda: wide.begun, 90, victim.tail)
    assert victim.quiet(chance.uniform(1, 5)), "it was done before it was killed"
    victim.kill()
    assert wide.batches == 0
    spark.run(wide, seconds=480)
    wide.check(spark.result(wide))
