"""A join of three streams: its driver is killed, its tasks fail, its arenas are lost."""

import shutil

import pytest

from .test_driver_killed import kill_somewhere

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("keep", [True, False])
def test_a_driver_killed_again_and_again(driver, new_driver, query, chance, how, keep):
    job = query(files=8, inputs=3, how=how, keep=keep)
    job.offer()
    victim = new_driver()
    for last in (False, True):
        after = driver() if last else new_driver()
        kill_somewhere(victim, job, chance, most=2)
        victim = after
    victim.run(job)
    job.check(victim.result(job))


@pytest.mark.parametrize("order", ["none", "sync-filter", "filter-order"])
def test_a_task_that_fails_after_the_join_is_done(driver, query, order):
    """Its second attempt must not see what the first one changed."""
    choices = {"order": order, "condition": "a.v <> b.v AND b.v <> c.v"}
    job = query(files=5, inputs=3, how="left", hook="fail_after", choices=choices)
    job.offer()
    spark = driver()
    outcome = spark.run(job)
    assert len(job.notes("attempt")) == 2 * len({note[:2] for note in job.notes("attempt")})
    assert outcome["rebuilds"] > 0
    job.check(spark.result(job))


@pytest.mark.parametrize("how", ["inner", "left"])
def test_arenas_that_are_lost_between_two_runs(driver, query, how):
    job = query(files=6, inputs=3, how=how)
    job.offer(3)
    spark = driver()
    spark.run(job)
    for folder in job.folder.glob("windrow-*"):
        shutil.rmtree(folder)
    job.offer()
    spark.run(job)
    found = spark.result(job)
    job.check(found)
    assert sum(row["b"] is not None for row in found.to_pylist()) > 10
