"""The driver dies without warning, or sleeps; the next one goes on from the checkpoint."""

import pytest

from .harness import until


def kill_somewhere(driver, job, chance, most):
    """Let it commit up to so many micro-batches more, and kill all of it a moment later."""
    goal = min(job.batches + chance.randint(0, most), job.files - 1)
    before = job.begun
    driver.start(job)
    until(lambda: job.batches >= goal and job.begun > before, 90, driver.tail)
    # Long enough to end anywhere in a micro-batch.
    assert driver.quiet(chance.uniform(0, 1.2)), "it was done before it was killed"
    driver.kill()


def test_a_killed_driver_goes_on_where_it_was(driver, new_driver, query, chance):
    job = query(files=5)
    job.offer()
    victim, spark = new_driver(), driver()
    kill_somewhere(victim, job, chance, most=1)
    spark.run(job)
    job.check(spark.result(job))


@pytest.mark.faults
def test_a_driver_killed_again_and_again(driver, new_driver, query, chance):
    job = query(files=14)
    job.offer()
    victim = new_driver()
    for round in range(4):
        # The next one starts while this one works.
        after = new_driver() if round < 3 else driver()
        kill_somewhere(victim, job, chance, most=2)
        victim = after
    victim.run(job)
    job.check(victim.result(job))


@pytest.mark.faults
def test_a_driver_that_sleeps_while_another_goes_on(driver, new_driver, query, chance):
    """When it wakes up in the middle of its micro-batch, that one is long past."""
    job = query(files=10, files_each=2)
    job.offer()
    first, second = new_driver(), driver()
    first.start(job)
    until(lambda: job.batches >= 1, 90, first.tail)
    assert first.quiet(chance.uniform(0, 1))
    first.pause()
    asleep = job.batches
    second.start(job)
    until(lambda: job.batches > asleep + 1, 90, second.tail)
    first.resume()
    second.answer(120)
    first.answer(120)
    # Whichever of the two gave way at Spark's logs, one that runs alone can go on.
    second.run(job)
    job.check(second.result(job))
