"""The two oracles share no rule, so where they agree on drawn cases both say the definition."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.model import Stream, TimeWindow
from windrow.testing import (
    KEY_KINDS,
    Case,
    assert_same_rows,
    cases,
    duckdb_join,
    naive_batches,
    naive_join,
)
from windrow.testing.strategies import HOWS

# Three times what the profile asks for: these are the oracles that all other tests rest on.
many = settings(max_examples=3 * settings().max_examples)
half = settings(max_examples=settings().max_examples // 2)


def agree(case: Case) -> None:
    assert_same_rows(
        duckdb_join(*case.streams, **case.options), naive_join(*case.streams, **case.options)
    )


@many
@given(cases(between=False))
def test_windows(case):
    agree(case)


@many
@given(cases(between=True))
def test_between(case):
    agree(case)


@many
@given(cases(count_windows=True))
def test_count_windows(case):
    agree(case)


@pytest.mark.parametrize("how", HOWS)
@half
@given(data=st.data())
def test_each_kind(how, data):
    agree(data.draw(cases(hows=[how])))


@pytest.mark.parametrize("kind", KEY_KINDS)
@half
@given(data=st.data())
def test_each_key_type(kind, data):
    agree(data.draw(cases(key_kinds=[kind], numbered=True)))
    agree(data.draw(cases(key_kinds=[kind], numbered=True, count_windows=True)))


@given(cases(beats=True, late=True))
def test_heartbeats_are_not_joined(case):
    agree(case)


@given(cases(numbered=True))
def test_conditions(case):
    result = duckdb_join(*case.streams, condition="a.v < b.v OR a.t = b.t", **case.options)
    by_loop = naive_join(
        *case.streams, condition=lambda a, b: a["v"] < b["v"] or a["t"] == b["t"], **case.options
    )
    assert_same_rows(result, by_loop)


@given(cases(beats=True), st.integers(1, 5))
def test_input_within_its_lateness_is_never_late(case, batch_rows):
    result, late = naive_batches(*case.streams, **case.options, batch_rows=batch_rows)
    assert late == {"a": [], "b": []}
    assert_same_rows(result, duckdb_join(*case.streams, **case.options))


@given(cases(beats=True, late=True) | cases(count_windows=True, late=True), st.integers(1, 5))
def test_the_rows_in_time_are_joined_as_if_no_others_had_come(case, batch_rows):
    result, late = naive_batches(*case.streams, **case.options, batch_rows=batch_rows)
    in_time = [without(stream, late[stream.name]) for stream in case.streams]
    assert_same_rows(result, duckdb_join(*in_time, **case.options))


@given(cases(late=True, beats=True))
def test_one_batch_has_no_late_rows(case):
    _, late = naive_batches(*case.streams, **case.options)
    assert late == {"a": [], "b": []}


@given(cases(between=False, key_kinds=["int64"]))
def test_windows_say_the_same_as_between(case):
    """With two streams: -T_B <= ts_b - ts_a <= T_A."""
    assert isinstance(case.left.window, TimeWindow)
    assert isinstance(case.right.window, TimeWindow)
    bounds = (-case.right.window.micros, case.left.window.micros)
    plain = [replace(stream, window=None) for stream in case.streams]
    assert_same_rows(
        naive_join(*case.streams, how=case.how), duckdb_join(*plain, how=case.how, between=bounds)
    )


def without(stream: Stream, rows: list[int]) -> Stream:
    keep = [row for row in range(stream.data.num_rows) if row not in rows]
    return replace(stream, data=stream.data.take(pa.array(keep, pa.int64())))
