"""Matched flags by row id, against a set."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windrow.operators.flags import Flags

#: Per batch and stream: how many new rows, which share of the old ones is forgotten, which are set.
batches = st.lists(
    st.tuples(*[st.tuples(st.integers(0, 9), st.floats(0, 1), st.sets(st.integers(0, 60)))] * 2),
    max_size=12,
)


@given(batches)
def test_flags_move_and_are_forgotten_but_never_change(drawn):
    flags = Flags()
    first, ends, matched = [0, 0], [0, 0], [set(), set()]
    for number, batch in enumerate(drawn):
        before = list(ends)
        for stream, (count, share, _) in enumerate(batch):
            ends[stream] += count
            first[stream] += int(share * (before[stream] - first[stream]))
        if not flags.covers(ends):
            flags.cover(first)
        for stream, (*_, chosen) in enumerate(batch):
            alive = [row for row in sorted(chosen) if first[stream] <= row < ends[stream]]
            flags.set(stream, np.array(alive, np.int64))
            matched[stream] |= set(alive)
        if number % 3 == 2:
            flags = Flags.restore(flags.snapshot())
        for stream in range(2):
            rows = np.arange(first[stream], ends[stream])
            expected = [row in matched[stream] for row in rows]
            assert flags.get(stream, rows).tolist() == expected


def test_room_follows_the_rows_that_are_kept():
    """Rows pass by, ten at a time are kept: the flags do not grow."""
    flags = Flags()
    most = 0
    for end in range(10, 3000, 10):
        if not flags.covers([end, end]):
            flags.cover([end - 10, end - 10])
        most = max(most, len(flags.bytes))
    assert most <= 4 * 10 + 1


def test_a_snapshot_is_a_copy():
    flags = Flags()
    flags.covers([4, 4])
    flags.cover([0, 0])
    taken = flags.snapshot()
    flags.set(0, np.array([2]))
    assert Flags.restore(taken).get(0, np.arange(4)).tolist() == [False] * 4
