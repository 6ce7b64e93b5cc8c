"""Arenas on real Spark: one for each join of a query, gone when it ends, and why there is none."""

import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.spark import arenas
from windrow.spark.arena import Arena
from windrow.testing import assert_same_rows, duckdb_join

from .streams import flush, rows

SECOND = 1_000_000
FILES, ROWS = 5, 40
KEEP, PLACE = "spark.windrow.arena.keep", "spark.windrow.arena.dir"


def table(seed):
    rng = np.random.default_rng(seed)
    keys = [f"key {k}" for k in rng.integers(0, 9, FILES * ROWS)]
    return rows(keys, np.sort(rng.integers(0, 20 * SECOND, FILES * ROWS)))


TABLES = [table(seed) for seed in (1, 2)]


@pytest.fixture
def place(spark, tmp_path):
    """A folder for arenas."""
    folder = tmp_path / "arenas"
    folder.mkdir()
    spark.conf.set(PLACE, str(folder))
    yield folder
    spark.conf.unset(PLACE)
    spark.conf.unset(KEEP)


@pytest.fixture
def fed(files):
    for name, whole in zip("ab", TABLES, strict=True):
        files.write(name, whole, ROWS)
        files.write(name, flush(600 * SECOND), 1)
    return files


def streams(data, windows=("2 seconds", "1 second")):
    return [
        wr.stream(d, name=name, key="k", time="t", window=window, beats="beat")
        for d, name, window in zip(data, "ab", windows, strict=True)
    ]


def run(files, frame):
    """Run a query to its end: its rows, and the query."""
    query = (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", str(files.folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(files.folder / "out"))
    )
    assert query.awaitTermination(180), "the query did not end in time"
    return files.spark.read.parquet(str(files.folder / "out")).toArrow(), query


def frames(files):
    return files.stream("a"), files.stream("b")


def assert_hits(query, joins, buckets=2):
    """From the second micro-batch on every bucket found its state."""
    figures = wr.metrics(query)
    assert {each.batch for each in figures} == set(range(FILES + 1))
    later = [each for each in figures if each.batch]
    assert sum(each.arena_rebuilds for each in later) == 0
    assert sum(each.arena_hits for each in later) == FILES * joins * buckets


ASKED = [
    pytest.param([{}, {}], id="equal"),
    pytest.param([{}, {"windows": ("1 second", "3 seconds")}], id="windows"),
    pytest.param([{}, {"closed": False}, {"condition": "a.v < b.v"}], id="closed and condition"),
]


@pytest.mark.parametrize("asked", ASKED)
def test_joins_of_one_query_have_an_arena_each(fed, place, asked):
    joined, expected = [], []
    for each in asked:
        options = {**each}
        windows = options.pop("windows", ("2 seconds", "1 second"))
        joined.append(wr.join(*streams(frames(fed), windows), **options))
        expected.append(duckdb_join(*streams(TABLES, windows), **options))
    union = joined[0]
    for other in joined[1:]:
        union = union.union(other)
    found, query = run(fed, union)
    assert_same_rows(found, pa.concat_tables(expected))
    assert_hits(query, len(asked))


def test_one_dataframe_used_twice_in_a_query(fed, place):
    joined = wr.join(*streams(frames(fed)), how="left")
    found, query = run(fed, joined.union(joined))
    expected = duckdb_join(*streams(TABLES), how="left")
    assert_same_rows(found, pa.concat_tables([expected] * 2))
    assert_hits(query, 2)


# -- when they go ------------------------------------------------------------------------------


def there(place):
    """The arenas in a folder."""
    return list(place.glob("windrow-*/*-*"))


def until(true, seconds=30):
    """Wait for what happens beside."""
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.05)
    return true()


