"""Which rows of a batch take part, against a loop that looks at one row after the other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.model import BEGINNING, END
from windrow.operators.admit import Columns, admit
from windrow.operators.keys import hash_keys

#: (time, bad, beat, null key)
row = st.tuples(st.integers(0, 9), st.booleans(), st.booleans(), st.booleans())


def columns(rows, *, bad=True, beats=True, nulls=True) -> Columns:
    """Columns of these rows; a part that is left out says that no row is so."""
    ts, is_bad, beat, null = (list(column) for column in zip(*rows, strict=True))
    keys = pa.array([None if n and nulls else i for i, n in enumerate(null)], pa.int64())
    return Columns(
        ts=np.array([0 if b and bad else t for t, b in zip(ts, is_bad, strict=True)], np.int64),
        keys=hash_keys([keys], len(keys)),
        bad=np.array(is_bad) if bad else None,
        beats=np.array(beat) if beats else None,
    )


@given(
    st.lists(row, min_size=1, max_size=12),
    st.integers(0, 12),
    st.integers(0, 12),
    st.sampled_from([BEGINNING, 0, 3, 5, 9, 10, END]),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_every_row_is_one_thing(rows, one, two, before, present):
    start, stop = sorted((min(one, len(rows)), min(two, len(rows))))
    with_bad, with_beats, with_nulls = present
    made = columns(rows, bad=with_bad, beats=with_beats, nulls=with_nulls)
    found = admit(made, start, stop, before)

    tuples, keyless, late, bad, beats, newest, newest_beat = [], [], [], 0, 0, [], []
    for number in range(start, stop):
        ts, is_bad, is_beat, is_null = rows[number]
        if is_bad and with_bad:
            bad += 1
        elif is_beat and with_beats:
            beats += 1
            newest_beat.append(ts)
        else:
            newest.append(ts)
            if ts < before:
                late.append(number)
            elif is_null and with_nulls:
                keyless.append(number)
            else:
                tuples.append(number)

    for part, expected in ((found.tuples, tuples), (found.keyless, keyless), (found.late, late)):
        assert part.row.tolist() == expected
        assert part.ts.tolist() == made.ts[expected].tolist()
        assert part.key.tolist() == made.keys.hashes[expected].tolist()
    assert (found.bad, found.beats) == (bad, beats)
    assert found.newest == max(newest, default=None)
    assert found.newest_beat == max(newest_beat, default=None)


@pytest.mark.parametrize(
    ("ts", "before", "late"),
    [(9, 10, True), (10, 10, False), (11, 10, False), (-5, BEGINNING, False)],
)
def test_late_is_before_the_progress_and_not_at_it(ts, before, late):
    found = admit(columns([(ts, False, False, False)]), 0, 1, before)
    assert (len(found.late.ts), len(found.tuples.ts)) == ((1, 0) if late else (0, 1))


def test_a_late_null_key_is_late():
    found = admit(columns([(3, False, False, True)]), 0, 1, 5)
    assert (len(found.late.ts), len(found.keyless.ts)) == (1, 0)


def test_a_bad_heartbeat_says_nothing():
    found = admit(columns([(3, True, True, False)]), 0, 1, BEGINNING)
    assert (found.bad, found.beats, found.newest, found.newest_beat) == (1, 0, None, None)


def test_a_heartbeat_is_never_late():
    found = admit(columns([(3, False, True, False)]), 0, 1, 5)
    assert (len(found.late.ts), found.beats, found.newest_beat) == (0, 1, 3)


def test_late_rows_move_progress_nowhere_it_has_not_been():
    found = admit(columns([(3, False, False, False), (8, False, False, False)]), 0, 2, 5)
    assert found.newest == 8
