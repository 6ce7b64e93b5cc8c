"""Hypothesis strategies: streams, pairs and more of streams that sit on a join's edges.

    left times    10         20    20
                  │ + T      │ - T - 1            T and T ± 1 µs are drawn often, and so are
    right times   10 + T     20 - T - 1   35      ties, repeated rows, one key, no rows, nulls

Arrival order is drawn too: each row is delayed by at most the stream's lateness, so none is
late in any batches (`late=True` lifts that).

`many_cases` draws two streams to six. There a time is an edge apart from a row of any stream
before, so that a row fits some of the others and not all:

    a   0            T_a = 4
    b       3        T_b = 4    fits a
    c             6             fits b, and not a: 6 - 0 > T_a
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import pyarrow as pa
from hypothesis import strategies as st

from windrow.model import CountWindow, How, Stream, TimeWindow, Window
from windrow.testing._inputs import MANY_HOWS, PER_SECOND, read
from windrow.testing.keys import KEY_KINDS, KeyKind, Keys

#: Windows and lateness, in µs: the smallest, some small ones, an hour.
SPANS = (0, 1, 2, 5, 100, 3_600_000_000)
HOWS: tuple[How, ...] = get_args(How)
#: How many streams, and what they are called.
MANY = (2, 3, 4, 5, 6)
NAMES = "abcdef"
#: The most combinations of a row each: the naive oracle tries them all.
MOST_COMBINATIONS = 20_000

#: A row as it is drawn: its key columns, its time (None: bad), its delay as a part of lateness.
Drawn = tuple[dict[str, Any], int | None, float]


@dataclass(frozen=True, eq=False)
class Case:
    """Streams and what to ask of them. Its repr shows all tables in arrival order."""

    left: Stream
    right: Stream
    between: tuple[int, int] | None = None
    closed: bool = True
    how: How = "inner"
    more: tuple[Stream, ...] = ()

    @property
    def streams(self) -> tuple[Stream, ...]:
        """All streams, to be given to a join."""
        return (self.left, self.right, *self.more)

    @property
    def options(self) -> dict[str, Any]:
        """The rest, to be given to a join as keywords."""
        return {"how": self.how, "between": self.between, "closed": self.closed}

    def __repr__(self) -> str:
        asked = f"Case(how={self.how!r}, between={self.between}, closed={self.closed})"
        return "\n".join([asked, *(_shown(s) for s in self.streams)])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # Hypothesis shows dataclasses field by field unless told not to.
        for number, line in enumerate(repr(self).splitlines()):
            if number:
                printer.break_()
            printer.text(line)


@dataclass(frozen=True)
class Shape:
    """What both streams of a case have in common."""

    keys: Keys
    choices: tuple[dict[str, Any], ...]
    zone: str | None
    base: int
    null_times: bool
    numbered: bool
    late: bool
    beats: bool


@st.composite
def streams(
    draw: st.DrawFn,
    *,
    name: str = "a",
    key_kinds: Sequence[KeyKind] = tuple(KEY_KINDS),
    count_windows: bool = False,
    numbered: bool | None = None,
    late: bool = False,
    beats: bool = False,
    max_rows: int = 10,
) -> Stream:
    """One stream. Columns: the key's, `t`, `v`, and `beat` with `beats=True`.

    `numbered` says whether `v` is the row number, or 0 so that repeated rows are equal (None:
    either). With `late=True` rows come in any order; else none comes later than its lateness.
    """
    shape = draw(_shapes(key_kinds, numbered, late, beats))
    window: Window = draw(_count_windows()) if count_windows else draw(_time_windows())
    times = st.integers(0, 3 * _reach(window) + 3)
    return draw(_streams(shape, name, window, draw(_rows(shape, times, max_rows))))


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    hows: Sequence[How] = HOWS,
    key_kinds: Sequence[KeyKind] = tuple(KEY_KINDS),
    between: bool | None = None,
    count_windows: bool = False,
    numbered: bool | None = None,
    late: bool = False,
    beats: bool = False,
    max_rows: int = 10,
) -> Case:
    """Two streams, `a` and `b`, whose times are often exactly an edge apart, and a question.

    `between` says whether bounds stand in place of windows (None: either). With `count_windows`
    at least one of the windows counts rows, and there are no bounds. The rest as in `streams`.
    """
    shape = draw(_shapes(key_kinds, numbered, late, beats))
    left_window: Window | None = None
    right_window: Window | None = None
    bounds = None
    if count_windows:
        windows = draw(st.permutations([_count_windows(), _count_windows() | _time_windows()]))
        left_window, right_window = draw(windows[0]), draw(windows[1])
        low, high = -_reach(right_window), _reach(left_window)
    elif draw(st.booleans()) if between is None else between:
        bounds = low, high = draw(_bounds())
    else:
        left_window, right_window = draw(_time_windows()), draw(_time_windows())
        low, high = -_reach(right_window), _reach(left_window)

    anywhere = st.integers(0, 2 * (abs(low) + abs(high)) + 3)
    left = draw(_rows(shape, anywhere, max_rows))
    times = anywhere
    known = [time - shape.base for _, time, _ in left if time is not None]
    if known:
        edges = sorted({edge + off for edge in (low, 0, high) for off in (-1, 0, 1)})
        apart = st.tuples(st.sampled_from(known), st.sampled_from(edges)).map(sum)
        times = apart | anywhere
    right = draw(_rows(shape, times, max_rows))
    return Case(
        left=draw(_streams(shape, "a", left_window, left)),
        right=draw(_streams(shape, "b", right_window, right)),
        between=bounds,
        closed=draw(st.booleans()),
        how=draw(st.sampled_from(hows)),
    )


@st.composite
def many_cases(
    draw: st.DrawFn,
    *,
    counts: Sequence[int] = MANY,
    hows: Sequence[How] = MANY_HOWS,
    key_kinds: Sequence[KeyKind] = tuple(KEY_KINDS),
    count_windows: bool = False,
    numbered: bool | None = None,
    late: bool = False,
    beats: bool = False,
    max_rows: int = 10,
) -> Case:
    """So many streams (one of `counts`), `a` to `f`, each with a window of its own, and a question.

    Times are often exactly an edge apart from a row of any stream before. `max_rows` is the most
    of one stream; of many there are fewer, so that `MOST_COMBINATIONS` bounds the product. The
    rest as in `cases`, but that bounds do not stand in place of windows.
    """
    names = NAMES[: draw(st.sampled_from(counts))]
    shape = draw(_shapes(key_kinds, numbered, late, beats))
    shape = replace(shape, choices=shape.choices[:1] * 2 * len(names) + shape.choices)
    windows = draw(_many_windows(len(names), count_windows))
    # One stream without rows, and an inner join has no result: most of the time all have some.
    fewest = [draw(st.sampled_from([0, 1, 2, 2, 2]))]
    anywhere = st.integers(0, 2 * max(map(_reach, windows)) + 3)

    rows: list[list[Drawn]] = []
    left = MOST_COMBINATIONS
    for j, window in enumerate(windows):
        known = [
            (time - shape.base, i)
            for i, those in enumerate(rows)
            for _, time, _ in those
            if time is not None
        ]
        times = anywhere
        if known:
            edges = [
                time + edge + off
                for time, i in known
                for edge in (0, _reach(windows[i]), -_reach(window))
                for off in (0, 1, -1)
            ]
            # At one row all streams meet, and within the smallest window of it each fits each.
            there, least = known[0][0], min(map(_reach, windows))
            near = st.sampled_from([there, there + least // 2, there + least, there + least + 1])
            times = st.one_of([*[near] * len(names), st.sampled_from(edges), anywhere])
        most = largest_count(left, len(names) - j, max_rows)
        rows.append(draw(_rows(shape, times, most, fewest)))
        left //= max(len(rows[-1]), 1)
    first, second, *more = (
        draw(_streams(shape, name, window, those))
        for name, window, those in zip(names, windows, rows, strict=True)
    )
    closed = draw(st.booleans())
    how = draw(st.sampled_from(hows))
    return Case(first, second, closed=closed, how=how, more=tuple(more))


def largest_count(combinations: int, streams: int, most: int) -> int:
    """How many rows each of so many streams may have for at most so many combinations.

    >>> [largest_count(20_000, streams, 10) for streams in (2, 4, 5, 6)]
    [10, 10, 7, 5]
    """
    return next(count for count in range(most, -1, -1) if count**streams <= combinations)


@st.composite
def _many_windows(draw: st.DrawFn, count: int, counted: bool) -> list[Window]:
    """A window each; often of one size, so that rows that fit one stream fit others too."""
    either: list[st.SearchStrategy[Window]] = [draw(_time_windows().map(st.just))]
    either.append(_time_windows())
    if counted:
        either.append(_count_windows())
    windows = [draw(st.one_of(either)) for _ in range(count)]
    if counted and not any(isinstance(window, CountWindow) for window in windows):
        windows[draw(st.integers(0, count - 1))] = draw(_count_windows())
    return windows


def _time_windows() -> st.SearchStrategy[TimeWindow]:
    return st.builds(TimeWindow, st.sampled_from(SPANS))


def _count_windows() -> st.SearchStrategy[CountWindow]:
    return st.builds(CountWindow, st.integers(1, 4), st.sampled_from(["key", "stream"]))


def _bounds() -> st.SearchStrategy[tuple[int, int]]:
    """Bounds of either sign, one point and ranges that exclude 0 among them."""
    ends = st.integers(-6, 6) | st.sampled_from([*SPANS, *(-span for span in SPANS)])
    return st.tuples(ends, ends).map(lambda pair: (min(pair), max(pair)))


def _reach(window: Window | None) -> int:
    """How far times should spread for this window to matter."""
    return window.micros if isinstance(window, TimeWindow) else 4


@st.composite
def _shapes(
    draw: st.DrawFn,
    key_kinds: Sequence[KeyKind],
    numbered: bool | None,
    late: bool,
    beats: bool,
) -> Shape:
    keys = KEY_KINDS[draw(st.sampled_from(key_kinds))]
    first = draw(st.integers(0, len(keys.pool) - 1))
    pool = keys.pool[first:] + keys.pool[:first]
    choices = pool[:1] * 4 + pool[1 : draw(st.integers(1, len(pool)))]  # skewed, or a single key
    if draw(st.booleans()):
        choices += keys.nulls
    return Shape(
        keys,
        choices,
        zone=draw(st.sampled_from([None, "UTC", "Asia/Tokyo"])),
        base=draw(st.sampled_from([0, -7, 1_700_000_000_000_000])),
        null_times=draw(st.booleans()),
        numbered=draw(st.booleans()) if numbered is None else numbered,
        late=late,
        beats=beats,
    )


@st.composite
def _rows(
    draw: st.DrawFn,
    shape: Shape,
    times: st.SearchStrategy[int],
    max_rows: int,
    fewest: Sequence[int] = (0, 1, 3),
) -> list[Drawn]:
    """Rows, some of them repeated as they are."""
    moments: st.SearchStrategy[int | None] = times.map(lambda time: shape.base + time)
    if shape.null_times:
        moments = st.one_of(moments, moments, moments, st.none())
    row = st.tuples(st.sampled_from(shape.choices), moments, st.sampled_from([0.0, 0.5, 1.0]))
    repeats = st.sampled_from([1, 1, 1, 2, 3])
    least = min(draw(st.sampled_from(fewest)), max_rows)
    drawn = draw(st.lists(st.tuples(row, repeats), min_size=least, max_size=max_rows))
    return [row for row, count in drawn for _ in range(count)][:max_rows]


@st.composite
def _streams(
    draw: st.DrawFn, shape: Shape, name: str, window: Window | None, rows: list[Drawn]
) -> Stream:
    """The rows as a stream, in an arrival order that its lateness allows."""
    lateness = draw(st.sampled_from(SPANS))
    unit = draw(st.sampled_from(["us", "ns"]))
    if not shape.late:
        rows = _delayed(rows, lateness)
    beats = [False] * len(rows)
    if shape.beats:
        for place in sorted(draw(st.lists(st.integers(0, len(rows)), max_size=2)), reverse=True):
            time = draw(_beat_times(rows, beats, place, shape))
            rows = [*rows[:place], ({}, time, 0.0), *rows[place:]]
            beats[place:place] = [True]
    fields = [*shape.keys.fields, pa.field("t", pa.timestamp(unit, shape.zone))]
    fields.append(pa.field("v", pa.int64()))
    if shape.beats:
        fields.append(pa.field("beat", pa.bool_()))
    per_micro = PER_SECOND[unit] // PER_SECOND["us"]
    schema = pa.schema(fields)
    columns: dict[str, list[Any]] = {
        field.name: [columns.get(field.name) for columns, _, _ in rows]
        for field in shape.keys.fields
    }
    columns["t"] = [None if time is None else time * per_micro for _, time, _ in rows]
    columns["v"] = list(range(len(rows))) if shape.numbered else [0] * len(rows)
    columns["beat"] = list(beats)
    data = pa.table([pa.array(columns[f.name], f.type) for f in fields], schema=schema)
    predicate = "beat" if shape.beats else None
    return Stream(data, schema, name, shape.keys.key, "t", window, lateness, beats=predicate)


def _delayed(rows: list[Drawn], lateness: int) -> list[Drawn]:
    """Arrival in the order of time + delay, so that no row is overtaken by more than lateness."""
    last = 0.0
    arrivals: list[tuple[float, int, Drawn]] = []
    for row in rows:
        _, time, delay = row
        last = last if time is None else time + int(delay * lateness)
        arrivals.append((last, len(arrivals), row))
    return [row for *_, row in sorted(arrivals, key=lambda arrival: arrival[:2])]


def _beat_times(
    rows: list[Drawn], beats: list[bool], place: int, shape: Shape
) -> st.SearchStrategy[int]:
    """A time for a heartbeat before row `place`: at most that of any tuple still to come."""
    after = zip(rows[place:], beats[place:], strict=True)
    ahead = [time for (_, time, _), beat in after if time is not None and not beat]
    known = [time for _, time, _ in rows if time is not None]
    if shape.late and known:
        return st.sampled_from(known)
    most = min(ahead) if ahead else max(known, default=shape.base) + 10
    return st.sampled_from([most, most - 1, most - 10])


def _shown(stream: Stream) -> str:
    """A stream as text: its settings, then its rows with times in µs."""
    rows = read(stream)
    table: pa.Table = stream.data
    columns = {field.name: table.column(field.name) for field in stream.schema}
    texts = {
        name: ["null" if value is None else repr(value) for value in values.to_pylist()]
        for name, values in columns.items()
        if name != stream.time
    }
    times = zip(rows.times.tolist(), rows.bad.tolist(), strict=True)
    texts[stream.time] = ["null" if bad else str(time) for time, bad in times]
    cells = [[name, *texts[name]] for name in columns]
    widths = [max(map(len, column)) for column in cells]
    kinds = ", ".join(f"{field.name}: {field.type}" for field in stream.schema)
    lines = [
        f"  {stream.name}: key={stream.key}, window={stream.window}, lateness={stream.lateness}, "
        f"beats={stream.beats}",
        f"    ({kinds})",
    ]
    for line in zip(*cells, strict=True):
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        lines.append("    " + "  ".join(padded).rstrip())
    return "\n".join(lines)
