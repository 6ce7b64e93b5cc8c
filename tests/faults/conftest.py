"""Drivers to break. Some are kept for the next test: a Spark session takes seconds to start."""

import json
import os
import random

import pytest

from .cluster import Cluster
from .harness import Driver, Query

# A script that a driver runs as a file beside `job.py`: not a module that doctest could import.
collect_ignore = ["queries_job.py"]
# Processes are found by what Linux tells about them.
collect_ignore_glob = [] if os.path.isdir("/proc/self") else ["test_*"]


@pytest.fixture(scope="package")
def _kept(tmp_path_factory):
    kept = {}
    yield kept
    for driver in kept.values():
        driver.kill()


@pytest.fixture
def driver(_kept, tmp_path_factory):
    """A driver with these settings that an earlier test may have used and left in good health."""

    def get(**settings):
        key = json.dumps(settings, sort_keys=True)
        found = _kept.get(key)
        if found is None or not found.idle:
            if found is not None:
                found.kill()
            log = tmp_path_factory.mktemp("driver") / "log"
            found = _kept[key] = Driver(log, **settings)
        return found

    return get


@pytest.fixture(scope="package")
def _cluster(tmp_path_factory):
    kept = Cluster(tmp_path_factory.mktemp("cluster"))
    yield kept
    kept.kill()


@pytest.fixture
def cluster(_cluster):
    """A cluster with all its workers."""
    _cluster.heal()
    return _cluster


@pytest.fixture
def processes():
    """Keeps what the test starts, to kill it in any case."""
    started = []
    yield started
    for process in started:
        process.kill()


@pytest.fixture
def new_driver(processes, tmp_path):
    """Starts a driver for this test alone."""

    def start(**settings):
        processes.append(Driver(tmp_path / f"log-{len(processes)}", **settings))
        return processes[-1]

    return start


@pytest.fixture
def query(tmp_path):
    """Makes a join of two streams in a folder of this test."""

    def make(name="query", **more):
        return Query(tmp_path / name, **more)

    return make


@pytest.fixture
def chance():
    """Random numbers; FAULTS_SEED repeats those of a test that failed."""
    seed = int(os.environ.get("FAULTS_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"FAULTS_SEED={seed}")
    return random.Random(seed)
