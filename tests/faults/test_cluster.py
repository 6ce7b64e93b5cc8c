"""More than one executor: the join moves between processes, and some of them die."""

import pytest

from windrow.spark.session import LOCAL_FILE_MANAGER

from .cluster import HOSTS
from .harness import kill, until

pytestmark = pytest.mark.faults

SMALL = {"spark.executor.memory": "600m"}
#: Tasks go to whichever executor is free, not to the one that has the state at hand.
ANYWHERE = {"spark.locality.wait": "0s", **SMALL}
#: A second attempt goes to another executor.
ELSEWHERE = {
    "spark.excludeOnFailure.taskAndStage.enabled": "true",
    "spark.excludeOnFailure.stage.maxFailedTasksPerExecutor": "100",
    "spark.excludeOnFailure.task.maxTaskAttemptsPerNode": "100",
}
LOCAL_CLUSTER = {"master": "local-cluster[2,1,1024]", **ANYWHERE, **ELSEWHERE}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
}


def test_executors_apart_from_the_driver(driver, query):
    job = query(files=6, files_each=2)
    job.offer()
    spark = driver(**LOCAL_CLUSTER)
    assert spark.run(job)["manager"] == LOCAL_FILE_MANAGER
    job.check(spark.result(job))


def test_attempts_on_two_executors(driver, query):
    """Both write the state of a micro-batch, which may reach them in another order.

    What one executor has in memory is then not what the other one wrote down.
    """
    # With one task, each executor keeps the state it has: there is no other to make room for.
    job = query(files=24, files_each=4, partitions=1, hook="fail_after")
    job.offer(20)
    driver(**LOCAL_CLUSTER).run(job, seconds=150)
    executors = {(batch, part, n): executor for batch, part, n, executor in job.notes("attempt")}
    assert any(executors[b, p, n] != executors[b, p, 0] for b, p, n in executors if n)
    check_from_checkpoint(driver(), job)


def test_speculative_attempts_beside_slow_ones(cluster, driver, query):
    """Both attempts join the micro-batch and write its state; only one gives its rows."""
    job = query(files=36, files_each=4, hook="slow_first")
    job.offer(32)
    driver(master=cluster.address, **ANYWHERE, **SPECULATION).run(job, seconds=150)
    assert any(number for _, _, number, _ in job.notes("attempt")), "nothing was speculative"
    check_from_checkpoint(driver(), job)


def check_from_checkpoint(spark, job):
    """Another driver goes on, as on another host: it has what was written and nothing else."""
    job.offer()
    job.request.update(hook=None, arena=str(job.folder / "other host"))
    assert spark.run(job)["rebuilds"] == job.request.get("partitions", 2)
    job.check(spark.result(job))


def test_a_cluster_that_loses_a_worker(cluster, driver, query):
    job = query(files=20, files_each=2)
    job.offer()
    spark = driver(master=cluster.address, **ANYWHERE, **SPECULATION)
    spark.start(job, seconds=120)
    until(lambda: job.batches >= 2, 90, spark.tail)
    victims = cluster.workers[HOSTS[1]].processes()
    assert len(victims) >= 3, "a worker, its executor and Python"
    assert job.batches < 10
    kill(victims)
    (outcome,) = spark.outcomes(150)
    assert outcome["manager"] is None, "a cluster may have its files anywhere"
    assert job.batches == 11
    job.check(spark.result(job))
