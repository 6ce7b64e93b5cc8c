"""A task fails in the middle or at its very end; Spark runs it again."""

import time

import pytest

from .harness import kill, until

pytestmark = pytest.mark.faults


def test_a_task_that_fails_after_the_join_is_done(driver, query):
    """Its second attempt must not see what the first one changed."""
    job = query(files=5, hook="fail_after")
    job.offer()
    spark = driver()
    outcome = spark.run(job)
    notes = {(b, p, n) for b in range(6) for p in (0, 1) for n in (0, 1)}
    assert {note[:3] for note in job.notes("attempt")} == notes
    assert outcome["rebuilds"] > 0
    job.check(spark.result(job))


def test_workers_killed_in_the_middle_of_a_micro_batch(driver, query):
    job = query(files=5, hook="hold")
    job.offer()
    spark = driver()
    spark.start(job)
    until(lambda: job.notes("hold"), 90, spark.tail)
    seen = 0
    while spark.quiet(0.05):
        if len(job.notes("hold")) > seen:
            seen += 1
            kill(spark.workers())
    assert seen
    spark.outcomes(1)
    job.check(spark.result(job))


def test_workers_killed_at_random(driver, query, chance):
    """One in each micro-batch, so that no task fails more often than Spark allows."""
    job = query(files=8)
    job.offer()
    spark = driver()
    before = lost(spark)
    spark.start(job)
    killed = []
    while job.batches < 8 and spark.answers.empty():
        done = job.batches
        until(lambda: job.begun > done or not spark.answers.empty(), 60, spark.tail)  # noqa: B023
        time.sleep(chance.uniform(0, 0.5))
        # Workers have something to do for a few hundredths of a second at a time.
        while job.batches == done and spark.answers.empty():
            if busy := spark.workers(running=True):
                killed.append(chance.choice(busy))
                kill(killed[-1:])
                break
        until(lambda: job.batches > done or not spark.answers.empty(), 60, spark.tail)  # noqa: B023
    spark.outcomes(90)
    assert len(killed) >= 3
    assert lost(spark) > before
    job.check(spark.result(job))


def lost(spark):
    return spark.log.read_text().count("Python worker exited unexpectedly")
