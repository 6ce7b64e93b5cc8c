"""A restart with one thing changed: what is accepted against an oracle, what is refused by name."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from windrow.testing import assert_same_rows, duckdb_join

from . import job
from .harness import ROWS, SECOND, SPAN, flush

pytestmark = pytest.mark.faults

#: Files of each stream before the restart and in all.
HALF, FILES = 2, 4
#: The first rows of each stream that come after it; `v` numbers them as they come.
CUT = HALF * ROWS
EARLY, LATER = f"(a.v < {CUT} AND b.v < {CUT})", f"(a.v >= {CUT} OR b.v >= {CUT})"


def within(a, b):
    """Do the rows meet under these windows, in seconds?"""
    return f"(b.t - a.t <= INTERVAL {a} SECONDS AND a.t - b.t <= INTERVAL {b} SECONDS)"


def unchanged(tables, how):
    """The answer without a restart."""
    return duckdb_join(*job.streams(*tables), how=how)


def narrower(tables, how):
    """From the restart on, rows meet under the new windows."""
    return duckdb_join(*job.streams(*tables), how=how, condition=f"{EARLY} OR {within(2, 1)}")


def wider(tables, how):
    """Under the new windows, but for rows that had gone by the old ones."""
    ends = [int(pc.max(t["t"].slice(0, CUT)).cast(pa.int64()).as_py()) - SECOND for t in tables]
    there = f"(a.v >= {CUT} OR a.t >= {_time(ends[1] - 2 * SECOND)})"
    and_there = f"(b.v >= {CUT} OR b.t >= {_time(ends[0] - SECOND)})"
    condition = f"({EARLY} AND {within(2, 1)}) OR ({LATER} AND {there} AND {and_there})"
    return duckdb_join(
        *job.streams(*tables, windows=("6 seconds", "5 seconds")), how=how, condition=condition
    )


def _time(micros):
    return f"TIMESTAMP '{pa.scalar(micros, pa.timestamp('us')).as_py()}+00:00'"


def judged_anew(tables, how):
    """Pairs are judged by the condition that held when the second of them came."""
    condition = f"({EARLY} AND a.v > b.v) OR ({LATER} AND a.v < b.v)"
    return duckdb_join(*job.streams(*tables), how=how, condition=condition)


def with_new_column(tables, how):
    """`x` is null in rows from before the restart."""
    one, two = tables
    twice = pc.if_else(pc.less(one["v"], CUT), None, pc.multiply(one["v"], 2))
    return duckdb_join(*job.streams(one.append_column("x", twice), two), how=how)


def open_from_now_on(tables, how):
    """Rows exactly a window apart met before the restart, and do not any more."""
    between = "(b.t - a.t < INTERVAL 8 SECONDS AND a.t - b.t < INTERVAL 5 SECONDS)"
    return duckdb_join(*job.streams(*tables), how=how, condition=f"{EARLY} OR {between}")


def beats_as_tuples(tables, how):
    """The heartbeat that ends the input has no key; from the restart on it is a tuple."""
    ended = [pa.concat_tables([each, flush(FILES * SPAN)]) for each in tables]
    return duckdb_join(*job.streams(*ended, beats=None), how=how)


def of_tuples(tables, how):
    """The answer without the rows that say that a key is over: promises are kept."""
    return duckdb_join(*job.streams(*tables, **ENDS), how=how)


def without_column(tables, how):
    """`v` is there in what left before the restart, so it is looked at nowhere."""
    return unchanged(tables, how)


def by_name(joined, but=None):
    """A result with the first stream's columns sorted by their names, and without one of them."""
    a = joined["a"].combine_chunks()
    names = sorted(field.name for field in a.type if field.name != but)
    fields = [pa.field(name, a.type.field(name).type) for name in names]
    bare = pa.StructArray.from_arrays(
        [pc.struct_field(a, name) for name in names], fields=fields, mask=a.is_null()
    )
    return joined.set_column(0, "a", bare)


