"""The arena, a copy of the state in the host's memory, is damaged; the answer is not."""

import contextlib
import fcntl
import itertools
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from .harness import kill

ROOT = f"windrow-{os.getuid()}"


@pytest.fixture
def place(tmp_path):
    """The directory for arenas."""
    folder = tmp_path / "arenas"
    folder.mkdir()
    return folder


def buckets(place):
    """The arenas there are, one for each bucket."""
    return sorted(path for path in (place / ROOT).glob("*-*") if path.is_dir())


def contents(place, name="*"):
    """Their files, without the locks."""
    found = [path for bucket in buckets(place) for path in sorted(bucket.glob(name))]
    return [path for path in found if path.name != "lock"]


def data(place):
    """Their files, without locks and manifests."""
    return [path for path in contents(place) if not path.name.startswith("manifest")]


# -- damage ------------------------------------------------------------------------------------


def delete_everything(place, chance):
    shutil.rmtree(place / ROOT, ignore_errors=True)


def delete_some(place, chance):
    for path in half(data(place), chance):
        path.unlink(missing_ok=True)


def truncate_all(place, chance):
    for path in contents(place):
        cut(path, 0)


def truncate_some(place, chance):
    for path in half(data(place), chance):
        with contextlib.suppress(FileNotFoundError):
            cut(path, path.stat().st_size // 2)


def noise_everywhere(place, chance):
    for path in contents(place):
        scribble(path, chance)


def noise_in_some(place, chance):
    for path in half(data(place), chance):
        scribble(path, chance)


def noise_in_the_manifest(place, chance):
    for path in contents(place, "manifest"):
        scribble(path, chance)


def leave_dirty(place, chance):
    """As a worker leaves it that dies in the middle."""
    for path in contents(place, "manifest"):
        path.unlink(missing_ok=True)


def exchange(place, chance):
    """Each bucket finds another's arena."""
    found = buckets(place)
    assert len(found) > 1
    aside = found[0].with_name("aside")
    os.rename(found[0], aside)
    for path, other in itertools.pairwise(found):
        os.rename(other, path)
    os.rename(aside, found[-1])


def half(paths, chance):
    """Some of them, but one at least of each arena."""
    for _, group in itertools.groupby(paths, key=lambda path: path.parent):
        mine = list(group)
        yield from chance.sample(mine, (len(mine) + 1) // 2)


def cut(path, size):
    with contextlib.suppress(FileNotFoundError):
        os.truncate(path, size)


def scribble(path, chance):
    """Other bytes, in the same file."""
    with contextlib.suppress(FileNotFoundError), open(path, "r+b") as file:
        file.write(chance.randbytes(os.fstat(file.fileno()).st_size))


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


# -- between two runs --------------------------------------------------------------------------


def run_damaged(spark, job, place, damage, chance):
    """Damage what the last run left and take in one more micro-batch."""
    assert data(place), "no arena was made"
    damage(place, chance)
    job.offer(1)
    outcome = spark.run(job)
    assert (outcome["hits"], outcome["rebuilds"]) == (0, 2), damage.__name__
    job.check_no_other_rows(spark.result(job))


def test_an_arena_damaged_between_two_runs(driver, query, place, chance):
    job = query(files=4, arena=str(place))
    spark = driver()
    job.offer(2)
    spark.run(job)
    run_damaged(spark, job, place, noise_in_some, chance)
    job.offer()
    assert spark.run(job)["hits"] == 4, "a sound arena was not used"
    job.check(spark.result(job))


@pytest.mark.faults
def test_every_damage_between_two_runs(driver, query, place, chance):
    job = query(files=len(DAMAGE) + 2, arena=str(place))
    spark = driver()
    job.offer(1)
    spark.run(job)
    for damage in DAMAGE:
        run_damaged(spark, job, place, damage, chance)
    job.offer()
    spark.run(job)
    job.check(spark.result(job))


@pytest.mark.faults
def test_an_arena_of_an_earlier_time(driver, query, place, chance, tmp_path):
    """A copy from two micro-batches ago comes back, whole or all but its manifests."""
    job = query(files=8, arena=str(place))
    spark = driver()
    job.offer(2)
    spark.run(job)
    old = tmp_path / "old"
    shutil.copytree(place / ROOT, old)
    job.offer(2)
    assert spark.run(job)["hits"] == 4, "a sound arena was not used"
    shutil.rmtree(place / ROOT)
    shutil.copytree(old, place / ROOT)
    job.offer(2)
    assert spark.run(job)["rebuilds"] == 2
    for path in data(place):
        if (was := old / path.relative_to(place / ROOT)).exists():
            shutil.copyfile(was, path)
    job.offer()
    spark.run(job)
    job.check(spark.result(job))


# -- while the query runs ----------------------------------------------------------------------


@pytest.mark.faults
@pytest.mark.parametrize("damage", [delete_everything, delete_some, truncate_all, leave_dirty])
def test_damage_while_the_query_runs(driver, query, place, chance, damage):
    """At any time, even while a worker is in the arena, which may cost it its life.

    Once a micro-batch: Spark gives a task four lives, which a slow machine would need one by one.
    """
    job = query(files=6, arena=str(place))
    job.offer()
    spark = driver()
    spark.start(job)
    rounds, committed = 0, None
    while spark.quiet(chance.uniform(0.05, 0.3)):
        if data(place) and committed != job.batches:
            committed = job.batches
            damage(place, chance)
            rounds += 1
    outcome = spark.outcomes(1)[0]
    assert rounds >= 3
    assert outcome["rebuilds"] > 0
    job.check(spark.result(job))


@pytest.mark.faults
def test_noise_while_the_query_runs(driver, query, place, chance):
    """Only while no worker is inside: nothing can help who computes with other people's bytes."""
    job = query(files=6, arena=str(place))
    job.offer()
    spark = driver()
    spark.start(job)
    rounds = 0
    while spark.quiet(0.3):
        with locked(buckets(place)):
            rounds += bool(data(place))
            noise_in_some(place, chance)
    outcome = spark.outcomes(1)[0]
    assert rounds >= 3
    assert outcome["rebuilds"] > 0
    job.check(spark.result(job))


@contextlib.contextmanager
def locked(folders):
    """Keeps workers out of these arenas."""
    with contextlib.ExitStack() as stack:
        for folder in folders:
            file = stack.enter_context(open(folder / "lock", "ab"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.mark.faults
def test_workers_killed_inside_the_arena(driver, query, place):
    """One in each micro-batch, so that no task fails more often than Spark allows."""
    job = query(files=6, arena=str(place))
    job.offer()
    spark = driver()
    spark.start(job)
    killed = {}
    while spark.answers.empty():
        batch = job.begun
        inside = [pid for pid in spark.workers() if batch not in killed and holds(pid, place)]
        if inside and job.batches > 0:
            killed[batch] = inside[0]
            kill(inside[:1])
        time.sleep(0.001)
    outcome = spark.outcomes(1)[0]
    assert len(killed) >= 2
    assert outcome["rebuilds"] > 0
    job.check(spark.result(job))


def holds(pid, place):
    """Is the process changing an arena below that folder: a file open, and no manifest?"""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                file = Path(os.readlink(f"/proc/{pid}/fd/{number}"))
                if file.is_relative_to(place) and not any(file.parent.glob("manifest*")):
                    return True
    return False


# -- no space ----------------------------------------------------------------------------------


@pytest.fixture
def small_place(place):
    """A file system of 2 MB in memory."""
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if os.getuid() or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root can mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.faults
def test_no_space_for_the_arena(driver, query, small_place):
    """It goes without one, and takes it up again when there is space."""
    job = query(files=8, arena=str(small_place))
    spark = driver()
    job.offer(3)
    assert spark.run(job)["hits"] == 4
    filler = small_place / "filler"
    fill(filler)
    assert os.statvfs(small_place).f_bavail == 0
    job.offer(3)
    spark.start(job)
    while spark.quiet(0.02):
        # What a failed arena has let go.
        fill(filler)
    assert spark.outcomes(1)[0]["rebuilds"] >= 2
    filler.unlink()
    job.offer()
    assert spark.run(job)["hits"] >= 4
    job.check(spark.result(job))


def fill(path):
    """Write until there is no space."""
    with contextlib.suppress(OSError), open(path, "ab", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


# -- whose arena -------------------------------------------------------------------------------


def test_the_arena_is_private(driver, query, place):
    job = query(files=1, arena=str(place))
    job.offer()
    spark = driver()
    spark.run(job)
    assert buckets(place)
    for path in [place / ROOT, *buckets(place)]:
        found = path.lstat()
        assert found.st_uid == os.getuid()
        assert stat.S_IMODE(found.st_mode) & 0o077 == 0, path


def as_a_link(root, elsewhere):
    elsewhere.mkdir(mode=0o700)
    root.symlink_to(elsewhere)


def open_to_all(root, elsewhere):
    root.mkdir()
    root.chmod(0o777)


def of_somebody_else(root, elsewhere):
    root.mkdir(mode=0o700)
    os.chown(root, 65534, 65534)


@pytest.mark.faults
@pytest.mark.parametrize("prepare", [as_a_link, open_to_all, of_somebody_else])
def test_a_place_that_others_prepared_is_not_used(driver, query, place, tmp_path, prepare):
    if prepare is of_somebody_else and os.getuid():
        pytest.skip("only root can give a folder away")
    root, elsewhere = place / ROOT, tmp_path / "elsewhere"
    prepare(root, elsewhere)
    job = query(files=3, arena=str(place))
    job.offer()
    spark = driver()
    assert spark.run(job)["hits"] == 0
    assert not list(root.iterdir())
    job.check(spark.result(job))
