"""Promises that are broken, and keys that come back: what is known is counted, once."""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.kernels.compaction import LEAST_COMPACTED
from windrow.testing import naive_join
from windrow.testing.broken import (
    broken_cases,
    comes_back_after_all,
    ends_again_after_all,
    of_one_life,
)

SIZES = (None, 1, 2, 3)
ORDERS = (
    {"order": "none"},
    {"order": "sync-filter"},
    {"order": "filter-order"},
    # From then on results wait, once there is something to measure.
    {"order": "adaptive", "alpha": 0.0},
)


def stream(rows, name, window, **more):
    """Rows (key, time), or (key, time, 1) for a punctuation."""
    data = pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.int64()),
            "t": pa.array([row[1] for row in rows], pa.timestamp("us")),
            "over": pa.array([len(row) > 2 for row in rows], pa.bool_()),
        }
    )
    length = None if window is None else f"{window} microseconds"
    return wr.stream(data, name=name, key="k", time="t", ends="over", window=length, **more)


def both(a, b, window, lateness="0 seconds", **asked):
    """The join in one go, and row by row."""
    sides = [stream(rows, n, window, lateness=lateness) for rows, n in ((a, "a"), (b, "b"))]
    return [wr.join(*sides, batch_rows=size, **asked) for size in (None, 1)]


def rows_of(table):
    return Counter(map(repr, table.to_pylist()))


def with_ends(table):
    """The rows; of an end its key only, because its time may be any that no result exceeds."""
    rows, ended = Counter(), Counter()
    for row in table.to_pylist():
        if row.pop("kind", None) == "end":
            ended[row["left"]["k"]] += 1
        else:
            rows[repr(row)] += 1
    return rows, ended


def broken(table):
    return wr.metrics(table).violations


# -- cases ---------------------------------------------------------------------------------------


def test_an_end_after_one_table_has_ended_has_a_time_that_was_seen():
    a, b = [(1, 5), (2, 5, 1)], [(1, 1), (1, 6), (3, 7, 1), (1, 8, 1)]
    for result in both(a, b, None, punctuate=True):
        assert max(result["ts"].cast(pa.int64()).to_pylist()) == 8


def test_an_end_after_a_restart_has_the_same_time(elsewhere):
    a, b = [(1, 5), (2, 5, 1)], [(1, 1), (1, 6), (3, 7, 1), (1, 8, 1)]
    plan = replace(
        wr.plan(stream(a, "a", None), stream(b, "b", None)), punctuate=True, batch_rows=1
    )
    run, found = local_join(plan), []
    for start in range(4):
        for piece in run.batch([(start, start + 1)] * 2):
            found += piece.ts.tolist()
        run = elsewhere(run)
    assert max(found) == 8


def test_an_end_has_a_time_that_was_seen_whatever_the_lateness():
    """A lateness says how far rows may be behind; it puts no end ahead of them."""
    a = stream([(0, 0), (0, 0, 1), (0, 1, 1), (0, 3)], "a", None, lateness="1 second")
    b = stream([(0, 9), (1, 44), (1, 45, 1), (0, 46)], "b", None)
    for size in SIZES:
        result = wr.join(a, b, punctuate=True, batch_rows=size)
        assert max(result["ts"].cast(pa.int64()).to_pylist()) == 46


@pytest.mark.parametrize(("ts", "matches"), [(9, 2), (10, 1), (11, 1), (12, 1)])
def test_a_tuple_of_a_life_that_has_ended_meets_nothing_of_the_next(ts, matches):
    """b has ended key 1 at 8, its next life begins after 10, and a's window reaches 2."""
    a = [(9, 0), (9, 1), (9, 2), (1, ts), (9, 12)]
    b = [(1, 7), (1, 8), (1, 8, 1), (1, 11), (9, 12)]
    for result in both(a, b, 2):
        # At 9 both tuples of the old life are in reach, at 10 one; later ones are of the next.
        assert result.num_rows - 1 == matches
        assert broken(result) == {"a": 0, "b": 0}


def test_each_tuple_has_the_first_end_that_it_has_not_passed():
    """b has ended two lives of key 1 before a's tuple of the first one comes."""
    a = [(9, 0)] * 5 + [(1, 3), (9, 20)]
    b = [(1, 2), (1, 2, 1), (1, 5), (1, 5, 1), (8, 5), (8, 5), (9, 20)]
    for result in both(a, b, 2):
        assert [(r["a"]["t"].microsecond, r["b"]["t"].microsecond) for r in result.to_pylist()] == [
            (3, 2),
            (20, 20),
        ]


