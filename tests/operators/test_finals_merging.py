"""Partial rows of finals become one, and no end takes what is of another life."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.api import local_join
from windrow.operators.results import finals


def over_rows(rows):
    """Rows (key, time) of tuples, (key, time, 1) of punctuations."""
    return pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.int64()),
            "t": pa.array([row[1] for row in rows], pa.timestamp("us")),
            "over": pa.array([len(row) == 3 for row in rows], pa.bool_()),
            "v": pa.array([7 * row[1] % 11 for row in rows], pa.int64()),
        }
    )


def said(rows, name, window, lateness=0):
    return wr.stream(
        over_rows(rows), name=name, key="k", time="t", ends="over",
        window=dt.timedelta(microseconds=window), lateness=dt.timedelta(microseconds=lateness),
    )  # fmt: skip


def test_partial_rows_follow_the_open_keys_and_not_the_batches():
    """Three keys stay open over 1,001 batches, each with results for all of them."""
    batches = 1_001
    rows = [(key, at) for at in range(batches) for key in range(3)]
    rows += [(key, batches, 1) for key in range(3)]
    a, b = said(rows, "a", 0), said(rows, "b", 0)
    asked = {"n": "count(*)", "total": "sum(a.v)", "low": "min(b.v)", "high": "max(b.v)"}
    run = local_join(replace(wr.plan(a, b, finals=asked), batch_rows=3))
    found, most = [], 0
    for start in range(0, len(rows), 3):
        for batch in run.record_batches(run.batch([(start, start + 3)] * 2)):
            found += batch.to_pylist()
        most = max(most, run.figures().partials)
    values = [7 * at % 11 for at in range(batches)]
    assert [row["k"] for row in found] == [0, 1, 2]
    for row in found:
        assert (row["n"], row["total"]) == (batches, sum(values))
        assert (row["low"], row["high"]) == (min(values), max(values))
        assert row["ts"] == dt.datetime(1970, 1, 1, microsecond=batches - 1)
    assert 3 <= most <= finals.LEAST_MERGED + 3
    assert run.figures().partials == 0


@pytest.fixture
def hasty(monkeypatch):
    """Partial rows are merged after every batch."""
    monkeypatch.setattr(finals, "LEAST_MERGED", 1)


#: Both lives of key 1 are open while the slow stream waits, one microsecond apart.
NEIGHBOURS = {
    "the flag is known": (
        [(1, 0), (1, 0, 1), (1, 11), (1, 11, 1), (9, 400)], 0,
    ),
    "the punctuation is yet to come": (
        [(1, 0), (1, 11), (9, 12), (1, 0, 1), (1, 11, 1), (9, 400)], 50,
    ),
    "the punctuation waits for its stream": (
        [(9, 30), (1, 0), (1, 0, 1), (1, 11), (9, 31), (1, 11, 1), (9, 400)], 50,
    ),
}  # fmt: skip


@pytest.mark.parametrize("known", NEIGHBOURS)
@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
@pytest.mark.usefixtures("hasty")
def test_lives_that_touch_have_finals_of_their_own(known, batch_rows):
    rows, lateness = NEIGHBOURS[known]
    a = said(rows, "a", 10, lateness)
    b = said([(1, 10), (1, 11), (8, 12), (9, 400), (9, 900)], "b", 0, 200)
    found = wr.join(a, b, finals={"n": "count(*)"}, batch_rows=batch_rows)
    mine = [(row["n"], row["ts"].microsecond) for row in found.to_pylist() if row["k"] == 1]
    assert mine == [(1, 10), (1, 11)]


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
@pytest.mark.usefixtures("hasty")
def test_a_punctuation_later_than_its_lateness_ends_the_life_it_names(batch_rows):
    """Key 1 has begun its second life when the first one's punctuations come."""
    rows = [(1, 0), (1, 100), (9, 200), (1, 0, 1), (9, 300), (1, 300, 1)]
    a, b = said(rows, "a", 10), said(rows, "b", 10)
    found = wr.join(a, b, finals={"n": "count(*)"}, batch_rows=batch_rows)
    mine = [(row["n"], row["ts"].microsecond) for row in found.to_pylist() if row["k"] == 1]
    assert mine == [(1, 0), (1, 100)]


def lives(rng, span, lateness):
    """Two streams of keys that come and go, and each life's results by definition."""
    sides, expected = ([], []), []
    for key in range(3):
        at = int(rng.integers(0, 5))
        for _ in range(int(rng.integers(1, 5))):
            times = [np.sort(at + rng.integers(0, span + 4, rng.integers(1, 4))) for _ in sides]
            end = int(max(part.max() for part in times))
            for rows, part in zip(sides, times, strict=True):
                rows += [(key, int(t)) for t in part]
                rows.append((key, end, 1))
            pairs = [(x, y) for x in times[0] for y in times[1] if abs(x - y) <= span]
            if pairs:
                total = sum(7 * int(x) % 11 for x, _ in pairs)
                latest = max(max(pair) for pair in pairs)
                expected.append((key, len(pairs), total, int(latest)))
            at = end + span + 1 + int(rng.integers(0, 2 * span + 2))
    streams = []
    for rows, name, late in zip(sides, "ab", lateness, strict=True):
        # A punctuation comes after its tuples, all of them no later than they may.
        arrival = [row[1] + (len(row) == 3) * 0.5 + rng.random() * late for row in rows]
        arrival = [
            max(mine, *(its for its, row in zip(arrival, rows, strict=True) if row[:2] == one[:2]))
            if len(one) == 3
            else mine
            for mine, one in zip(arrival, rows, strict=True)
        ]
        order = sorted(range(len(rows)), key=lambda at: (arrival[at], len(rows[at])))
        streams.append(said([rows[at] for at in order], name, span, late))
    return streams, sorted(expected)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.usefixtures("hasty")
def test_any_batches_give_each_life_its_final(seed):
    rng = np.random.default_rng(seed)
    span = int(rng.integers(0, 6))
    streams, expected = lives(rng, span, [int(late) for late in rng.choice([0, 3, 20], 2)])
    asked = {"n": "count(*)", "total": "sum(a.v)"}
    for batch_rows in (None, 1, 2, 5):
        found = wr.join(*streams, finals=asked, batch_rows=batch_rows)
        assert wr.metrics(found).violations == {"a": 0, "b": 0}
        rows = [(r["k"], r["n"], r["total"], r["ts"].microsecond) for r in found.to_pylist()]
        assert sorted(rows) == expected, batch_rows


@pytest.mark.parametrize("batch_rows", [1, 2, 3, None])
@pytest.mark.usefixtures("hasty")
def test_a_broken_promise_costs_a_final_no_result(batch_rows):
    """a's tuple at 4 has met b's at 0 before a says that nothing comes after 3."""
    a = said([(1, 0), (1, 4), (1, 3, 1), (9, 9)], "a", 5, 2)
    b = said([(1, 0), (9, 1), (1, 3, 1), (9, 9)], "b", 5, 2)
    found = wr.join(a, b, finals={"n": "count(*)"}, batch_rows=batch_rows).to_pylist()
    # The match at 0 is in it; the one at 4 is if it has become one row with that.
    assert [(row["k"], row["n"] in (1, 2)) for row in found] == [(1, True)]
