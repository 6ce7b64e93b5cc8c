"""A join whose memory follows the data, while one stream is far ahead: nothing stored is lost."""

import shutil

import pytest

from .harness import ROWS
from .test_driver_killed import kill_somewhere

pytestmark = pytest.mark.faults

#: So many keys is the first stream ahead: its tuples wait for micro-batches.
LEAD, FILES = 2 * ROWS, 8


def ahead(query, **more):
    """A query on rows that are numbered in the order of their streams."""
    columns = ["k", "t", f"v + {LEAD} AS v", "beat"]
    options = {"windows": (None, None), "streams": {"key": "v"}, "columns": columns}
    return query(files=FILES, how="inner", choices={"memory": "data"}, **options, **more)


def check(found):
    """Each number that both have, once."""
    rows = found.to_pylist()
    assert all(row["a"]["v"] == row["b"]["v"] for row in rows)
    assert sorted(row["b"]["v"] for row in rows) == list(range(LEAD, FILES * ROWS))


@pytest.mark.parametrize("keep", [True, False])
def test_a_driver_killed_again_and_again(driver, new_driver, query, chance, keep):
    job = ahead(query, keep=keep)
    job.offer()
    victim = new_driver()
    for last in (False, True):
        after = driver() if last else new_driver()
        kill_somewhere(victim, job, chance, most=2)
        victim = after
    victim.run(job)
    check(victim.result(job))


def test_a_task_that_fails_after_the_join_is_done(driver, query):
    """Its second attempt must not see what the first one changed."""
    job = ahead(query, hook="fail_after")
    job.offer()
    spark = driver()
    outcome = spark.run(job)
    assert outcome["rebuilds"] > 0
    check(spark.result(job))


def test_arenas_that_are_lost_in_mid_lag(driver, query):
    """At the restart all that is stored has no partner yet."""
    job = ahead(query)
    job.offer(2)
    spark = driver()
    spark.run(job)
    assert spark.result(job).num_rows == 0
    for folder in job.folder.glob("windrow-*"):
        shutil.rmtree(folder)
    job.offer()
    outcome = spark.run(job)
    assert outcome["rebuilds"] > 0
    check(spark.result(job))
