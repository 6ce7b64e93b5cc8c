"""When keys end, as loops over everything that has come: for promises that are kept.

A key has ended once all streams have ended it, or early, once one that has ended it holds none of
it any more. After each batch the rows that a stream holds are found anew, by these sentences:

    a tuple is held while one of another stream may still come in its window
    it is held no more if all other streams have ended the key
    nor if one other stream has ended the key and holds none of it

For left and anti joins only the first stream's punctuations end a key early. Nothing here follows
the order inside a batch: what has happened after it is asked, not when.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from windrow.model import Stream, TimeWindow
from windrow.testing._inputs import column, read
from windrow.testing.strategies import Case

#: Streams whose unmatched rows are part of the answer.
KEEPING = {"left": {0}, "anti": {0}, "right": {1}, "full": {0, 1}}


@dataclass(frozen=True)
class Ends:
    """By key, the batches in which it ends, once in each of its lives.

    `unclear` are keys of which it does not follow from the definition how often they end: those
    that a stream has ended twice within a span, or of whose punctuations the first and the last
    are more than a span apart, though each is within one of the one before.
    """

    batches: dict[Hashable, list[int]]
    unclear: frozenset[Hashable]


@dataclass(frozen=True)
class Said:
    """A punctuation that has acted, or a tuple: its stream and its time."""

    stream: int
    ts: int


@dataclass
class Heard:
    """What has come of one key, after a batch, and each stream's progress and reach."""

    progress: Sequence[float]
    reaches: Sequence[float]
    tuples: list[Said] = field(default_factory=list)
    acted: list[Said] = field(default_factory=list)

    def held(self) -> set[Said]:
        """The tuples that are still stored."""
        span = max(self.reaches)
        found = {x for x in self.tuples if self._may_be_met(x)}
        while True:
            gone = {x for x in found if self._is_let_go(x, found, span)}
            if not gone:
                return found
            found -= gone

    def _may_be_met(self, x: Said) -> bool:
        others = [p for stream, p in enumerate(self.progress) if stream != x.stream]
        return x.ts + self.reaches[x.stream] >= min(others)

    def _is_let_go(self, x: Said, held: set[Said], span: float) -> bool:
        over = [said for said in self.acted if said.stream != x.stream and x.ts <= said.ts + span]
        all_others = len({said.stream for said in over}) == len(self.progress) - 1
        return all_others or any(not has_any(held, said, span) for said in over)


def has_any(held: set[Said], said: Said, span: float) -> bool:
    """Does the stream that has ended the key hold a tuple of the life that is over?"""
    return any(x.stream == said.stream and x.ts <= said.ts + span for x in held)


def naive_ends(case: Case, batch_rows: int | None = None) -> Ends:
    """The batch (from 0) in which each key ends, for streams that keep what they say.

    For inner and left joins of streams in order (`lateness` 0), without an `order`, that is when it
    ends. Otherwise not later: rows of semi and anti joins may leave with their first match, and a
    tuple that waits behind others, out of order, may be held for longer.
    """
    reaches = [_reach(stream, case.closed) for stream in case.streams]
    lives, unclear = _lives(case, max(reaches))
    batches: dict[Hashable, list[int]] = {key: [] for key in lives}
    open_lives = [(key, life) for key, those in lives.items() for life in those]
    for number, heard in enumerate(after_each_batch(case, batch_rows, reaches)):
        for key, life in list(open_lives):
            if _has_ended(heard[key], life, case):
                batches[key].append(number)
                open_lives.remove((key, life))
    return Ends({key: found for key, found in batches.items() if found}, unclear)


def _has_ended(heard: Heard, life: frozenset[Said], case: Case) -> bool:
    acted = [said for said in life if said in heard.acted]
    if len({said.stream for said in acted}) == len(case.streams):
        return True
    held, span = heard.held(), max(heard.reaches)
    keeping = KEEPING.get(case.how, set())
    return any(not keeping - {said.stream} and not has_any(held, said, span) for said in acted)


def _lives(
    case: Case, span: float
) -> tuple[dict[Hashable, list[frozenset[Said]]], frozenset[Hashable]]:
    """By key, its punctuations, those together that are at most a span apart; and unclear keys."""
    by_key: dict[Hashable, list[Said]] = defaultdict(list)
    for at, stream in enumerate(case.streams):
        for _, key, ts in _punctuations(stream):
            by_key[key].append(Said(at, ts))
    lives: dict[Hashable, list[frozenset[Said]]] = {}
    unclear = set()
    for key, said in by_key.items():
        ordered = sorted(said, key=lambda each: each.ts)
        groups = [[ordered[0]]]
        for each in ordered[1:]:
            if each.ts - groups[-1][-1].ts <= span:
                groups[-1].append(each)
            else:
                groups.append([each])
        if any(
            len({each.stream for each in group}) < len(group) or group[-1].ts - group[0].ts > span
            for group in groups
        ):
            unclear.add(key)
        else:
            lives[key] = [frozenset(group) for group in groups]
    return lives, frozenset(unclear)


def after_each_batch(
    case: Case, batch_rows: int | None, reaches: Sequence[float]
) -> Iterator[dict[Hashable, Heard]]:
    """By key, what has come after each batch. A stream without more rows has ended."""
    longest = max(1, *(stream.data.num_rows for stream in case.streams))
    size = batch_rows or longest
    for stop in range(size, longest + size, size):
        progress = [_progress(stream, stop) for stream in case.streams]
        heard: dict[Hashable, Heard] = defaultdict(lambda p=progress: Heard(p, reaches))  # type: ignore[misc]
        for at, stream in enumerate(case.streams):
            keys, rows = _keys(stream), read(stream)
            for row in (int(r) for r in rows.tuples if r < stop):
                heard[keys[row]].tuples.append(Said(at, int(rows.times[row])))
            for row, key, ts in _punctuations(stream):
                if row < stop and progress[at] >= ts:
                    heard[key].acted.append(Said(at, ts))
        yield heard


def _progress(stream: Stream, stop: int) -> float:
    if stop >= stream.data.num_rows:
        return math.inf
    rows = read(stream)
    seen = [int(t) for t, bad in zip(rows.times[:stop], rows.bad[:stop], strict=True) if not bad]
    return max(seen) - stream.lateness if seen else -math.inf


def _punctuations(stream: Stream) -> list[tuple[int, Hashable, int]]:
    """The row, key and time of each; of a unique key, those of its tuple."""
    keys, rows = _keys(stream), read(stream)
    said = rows.tuples if stream.unique else rows.ends.nonzero()[0]
    found = [(int(row), keys[row], int(rows.times[row])) for row in said]
    return [each for each in found if each[1] is not None]


def _keys(stream: Stream) -> list[Hashable]:
    (name,) = stream.key or ()
    keys: list[Hashable] = column(stream, name).to_pylist()
    return keys


def _reach(stream: Stream, closed: bool) -> float:
    if not isinstance(stream.window, TimeWindow):
        return math.inf
    return stream.window.micros if closed else max(stream.window.micros - 1, 0)
