"""What a streaming join asks of its session, and what it chooses there by itself."""

import pytest

import windrow as wr
from windrow.spark import session
from windrow.spark.session import FILE_MANAGER, LOCAL_FILE_MANAGER
from windrow.testing import assert_same_rows, duckdb_join

from .conftest import Files
from .streams import flush, rows, streams

SPARKS_OWN = LOCAL_FILE_MANAGER.replace("FileSystem", "FileContext")


@pytest.fixture
def fresh(spark, tmp_path):
    """Files of one row a stream, read by a session with settings of its own."""
    made = Files(spark.newSession(), tmp_path)
    for name in "ab":
        made.write(name, rows(["k", "k"], [0, 1]), 1)
    return made


def join(files):
    return wr.join(*streams(files.stream("a"), files.stream("b")), how="full")


def test_without_the_state_store_the_error_says_what_to_set(fresh):
    fresh.spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
    with pytest.raises(wr.WindrowError, match="providerClass"):
        join(fresh)


@pytest.mark.versions
def test_in_local_mode_a_streaming_join_chooses_the_file_manager(fresh):
    assert fresh.spark.conf.get(FILE_MANAGER, None) is None
    wr.join(*streams(fresh.batch("a"), fresh.batch("b")))
    assert fresh.spark.conf.get(FILE_MANAGER, None) is None, "a batch join has no checkpoint"
    join(fresh)
    assert fresh.spark.conf.get(FILE_MANAGER) == LOCAL_FILE_MANAGER


def test_a_file_manager_that_the_session_names_stays(fresh):
    fresh.spark.conf.set(FILE_MANAGER, SPARKS_OWN)
    join(fresh)
    assert fresh.spark.conf.get(FILE_MANAGER) == SPARKS_OWN


@pytest.mark.parametrize(
    ("setting", "value"), [("fs.defaultFS", "hdfs://elsewhere/"), (FILE_MANAGER, SPARKS_OWN)]
)
def test_hadoop_s_settings_count_too(fresh, setting, value):
    frames = fresh.stream("a"), fresh.stream("b")
    hadoop = fresh.spark._jsc.hadoopConfiguration()
    kept = hadoop.get(setting)
    hadoop.set(setting, value)
    try:
        wr.join(*streams(*frames))
    finally:
        hadoop.set(setting, kept) if kept else hadoop.unset(setting)
    assert fresh.spark.conf.get(FILE_MANAGER, None) is None


@pytest.mark.parametrize(
    ("place", "chosen"), [("s3a://bucket/x", False), ("/here", True), ("file:///here", True)]
)
def test_checkpoints_elsewhere_are_left_alone(fresh, place, chosen):
    fresh.spark.conf.set("spark.sql.streaming.checkpointLocation", place)
    join(fresh)
    assert (fresh.spark.conf.get(FILE_MANAGER, None) is not None) == chosen


def test_a_class_that_moved_is_not_chosen(fresh, monkeypatch):
    monkeypatch.setattr(session, "LOCAL_FILE_MANAGER", "org.apache.spark.sql.Elsewhere")
    join(fresh)
    assert fresh.spark.conf.get(FILE_MANAGER, None) is None


@pytest.mark.parametrize("managers", [(SPARKS_OWN, None), (None, SPARKS_OWN)])
def test_either_file_manager_goes_on_where_the_other_stopped(fresh, managers):
    before = set()
    for run, manager in enumerate(managers):
        fresh.spark.conf.unset(FILE_MANAGER)
        if manager:
            fresh.spark.conf.set(FILE_MANAGER, manager)
        for name in "ab":
            # Rows of the second run match rows of the first; x and y match nothing.
            fresh.write(name, rows(["k", {"a": "x", "b": "y"}[name]], [2 + run, 2 + run]), 2)
            if run == 1:
                fresh.write(name, flush(10**9), 1)
        got = fresh.run(join(fresh))
        written = checkpoint_files(fresh.folder / "checkpoint")
        new = written - before
        # Both write the same: a file for each micro-batch, and Hadoop's checksum beside it.
        for folder in ("offsets", "commits", "state/0/0", "state/0/1"):
            plain = [name for at, name in new if at == folder and name[0] not in "._"]
            assert len(plain) >= 2, (folder, new)
            assert all((folder, f".{name}.crc") in new for name in plain), (folder, new)
        before = written
    tables = [fresh.batch(name).toArrow() for name in "ab"]
    assert_same_rows(got, duckdb_join(*streams(*tables), how="full"))


def checkpoint_files(checkpoint):
    """Each file's folder and name."""
    return {
        (str(path.parent.relative_to(checkpoint)), path.name)
        for path in checkpoint.rglob("*")
        if path.is_file()
    }
