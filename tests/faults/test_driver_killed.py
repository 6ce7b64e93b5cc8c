"""The driver dies without warning; the next one goes on from the checkpoint."""

import os
import signal

import pytest

from .harness import kill, until


def kill_somewhere(driver, query, chance, most=2):
    """Let it commit a few micro-batches more and kill everything a moment later."""
    goal = min(query.batches + chance.randint(0, most), query.files - 1)
    driver.start(query)
    started = query.offset_entries
    until(lambda: query.batches >= goal and query.offset_entries > started, 90, driver.tail)
    # Long enough to end anywhere in a micro-batch.
    with pytest.raises(AssertionError, match="no answer"):
        driver.answer(chance.uniform(0, 1.5))
    driver.kill()


def test_a_killed_driver_goes_on_where_it_was(new_driver, query, chance):
    job = query(files=4)
    job.offer()
    kill_somewhere(new_driver(), job, chance, most=1)
    again = new_driver()
    again.run(job)
    job.check(again.result(job))


@pytest.mark.faults
def test_a_driver_killed_again_and_again(new_driver, query, chance):
    job = query(files=12)
    job.offer()
    for _ in range(4):
        kill_somewhere(new_driver(), job, chance)
    again = new_driver()
    again.run(job)
    job.check(again.result(job))


@pytest.mark.faults
def test_workers_that_outlive_their_driver_do_no_harm(new_driver, query, chance):
    """They are stopped in the middle, their driver dies, and they wake up beside the next one."""
    job = query(files=8)
    job.offer()
    first = new_driver()
    first.start(job)
    until(lambda: job.batches >= 2, 90, first.tail)
    busy = until(lambda: first.workers(running=True), 30, "a worker at work")
    for pid in busy:
        os.kill(pid, signal.SIGSTOP)
    kill(set(first.processes()) - set(busy))

    second = new_driver()
    second.start(job)
    before = job.batches
    until(lambda: job.batches > before, 90, second.tail)
    assert set(busy) & set(first.processes()), "they died with their driver"
    for pid in busy:
        os.kill(pid, signal.SIGCONT)
    assert second.answer(120) == [None], second.tail()
    job.check(second.result(job))
