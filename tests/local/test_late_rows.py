"""Late rows, batch by batch, against the loop that defines them."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.model import How, Stream, TimeWindow
from windrow.testing import assert_same_rows, cases, naive_batches, table

HOWS = get_args(How)
INVALIDATIONS = ("time-list", "probe", "probe-insert", "probe-all", "all")


def same_as_loop(join, case, late, batch_rows, **ways) -> None:
    result = join(case, late=late, batch_rows=batch_rows, **ways)
    expected, rows = naive_batches(*case.streams, **case.options, late=late, batch_rows=batch_rows)
    assert_same_rows(result, expected)
    found = wr.metrics(result)
    assert found.late == {name: len(numbers) for name, numbers in rows.items()}
    told = {s.name: s.data.num_rows for s in case.streams}
    counted = {n: found.tuples[n] + found.late[n] + found.bad[n] + found.beats[n] for n in told}
    assert counted == told


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("late", ["drop", "keep"])
@settings(max_examples=max(settings().max_examples // 4, 3))
@given(data=st.data())
def test_late_rows(how, late, join, data):
    """Rows in any order, heartbeats that make others late, null keys and times among them."""
    case = data.draw(cases(hows=[how], late=True, beats=True, max_rows=14))
    batch_rows = data.draw(st.sampled_from([None, 1, 2, 3, 7]))
    invalidation = data.draw(st.sampled_from(INVALIDATIONS))
    buckets = {} if case.left.key is None else {"buckets": 2}
    same_as_loop(join, case, late, batch_rows, invalidation=invalidation, **buckets)


@given(cases(late=True), st.integers(1, 5), st.sampled_from(["auto", "nested-loops"]))
def test_late_rows_without_heartbeats(join, case, batch_rows, algorithm):
    same_as_loop(join, case, "keep", batch_rows, algorithm=algorithm)


@given(cases(beats=True), st.integers(1, 5))
def test_nothing_is_late_within_its_lateness(join, case, batch_rows):
    result = join(case, late="keep", batch_rows=batch_rows)
    assert wr.metrics(result).late == {"a": 0, "b": 0}
    assert "late" not in result.column("kind").to_pylist()
    assert_same_rows(result.drop("kind"), join(case))


# -- by hand -----------------------------------------------------------------------------------


def stream(name: str, text: str, lateness: int = 0) -> Stream:
    data = table(text, t=pa.timestamp("us"))
    beats = "beat" if "beat" in data.column_names else None
    return Stream(data, data.schema, name, ("k",), "t", TimeWindow(100), lateness, beats=beats)


A = """
    v  k  t
    0  x  10
    1  x  20
    2  x  11
    3  -  12
    4  -  25
"""
B = """
    v  k  t
    0  x  12
    1  x  22
    2  x  13
    3  y  30
"""


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", []),
        ("left", [(4, None, "unmatched")]),
        ("right", [(None, 3, "unmatched")]),
        ("full", [(4, None, "unmatched"), (None, 3, "unmatched")]),
    ],
)
def test_kinds_are_marked(how, expected):
    """In batches of two: a's 11 and 12 are before 20, b's 13 is before 22."""
    result = wr.join(stream("a", A), stream("b", B), how=how, late="keep", batch_rows=2)
    found = [
        (row["a"] and row["a"]["v"], row["b"] and row["b"]["v"], row["kind"])
        for row in result.to_pylist()
    ]
    matches = [(0, 0, "match"), (0, 1, "match"), (1, 0, "match"), (1, 1, "match")]
    late = [(2, None, "late"), (3, None, "late"), (None, 2, "late")]
    assert sorted(found, key=str) == sorted([*matches, *late, *expected], key=str)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("semi", [(0, "match"), (1, "match"), (2, "late"), (3, "late")]),
        ("anti", [(2, "late"), (3, "late"), (4, "unmatched")]),
    ],
)
def test_semi_and_anti_show_the_first_streams_late_rows(how, expected):
    result = wr.join(stream("a", A), stream("b", B), how=how, late="keep", batch_rows=2)
    assert result.column_names == ["a", "ts", "kind"]
    found = [(row["a"]["v"], row["kind"]) for row in result.to_pylist()]
    assert sorted(found) == expected
    assert wr.metrics(result).late == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    ("lateness", "batch_rows", "late"),
    [(0, 1, 2), (0, 2, 2), (0, 3, 1), (0, None, 0), (8, 2, 1), (9, 2, 0), (8, 1, 1), (9, 1, 0)],
)
def test_lateness_and_batches_decide(lateness, batch_rows, late):
    """Before 20 - lateness: 11 and 12. In batches of three, 11 comes together with the 20."""
    a, b = stream("a", A, lateness), stream("b", B, 50)
    assert wr.metrics(wr.join(a, b, batch_rows=batch_rows)).late == {"a": late, "b": 0}


def test_heartbeats_let_the_other_stream_go_and_make_their_own_late():
    """A beat at 200: b's tuples before it are late, and what waits in a for them leaves."""
    text = """
        v  k  t    beat
        0  x  1    false
        1  -  200  true
        2  x  150  false
        3  x  201  false
    """
    a, b = stream("a", "v k t\n 0 z 5\n 1 z 6\n 2 z 300\n 3 z 301"), stream("b", text, 100)
    result = wr.join(a, b, how="full", late="keep", batch_rows=1)
    found = wr.metrics(result)
    assert (found.late, found.beats) == ({"a": 0, "b": 1}, {"a": 0, "b": 1})
    kinds = {row["b"]["v"]: row["kind"] for row in result.to_pylist() if row["b"]}
    assert kinds == {0: "unmatched", 2: "late", 3: "unmatched"}


def test_a_table_that_has_ended_holds_nothing_back():
    """b ends in the first batch: whatever a still brings can leave at once."""
    a = stream("a", "v k t\n" + "\n".join(f"{n} x {10 * n}" for n in range(30)))
    b = stream("b", "v k t\n 0 x 5")
    result = wr.join(a, b, how="left", batch_rows=1)
    assert wr.metrics(result).peak_rows["a"] <= 1
    assert result.num_rows == 30


def test_lateness_keeps_tuples_that_long():
    a, b = stream("a", A, 1000), stream("b", B, 1000)
    on_time = [replace(s, lateness=0) for s in (a, b)]
    assert wr.metrics(wr.join(a, b, batch_rows=1)).late == {"a": 0, "b": 0}
    assert_same_rows(wr.join(a, b, batch_rows=1), wr.join(*on_time))
