"""Several queries on one host, and one query started twice."""

import pytest

from .harness import until

pytestmark = pytest.mark.faults


def test_two_queries_in_one_session(driver, query, tmp_path):
    jobs = [query(how, files=4, how=how, arena=str(tmp_path)) for how in ("full", "left")]
    for job in jobs:
        job.offer()
    spark = driver()
    spark.run(*jobs)
    for job in jobs:
        job.check(spark.result(job))


def test_two_drivers_on_one_host(driver, query, tmp_path):
    jobs = [query(how, files=4, how=how, arena=str(tmp_path)) for how in ("full", "anti")]
    drivers = [driver(), driver(**SECOND)]
    for job, spark in zip(jobs, drivers, strict=True):
        job.offer()
        spark.start(job)
    for job, spark in zip(jobs, drivers, strict=True):
        spark.outcomes(150)
        job.check(spark.result(job))


#: A driver beside the usual one.
SECOND = {"spark.app.name": "second"}


def test_a_query_started_twice_in_one_session(driver, query):
    """Spark stops the first when the second starts; what the sink has in the end is right."""
    job = query(files=5)
    job.offer()
    spark = driver()
    spark.start(job, job)
    first, second = spark.answer(150)
    # Ten would be all: five files in two buckets.
    assert first["error"] or first["hits"] + first["rebuilds"] < 10, (first, second)
    spark.run(job)
    job.check(spark.result(job))


def test_a_query_started_twice_by_two_drivers(driver, query):
    """Each may stop the other at Spark's logs; then one goes on alone."""
    job = query(files=24, files_each=2)
    job.offer(20)
    one, two = driver(), driver(**SECOND)
    errors = []
    while job.batches < 10 and len(errors) < 6:
        before = job.batches
        one.start(job)
        until(lambda: job.batches > before, 90, one.tail)  # noqa: B023
        two.start(job)
        errors += [spark.answer(150)[0]["error"] for spark in (one, two)]
    assert any(errors), "they never met"
    job.offer()
    one.run(job)
    job.check(one.result(job))
