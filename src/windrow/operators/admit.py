"""Which rows of a batch take part: bad, heartbeat, late, or a tuple; null keys set apart.

A bad row has no time, or one that is too far ahead. A heartbeat raises progress and is no tuple. A
punctuation raises progress as a tuple does, but is no tuple and never late. One with a null key, or
of a range whose keys have rows of their own, does nothing else. A tuple is late if its time is
before its own stream's progress *before* the batch. A tuple with a null key never matches, nor does
a mute one (it fails the condition's part about its stream), so they go around the join: unmatched
at once where their stream is preserved.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from windrow.operators.arrivals import Arrivals
from windrow.operators.columns import Columns


@dataclass(frozen=True)
class Admitted:
    """One stream's part of a batch, sorted out."""

    tuples: Arrivals
    keyless: Arrivals
    late: Arrivals
    ends: Arrivals
    bad: int
    beats: int
    newest: int | None
    newest_beat: int | None
    #: The bad rows that are at hand.
    bad_rows: Arrivals = field(default_factory=Arrivals.empty)
    #: Those with a key that are mute.
    mute: Arrivals = field(default_factory=Arrivals.empty)


def admit(columns: Columns, start: int, stop: int, before: int) -> Admitted:
    """Sort out rows [start, stop), given the stream's progress before the batch."""
    ts = columns.ts[start:stop]
    bad = None if columns.bad is None else columns.bad[start:stop]
    beats = None if columns.beats is None else columns.beats[start:stop]
    ends = None if columns.ends is None else columns.ends[start:stop]
    ranges = None if columns.ranges is None else columns.ranges[start:stop]
    null = None if columns.keys.null is None else columns.keys.null[start:stop]
    beats_ok = None if beats is None else (beats if bad is None else beats & ~bad)
    ends_ok = None if ends is None else (ends if bad is None else ends & ~bad)
    no_tuple = _either(_either(_either(bad, beats), ends), ranges)
    no_time = _either(bad, beats)
    times = ts if no_time is None else ts[~no_time]
    beat_times = ts[beats_ok] if beats_ok is not None else ts[:0]
    late = ts < before if len(times) and int(times.min()) < before else None
    mute = None if columns.mute is None else columns.mute[start:stop]
    if mute is not None and null is not None:
        mute = mute & ~null
    apart = _either(_either(_either(no_tuple, late), null), mute)

    def arrivals(chosen: NDArray[np.bool_] | None) -> Arrivals:
        rows = np.arange(start, stop) if chosen is None else np.flatnonzero(chosen) + start
        if chosen is None:
            return Arrivals(ts, columns.keys.hashes[start:stop], rows)
        return Arrivals(columns.ts[rows], columns.keys.hashes[rows], rows)

    none = np.zeros(stop - start, np.bool_)
    is_tuple = None if no_tuple is None else ~no_tuple
    late_rows = none if late is None else (late if is_tuple is None else late & is_tuple)

    def aside(which: NDArray[np.bool_] | None) -> Arrivals:
        if which is None:
            return Arrivals.empty()
        return arrivals(which & ~late_rows & (True if is_tuple is None else is_tuple))

    return Admitted(
        tuples=arrivals(None if apart is None else ~apart),
        keyless=aside(null),
        late=arrivals(late_rows),
        ends=arrivals(none if ends_ok is None else ends_ok & (True if null is None else ~null)),
        bad=0 if bad is None else int(bad.sum()),
        beats=len(beat_times),
        newest=int(times.max()) if len(times) else None,
        newest_beat=int(beat_times.max()) if len(beat_times) else None,
        bad_rows=Arrivals.empty() if bad is None else arrivals(bad),
        mute=aside(mute),
    )


def _either(
    one: NDArray[np.bool_] | None, two: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    if one is None or two is None:
        return one if two is None else two
    return one | two
