"""A standalone cluster on the loopback interface, with workers to kill."""

import os
import re
import sys
from pathlib import Path

import pyspark

from .harness import Process, until
from .job import JAVA

HOME = Path(pyspark.__file__).parent
#: Two hosts, as far as Spark can see: it runs no second attempt beside the first on one host.
HOSTS = ("127.0.0.1", "127.0.0.2")


class Cluster:
    """A master and a worker on each host, with one core."""

    def __init__(self, folder):
        self.folder = folder
        self.started = 0
        self.master = self._start("master.Master", HOSTS[0])
        self.address = self._says(self.master, r"spark://[\d.]+:\d+")
        self.workers = {}

    def heal(self):
        """Start the workers that are not there."""
        missing = [host for host in HOSTS if not self._alive(host)]
        for host in missing:
            work = ["--work-dir", str(self.folder / host)]
            self.workers[host] = self._start(
                "worker.Worker", host, "--cores", "1", "--memory", "700m", *work, self.address
            )
        for host in missing:
            self._says(self.workers[host], "Successfully registered")

    def kill(self):
        for process in (*self.workers.values(), self.master):
            process.kill()

    def _alive(self, host):
        return host in self.workers and self.workers[host].process.poll() is None

    def _start(self, name, host, *arguments):
        environment = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": host,
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": JAVA,
            "PYSPARK_PYTHON": sys.executable,
        }
        self.started += 1
        return Process(
            [
                # Should the tests themselves be killed, it ends anyway.
                *("timeout", "--signal=KILL", "900"),
                str(HOME / "bin" / "spark-class"),
                f"org.apache.spark.deploy.{name}",
                *("--host", host, "--port", "0", "--webui-port", "0"),
                *arguments,
            ],
            self.folder / f"log-{self.started}",
            env=environment,
        )

    def _says(self, process, pattern):
        return until(lambda: re.search(pattern, process.log.read_text()), 60, pattern)[0]
