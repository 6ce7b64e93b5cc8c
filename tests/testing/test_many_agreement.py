"""The two oracles on two streams to six: one says it as SQL, the other tries all combinations."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.model import Stream
from windrow.testing import (
    Case,
    assert_same_rows,
    duckdb_join,
    many_cases,
    naive_batches,
    naive_join,
)
from windrow.testing.strategies import MANY, MANY_HOWS

half = settings(max_examples=settings().max_examples // 2)


def agree(case: Case) -> None:
    assert_same_rows(
        duckdb_join(*case.streams, **case.options), naive_join(*case.streams, **case.options)
    )


@pytest.mark.parametrize("count", MANY)
@pytest.mark.parametrize("how", MANY_HOWS)
@half
@given(data=st.data())
def test_each_kind_of_so_many(count, how, data):
    agree(data.draw(many_cases(counts=[count], hows=[how])))


@given(many_cases(count_windows=True))
def test_count_windows(case):
    agree(case)


@given(many_cases(beats=True, late=True))
def test_heartbeats_are_not_joined(case):
    agree(case)


@half
@given(many_cases(numbered=True))
def test_a_condition_over_all_structs(case):
    names = [stream.name for stream in case.streams]
    total = " + ".join(f"{name}.v" for name in names)
    sql = f"{total} < {2 * len(names)} OR a.t = {names[-1]}.t"

    def loop(*rows):
        at_once = rows[0]["t"] == rows[-1]["t"]
        return sum(row["v"] for row in rows) < 2 * len(rows) or at_once

    assert_same_rows(
        duckdb_join(*case.streams, condition=sql, **case.options),
        naive_join(*case.streams, condition=loop, **case.options),
    )


@given(many_cases(), st.data())
def test_the_order_of_the_streams_is_nothing_to_an_inner_join(case, data):
    turned = data.draw(st.permutations(case.streams))
    result = naive_join(*turned, closed=case.closed)
    names = [stream.name for stream in case.streams]
    zone = [pc.cast(result.column("ts"), pa.timestamp("us"))]
    ordered = pa.table([*(result.column(n) for n in names), *zone], names=[*names, "ts"])
    assert_same_rows(ordered, naive_join(*case.streams, closed=case.closed))


@given(many_cases(hows=["inner"]))
def test_the_kinds_share_the_rows_of_the_first_stream(case):
    """Left is inner and anti; semi and anti are all the first stream's tuples, once each."""
    numbered = pa.array(range(case.left.data.num_rows), pa.int64())
    data = case.left.data.set_column(case.left.data.column_names.index("v"), "v", numbered)
    case = replace(case, left=replace(case.left, data=data))
    found = {how: naive_join(*case.streams, how=how, closed=case.closed) for how in MANY_HOWS}
    first = {
        how: [row["v"] for row in result.column("a").to_pylist()] for how, result in found.items()
    }
    assert sorted(first["left"]) == sorted(first["inner"] + first["anti"])
    assert set(first["semi"]) == set(first["inner"])
    there = pc.is_valid(case.left.data.column("t"))
    tuples = case.left.data.filter(there).column("v").to_pylist()
    assert sorted(first["semi"] + first["anti"]) == tuples
    others = [stream.name for stream in case.streams[1:]]
    for row in found["left"].to_pylist():
        assert len({row[name] is None for name in others}) == 1


@half
@given(many_cases(beats=True), st.integers(1, 5))
def test_input_within_its_lateness_is_never_late(case, batch_rows):
    result, late = naive_batches(*case.streams, **case.options, batch_rows=batch_rows)
    assert late == {stream.name: [] for stream in case.streams}
    assert_same_rows(result, duckdb_join(*case.streams, **case.options))


@given(many_cases(late=True) | many_cases(count_windows=True, late=True), st.integers(1, 5))
def test_the_rows_in_time_are_joined_as_if_no_others_had_come(case, batch_rows):
    result, late = naive_batches(*case.streams, **case.options, batch_rows=batch_rows)
    in_time = [without(stream, late[stream.name]) for stream in case.streams]
    assert_same_rows(result, duckdb_join(*in_time, **case.options))


@half
@given(many_cases(late=True, beats=True), st.integers(1, 5))
def test_rows_apart_are_rows_of_their_own(case, batch_rows):
    """late="keep" and bad="keep" add a row for each, of the streams that are shown."""
    asked = {**case.options, "batch_rows": batch_rows}
    plain, late = naive_batches(*case.streams, **asked)
    kept, again = naive_batches(*case.streams, **asked, late="keep", bad="keep")
    assert late == again
    kinds = kept.column("kind")
    usual = kept.filter(pc.is_in(kinds, pa.array(["match", "unmatched"]))).drop_columns("kind")
    assert_same_rows(usual, plain)
    shown = case.streams[:1] if case.how in ("semi", "anti") else case.streams
    for stream in shown:
        mine = kept.filter(pc.is_valid(kept.column(stream.name)))
        found = mine.column("kind").to_pylist()
        assert found.count("late") == len(late[stream.name])
        assert found.count("bad") == stream.data.column("t").null_count
    apart = kept.filter(pc.is_in(kinds, pa.array(["late", "bad"])))
    for row in apart.to_pylist():
        assert sum(row[stream.name] is not None for stream in shown) == 1
        assert (row["ts"] is None) == (row["kind"] == "bad")


def without(stream: Stream, rows: list[int]) -> Stream:
    keep = [row for row in range(stream.data.num_rows) if row not in rows]
    return replace(stream, data=stream.data.take(pa.array(keep, pa.int64())))
