"""The arena, a cache of the state on the host, is damaged; the answer is not."""

import contextlib
import fcntl
import json
import os
import shutil
import stat
import subprocess
import threading

import pytest

from .harness import kill, until

ROOT = f"windrow-{os.getuid()}"


@pytest.fixture
def place(tmp_path):
    """The directory for arenas."""
    folder = tmp_path / "arenas"
    folder.mkdir()
    return folder


@pytest.fixture
def arena_query(query, place):
    def make(**more):
        return query(settings={"spark.windrow.arena.dir": str(place)}, **more)

    return make


def buckets(place):
    """The arenas there are, one of a bucket."""
    root = place / ROOT
    return sorted(path for path in root.glob("*-*") if path.is_dir()) if root.is_dir() else []


def contents(place):
    """Their files, without the locks."""
    return [
        path
        for bucket in buckets(place)
        for path in sorted(bucket.rglob("*"))
        if path.is_file() and path.name != "lock"
    ]


# -- damage ------------------------------------------------------------------------------------


def delete_everything(place, chance):
    shutil.rmtree(place / ROOT)


def delete_some(place, chance):
    for path in contents(place):
        if path.name != "manifest" and chance.random() < 0.5:
            path.unlink(missing_ok=True)


def truncate_all(place, chance):
    for path in contents(place):
        cut(path, 0)


def truncate_some(place, chance):
    for path in contents(place):
        if path.name != "manifest" and chance.random() < 0.5:
            cut(path, path.stat().st_size // 2)


def noise_everywhere(place, chance):
    for path in contents(place):
        scribble(path, chance)


def noise_in_some(place, chance):
    for path in contents(place):
        if path.name != "manifest" and chance.random() < 0.5:
            scribble(path, chance)


def noise_in_the_manifest(place, chance):
    for path in contents(place):
        if path.name == "manifest":
            scribble(path, chance)


def leave_dirty(place, chance):
    """As a worker leaves it that dies in the middle."""
    for path in contents(place):
        if path.name == "manifest":
            path.unlink(missing_ok=True)


def exchange(place, chance):
    """Each bucket finds another's arena."""
    found = buckets(place)
    assert len(found) > 1
    aside = found[0].with_name("aside")
    os.rename(found[0], aside)
    for path, other in zip(found, found[1:], strict=False):
        os.rename(other, path)
    os.rename(aside, found[-1])


def cut(path, size):
    with contextlib.suppress(FileNotFoundError):
        os.truncate(path, size)


def scribble(path, chance):
    """Other bytes, in the same file."""
    with contextlib.suppress(FileNotFoundError), open(path, "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        file.write(chance.randbytes(size))


DAMAGE = [
    delete_everything,
    delete_some,
    truncate_all,
    truncate_some,
    noise_everywhere,
    noise_in_some,
    noise_in_the_manifest,
    leave_dirty,
    exchange,
]


def run_damaged(spark, job, place, damage, chance):
    job.offer(3)
    spark.run(job)
    assert contents(place), "no arena was made"
    damage(place, chance)
    job.offer()
    spark.run(job)
    job.check(spark.result(job))


def test_an_arena_damaged_between_two_runs(driver, arena_query, place, chance):
    run_damaged(driver(), arena_query(files=6), place, noise_in_some, chance)


#: Each task gets a new worker, so that nothing but the arena survives a micro-batch.
NEW_WORKERS = {"spark.python.worker.reuse": "false"}


@pytest.mark.faults
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_new_workers_find_a_damaged_arena(driver, arena_query, place, chance, damage):
    run_damaged(driver(**NEW_WORKERS), arena_query(files=6), place, damage, chance)


@pytest.mark.faults
def test_an_arena_of_an_earlier_time(driver, arena_query, place, chance, tmp_path):
    """A copy from two micro-batches ago comes back, first whole, then all but its manifests."""
    job = arena_query(files=8)
    spark = driver(**NEW_WORKERS)
    job.offer(2)
    spark.run(job)
    assert contents(place)
    shutil.copytree(place / ROOT, tmp_path / "old")
    job.offer(2)
    spark.run(job)
    shutil.rmtree(place / ROOT)
    shutil.copytree(tmp_path / "old", place / ROOT)
    job.offer(2)
    spark.run(job)
    for path in (tmp_path / "old").rglob("*"):
        to = place / ROOT / path.relative_to(tmp_path / "old")
        if path.is_file() and path.name not in ("lock", "manifest") and to.exists():
            shutil.copyfile(path, to)
    job.offer()
    spark.run(job)
    job.check(spark.result(job))


@pytest.mark.faults
@pytest.mark.parametrize(
    "damage",
    [delete_everything, delete_some, truncate_all, noise_in_some, leave_dirty],
    ids=lambda damage: damage.__name__,
)
@pytest.mark.parametrize("reuse", ["true", "false"], ids=["kept workers", "new workers"])
def test_damage_while_the_query_runs(new_driver, arena_query, place, chance, damage, reuse):
    """Between micro-batches, again and again: only while no worker holds the bucket's lock."""
    job = arena_query(files=10)
    job.offer()
    spark = new_driver(master="local[2,20]", **{"spark.python.worker.reuse": reuse})
    spark.start(job)
    done = []
    while spark.quiet(0.3):
        with locked(buckets(place)):
            if contents(place):
                with contextlib.suppress(FileNotFoundError):
                    damage(place, chance)
                done.append(job.batches)
    assert spark.answer(1) == [None], spark.tail()
    assert len(done) >= 3, "no arena was damaged"
    job.check(spark.result(job))


@contextlib.contextmanager
def locked(folders):
    """Holds the buckets' locks, so that no worker is in the middle of a micro-batch."""
    with contextlib.ExitStack() as stack:
        for folder in folders:
            with contextlib.suppress(FileNotFoundError):
                file = stack.enter_context(open(folder / "lock", "ab"))
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
