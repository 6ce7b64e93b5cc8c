"""Hypothesis strategies: streams that break their promises, and keys that come back.

    left    a@1   END a@3   a@4           a broken promise, if a@4 is within a span of 3
            a@1   END a@3   a@30   END a@31      two lives of a, each with its end
    right   silent for long, or ahead, or with ties at exactly the promised time

Nothing is kept: tuples before and after their punctuations in any order that lateness allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from windrow.model import How, Stream, TimeWindow
from windrow.testing._inputs import MANY_HOWS
from windrow.testing.naive import Condition
from windrow.testing.strategies import (
    HOWS,
    MANY,
    MOST_COMBINATIONS,
    NAMES,
    Case,
    largest_count,
)

KEYS = (1, 2)
_EPOCH, _MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)
#: A time, and a place in the stream.
Place = tuple[int, int]
#: By key, where a stream's punctuations of it are, or its tuples.
Times = dict[int, list[Place]]


@st.composite
def broken_cases(draw: st.DrawFn, *, max_rows: int = 10, windows: bool = True) -> Case:
    """Two streams that may say anything, in any order that their lateness allows.

    No lateness is longer than the span: then two lives of a key are never open at the same time.
    """
    return draw(_cases(("left", "right"), KEYS, HOWS, windows, max_rows))


@st.composite
def many_broken_cases(
    draw: st.DrawFn,
    *,
    counts: Sequence[int] = MANY,
    hows: Sequence[How] = MANY_HOWS,
    windows: bool = True,
    max_rows: int = 10,
) -> Case:
    """So many such streams (one of `counts`), `a` to `f`; of many streams, few rows each."""
    names = NAMES[: draw(st.sampled_from(counts))]
    keys = KEYS[: draw(st.sampled_from([1, 2]))]
    most = largest_count(MOST_COMBINATIONS, len(names), max_rows)
    return draw(_cases(names, keys, hows, windows, most))


@st.composite
def _cases(
    draw: st.DrawFn,
    names: Sequence[str],
    keys: Sequence[int],
    hows: Sequence[How],
    windows: bool,
    max_rows: int,
) -> Case:
    reach = [draw(st.sampled_from([0, 1, 2, 4])) for _ in names]
    closed = draw(st.booleans())
    span = max(reach) if closed else max(0, max(reach) - 1)
    late = span if windows else 5
    first, second, *more = (
        draw(_streams(name, keys, bound if windows else None, late, max_rows))
        for name, bound in zip(names, reach, strict=True)
    )
    how = draw(st.sampled_from(hows))
    return Case(first, second, closed=closed, how=how, more=tuple(more))


@st.composite
def _streams(
    draw: st.DrawFn,
    name: str,
    keys: Sequence[int],
    window: int | None,
    most_late: int,
    max_rows: int,
) -> Stream:
    lateness = draw(st.integers(0, most_late))
    # A stream may begin late or stop early: the other one then waits for it, or runs ahead.
    first = draw(st.sampled_from([0, 0, 6]))
    times = st.integers(first, draw(st.sampled_from([first + 3, first + 12])))
    # Many punctuations make violations, few leave lives in which nothing is broken.
    over = st.sampled_from([False] * draw(st.sampled_from([2, 8])) + [True])
    row = st.tuples(st.sampled_from(keys), times, over, st.integers(0, 2))
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


def comes_back_after_all(case: Case, span: int) -> bool:
    """Does a tuple break a promise that the join may have forgotten?

    A punctuation that those of all other streams meet goes, as in paper 3. Whether a tuple that
    breaks one breaks it before or after that is a matter of when it comes. One at exactly the
    promised time breaks it if it stands behind it.
    """
    tuples, _ = _of_all(case)
    return any(
        said < came and came[0] <= said[0] + span
        for key, stream, said in _met(case, span)
        for came in tuples[stream][key]
    )


def ends_again_after_all(case: Case, span: int) -> bool:
    """Is a key said to be over once more, when all streams may have ended it already?

    Then there is one end more than if it is said before: of a life in which nothing happened.
    """
    _, ends = _of_all(case)
    return any(
        said != its and abs(said[0] - its[0]) <= len(case.streams) * span
        for key, stream, said in _met(case, span)
        for its in ends[stream][key]
    )


def of_one_life(case: Case, span: int) -> Condition:
    """The condition that the rows of a result are of one life of their key, for `naive_join`.

    A life goes on for a span after its end, whichever stream's; then the next one begins.
    """
    _, ends = _of_all(case)
    borders = {key: [time + span for of in ends for time, _ in of[key]] for key in KEYS}

    def holds(*rows: Mapping[str, Any]) -> bool:
        times = sorted((row["t"] - _EPOCH) // _MICROSECOND for row in rows)
        return not any(times[0] <= border < times[-1] for border in borders[rows[0]["k"]])

    return holds


def _met(case: Case, span: int) -> Iterator[tuple[int, int, Place]]:
    """By key and stream, the punctuations that those of all other streams may meet.

    Of n streams, the first punctuation of a life and the last may be n - 1 spans apart, if each
    is within a span of the one before.
    """
    _, ends = _of_all(case)
    far = (len(case.streams) - 1) * span
    for key in KEYS:
        for stream, mine in enumerate(ends):
            others = [of[key] for other, of in enumerate(ends) if other != stream]
            for said in mine[key]:
                if all(any(abs(said[0] - its[0]) <= far for its in of) for of in others):
                    yield key, stream, said


def _of_all(case: Case) -> tuple[list[Times], list[Times]]:
    """The tuples of all streams, and their punctuations."""
    tuples, ends = zip(*(_times(stream) for stream in case.streams), strict=True)
    return list(tuples), list(ends)


def _times(stream: Stream) -> tuple[Times, Times]:
    tuples: Times = defaultdict(list)
    ends: Times = defaultdict(list)
    for row in stream.data.set_column(1, "t", stream.data["t"].cast(pa.int64())).to_pylist():
        (ends if row["over"] else tuples)[row["k"]].append((row["t"], row["v"]))
    return tuples, ends
