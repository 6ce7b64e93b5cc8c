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


def test_executors_apart_from_the_driver(new_driver, query):
    job = query(files=8, files_each=2)
    job.offer()
    spark = new_driver(master="local-cluster[2,1,1024]", **SMALL)
    spark.run(job)
    job.check(spark.result(job))


def test_speculative_attempts_beside_slow_ones(new_driver, query):
    """Both attempts join the micro-batch and write its state; only one gives its rows."""
    job = query(files=40, files_each=4, hook="slow_first")
    job.offer(30)
    speculation = {
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.minTaskRuntime": "0ms",
    }
    spark = new_driver(master="local-cluster[2,1,1024]", **SMALL, **speculation)
    spark.run(job)
    # A new run reads the state from the checkpoint, not from where an executor left it.
    job.offer()
    spark.kill()
    spark = new_driver()
    spark.run(job)
    assert any(attempt for _, _, attempt in job.notes("attempt")), "nothing was speculative"
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
    assert spark.answer(150) == [None], spark.tail()
    assert job.batches == 11
    job.check(spark.result(job))
