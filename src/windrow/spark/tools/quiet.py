"""A Spark for one job in a terminal: local mode, with what the JVM has to say in a file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from windrow.model import WindrowError
from windrow.spark import session

#: Lines of the log that go into a message.
SHOWN = 5


@contextmanager
def local_session(folder: Path, cores: int) -> Iterator[SparkSession]:
    """A session for the time of the block; its files and its log are in the folder."""
    check_java()
    settings = {
        "spark.master": f"local[{cores}]",
        "spark.app.name": "windrow",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        session.ARENA: str(folder / "arena"),
        # Everything is on this machine, whatever its name resolves to.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # A short job ends before the better compiler and the better collector have paid off.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **session.NEEDED,
        **session.WANTED,
    }
    conf = SparkConf().setAll(list(settings.items()))
    builder = session.configure(SparkSession.builder)
    context = SparkContext(conf=conf, gateway=launch(conf, folder / "spark.log"))
    try:
        yield builder.getOrCreate()
    finally:
        context.stop()


def launch(conf: SparkConf, log: Path) -> Any:
    """Start the JVM. Its warnings come before any log level could be set, so they go to a file."""
    with log.open("wb") as file:
        try:
            return launch_gateway(conf, {"stdout": file, "stderr": file})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            said = log.read_text(errors="replace").strip().splitlines()[:SHOWN]
            raise WindrowError(
                "Spark did not start; it needs Java 17 or newer and runs the one of JAVA_HOME, "
                "else the first on the PATH. It said:\n  " + "\n  ".join(said or ["nothing"])
            ) from error


def check_java() -> None:
    """Say what is missing, before Spark says it in its own words."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    if shutil.which(java) is None:
        place = f"at {java} (by JAVA_HOME)" if home else "on the PATH, and JAVA_HOME is not set"
        raise WindrowError(
            f"there is no Java {place}, but Spark needs Java 17 or newer; install it (on Debian: "
            "apt-get install openjdk-17-jre-headless). The demo has --in-process, too"
        )
