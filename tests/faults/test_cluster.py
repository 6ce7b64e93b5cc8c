"""More than one executor: the join moves between processes, and some of them die."""

import os
import re
import sys
from pathlib import Path

import pyspark
import pytest

from .harness import Process, kill, until

pytestmark = pytest.mark.faults

HOME = Path(pyspark.__file__).parent
SMALL = {"spark.executor.memory": "600m"}


CLUSTER = {"master": "local-cluster[2,1,1024]", **SMALL}


def test_executors_apart_from_the_driver(driver, query):
    job = query(files=6, files_each=2)
    job.offer()
    spark = driver(**CLUSTER)
    spark.run(job)
    job.check(spark.result(job))


def test_attempts_on_two_executors(driver, query):
    """The second attempt may run elsewhere, and read the micro-batch in another order."""
    job = query(files=48, files_each=4, hook="fail_after")
    job.offer(40)
    driver(**CLUSTER).run(job, seconds=150)
    check_from_checkpoint(driver(), job)


def test_speculative_attempts_beside_slow_ones(new_driver, driver, query):
    """Both attempts join the micro-batch and write its state; only one gives its rows."""
    job = query(files=48, files_each=4, hook="slow_first")
    job.offer(40)
    speculation = {
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.1",
    }
    new_driver(**CLUSTER, **speculation).run(job, seconds=150)
    assert any(attempt for _, _, attempt in job.notes("attempt")), "nothing was speculative"
    check_from_checkpoint(driver(), job)


def check_from_checkpoint(spark, job):
    """Another driver goes on: it has no executor's memory, only what was written."""
    job.offer()
    job.request["hook"] = None
    spark.run(job)
    job.check(spark.result(job))


@pytest.fixture
def cluster(processes, tmp_path):
    """A standalone master and two workers on the loopback interface: its address, the workers."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(tmp_path / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    ports = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]

    def start(name, *arguments):
        command = [HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *ports]
        log = tmp_path / f"log-{len(processes)}"
        processes.append(Process([*map(str, command), *arguments], log, env=environment))
        return processes[-1]

    def said(process, pattern):
        return re.search(pattern, process.log.read_text())

    master = start("master.Master")
    address = until(lambda: said(master, r"spark://127.0.0.1:\d+"), 60, "the master")[0]
    workers = [
        start(
            "worker.Worker", "--cores", "1", "--memory", "700m",
            "--work-dir", str(tmp_path / f"work-{n}"), address,
        )
        for n in range(2)
    ]  # fmt: skip
    for worker in workers:
        until(lambda: said(worker, "Successfully registered"), 60, "a worker")  # noqa: B023
    return address, workers


def test_a_cluster_that_loses_a_worker(cluster, new_driver, query):
    address, workers = cluster
    job = query(files=20, files_each=2)
    job.offer()
    spark = new_driver(master=address, **SMALL)
    spark.start(job, seconds=120)
    until(lambda: job.batches >= 2, 90, spark.tail)
    victims = workers[0].processes()
    assert len(victims) >= 3, "a worker, its executor and Python"
    kill(victims)
    before = job.batches
    assert before < 10
    spark.outcomes(150)
    assert job.batches == 11
    job.check(spark.result(job))
