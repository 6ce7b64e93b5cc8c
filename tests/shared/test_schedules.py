"""Who is served when: the compiled schedules beside the plain loops, on one simulated clock."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shared.runs import FOREVER, Batch, Shared
from windrow.operators.join.shared import Clock
from windrow.testing.schedules import NaiveSharedJoin, Row, timed

SCHEDULES = ("lwo", "swf", "mqt")
pytestmark = pytest.mark.kernel
#: What a result costs in seconds; scanning costs nothing, since naive loops scan something else.
PRICE = 1.0


def run(streams, rows, arrives, windows, schedule, nested=False):
    """The plain loops, when their steps end, and by query results with their clock here."""
    rows = sorted(rows, key=lambda row: (row.ts, row.stream, row.row))
    there = NaiveSharedJoin(streams, schedule)
    for n, window in enumerate(windows):
        there.add(f"q{n}", window)
    ends = timed(there, rows, arrives, lambda step: PRICE * len(step.results))
    by_stream = [[r for r in rows if r.stream == s] for s in range(streams)]
    here = Shared(
        streams, [Batch([[(r.key, r.ts) for r in mine] for mine in by_stream])], schedule,
        nested=nested,
    )  # fmt: skip
    shared = here.run.shared
    for window in windows:
        shared.add(window)
    shared.clock = Clock(np.array(arrives, float), scan=0.0, produce=PRICE)
    pieces = here.run.served([(0, len(mine)) for mine in by_stream])
    return there, ends, [answers(shared, pieces, w) for w in windows]


def answers(shared, pieces, window):
    """What a query gets, and when."""
    events = [np.concatenate(column) for column in zip(*shared.events, strict=True)]
    found = []
    for piece in pieces:
        mine = np.flatnonzero(piece.of(window, 0, FOREVER))
        for at in mine:
            let = (events[0] == piece.arrival[at]) & (events[1] >= window)
            clock = max(float(events[2][let].min()), float(piece.produced[at]))
            found.append((tuple(int(ids[at]) for ids in piece.rows), clock))
    return found


def same(streams, rows, arrives, windows, schedule, nested=False):
    there, ends, here = run(streams, rows, arrives, windows, schedule, nested)
    begins = [0.0, *ends]
    # Row ids here count each stream in the order of time.
    ids = {}
    for row in sorted(there.arrivals, key=lambda row: (row.ts, row.stream, row.row)):
        ids[row.stream, row.row] = sum(stream == row.stream for stream, _ in ids)
    for n, mine in enumerate(here):
        wanted = there.answers[f"q{n}"]
        named = [tuple(ids[s, r] for s, r in enumerate(a.result.rows)) for a in wanted]
        assert [rows for rows, _ in mine] == named
        for (_, clock), answer in zip(mine, wanted, strict=True):
            # Within the step a result goes as soon as it is found, where nothing is before it.
            assert clock <= ends[answer.step]
            assert clock > begins[answer.step] or ends[answer.step] == begins[answer.step]


@st.composite
def bursts(draw, streams, rows):
    """Rows in time order, when each comes, and windows."""
    times = sorted(draw(st.lists(st.integers(0, 20), min_size=1, max_size=rows)))
    made = [
        Row(draw(st.integers(0, streams - 1)), t, n, draw(st.integers(0, 1)))
        for n, t in enumerate(times)
    ]
    gaps = draw(st.lists(st.sampled_from([0, 0, 1, 5]), min_size=len(times), max_size=len(times)))
    windows = draw(st.lists(st.sampled_from([0, 1, 2, 3, 6, 12, 20]), min_size=1, max_size=5))
    return made, np.cumsum(gaps).astype(float).tolist(), windows


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("nested", [False, True])
@given(data=st.data())
def test_two_streams(schedule, nested, data):
    same(2, *data.draw(bursts(2, 14)), schedule, nested)


@pytest.mark.parametrize("schedule", SCHEDULES)
@given(data=st.data())
def test_three_streams(schedule, data):
    same(3, *data.draw(bursts(3, 10)), schedule)