@pytest.mark.versions
def test_the_arenas_of_a_query_that_has_ended_are_removed(fed, place):
    joined = wr.join(*streams(frames(fed)))
    query = (
        joined.writeStream.format("noop")
        .option("checkpointLocation", str(fed.folder / "checkpoint"))
        .start()
    )
    try:
        query.processAllAvailable()
        assert len(there(place)) == 2
    finally:
        query.stop()
    assert until(lambda: not there(place)), there(place)


def test_arenas_that_are_to_be_kept_are_found_by_the_next_run(fed, place):
    fed.spark.conf.set(KEEP, "true")
    later = {name: fed.folder / name / "004.parquet" for name in "ab"}
    for name, path in later.items():
        shutil.move(path, fed.folder / f"{name}-later")
        # The flush goes last.
        shutil.move(fed.folder / name / "005.parquet", fed.folder / f"{name}-flush")
    run(fed, wr.join(*streams(frames(fed))))
    for name, path in later.items():
        shutil.move(fed.folder / f"{name}-later", path)
        shutil.move(fed.folder / f"{name}-flush", fed.folder / name / "005.parquet")
    found, query = run(fed, wr.join(*streams(frames(fed))))
    assert_same_rows(found, duckdb_join(*streams(TABLES)))
    assert sum(each.arena_rebuilds for each in wr.metrics(query)) == 0


def test_arenas_of_a_driver_that_is_gone_are_removed_by_the_next_query(tmp_path):
    """But not those of the query that starts, and not those of a driver that runs."""
    code = "from windrow.spark import arenas; print(arenas.this_process())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    gone, running = done.stdout.strip(), arenas.this_process()
    assert arenas.is_gone(gone)
    assert not arenas.is_gone(running)
    names = ["restarted", "killed", "alive"]
    for name, owner in zip(names, [gone, gone, running], strict=True):
        Arena.enter(str(tmp_path), f"{name}-join-0", owner).leave()
    # A worker of the query that starts again is a new process.
    arenas._swept.clear()
    Arena.enter(str(tmp_path), "restarted-join-0", running).leave()
    root = arenas.root_of(str(tmp_path))
    assert sorted(os.listdir(root)) == ["alive-join-0", "restarted-join-0"]


def test_whether_a_process_elsewhere_is_gone_nobody_knows():
    boot, space, pid, started = arenas.this_process().split(" ")
    for elsewhere in ((boot, "pid:[1]", pid, "1"), ("other", space, pid, "1"), ("",) * 4):
        assert not arenas.is_gone(" ".join(elsewhere))
    assert arenas.is_gone(" ".join((boot, space, pid, f"{started}1")))


# -- why there is none -------------------------------------------------------------------------


def test_why_an_arena_cannot_be_used_is_said_once(fed, place):
    taken = place / "a file"
    taken.write_text("")
    fed.spark.conf.set(PLACE, str(taken))
    with pytest.warns(RuntimeWarning, match="cannot be kept between micro-batches") as told:
        found, _ = run(fed, wr.join(*streams(frames(fed))))
    mine = [str(one.message) for one in told if "micro-batches" in str(one.message)]
    assert len(mine) == 1
    assert str(taken) in mine[0]
    assert "Not a directory" in mine[0]
    assert_same_rows(found, duckdb_join(*streams(TABLES)))


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        (lambda root: root.symlink_to("/"), "is a link or a file"),
        (lambda root: (root.mkdir(), root.chmod(0o755)), "has the mode 755"),
    ],
)
def test_a_folder_that_cannot_be_trusted_is_named(tmp_path, prepare, why):
    prepare(tmp_path / f"windrow-{os.geteuid()}")
    told = []
    assert Arena.enter(str(tmp_path), "query-join-0", warn=told.append) is None
    assert len(told) == 1
    assert why in told[0]


def test_no_space_is_named(tmp_path, monkeypatch):
    told = []
    arena = Arena.enter(str(tmp_path), "query-join-0", warn=told.append)

    def full(fd, at, size):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    arena.put_chunk(1, b"chunk")
    arena.leave()
    assert told == [f"{arena.folder}: No space left on device"]
