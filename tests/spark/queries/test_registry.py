"""The registry of queries: what survives the driver."""

import json

import pytest

import windrow as wr
from windrow.spark.queries.files import Folder
from windrow.spark.queries.registry import Registry


@pytest.fixture
def folder(spark, tmp_path):
    return Folder(spark, str(tmp_path / "registry"))


def running(registry):
    return [(query.id, query.name, query.join) for query in registry.running()]


def test_what_was_added_and_dropped_is_there_for_the_next_driver(folder):
    registry = Registry.open(folder)
    registry.add("one", "SELECT 1", "a b")
    registry.add("two", "SELECT 2", "a c")
    registry.add("three", "SELECT 3", "a b")
    registry.drop("one")
    again = Registry.open(folder)
    assert again.now == registry.now
    assert running(again) == [(1, "two", 1), (2, "three", 0)]
    assert [query.name for query in again.running(0)] == ["three"]
    assert again.find("one").dropped


def test_the_same_query_again_is_no_new_one_and_a_name_is_taken_for_good(folder):
    registry = Registry.open(folder)
    assert registry.add("one", "SELECT 1", "a b")[1]
    assert not Registry.open(folder).add("one", "SELECT 1", "a b")[1]
    with pytest.raises(wr.WindrowError, match="'one' already, which is 'SELECT 1'"):
        registry.add("one", "SELECT 2", "a b")
    registry.drop("one")
    for sql in ("SELECT 1", "SELECT 2"):
        with pytest.raises(wr.WindrowError, match="'one' already and was dropped"):
            Registry.open(folder).add("one", sql, "a b")


def test_each_query_has_an_id_of_its_own(folder):
    ids = []
    for number in range(3):
        registry = Registry.open(folder)
        ids.append(registry.add(f"query {number}", "SELECT 1", "a b")[0].id)
        registry.drop(f"query {number}")
    assert ids == [0, 1, 2]


def test_a_query_that_is_not_there_cannot_be_dropped(folder):
    registry = Registry.open(folder)
    registry.add("one", "SELECT 1", "a b")
    with pytest.raises(wr.WindrowError, match="no query 'two' to drop; those that run: 'one'"):
        registry.drop("two")


def test_few_files_are_left_and_what_was_not_finished_is_not_read(folder, tmp_path):
    registry = Registry.open(folder)
    for number in range(5):
        registry.add(f"query {number}", "SELECT 1", "a b")
    assert len(folder.names()) == 2
    (tmp_path / "registry" / ".000000000099.json.half").write_text("{")
    assert len(Registry.open(folder).running()) == 5


def test_a_registry_of_another_format_is_refused(folder, tmp_path):
    Registry.open(folder).add("one", "SELECT 1", "a b")
    (path,) = (tmp_path / "registry").glob("[!.]*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    # The file's checksum is of what was there before.
    path.with_name(f".{path.name}.crc").unlink()
    with pytest.raises(wr.WindrowError, match="has format 99"):
        Registry.open(folder)


def test_what_windows_mean_stays_as_it_was(folder):
    Registry.open(folder, closed=False).add("one", "SELECT 1", "a b")
    assert Registry.open(folder, closed=False).find("one")
    with pytest.raises(wr.WindrowError, match="have closed=False, but closed=True is given"):
        Registry.open(folder)
