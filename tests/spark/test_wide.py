"""Wide rows: results, conditions and chunks are cut by bytes, and nothing else changes."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.operators import sizes
from windrow.spark.log import renew
from windrow.spark.log.directory import Directory
from windrow.spark.log.log import Log
from windrow.testing import assert_same_rows, cases, duckdb_join, many_cases, naive_join
from windrow.testing.punctuated import punctuated_cases

from .buckets import Run, arenas, as_packed, assert_attempts_agree, run_case
from .wide import WAYS

HOWS = ("inner", "left", "right", "full", "semi", "anti")
KEYED = ("int64", "string", "composite")
#: Of 6.4 GB of result; a piece of 131,072 rows of it would be 5 GB.
MOST = 600 << 20


@pytest.mark.parametrize("way", WAYS)
def test_the_peak_of_a_wide_result_is_bounded(way):
    """400 tuples of 20 kB meet 400 others. In a process of its own, whose peak is its own."""
    done = subprocess.run(
        [sys.executable, "-m", "spark.wide", way],
        cwd=Path(__file__).parents[1],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["rows"] == found["expected"]
    assert found["growth"] < MOST, f"{found['growth'] >> 20} MB"


# -- with small pieces, all the same -----------------------------------------------------------


@pytest.fixture
def small(monkeypatch):
    """Pieces of a few rows; logs are merged and written anew at every turn."""
    monkeypatch.setattr(sizes, "PIECE_BYTES", 100)
    monkeypatch.setattr(sizes, "NARROW", 0)
    monkeypatch.setattr(renew, "LEAST_RENEWED", 4)
    monkeypatch.setattr(Log, "MERGED_AT_ONCE", 2)


def examples(most):
    """A hypothesis test inside a test, so that the fixture lasts for all of it."""

    def run(check):
        settings(max_examples=most)(given(data=st.data())(check))()

    return run


class Scattered(Run):
    """Every row comes in a chunk of its own, so that one micro-batch has more than a piece."""

    def batch(self, tables, lose=False, now=None):
        packed = [[] for _ in range(self.buckets)]
        for pack, table in zip(self.packs, tables, strict=True):
            for place in range(table.num_rows):
                alone = table.slice(place, 1).to_batches()
                for row in pack.pack(alone, place).to_pylist():
                    packed[row.pop("bucket")].append(as_packed(row))
        self.feed(packed, lose)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("order", ["none", "filter-order"])
def test_small_pieces_give_the_oracles_rows(how, order):
    @examples(12)
    def check(data):
        case = data.draw(cases(hows=[how], key_kinds=KEYED))
        rows = data.draw(st.sampled_from([1, 2, 7, 100]))
        losses = data.draw(st.sets(st.integers(0, 9)))
        expected = duckdb_join(*case.streams, **case.options)
        with arenas() as folder:
            found = run_case(case, rows, losses, folder, kind=Scattered, order=order).finish()
        assert_same_rows(found, expected)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_many_streams_with_small_pieces(how):
    @examples(12)
    def check(data):
        case = data.draw(many_cases(counts=[3, 4], hows=[how], key_kinds=KEYED, numbered=True))
        rows = data.draw(st.sampled_from([1, 2, 7, 100]))
        losses = data.draw(st.sets(st.integers(0, 9)))
        condition = data.draw(st.sampled_from([None, "a.v <= b.v AND b.v <> c.v"]))
        expected = duckdb_join(*case.streams, **case.options, condition=condition)
        with arenas() as folder:
            run = run_case(case, rows, losses, folder, kind=Scattered, condition=condition)
            found = run.finish()
        assert_same_rows(found, expected)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("how", HOWS)
def test_punctuations_and_count_windows_with_small_pieces(how):
    @examples(12)
    def check(data):
        counted = data.draw(st.booleans())
        if counted:
            case = data.draw(cases(hows=[how], key_kinds=KEYED, count_windows=True))
        else:
            case = replace(data.draw(punctuated_cases(max_rows=20)), how=how)
        rows = data.draw(st.sampled_from([1, 2, 7]))
        losses = data.draw(st.sets(st.integers(0, 9)))
        with arenas() as folder:
            found = run_case(case, rows, losses, folder).end()
        assert_same_rows(found, naive_join(*case.streams, **case.options))
        assert_attempts_agree(wr.plan(*case.streams, **case.options), rows)


# -- what is written ---------------------------------------------------------------------------


def rows(keys, at, width=50_000, over=False):
    """A row of each of these keys at that time."""
    return pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "t": pa.array([at] * len(keys), pa.timestamp("us")),
            "over": pa.array([over] * len(keys), pa.bool_()),
            "text": pa.array(["x" * width] * len(keys), pa.string()),
        }
    )


def run_of(**more):
    a, b = (wr.stream(rows([], 0), name=name, key="k", time="t", **more) for name in "ab")
    return Run(wr.plan(a, b))


def chunks(run):
    """What the buckets' logs have, stream by stream."""
    found = [Directory.from_text(store.text) for store in run.stores if store.text]
    return [entry for directory in found for entry in directory.chunks]


def test_chunks_that_are_merged_stay_small(monkeypatch):
    monkeypatch.setattr(sizes, "PIECE_BYTES", 1_000_000)
    run = run_of(window="1 second")
    for at in range(60):
        run.batch([rows([1, 1], at), rows([], at)])
    assert any(entry.merged for entry in chunks(run))
    assert max(entry.bytes for entry in chunks(run)) < 1_100_000
    assert sum(entry.rows for entry in chunks(run)) == 120


@pytest.mark.parametrize("retention", ["count window", "punctuations"])
def test_a_log_that_is_written_anew_has_several_small_chunks(monkeypatch, retention):
    """80 keys of 50 kB stay, among many rows that go."""
    monkeypatch.setattr(sizes, "PIECE_BYTES", 500_000)
    monkeypatch.setattr(renew, "LEAST_RENEWED", 20)
    counted = retention == "count window"
    run = run_of(window=wr.rows(1)) if counted else run_of(ends="over")
    run.batch([rows(range(80), 0), rows(range(80), 0)])
    for at in range(1, 300):
        keys = range(1000, 1004) if counted else [1000 + at]
        over = rows([] if counted else keys, at, 1, True)
        short = pa.concat_tables([rows(keys, at, 1), over])
        run.batch([short, short], lose=at % 50 == 0)
    wide = [entry for entry in chunks(run) if entry.rows * 10_000 < entry.bytes]
    assert sum(entry.rows for entry in wide) >= 2 * 80
    assert len(wide) > 2 * 80 * 50_000 // 500_000
    assert max(entry.bytes for entry in chunks(run)) < 550_000
    assert run.end().num_rows == 80 + 299 * (4 if counted else 1)
