"""The definition of an answer, as plain loops over Python values.

Every rule is one short function that says one sentence of the definition; nothing is indexed,
nothing is clever. Small tables only: the time is the product of the sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal

import pyarrow as pa

from windrow.model import CountWindow, How, Stream, TimeWindow, WindrowError
from windrow.testing._inputs import Rows, answer, check, column, plain, read

Condition = Callable[..., bool | None]
Match = tuple[int | None, ...]


@dataclass(frozen=True)
class Element:
    """A tuple of a stream: its row number, time (µs), key (None: no match) and columns."""

    row: int
    ts: int
    key: Hashable | None
    values: Mapping[str, Any]


def naive_join(
    *streams: Stream,
    how: How = "inner",
    condition: Condition | None = None,
    between: tuple[int, int] | None = None,
    closed: bool = True,
) -> pa.Table:
    """Join finite streams by trying every combination of one tuple each.

    A combination is a match if each two of its tuples are, and the condition holds. With `left`,
    `semi` and `anti` a tuple of the first stream is unmatched if it is in no match.
    The result is that of `duckdb_join`. `condition` is called with one dict per stream, in the
    streams' order, and None counts as no, as NULL does in SQL.
    """
    check(streams, how, between)
    told = [read(s) for s in streams]
    tuples = [
        _elements(s, r, condition is not None, set()) for s, r in zip(streams, told, strict=True)
    ]
    return _table(streams, told, _rows(streams, tuples, how, condition, between, closed), how)


def naive_batches(
    *streams: Stream,
    how: How = "inner",
    condition: Condition | None = None,
    between: tuple[int, int] | None = None,
    closed: bool = True,
    late: Literal["drop", "keep"] = "drop",
    bad: Literal["drop", "keep"] = "drop",
    batch_rows: int | None = None,
    now: int | None = None,
) -> tuple[pa.Table, dict[str, list[int]]]:
    """Join streams that come in batches, some of their tuples late.

    Returns the result, and per stream the row numbers that were late. The tuples in time are
    joined as `naive_join` does: their answer does not depend on batches. With `late="keep"` the
    result has a column `kind`, and a late tuple is a row of its own (of streams the result
    shows: of semi and anti only the first's, others are counted). With `bad="keep"` a bad row is
    one too, with null in `ts`; `now` is the clock, in µs, that `max_ahead` is about.
    `idle` is about clocks, not about input, and is not simulated.
    """
    check(streams, how, between)
    for what, given in (("late", late), ("bad", bad)):
        if given not in ("drop", "keep"):
            raise WindrowError(f"{what}={given!r}: expected 'drop' or 'keep'")
    told = [read(s, now) for s in streams]
    late_rows = {s.name: late_tuples(s, r, batch_rows) for s, r in zip(streams, told, strict=True)}
    tuples = [
        _elements(s, r, condition is not None, set(late_rows[s.name]))
        for s, r in zip(streams, told, strict=True)
    ]
    rows = _rows(streams, tuples, how, condition, between, closed)
    for i, stream in enumerate(streams[:1] if how in ("semi", "anti") else streams):
        apart = {
            "late": late_rows[stream.name] if late == "keep" else [],
            "bad": [row for row, wrong in enumerate(told[i].bad) if wrong and bad == "keep"],
        }
        for kind, row in ((kind, row) for kind, numbers in apart.items() for row in numbers):
            alone: list[int | None] = [None] * len(streams)
            alone[i] = row
            rows.append((tuple(alone), kind))
    return _table(streams, told, rows, how, kinds="keep" in (late, bad)), late_rows


def late_tuples(stream: Stream, rows: Rows, batch_rows: int | None) -> list[int]:
    """The row numbers of the tuples whose time is before the progress their batch began with.

    batch  times       progress before   late   progress after, lateness 3
    1      10, 12      -inf              -      12 - 3 = 9
    2      8, 9, 11    9                 8      9
    3      beat 20, 4  9                 4      20 (a heartbeat needs no lateness)
    """
    if batch_rows is not None and batch_rows < 1:
        raise WindrowError(f"batch_rows={batch_rows}: expected 1 or more, or None")
    count = len(rows.times)
    size = batch_rows or max(count, 1)
    progress = -math.inf
    late = []
    for start in range(0, count, size):
        before = progress
        for row in range(start, min(start + size, count)):
            time = int(rows.times[row])
            if rows.bad[row]:
                continue
            if rows.beats[row]:
                progress = max(progress, time)
            else:
                # A punctuation moves progress as a tuple does, and is never late.
                if time < before and not rows.ends[row]:
                    late.append(row)
                progress = max(progress, time - stream.lateness)
    return late


def _rows(
    streams: Sequence[Stream],
    tuples: Sequence[Sequence[Element]],
    how: How,
    condition: Condition | None,
    between: tuple[int, int] | None,
    closed: bool,
) -> list[tuple[Match, str]]:
    """The answer as row numbers, with the kind of each row."""

    def joins(combination: Sequence[Element]) -> bool:
        for i, j in combinations(range(len(streams)), 2):
            x, y = combination[i], combination[j]
            if not _equal_keys(x, y):
                return False
            if between is not None:
                if not between[0] <= y.ts - x.ts <= between[1]:
                    return False
            elif not (
                _joinable(x, y, streams[i], tuples[i], closed)
                and _joinable(y, x, streams[j], tuples[j], closed)
            ):
                return False
        return condition is None or bool(condition(*(e.values for e in combination)))

    matches: list[Match] = [
        tuple(e.row for e in combination) for combination in product(*tuples) if joins(combination)
    ]

    def unmatched(i: int) -> list[tuple[Match, str]]:
        matched = {match[i] for match in matches}
        return [
            (tuple(e.row if i == j else None for j in range(len(streams))), "unmatched")
            for e in tuples[i]
            if e.row not in matched
        ]

    if how == "anti":
        return unmatched(0)
    if how == "semi":
        first = sorted({match[0] for match in matches if match[0] is not None})
        return [((row, *[None] * (len(streams) - 1)), "match") for row in first]
    rows = [(match, "match") for match in matches]
    if how in ("left", "full"):
        rows += unmatched(0)
    if how in ("right", "full"):
        rows += unmatched(1)
    return rows


def _equal_keys(x: Element, y: Element) -> bool:
    return x.key is not None and y.key is not None and x.key == y.key


def _joinable(
    x: Element, y: Element, stream: Stream, others: Sequence[Element], closed: bool
) -> bool:
    """Is x, of this stream, still joinable when y comes? A y before x asks nothing of x."""
    gap = y.ts - x.ts
    if gap < 0 or stream.window is None:
        return True
    if isinstance(stream.window, TimeWindow):
        if gap == 0:
            return True
        return gap <= stream.window.micros if closed else gap < stream.window.micros
    return _newer(x, y, stream.window, others) < stream.window.n


def _newer(x: Element, y: Element, window: CountWindow, others: Sequence[Element]) -> int:
    """How many tuples of x's stream (per key: of x's key) came after x and up to y."""
    count = 0
    for other in others:
        if window.per == "key" and other.key != x.key:
            continue
        if x.ts < other.ts <= y.ts:
            count += 1
    return count


def _elements(stream: Stream, rows: Rows, with_values: bool, without: set[int]) -> list[Element]:
    """A stream's tuples, but for the rows `without`."""
    columns = [plain(column(stream, name)).to_pylist() for name in stream.key or ()]
    values = stream.data.to_pylist() if with_values else None
    elements = []
    for row in (int(r) for r in rows.tuples):
        if row in without:
            continue
        parts = [values_of[row] for values_of in columns]
        key = None if None in parts else tuple(_key_value(part) for part in parts)
        elements.append(Element(row, int(rows.times[row]), key, values[row] if values else {}))
    return elements


def _key_value(value: Any) -> Hashable:
    """A value that equals itself: NaN equals NaN in a key. (0.0 == -0.0 in Python as it is.)"""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dict):
        return tuple((name, _key_value(part)) for name, part in value.items())
    if isinstance(value, list):
        return tuple(_key_value(part) for part in value)
    hashable: Hashable = value
    return hashable


def _table(
    streams: Sequence[Stream],
    told: Sequence[Rows],
    rows: Sequence[tuple[Match, str]],
    how: How,
    kinds: bool = False,
) -> pa.Table:
    """The result, in `ts` order."""
    shown = streams[:1] if how in ("semi", "anti") else streams

    def ts(match: Match) -> int:
        of_row = zip(told[: len(shown)], match, strict=False)
        return max(int(r.times[row]) for r, row in of_row if row is not None)

    ordered = sorted(rows, key=lambda row: ts(row[0]))
    # A bad row has no time, or none that can be relied on.
    return answer(
        shown,
        [[match[i] for match, _ in ordered] for i in range(len(shown))],
        [None if kind == "bad" else ts(match) for match, kind in ordered],
        [kind for _, kind in ordered] if kinds else None,
    )
