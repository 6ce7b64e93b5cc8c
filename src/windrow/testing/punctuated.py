"""Hypothesis strategies: streams that say, and keep, where their keys end.

    left    a@1   a@3   END a@3   b@4             no tuple of a after 3, whatever comes later
    right   a@2   b@5   END b@9   a@7             END a missing: no promise was made

Punctuations come at the key's last tuple or after it, on one side, on both or on none, and some
are said twice. Some tuples have a null key.

`many_punctuated_cases` draws two streams to six, whose keys may come back:

    a       a@1  END a@3                      a@9   the first life is over at 4, the longest window
    b       a@2              a@4              a@8   is 3: from 8 on it is another one
    c       a@1       END a@3   END a@4

Its lives are so far apart, in all streams, that no window reaches from one to the next. So the
answer is that of the plain join, in which punctuations are no tuples and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from windrow.model import How, Stream, TimeWindow
from windrow.testing._inputs import MANY_HOWS
from windrow.testing.strategies import (
    HOWS,
    MANY,
    MOST_COMBINATIONS,
    NAMES,
    Case,
    largest_count,
)

KEYS = (1, 2, 3, -7)
#: A row: its key, its time, and whether it is a punctuation.
Row = tuple[int | None, int, bool]


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
    rows: list[Row] = [(key, time, False) for key, time in tuples]
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
    return _arrived(draw, rows, name, None if window is False else int(window), lateness, text)


def _arrived(
    draw: st.DrawFn, rows: list[Row], name: str, window: int | None, lateness: int, text: bool
) -> Stream:
    """The rows as a stream, in an order of arrival that its lateness allows."""
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
    bounds = None if window is None else TimeWindow(window)
    return Stream(data, data.schema, name, ("k",), "t", bounds, lateness, ends="over")


@dataclass
class Sender:
    """A stream while it is drawn."""

    name: str
    reach: int
    lateness: int
    silent: bool
    rows: list[Row] = field(default_factory=list)

    @property
    def tuples(self) -> int:
        """How many there are."""
        return sum(not over for _, _, over in self.rows)


@st.composite
def many_punctuated_cases(
    draw: st.DrawFn,
    *,
    counts: Sequence[int] = MANY,
    hows: Sequence[How] = MANY_HOWS,
    windows: bool = True,
    lives: int = 2,
    late: bool = True,
    text_keys: bool | None = None,
    max_rows: int = 10,
) -> Case:
    """So many punctuated streams (one of `counts`), `a` to `f`, and what to ask of them.

    A key has up to so many `lives`, more than a span apart. `windows=False` leaves windows out:
    then no stream is silent, and a key that is over stays so. `late=False`: they arrive in order.
    `max_rows` is the most tuples of one stream; of many there are fewer, as in `many_cases`.
    """
    names = NAMES[: draw(st.sampled_from(counts))]
    closed = draw(st.booleans())
    usual = st.just(draw(st.sampled_from([2, 0, 1, 5, 100])))
    reaches = [draw(usual | st.sampled_from([0, 1, 2, 5, 100])) for _ in names]
    span = max(reaches) if closed else max(0, max(reaches) - 1)
    senders = [
        Sender(
            name,
            reach,
            # A stream later than the span may have two lives of a key open at once.
            min(draw(st.sampled_from([0, 0, 1, 5])), span) if late else 0,
            windows and draw(st.sampled_from([False, False, True])),
        )
        for name, reach in zip(names, reaches, strict=True)
    ]
    keys = KEYS[: draw(st.sampled_from([1, 2, 4]))]
    starts = dict.fromkeys(keys, 0)
    most = largest_count(MOST_COMBINATIONS, len(names), max_rows)
    for _ in range(draw(st.integers(1, lives)) if windows else 1):
        for sender in senders:
            _live(draw, sender, starts, span, min(reaches), most)
        for key in keys:
            last = [time for sender in senders for its, time, _ in sender.rows if its == key]
            gap = draw(st.sampled_from([1, 2, span + 7]))
            starts[key] = max(last, default=0) + span + gap
    text = draw(st.booleans()) if text_keys is None else text_keys
    first, second, *more = (
        _arrived(draw, each.rows, each.name, each.reach if windows else None, each.lateness, text)
        for each in senders
    )
    how = draw(st.sampled_from(hows))
    return Case(first, second, closed=closed, how=how, more=tuple(more))


def _live(
    draw: st.DrawFn, sender: Sender, starts: dict[int, int], span: int, least: int, most: int
) -> None:
    """Add a life of each key to a stream: tuples, and perhaps punctuations after them."""
    near = st.sampled_from([0, least // 2, least, least + 1])
    times = near | near | st.integers(0, 3 * span + 6)
    keys: list[int | None] = [*starts] * 2
    chosen = st.tuples(st.sampled_from([*keys, *keys, None]), times)
    room = most - sender.tuples
    drawn = draw(
        st.lists(chosen, min_size=min(draw(st.sampled_from([0, 1, 2])), room), max_size=room)
    )
    tuples = [(key, time if key is None else time + starts[key]) for key, time in drawn]
    sender.rows += [(key, time, False) for key, time in tuples]
    for key, start in starts.items():
        if sender.silent or not draw(st.booleans()):
            continue
        last = max((time for its, time in tuples if its == key), default=start + draw(times))
        # One that comes later than it may, under lateness, would be a broken promise at a tie.
        gap = draw(st.sampled_from([0, 1, span, span + 1])) + (1 if sender.lateness else 0)
        sender.rows.append((key, last + gap, True))
        if draw(st.sampled_from([False, False, False, True])):
            # Said twice, by a sender that makes sure. At most a span later: it is the same life.
            again = draw(st.sampled_from([0, 1])) if span else 0
            sender.rows.append((key, last + gap + again, True))


#: `batch_rows` for them.
BATCHES = st.sampled_from([None, 1, 2, 3])
