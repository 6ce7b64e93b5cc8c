"""Several queries on one host, and one query started twice."""

import pytest

from .harness import until

pytestmark = pytest.mark.faults


def test_two_queries_in_one_session(driver, query):
    jobs = [query("one", files=5), query("two", files=4, how="left")]
    for job in jobs:
        job.offer()
    spark = driver()
    spark.run(*jobs)
    for job in jobs:
        job.check(spark.result(job))


def test_two_drivers_on_one_host(driver, new_driver, query):
    jobs = [query("one", files=5), query("two", files=5, how="anti")]
    drivers = [driver(), new_driver()]
    for job, spark in zip(jobs, drivers, strict=True):
        job.offer()
        spark.start(job)
    for job, spark in zip(jobs, drivers, strict=True):
        assert spark.answer(150) == [None], spark.tail()
        job.check(spark.result(job))


def test_a_query_started_twice_in_one_session(driver, query):
    """Spark stops one of the two; what the sink has in the end is right."""
    job = query(files=5)
    job.offer()
    spark = driver()
    spark.start(job, job)
    errors = spark.answer(150)
    assert any(errors)
    spark.run(job)
    job.check(spark.result(job))


def test_a_query_started_twice_by_two_drivers(driver, new_driver, query):
    """Each may stop the other at Spark's logs; then one goes on alone."""
    job = query(files=24, files_each=2)
    job.offer(20)
    one, two = driver(), new_driver()
    rivals = []
    for _ in range(3):
        one.start(job)
        before = job.batches
        until(lambda: job.batches > before, 90, one.tail)  # noqa: B023
        two.start(job)
        rivals += [one.answer(150)[0], two.answer(150)[0]]
        if job.batches >= 10:
            break
    assert any(rivals), "they never met"
    job.offer()
    one.run(job)
    job.check(one.result(job))
