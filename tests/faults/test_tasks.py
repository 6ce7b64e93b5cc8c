"""A task fails in the middle or at its very end; Spark runs it again."""

import threading
import time

import pytest

from .harness import kill, until

pytestmark = pytest.mark.faults


def test_a_task_that_fails_after_the_join_is_done(driver, query):
    """Its second attempt must not see what the first one changed."""
    job = query(files=6, hook="fail_after")
    job.offer()
    spark = driver()
    spark.run(job)
    notes = job.notes("attempt")
    assert {(b, p, n) for b in range(7) for p in (0, 1) for n in (0, 1)} == set(notes)
    job.check(spark.result(job))


def test_workers_killed_in_the_middle_of_a_micro_batch(driver, query):
    job = query(files=5, hook="hold")
    job.offer()
    spark = driver()
    spark.start(job)
    until(lambda: job.notes("hold"), 90, spark.tail)
    kill(spark.workers())
    killed = 1
    while spark.quiet(0.1):
        if len(job.notes("hold")) > killed:
            kill(spark.workers())
            killed += 1
    assert spark.answer(90) == [None], spark.tail()
    job.check(spark.result(job))


def test_workers_killed_at_random(new_driver, query, chance):
    # A task may meet more than one kill; the default of four failures is too few for that.
    job = query(files=14)
    job.offer()
    spark = new_driver(master="local[2,20]")
    spark.start(job)
    until(lambda: job.batches >= 1, 90, spark.tail)
    killed = []
    over = threading.Event()

    def murder():
        while not over.wait(chance.uniform(0.3, 1.2)):
            deadline = time.monotonic() + 1
            while not (busy := spark.workers(running=True)) and time.monotonic() < deadline:
                time.sleep(0.002)
            if busy:
                killed.append(chance.choice(busy))
                kill(killed[-1:])

    thread = threading.Thread(target=murder)
    thread.start()
    try:
        errors = spark.answer(150)
    finally:
        over.set()
        thread.join()
    assert errors == [None], spark.tail()
    assert len(killed) >= 3
    assert "Python worker exited unexpectedly" in spark.log.read_text()
    job.check(spark.result(job))
