"""What a plan says of itself: how far tuples reach, whose unmatched rows show, which columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.model import LARGEST_MICROS, CountWindow, JoinPlan, Stream, TimeWindow

SCHEMA = pa.schema({"k": pa.int64(), "t": pa.timestamp("us")})


def stream(name, window=None) -> Stream:
    return Stream(None, SCHEMA, name, ("k",), "t", window)


def plan(one=None, two=None, **asked) -> JoinPlan:
    return JoinPlan((stream("a", one), stream("b", two)), **asked)


@pytest.mark.parametrize(
    ("T_a", "T_b", "closed", "expected"),
    [
        (10, 3, True, (10, 3)),
        (10, 3, False, (9, 2)),
        (1, 1, True, (1, 1)),
        (1, 1, False, (0, 0)),  # only the tie is left
        (0, 5, True, (0, 5)),
        (0, 5, False, (0, 4)),  # a tie joins, even with T = 0 and an open end
        (0, 0, False, (0, 0)),
        (LARGEST_MICROS, 1, True, (LARGEST_MICROS, 1)),
    ],
)
def test_reaches_of_windows(T_a, T_b, closed, expected):
    assert plan(TimeWindow(T_a), TimeWindow(T_b), closed=closed).reaches == expected


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize(
    ("between", "expected"),
    [
        # lo <= ts_b - ts_a <= hi: a reaches hi ahead, b reaches -lo ahead.
        ((-5, 10), (10, 5)),
        ((0, 0), (0, 0)),
        ((3, 7), (7, -3)),
        ((-7, -3), (-3, 7)),
        ((-7, 0), (0, 7)),
        ((4, 4), (4, -4)),
    ],
)
def test_reaches_of_between_whatever_closed_says(between, closed, expected):
    assert plan(between=between, closed=closed).reaches == expected


@pytest.mark.parametrize("closed", [True, False])
def test_a_count_window_bounds_no_time(closed):
    asked = plan(CountWindow(3), TimeWindow(5), closed=closed)
    assert asked.reaches == (LARGEST_MICROS, 5 if closed else 4)


@pytest.mark.parametrize(
    ("how", "preserved", "shown"),
    [
        ("inner", (False, False), (0, 1)),
        ("left", (True, False), (0, 1)),
        ("right", (False, True), (0, 1)),
        ("full", (True, True), (0, 1)),
        ("semi", (False, False), (0,)),
        ("anti", (True, False), (0,)),
    ],
)
def test_preserved_and_shown(how, preserved, shown):
    asked = plan(TimeWindow(1), TimeWindow(1), how=how)
    assert asked.preserved == preserved
    assert asked.shown == shown


def test_more_streams_all_show():
    three = JoinPlan(tuple(stream(name, TimeWindow(n)) for n, name in enumerate("abc")))
    assert three.preserved == (False, False, False)
    assert three.shown == (0, 1, 2)
    assert three.reaches == (0, 1, 2)


@pytest.mark.parametrize(("late", "marked"), [("drop", False), ("keep", True)])
def test_kinds_are_marked_where_rows_can_be_late(late, marked):
    assert plan(TimeWindow(1), TimeWindow(1), late=late).marked is marked


def test_streams_and_plans_are_values_that_stay():
    for thing in (stream("a"), plan(), TimeWindow(1), CountWindow(1)):
        with pytest.raises(AttributeError):
            thing.name = "other"
    assert TimeWindow(1) == TimeWindow(1)
    assert CountWindow(2) == CountWindow(2, "key") != CountWindow(2, "stream")
