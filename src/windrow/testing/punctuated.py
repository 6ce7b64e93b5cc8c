"""Hypothesis strategies: pairs of streams that say, and keep, where their keys end.

    left    a@1   a@3   END a@3   b@4             no tuple of a after 3, whatever comes later
    right   a@2   b@5   END b@9   a@7             END a missing: no promise was made

Punctuations come at the key's last tuple or after it, on one side, on both or on none, and some
are said twice. Some tuples have a null key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from windrow.model import Stream, TimeWindow
from windrow.testing.strategies import HOWS, Case

KEYS = (1, 2, 3, -7)


@st.composite
def punctuated_cases(
    draw: st.DrawFn, *, max_rows: int = 12, text_keys: bool | None = None, windows: bool = True
) -> Case:
    """Two punctuated streams and what to ask of them.

    `windows=False` leaves windows out, so that punctuations alone bound the state; then both
    streams punctuate.
    """
    reach = [draw(st.sampled_from([0, 1, 2, 5, 100])) for _ in range(2)]
    text = draw(st.booleans()) if text_keys is None else text_keys
    left, right = (
        draw(punctuated_streams(name, windows and reach[at], max(reach), text, max_rows, windows))
        for at, name in enumerate(("left", "right"))
    )
    how = draw(st.sampled_from(HOWS))
    return Case(left, right, closed=draw(st.booleans()), how=how)


@st.composite
def punctuated_streams(
    draw: st.DrawFn,
    name: str,
    window: int | bool,
    spread: int,
    text: bool,
    max_rows: int,
    may_be_silent: bool = True,
) -> Stream:
    """A stream whose punctuations hold; a column `over` marks them."""
    times = st.integers(0, 3 * spread + 6)
    tuples = draw(st.lists(st.tuples(st.sampled_from(KEYS), times), max_size=max_rows))
    lateness = draw(st.sampled_from([0, 0, 1, 5]))
    rows: list[tuple[int | None, int, bool]] = [(key, time, False) for key, time in tuples]
    rows += [(None, time, False) for time in draw(st.lists(times, max_size=2))]
    silent = may_be_silent and draw(st.booleans())
    for key in KEYS:
        if silent or not draw(st.booleans()):
            continue
        last = max((time for its, time in tuples if its == key), default=draw(times))
        # One that comes later than it may, under lateness, would be a broken promise at a tie.
        gap = draw(st.sampled_from([0, 1, spread, spread + 1])) + (1 if lateness else 0)
        rows.append((key, last + gap, True))
        if draw(st.booleans()):
            # Said twice, by a sender that makes sure. At most a span later: it is the same life.
            rows.append((key, last + gap + draw(st.sampled_from([0, 1])), True))
    order = [
        (time + draw(st.sampled_from([0.0, 0.5, 1.0])) * lateness, over, at)
        for at, (_, time, over) in enumerate(rows)
    ]
    rows = [rows[at] for _, _, at in sorted(order)]
    kind: Any = pa.string() if text else pa.int64()
    data = pa.table(
        {
            "k": pa.array([str(k) if text and k is not None else k for k, _, _ in rows], kind),
            "t": pa.array([time for _, time, _ in rows], pa.timestamp("us")),
            "v": pa.array(range(len(rows)), pa.int64()),
            "over": pa.array([over for _, _, over in rows], pa.bool_()),
        }
    )
    stream = Stream(data, data.schema, name, ("k",), "t", None, lateness, ends="over")
    return stream if window is False else replace(stream, window=TimeWindow(int(window)))


#: `batch_rows` for them.
BATCHES = st.sampled_from([None, 1, 2, 3])
