"""Matched flags by row id, against a set; and that they follow the rows that are stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.operators.join import flags as flags_module
from windrow.operators.join.flags import Flags
from windrow.state.room import HEAP
from windrow.testing import assert_same_rows, naive_join
from windrow.testing.contract.handover import elsewhere

#: Per batch and stream: how many new rows, which share of the old ones is forgotten, which are set.
batches = st.lists(
    st.tuples(*[st.tuples(st.integers(0, 9), st.floats(0, 1), st.sets(st.integers(0, 60)))] * 2),
    max_size=12,
)


@given(batches)
def test_flags_move_and_are_forgotten_but_never_change(drawn):
    flags = Flags(2)
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
            flags = Flags.attach(*elsewhere(flags.handover()), HEAP)
        for stream in range(2):
            rows = np.arange(first[stream], ends[stream])
            expected = [row in matched[stream] for row in rows]
            assert flags.get(stream, rows).tolist() == expected


def test_room_follows_the_rows_that_are_kept():
    """Rows pass by, ten at a time are kept: the flags do not grow."""
    flags = Flags(2)
    most = 0
    for end in range(10, 3000, 10):
        if not flags.covers([end, end]):
            flags.cover([end - 10, end - 10])
        most = max(most, len(flags.bytes))
    assert most <= 4 * 10 + 1


# -- rows far older than the others ------------------------------------------------------------

#: Per batch and stream: how many new rows, which of all rows stay, which are set.
thinned = st.lists(
    st.tuples(
        *[st.tuples(st.integers(0, 9), st.sets(st.integers(0, 90)), st.sets(st.integers(0, 90)))]
        * 2
    ),
    max_size=12,
)


@given(thinned, st.integers(1, 20), st.integers(1, 4))
def test_any_rows_may_stay(drawn, least, per_row):
    flags = Flags(2)
    ends, alive, matched, noted = [0, 0], [set(), set()], [set(), set()], [set(), set()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flags_module, "LEAST_STRETCH", least)
        patch.setattr(flags_module, "IDS_PER_ROW", per_row)
        for number, batch in enumerate(drawn):
            for stream, (count, stay, _) in enumerate(batch):
                alive[stream] &= stay
                alive[stream] |= set(range(ends[stream], ends[stream] + count))
                ends[stream] += count
            if not flags.covers(ends):
                flags.cover_only([np.array(list(rows), np.int64) for rows in alive])
            for stream, (*_, chosen) in enumerate(batch):
                met = np.array(sorted(chosen & alive[stream]), np.int64)
                flags.set(stream, met)
                matched[stream] |= set(met.tolist())
            if number % 3 == 2:
                flags = Flags.attach(*elsewhere(flags.handover()), HEAP)
            for stream in range(2):
                rows = np.array(sorted(alive[stream]), np.int64)
                in_stretch = (rows >= flags.base[stream]) & (rows < flags.ends[stream])
                assert np.all(in_stretch | np.isin(rows, flags.pinned_rows(stream)))
                found = set(rows[flags.get(stream, rows)].tolist())
                assert found == matched[stream] & alive[stream]
                news = flags.news(stream).tolist()
                assert news == sorted(news)
                assert set(news) & alive[stream] == found - noted[stream]
                noted[stream] |= set(news)


def keyed(rows):
    """Rows (key, time, is it a punctuation)."""
    return pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.int64()),
            "t": pa.array([row[1] for row in rows], pa.timestamp("us")),
            "over": pa.array([row[2] for row in rows], pa.bool_()),
        }
    )


def passing(rows, key):
    """One row of a rare key, in the middle and at the end; rows of others pass by."""
    others = [(100 + at % 7, at, False) for at in range(rows)]
    return [(key, 0, False), *others, (key, rows, False)]


def ending(rows, key):
    """The same, where each of the others is a key of its own that ends at once."""
    pairs = [[(1000 + at, at, False), (1000 + at, at, True)] for at in range(rows // 2)]
    return [(key, 0, False), *(row for pair in pairs for row in pair), (key, rows, False)]


#: How streams and join are put, under which one old row stays while others pass by.
STAYS = {
    "a count window": (passing, {"window": wr.rows(1)}, {}),
    "a lazy strategy": (
        passing,
        {"window": "3 microseconds"},
        {"algorithm": "hash", "buckets": 64, "invalidation": "probe"},
    ),
    "a key that does not end": (ending, {"window": None, "ends": "over"}, {}),
}


#: No strategy is lazy where unmatched rows leave, and in a full join both streams' do.
CASES = [
    (case, how)
    for case in STAYS
    for how in ("left", "right", "full", "semi", "anti")
    if (case, how) != ("a lazy strategy", "full")
]


@pytest.mark.parametrize(("case", "how"), CASES)
def test_flags_follow_the_stored_rows_and_not_the_oldest_of_them(case, how, monkeypatch):
    # The loop looks at each pair of rows, so there are few, and flags are pinned sooner.
    monkeypatch.setattr(flags_module, "LEAST_STRETCH", 32)
    make, stream, choices = STAYS[case]
    rows, step = 800, 10
    sides = [
        wr.stream(keyed(make(rows, key)), name=name, key="k", time="t", **stream)
        for name, key in (("a", 1), ("b", 1 if how != "anti" else 2))
    ]
    run = local_join(replace(wr.plan(*sides, how=how, **choices), batch_rows=step))
    found, most, pinned = [], [], 0
    for start in range(0, rows + 2, step):
        found += run.record_batches(run.batch([(start, start + step)] * 2))
        most.append(len(run.join.flags.bytes))
        pinned = max(pinned, len(run.join.flags.pinned))
    assert pinned, "no row has become so old"
    assert max(most) < 900
    result = pa.Table.from_batches(found, run.schema)
    assert_same_rows(result, naive_join(*sides, how=how))
