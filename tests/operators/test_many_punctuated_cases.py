"""Punctuations among many streams: cases, and promises that are broken."""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.operators import columns, keys
from windrow.testing import naive_join
from windrow.testing.broken import (
    comes_back_after_all,
    ends_again_after_all,
    many_broken_cases,
    of_one_life,
)

from .test_many_punctuated import COUNTS, ORDERS, SIZES, stream


def both(sides, **asked):
    """The join in one go, and row by row."""
    return [wr.join(*sides, batch_rows=size, **asked) for size in (None, 1)]


def live(sides, shares, how="inner"):
    """Live rows of each stream after these rows of each have come."""
    join = local_join(wr.plan(*sides, how=how))
    for _ in join.batch([(0, share) for share in shares]):
        pass
    return list(join.figures().live_rows.values())


def test_a_row_goes_when_all_others_have_ended_its_key():
    a = stream([(1, 1), (2, 9)], "a")
    b = stream([(1, 2), (1, 3, 1), (2, 9)], "b")
    c = stream([(1, 2), (1, 4, 1), (2, 9)], "c")
    assert live((a, b, c), (1, 1, 1)) == [1, 1, 1]
    # b has ended the key and c may send more of it.
    assert live((a, b, c), (1, 2, 1)) == [1, 1, 1]
    # Now a may send more of it, which needs the rows of b and c, and its own row is done.
    assert live((a, b, c), (1, 3, 3)) == [1 - 1, 2, 2]


def test_a_row_goes_when_one_that_has_ended_its_key_holds_none_of_it():
    """b never had key 1."""
    a = stream([(1, 1), (2, 9)], "a", 1000)
    b = stream([(1, 3, 1), (2, 9)], "b", 1000)
    c = stream([(1, 2), (2, 9)], "c", 1000)
    assert live((a, b, c), (1, 1, 1)) == [0, 0, 0]
    join = local_join(wr.plan(a, b, c, how="left", punctuate=False))
    pieces = list(join.batch([(0, 1), (0, 1), (0, 1)]))
    assert [(p.kind, p.ts.tolist()) for p in pieces if len(p.ts)] == [("unmatched", [1])]


@pytest.mark.parametrize(("ts", "skipped"), [(5, 1), (13, 1), (14, 0)])
def test_what_comes_for_a_key_that_is_over_is_skipped_for_a_span(ts, skipped):
    a = stream([(2, 4), (1, ts), (2, 99)], "a", 10)
    b = stream([(1, 3, 1), (2, 99)], "b", 10)
    c = stream([(2, 4), (2, 99)], "c", 10)
    for result in both((a, b, c), how="left"):
        assert [row["a"]["k"] for row in result.to_pylist()].count(1) == 1
        assert wr.metrics(result).skipped == {"a": skipped, "b": 0, "c": 0}


@pytest.mark.parametrize(("ts", "matches"), [(10, 1), (11, 0)])
def test_no_result_has_rows_of_two_lives(ts, matches):
    """b has ended key 1 at 8, and a's window reaches 2: from 11 on rows are of the next life."""
    a = stream([(9, 0), (1, 9), (9, 20)], "a", 2)
    b = stream([(1, 8), (1, 8, 1), (9, 20)], "b", 2)
    c = stream([(9, 0), (1, ts), (9, 20)], "c", 2)
    for result in both((a, b, c)):
        found = [row for row in result.to_pylist() if row["a"]["k"] == 1]
        assert len(found) == matches
        assert set(wr.metrics(result).violations.values()) == {0}


def test_a_violation_is_dropped_and_counted_or_fails():
    a = [(1, 2), (1, 3, 1), (1, 5), (2, 30)]
    sides = [stream(a, "a", 4), stream([(1, 2), (2, 30)], "b", 4), stream([(1, 4)], "c", 4)]
    for result in both(sides):
        assert wr.metrics(result).violations == {"a": 1, "b": 0, "c": 0}
        assert result.num_rows == 1
    with pytest.raises(wr.WindrowError, match="stream 'a': 1 tuples came after a punctuation"):
        wr.join(*sides, violations="fail")


