"""Two joins in one query, and a driver that is killed in the middle of them."""

import pyarrow as pa
import pytest

from windrow.testing import assert_same_rows, duckdb_join

from . import job
from .test_driver_killed import kill_somewhere

pytestmark = pytest.mark.faults


def chained(tables, how):
    """The oracle's answer to the chain."""
    ab = duckdb_join(*job.streams(*tables), how="inner")
    return duckdb_join(*job.second_of(ab, tables[1]), how=how)


def doubled(tables, how):
    """The oracle's answer to the same join twice."""
    return pa.concat_tables([duckdb_join(*job.streams(*tables), how=how)] * 2)


@pytest.mark.parametrize(
    ("joins", "how", "expected"),
    [("chain", "left", chained), ("chain", "inner", chained), ("twice", "full", doubled)],
)
@pytest.mark.parametrize("keep", [True, False])
def test_two_joins_in_one_query(driver, new_driver, query, chance, joins, how, expected, keep):
    work = query(files=6, joins=joins, how=how, keep=keep)
    work.offer(4)
    victim, spark = new_driver(), driver()
    kill_somewhere(victim, work, chance, most=2)
    spark.run(work, seconds=240)
    work.offer()
    done = spark.run(work, seconds=240)
    assert_same_rows(spark.result(work), expected(work.tables, how))
    # Each join has arenas of its own, or both would make their state again at each micro-batch.
    assert done["hits"] >= done["rebuilds"]
