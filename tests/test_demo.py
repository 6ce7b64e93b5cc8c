"""The demo from the command line: its answer, its silence, and what it says without Java."""

import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc
import pytest
from typer.testing import CliRunner

from windrow.cli import app
from windrow.demo import job
from windrow.workload import auctions


def call(*arguments):
    result = CliRunner().invoke(app, ["demo", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def alone(*command):
    """In a process of its own, which has nothing of this one's Spark."""
    return subprocess.run([*map(str, command)], capture_output=True, text=True)


def test_in_process():
    code, out, err = call("--in-process", "--auctions", "400")
    assert (code, err) == (0, "")
    assert out.startswith("400 auctions, 2,000 bids; every bid of an auction's first 5 minutes")
    assert "auctions without a bid" in out
    assert out.endswith("The same rows as DuckDB's range join.\n")


def test_a_wrong_answer_is_told_and_ends_with_1(monkeypatch):
    # The join sees all auctions, the check one less.
    left_out = iter([0, 1])
    streams = job.streams
    monkeypatch.setattr(job, "streams", lambda o, b: streams(o.slice(next(left_out)), b))
    code, out, _ = call("--in-process", "--auctions", "400")
    assert code == 1
    assert "NOT the rows of DuckDB's range join!" in out


@pytest.mark.parametrize("count", [100, 400, job.AUCTIONS])
def test_every_auction_is_settled_when_the_bids_end(count):
    """On Spark a stream has no end, so the last bid must be past the last auction's window."""
    opened, bids = auctions(count, seed=job.SEED)
    after = pc.max(bids["bid_at"]).as_py() - pc.max(opened["opened_at"]).as_py()
    assert after.total_seconds() > 60 * job.WINDOW_MINUTES


@pytest.mark.parametrize(
    ("home", "message"),
    [
        (None, "there is no Java on the PATH, and JAVA_HOME is not set"),
        ("/nowhere", "there is no Java at /nowhere/bin/java (by JAVA_HOME)"),
    ],
)
def test_without_java(monkeypatch, tmp_path, home, message):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if home:
        monkeypatch.setenv("JAVA_HOME", home)
    code, _, err = call("--auctions", "100")
    assert code == 2
    assert message in err
    assert "--in-process" in err


def test_a_java_that_does_not_start_spark(monkeypatch, tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho UnsupportedClassVersionError >&2\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, _, err = call("--auctions", "100")
    assert code == 2
    assert "Spark did not start; it needs Java 17 or newer" in err
    assert "UnsupportedClassVersionError" in err


def test_spark_starts_without_a_word(tmp_path):
    script = (
        "import pathlib, sys\n"
        "from windrow.spark.tools.quiet import local_session\n"
        "with local_session(pathlib.Path(sys.argv[1]), 1) as spark:\n"
        "    print(spark.range(7).count())\n"
    )
    done = alone(sys.executable, "-c", script, tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("7\n", "", 0)
    assert (tmp_path / "spark.log").stat().st_size > 0, "the warnings are somewhere"


@pytest.mark.long
def test_the_whole_demo():
    done = alone(Path(sys.executable).with_name("windrow"), "demo", "--auctions", "1000")
    assert (done.stderr, done.returncode) == ("", 0)
    assert "10 micro-batches: 6,000 rows in" in done.stdout
    assert done.stdout.endswith("The same rows as DuckDB's range join.\n")