@pytest.mark.parametrize(
    ("ts", "violations"),
    [(2, 0), (3, 1), (6, 1), (7, 0)],
    ids=["at its time", "after it", "at the end of its life", "in the next life"],
)
def test_a_promise_that_waits_can_be_broken(ts, violations):
    """Under lateness a punctuation waits; what it says is known as soon as it has come."""
    a = [(2, 0), (2, 2, 1), (2, ts), (5, 30)]
    b = [(2, 2), (2, 4), (6, 30)]
    results = both(a, b, 4, lateness="4 microseconds")
    assert [broken(result) for result in results] == [{"a": violations, "b": 0}] * 2
    assert rows_of(results[0]) == rows_of(results[1])


def test_a_promise_that_waits_fails_the_join_if_asked():
    a, b = [(2, 2, 1), (2, 3), (5, 30)], [(2, 3)]
    for size in (None, 1):
        with pytest.raises(wr.WindrowError, match="stream 'a': 1 tuples came after a punctuation"):
            wr.join(
                stream(a, "a", 4, lateness="2 microseconds"), stream(b, "b", 4),
                violations="fail", batch_rows=size,
            )  # fmt: skip


def test_a_tuple_that_came_before_the_promise_which_it_breaks_is_counted():
    """It has met what it has met; from then on it meets nothing."""
    a = [(1, 5), (1, 3, 1), (9, 5), (9, 6)]
    b = [(9, 0), (1, 5), (1, 6), (9, 6)]
    in_one, one_by_one = both(a, b, 2, lateness="2 microseconds")
    assert broken(in_one) == broken(one_by_one) == {"a": 1, "b": 0}


def test_a_promise_is_broken_by_its_own_key_only(monkeypatch):
    """Equal hashes are no proof for text keys: the join stops instead of dropping a row."""
    from windrow.operators import columns, keys

    def weak(values, length):
        found = keys.hash_keys(values, length)
        return replace(found, hashes=found.hashes * 0 + (1 << 40))

    monkeypatch.setattr(columns, "hash_keys", weak)
    data = pa.table(
        {
            "k": ["x", "y", "y"],
            "t": pa.array([2, 3, 3], pa.timestamp("us")),
            "over": [True, False, False],
        }
    )
    asked = {"key": "k", "time": "t", "ends": "over", "window": "4 microseconds"}
    a, b = (wr.stream(data, name=n, lateness="2 microseconds", **asked) for n in "ab")
    with pytest.raises(wr.WindrowError, match="the same 64-bit hash"):
        wr.join(a, b, batch_rows=1)


def test_a_key_said_again_and_again_leaves_no_records_behind():
    """Without windows a flag stays until it is met, but it is one flag."""
    rows = [(1, at, 1) for at in range(2_000)]
    join = local_join(
        replace(wr.plan(stream(rows, "a", None), stream([], "b", None)), batch_rows=10)
    )
    # Not to the last row: where both tables have ended, so has every flag.
    for start in range(0, 1_990, 10):
        for _ in join.batch([(start, start + 10), (0, 0)]):
            pass
    assert join.join.state.live_flags(0) == 1
    assert int(join.join.state.nodes.live().sum()) <= 2 * LEAST_COMPACTED


# -- whatever is broken ---------------------------------------------------------------------------


MORE = ({}, {"punctuate": True}, {"finals": {"n": "count(*)", "most": "max(left.v)"}})


@pytest.mark.kernel
@given(
    case=st.booleans().flatmap(lambda windows: broken_cases(windows=windows)),
    more=st.sampled_from(MORE),
)
def test_where_nothing_is_counted_the_rows_are_the_same_for_all_batches_and_orders(case, more):
    """They are those of the plain join in each life of a key.

    But for what docs/punctuations.md leaves to batches: a key that both streams have ended.
    """
    asked = [{**case.options, **more, **order} for order in ORDERS]
    spans = [wr.plan(*case.streams, **each).span for each in asked if not refused(case, each)]
    if not spans or comes_back_after_all(case, spans[0]):
        return
    if more and ends_again_after_all(case, spans[0]):
        return
    runs = [
        wr.join(*case.streams, **each, batch_rows=size)
        for size in SIZES
        for each in asked
        if not refused(case, each)
    ]
    kept = [run for run in runs if not any(broken(run).values()) and not late(run)]
    assert all(with_ends(run) == with_ends(kept[0]) for run in kept)
    if kept and "finals" not in more:
        same_life = of_one_life(case, spans[0])
        expected = naive_join(*case.streams, **case.options, condition=same_life)
        assert with_ends(kept[0])[0] == rows_of(expected)


