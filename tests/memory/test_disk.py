"""Tuples that wait on disk: how many, in which files, and what becomes of those files."""

import errno
import gc
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import windrow as wr
from windrow.api import local_join
from windrow.operators.gate import spill
from windrow.operators.gate.files import Folder

from .streams import streams_of, tables

pytestmark = pytest.mark.usefixtures("eager")


def lagged(count):
    """S_1 sends all it has before S_2 begins."""
    return [(0, key) for key in range(count)] + [(1, key) for key in range(count)]


def lagging_join(arrivals, tables_of=tables):
    return wr.plan(*streams_of(tables_of(arrivals, 2)), memory="dbf")


def in_batches(run, length, first):
    """The first stream's rows, then the second's, and what comes of them."""
    found = []
    steps = [(start, start + 5) for start in range(0, length, 5)]
    for span in steps:
        found += list(run.batch([span, (0, 0)]))
        if first is not None:
            first(run)
    for span in steps:
        found += list(run.batch([(length, length), span]))
    return sum(len(piece) for piece in found)


def test_most_of_what_waits_is_on_disk_and_files_go(tmp_path):
    seen = []

    def look(run):
        figures = run.figures()
        files = list(tmp_path.rglob("*.arrow"))
        assert 2 * len(files) == figures.spilled["a"]
        assert figures.waiting["a"] - figures.spilled["a"] <= 2 * spill.BLOCK
        seen.append(figures.spilled["a"])
        for folder in (f for f in tmp_path.rglob("*") if f.is_dir()):
            assert folder.stat().st_mode & 0o777 == 0o700

    run = local_join(lagging_join(lagged(60)))
    assert in_batches(run, 60, look) == 60
    assert max(seen) > 40
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_join_that_is_given_up_leaves_no_files(tmp_path):
    run = local_join(lagging_join(lagged(60)))
    for start in range(0, 60, 5):
        list(run.batch([(start, start + 5), (0, 0)]))
    assert list(tmp_path.rglob("*.arrow"))
    del run
    gc.collect()
    assert not list(tmp_path.rglob("*.arrow"))


@pytest.mark.parametrize("room", [0, 3])
def test_what_a_full_disk_does_not_take_waits_in_memory(monkeypatch, room):
    """There is room for a few files; or for none after the first try."""
    plain, written = Folder.write, []

    def write(folder, rows):
        if len(written) > room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(rows)
        return plain(folder, rows)

    monkeypatch.setattr(Folder, "write", write)
    seen = []

    def look(run):
        figures = run.figures()
        seen.append((figures.waiting["a"], figures.spilled["a"]))

    run = local_join(lagging_join(lagged(60)))
    assert in_batches(run, 60, look) == 60
    assert max(waiting for waiting, _ in seen) > 40
    assert max(spilled for _, spilled in seen) == room * spill.BLOCK


def test_a_device_that_is_full_leaves_no_torn_file(tmp_path):
    """A real one: a write beyond what a file may have."""
    folder = Folder(str(tmp_path))
    kept = folder.write(np.zeros((10, 5), np.int64))
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError, match="large"):
            folder.write(np.zeros((10_000, 5), np.int64))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert [path.name for path in kept.parent.glob("*.arrow")] == [kept.name]


ORPHAN = """
import os, sys, numpy as np
from windrow.operators.gate.files import Folder
folder = Folder(sys.argv[1])
print(folder.write(np.zeros((3, 5), np.int64)), flush=True)
os.kill(os.getpid(), 9)
"""


def test_the_next_start_removes_what_a_crash_has_left(tmp_path):
    owner = Folder(str(tmp_path))
    mine = owner.write(np.zeros((3, 5), np.int64))
    ran = subprocess.run(
        [sys.executable, "-c", ORPHAN, str(tmp_path)], capture_output=True, text=True
    )
    left = Path(ran.stdout.strip())
    assert left.exists()
    another = Folder(str(tmp_path))
    another.write(np.zeros((3, 5), np.int64))
    assert not left.exists()
    assert mine.exists()