def test_a_collision_of_hashes_stops_the_join(monkeypatch):
    """Equal hashes are no proof for text keys: here b would end the key of a's second row."""

    def weak(values, length):
        found = keys.hash_keys(values, length)
        return replace(found, hashes=found.hashes * 0 + (1 << 40))

    monkeypatch.setattr(columns, "hash_keys", weak)
    sides = []
    for name, end in (("a", None), ("b", "x"), ("c", None)):
        data = pa.table(
            {
                "k": ["x", "y", end or "x"],
                "t": pa.array([0, 1, 2], pa.timestamp("us")),
                "over": [False, False, end is not None],
            }
        )
        sides.append(
            wr.stream(data, name=name, key="k", time="t", ends="over", window="10 microseconds")
        )
    with pytest.raises(wr.WindrowError, match="the same 64-bit hash"):
        wr.join(*sides)


def test_many_keys_leave_no_records_behind():
    """Without windows, what has ended in all streams goes, and its flags."""
    rows = [r for key in range(500) for r in ((key, 2 * key), (key, 2 * key, 1))]
    sides = [stream(rows, name) for name in "abcd"]
    result = wr.join(*sides, batch_rows=20, punctuate=True)
    figures = wr.metrics(result)
    assert figures.matches == 500
    assert figures.ended == 500
    assert set(figures.flags.values()) == {0}
    assert set(figures.live_rows.values()) == {0}
    assert max(figures.peak_rows.values()) < 100


# -- promises that are broken ----------------------------------------------------------------


def rows_of(table):
    return Counter(map(repr, table.to_pylist()))


def broken(table):
    return wr.metrics(table).violations


def late(run):
    return any(wr.metrics(run).late.values())


@given(
    case=st.booleans().flatmap(lambda kept: many_broken_cases(counts=COUNTS, windows=kept)),
)
def test_where_nothing_is_counted_the_rows_are_those_of_each_life(case):
    """For all batches and orders."""
    span = wr.plan(*case.streams, **case.options).span
    if comes_back_after_all(case, span) or ends_again_after_all(case, span):
        return
    expected = rows_of(naive_join(*case.streams, **case.options, condition=of_one_life(case, span)))
    for size in SIZES:
        # Of streams without windows, rows alone have no order.
        windows = case.left.window is not None or case.how == "inner"
        for order in ORDERS[:3] if windows else ORDERS[:1]:
            run = wr.join(*case.streams, **case.options, batch_rows=size, order=order)
            if not any(broken(run).values()) and not late(run):
                assert rows_of(run) == expected


@given(case=many_broken_cases(counts=COUNTS))
def test_matches_are_matches_of_the_plain_join(case):
    """Whatever is dropped, no result is made up, and none comes twice."""
    plain = rows_of(naive_join(*case.streams, closed=case.closed))
    for size in SIZES:
        assert not rows_of(wr.join(*case.streams, closed=case.closed, batch_rows=size)) - plain


@given(case=many_broken_cases(counts=COUNTS))
def test_in_the_order_of_times_the_answer_is_that_of_one_batch(case):
    one = wr.join(*case.streams, **case.options)
    for size in SIZES:
        run = wr.join(*case.streams, **case.options, batch_rows=size, order="sync-filter")
        if not late(run):
            assert rows_of(run) == rows_of(one)
            assert broken(run) == broken(one)


@given(case=many_broken_cases(counts=COUNTS))
def test_every_row_of_the_first_stream_has_its_place(case):
    """In a left join a row is matched, unmatched once, late or a violation."""
    first = case.left.data
    for size in SIZES:
        run = wr.join(*case.streams, closed=case.closed, how="left", batch_rows=size)
        rows = run.to_pylist()
        alone = Counter(row["a"]["v"] for row in rows if row["b"] is None)
        met = {row["a"]["v"] for row in rows if row["b"] is not None}
        figures = wr.metrics(run)
        assert not met & set(alone)
        assert max(alone.values(), default=1) == 1
        there = sum(not over for over in first["over"].to_pylist())
        dropped = there - len(met | set(alone))
        assert 0 <= dropped - figures.late["a"] <= figures.violations["a"]
