"""A client of Spark Connect in a process of its own: one process has one kind of session."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

# What a client needs comes with pyspark[connect].
collect_ignore_glob = [] if importlib.util.find_spec("grpc") else ["test_*"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="session")
def told(folder):
    """What the client has to say, by question."""
    done = subprocess.run(
        [sys.executable, "-m", "connect.client", str(folder)],
        cwd=Path(__file__).parents[1],
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "told.json").read_text())