@given(case=broken_cases())
def test_in_the_order_of_times_the_answer_is_that_of_one_batch(case):
    """Sync-Filter gives the same rows and violations for all batch sizes."""
    one = wr.join(*case.streams, **case.options)
    for size in SIZES:
        run = wr.join(*case.streams, **case.options, batch_rows=size, order="sync-filter")
        if not late(run):
            assert rows_of(run) == rows_of(one)
            assert broken(run) == broken(one)


@given(case=broken_cases())
def test_in_the_order_of_arrival_the_answer_is_that_of_no_order(case):
    """Filter-Order only moves rows: within the same batches it has the same ones."""
    for size in SIZES:
        plain = wr.join(*case.streams, **case.options, batch_rows=size)
        run = wr.join(*case.streams, **case.options, batch_rows=size, order="filter-order")
        assert rows_of(run) == rows_of(plain)
        assert broken(run) == broken(plain)


@given(case=broken_cases())
def test_the_two_answers_differ_in_keys_that_broke_a_promise_only(case):
    suspects = set().union(*map(keys_behind_their_end, case.streams))
    for size in SIZES[1:]:
        by_time, by_arrival = (
            wr.join(*case.streams, **case.options, batch_rows=size, order=order)
            for order in ("sync-filter", "filter-order")
        )
        if late(by_arrival):
            continue
        found, other = (
            Counter((key_of(row), repr(row)) for row in run.to_pylist())
            for run in (by_time, by_arrival)
        )
        differing = (found - other) + (other - found)
        assert {key for key, _ in differing} <= suspects
        span = wr.plan(*case.streams, **case.options).span
        if differing and not comes_back_after_all(case, span):
            assert any([*broken(by_time).values(), *broken(by_arrival).values()])


def test_the_two_answers_do_differ():
    """At 6 a's tuple is a tie by time; by arrival it comes after the punctuation has acted."""
    a, b = stream([(2, 6, 1), (2, 6)], "a", 0), stream([(2, 6), (2, 8)], "b", 0)
    runs = [wr.join(a, b, batch_rows=1, order=o) for o in ("sync-filter", "filter-order")]
    assert [run.num_rows for run in runs] == [1, 0]
    assert [broken(run)["a"] for run in runs] == [0, 1]


def key_of(row):
    return next(row[name]["k"] for name in ("left", "right") if row.get(name) is not None)


def keys_behind_their_end(asked):
    """The keys of which a stream sends a tuple behind a punctuation, by place or by time."""
    rows = [(at, *map(row.get, "kt"), row["over"]) for at, row in enumerate(asked.data.to_pylist())]
    return {
        key
        for at, key, time, over in rows
        for other, same, later, end in rows
        if over and same == key and not end and (other > at or later > time)
    }


@given(case=broken_cases())
def test_matches_are_matches_of_the_plain_join(case):
    """Whatever is dropped, no pair is made up, and none comes twice."""
    plain = rows_of(naive_join(*case.streams, closed=case.closed))
    for size in SIZES:
        run = wr.join(*case.streams, closed=case.closed, batch_rows=size)
        assert not rows_of(run) - plain


@given(case=broken_cases())
def test_every_row_of_the_first_stream_has_its_place(case):
    """In a left join a row is matched, unmatched once, late or a violation."""
    first = case.left.data
    for size in SIZES:
        run = wr.join(*case.streams, closed=case.closed, how="left", batch_rows=size)
        rows = run.to_pylist()
        alone = Counter(row["left"]["v"] for row in rows if row["right"] is None)
        met = {row["left"]["v"] for row in rows if row["right"] is not None}
        figures = wr.metrics(run)
        assert not met & set(alone)
        assert max(alone.values(), default=1) == 1
        there = sum(not over for over in first["over"].to_pylist())
        dropped = there - len(met | set(alone))
        # A violation that is known only after the tuple has met something stays a match.
        assert 0 <= dropped - figures.late["left"] <= figures.violations["left"]


def refused(case, asked):
    """Can this not be asked, such as an order of a kind whose rows leave at a time of their own?"""
    try:
        wr.plan(*case.streams, **asked)
    except wr.WindrowError:
        return True
    return False


def late(run):
    return any(wr.metrics(run).late.values())
