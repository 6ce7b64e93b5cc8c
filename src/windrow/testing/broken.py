"""Hypothesis strategies: pairs of streams that break their promises, and keys that come back.

    left    a@1   END a@3   a@4           a broken promise, if a@4 is within a span of 3
            a@1   END a@3   a@30   END a@31      two lives of a, each with its end
    right   silent for long, or ahead, or with ties at exactly the promised time

Nothing is kept: tuples before and after their punctuations in any order that lateness allows.
"""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
from hypothesis import strategies as st

from windrow.model import Stream, TimeWindow
from windrow.testing.strategies import HOWS, Case

KEYS = (1, 2)
#: By key, (time, place in the stream) of a stream's punctuations of it, or of its tuples.
Times = dict[int, list[tuple[int, int]]]


@st.composite
def broken_cases(draw: st.DrawFn, *, max_rows: int = 10, windows: bool = True) -> Case:
    """Two streams that may say anything, in any order that their lateness allows.

    No lateness is longer than the span: then two lives of a key are never open at the same time.
    """
    reach = [draw(st.sampled_from([0, 1, 2, 4])) for _ in range(2)]
    closed = draw(st.booleans())
    span = max(reach) if closed else max(0, max(reach) - 1)
    left, right = (
        draw(_streams(name, reach[at] if windows else None, span if windows else 5, max_rows))
        for at, name in enumerate(("left", "right"))
    )
    return Case(left, right, closed=closed, how=draw(st.sampled_from(HOWS)))


@st.composite
def _streams(
    draw: st.DrawFn, name: str, window: int | None, most_late: int, max_rows: int
) -> Stream:
    lateness = draw(st.integers(0, most_late))
    # A stream may begin late or stop early: the other one then waits for it, or runs ahead.
    first = draw(st.sampled_from([0, 0, 6]))
    times = st.integers(first, draw(st.sampled_from([first + 3, first + 12])))
    row = st.tuples(
        st.sampled_from(KEYS), times, st.sampled_from([False, False, True]), st.integers(0, 2)
    )
    rows = draw(st.lists(row, max_size=max_rows))
    order = sorted(range(len(rows)), key=lambda at: (rows[at][1] + rows[at][3] * lateness / 2, at))
    rows = [rows[at] for at in order]
    data = pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.int64()),
            "t": pa.array([row[1] for row in rows], pa.timestamp("us")),
            "v": pa.array(range(len(rows)), pa.int64()),
            "over": pa.array([row[2] for row in rows], pa.bool_()),
        }
    )
    bounds = None if window is None else TimeWindow(window)
    return Stream(data, data.schema, name, ("k",), "t", bounds, lateness, ends="over")


def comes_back_after_both(case: Case, span: int) -> bool:
    """Does a key come back soon after both streams have ended it?

    Then the join has forgotten the promises, by paper 3's rule that a punctuation which is met
    goes. Whether the tuple breaks one is a matter of when it comes. A tuple at exactly the
    promised time comes back if it stands behind the promise.
    """
    tuples, ends = zip(*(_times(stream) for stream in case.streams), strict=True)
    for key in KEYS:
        for life in _lives([side[key] for side in ends], span):
            if not all(life):
                continue
            over = max(max(times)[0] for times in life) + span
            for side, said in zip(tuples, life, strict=True):
                if any(min(said) < came and came[0] <= over for came in side[key]):
                    return True
    return False


def _times(stream: Stream) -> tuple[Times, Times]:
    tuples: Times = defaultdict(list)
    ends: Times = defaultdict(list)
    for row in stream.data.set_column(1, "t", stream.data["t"].cast(pa.int64())).to_pylist():
        (ends if row["over"] else tuples)[row["k"]].append((row["t"], row["v"]))
    return tuples, ends


def _lives(
    said: list[list[tuple[int, int]]], span: int
) -> list[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
    """A key's punctuations of both streams, those at most a span apart in one group."""
    events = sorted((*when, side) for side, times in enumerate(said) for when in times)
    lives: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]] = []
    before = None
    for time, place, side in events:
        if before is None or time - before > span:
            lives.append(([], []))
        lives[-1][side].append((time, place))
        before = time
    return lives