# -- tables that are made for a change -----------------------------------------------------------


def in_order(rows):
    """The same rows, in the order of their times, numbered so.

    Which rows have gone is known to a row only where they come in order.
    """
    rows = rows.sort_by("t")
    return rows.set_column(2, "v", pa.array(range(rows.num_rows)))


def in_whole_seconds(rows):
    """Many rows are then exactly a window apart."""
    return rows.set_column(1, "t", pc.floor_temporal(rows["t"], unit="second"))


#: Every tenth row says that a key is over.
ENDS = {"ends": "v % 10 = 9"}
#: Keys that begin in each file, and are there in the next one too.
FRESH = 4


def with_ends(rows):
    """Rows of keys that come for two files, and are said to be over after two more."""
    number = np.arange(rows.num_rows)
    file, over = number // ROWS, number % 10 == 9
    begun = np.where(over, file - 3, file - number % 2)
    which = np.where(over, number // 10 % FRESH, number // 2 % FRESH)
    keys = [f"key {at} of file {first}" for at, first in zip(which, begun, strict=True)]
    return rows.set_column(0, "k", pa.array(keys))


def assert_keys_end_once(found):
    """No key ends twice, and the first file's, which the last file says are over, have ended."""
    ended = [row["a"]["k"] for row in found.to_pylist() if row.get("kind") == "end"]
    assert len(ended) == len(set(ended))
    assert {key for key in ended if key.endswith(" of file 0")} == {
        f"key {at} of file 0" for at in range(FRESH)
    }


#: By the oracle's answer, the tables that it is about.
PREPARED = {wider: in_order, open_from_now_on: in_whole_seconds, of_tuples: with_ends}


#: What changes, of which kind of join, under which other options, and the oracle's answer.
ACCEPTED = {
    "narrower windows": ({"windows": ["2 seconds", "1 second"]}, "full", {}, narrower),
    "narrower windows, inner": ({"windows": ["2 seconds", "1 second"]}, "inner", {}, narrower),
    "wider windows": (
        {"windows": ["6 seconds", "5 seconds"]},
        "full",
        {"windows": ["2 seconds", "1 second"]},
        wider,
    ),
    "between": (
        {"windows": [None, None], "choices": {"between": ["-1 second", "2 seconds"]}},
        "full",
        {},
        narrower,
    ),
    "condition": (
        {"choices": {"condition": "a.v < b.v"}},
        "inner",
        {"choices": {"condition": "a.v > b.v"}},
        judged_anew,
    ),
    "the condition's words": (
        {"choices": {"condition": "a.v >= 0 and b.v>=0"}},
        "full",
        {"choices": {"condition": "a.v>=0 AND b.v >= 0"}},
        unchanged,
    ),
    "a column more": ({"columns": ["*", "2 * v AS x"]}, "full", {}, with_new_column),
    "a column less": ({"columns": ["k", "t", "beat"]}, "full", {}, without_column),
    "columns in another order": ({"columns": ["beat", "v", "t", "k"]}, "full", {}, unchanged),
    "partitions": ({"partitions": 3}, "full", {}, unchanged),
    "closed": ({"choices": {"closed": False}}, "full", {}, open_from_now_on),
    "beats": ({"streams": {"beats": None}}, "full", {}, beats_as_tuples),
    "max_ahead": ({"streams": {"max_ahead": "1 hour"}}, "full", {}, unchanged),
    "violations": (
        {"streams": ENDS, "choices": {"violations": "fail"}},
        "full",
        {"streams": ENDS},
        of_tuples,
    ),
    "punctuate": (
        {"streams": ENDS, "choices": {"punctuate": True}},
        "inner",
        {"streams": ENDS},
        of_tuples,
    ),
    "lateness": ({"streams": {"lateness": "3 seconds"}}, "full", {}, unchanged),
    "idle": ({"streams": {"idle": "1 hour"}}, "full", {}, unchanged),
    "late": ({"choices": {"late": "keep"}}, "full", {}, unchanged),
    "bad": ({"choices": {"bad": "fail"}}, "full", {}, unchanged),
    "algorithm": ({"choices": {"algorithm": "nested-loops"}}, "full", {}, unchanged),
    "alpha": (
        {"choices": {"order": "adaptive", "alpha": 0.9}},
        "full",
        {"choices": {"order": "adaptive"}},
        unchanged,
    ),
    "files in a micro-batch": ({"files": 2}, "full", {}, unchanged),
}


@pytest.mark.parametrize("keep", [True, False], ids=["with arenas", "without"])
@pytest.mark.parametrize("change", ACCEPTED)
def test_what_may_change(driver, query, change, keep):
    after, how, before, expected = ACCEPTED[change]
    work = query(files=FILES, how=how, keep=keep, **before)
    if expected in PREPARED:
        work.tables = [PREPARED[expected](each) for each in work.tables]
    work.offer(HALF)
    spark = driver()
    spark.run(work, seconds=240)
    work.request |= after
    work.offer()
    done = spark.run(work, seconds=240)
    # Lists without chains are none that have some, so there is nothing for another algorithm.
    assert bool(done["rebuilds"]) == (not keep or change == "algorithm")
    found = spark.result(work)
    if change == "punctuate":
        assert_keys_end_once(found)
        found = found.filter(pc.not_equal(pc.fill_null(found["kind"], "match"), "end"))
    found = found.select(["a", "b", "ts"])
    but = "v" if expected is without_column else None
    assert_same_rows(by_name(found, but), by_name(expected(work.tables, how), but))


#: What changes, and how the refusal begins.
REFUSED = {
    "kind": ({"how": "left"}, "this checkpoint was written with kind 'full', but the join has"),
    "order": (
        {"choices": {"order": "sync-filter"}},
        "this checkpoint was written with order None, but the join has 'sync-filter'",
    ),
    "key": ({"streams": {"key": "v"}}, "this checkpoint was written with keys [['k'], ['k']], but"),
    "condition": (
        {"choices": {"condition": "a.v > b.v"}},
        "this checkpoint was written with condition None, but the join has 'a.v > b.v', and",
    ),
    "type": (
        {"columns": ["k", "t", "CAST(v AS STRING) AS v", "beat"]},
        "this checkpoint was written with column 'v' of stream 'a' as int64, but the join has",
    ),
    "name": (
        {"names": ["a", "other"]},
        "this checkpoint was written with streams ['a', 'b'], but the join has ['a', 'other']",
    ),
    "order of streams": (
        {"names": ["b", "a"]},
        "this checkpoint was written with streams ['a', 'b'], but the join has ['b', 'a']",
    ),
    "count windows": (
        {"windows": [3, 3]},
        "this checkpoint was written with count windows [None, None], but the join has [[3,",
    ),
    "ends": (
        {"streams": ENDS},
        "this checkpoint was written with punctuations None, but the join has",
    ),
    "unique": (
        {"streams": {"unique": True}},
        "this checkpoint was written with punctuations None, but the join has",
    ),
    "buckets": (
        {"choices": {"buckets": 5}},
        "this checkpoint was written with 2 buckets, but the join has 5",
    ),
}


@pytest.mark.parametrize("keep", [True, False], ids=["with arenas", "without"])
def test_what_may_not_change_is_refused_and_does_no_harm(driver, query, keep):
    work = query(files=FILES, keep=keep)
    work.offer(HALF)
    spark = driver()
    spark.run(work, seconds=240)
    work.offer()
    right, batches = dict(work.request), work.batches
    for change, (after, message) in REFUSED.items():
        work.request = {**right, **after}
        spark.start(work, seconds=240)
        [outcome] = spark.answer(300)
        assert f"WindrowError: {message}" in (outcome["error"] or ""), change
        assert work.batches == batches
    work.request = right
    spark.run(work, seconds=240)
    work.check(spark.result(work))
