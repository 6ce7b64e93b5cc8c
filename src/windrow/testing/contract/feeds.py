"""Questions to ask an operator, input to feed it in batches, and the answers by definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windrow.model import BEGINNING, END, How
from windrow.testing.contract.keys import key_pool

Rows = NDArray[np.int64]
STREAMS = 2
Verify = Callable[[Rows, Rows], NDArray[np.bool_]]

#: Which streams' unmatched tuples reach the output.
PRESERVED: dict[How, tuple[bool, bool]] = {
    "inner": (False, False),
    "left": (True, False),
    "right": (False, True),
    "full": (True, True),
    "semi": (False, False),
    "anti": (True, False),
}


@dataclass(frozen=True)
class Question:
    """What is asked of an operator.

    x of stream 0 and y of stream 1 join iff their keys are equal, `ts(y) - ts(x) <= reaches[0]`,
    `ts(x) - ts(y) <= reaches[1]` and `verify`, if there is one, says so of their row ids.
    """

    how: How
    reaches: tuple[int, int]
    verify: Verify | None = None

    @property
    def preserved(self) -> tuple[bool, bool]:
        """Which streams' unmatched tuples reach the output."""
        return PRESERVED[self.how]


#: (ts, key, row id)
Tuple = tuple[int, int, int]
#: (kind, row id of stream 0, of stream 1, ts)
Result = tuple[str, int | None, int | None, int]


@dataclass(frozen=True)
class Batch:
    """What arrives together, and each stream's progress around it."""

    arrivals: tuple[Sequence[Tuple], Sequence[Tuple]]
    before: tuple[int, int]
    after: tuple[int, int]


@dataclass(frozen=True)
class Feed:
    """Two streams in order of arrival, none of whose tuples comes later than its lateness."""

    streams: tuple[Sequence[Tuple], Sequence[Tuple]]
    lateness: tuple[int, int] = (0, 0)

    def batches(self, cuts: Sequence[tuple[int, int]], ended: bool = False) -> list[Batch]:
        """The streams cut after so many tuples of each; `ended`: the last cut brings the end.

        Otherwise the end comes in a batch of its own.
        """
        found = []
        before, start = (BEGINNING, BEGINNING), (0, 0)
        for stop in cuts:
            arrived = (self.streams[0][start[0] : stop[0]], self.streams[1][start[1] : stop[1]])
            after = (self._progress(0, stop[0]), self._progress(1, stop[1]))
            if ended and stop == cuts[-1]:
                after = (END, END)
            found.append(Batch(arrived, before, after))
            before, start = after, stop
        if not ended:
            found.append(Batch(((), ()), before, (END, END)))
        return found

    def _progress(self, stream: int, stop: int) -> int:
        seen = [ts for ts, *_ in self.streams[stream][:stop]]
        return max(seen) - self.lateness[stream] if seen else BEGINNING

    def evenly(self, size: int) -> list[tuple[int, int]]:
        """Cuts after every `size` tuples of each."""
        one, two = map(len, self.streams)
        longest = max(one, two, 1)
        return [(min(at, one), min(at, two)) for at in range(size, longest + size, size)]

    def ahead(self, stream: int) -> list[tuple[int, int]]:
        """All of one stream first, then the other tuple by tuple."""
        all_of, other = len(self.streams[stream]), len(self.streams[1 - stream])
        cuts = [(all_of, at) for at in range(other + 1)]
        return cuts if stream == 0 else [(two, one) for one, two in cuts]

    def anywhere(self, rng: np.random.Generator, count: int = 5) -> list[tuple[int, int]]:
        """Random cuts, some of them empty on a side."""
        one, two = (sorted(rng.integers(0, len(s) + 1, count).tolist()) for s in self.streams)
        return [*zip(one, two, strict=True), (len(self.streams[0]), len(self.streams[1]))]


def answer(question: Question, feed: Feed) -> Counter[Result]:
    """What the definition says, pair by pair."""
    pairs = matches(question, feed)
    found: list[Result] = []
    if question.how == "semi":
        times = {row: ts for ts, _, row in feed.streams[0]}
        found += [("match", one, None, times[one]) for one in {one for one, _, _ in pairs}]
    elif question.how != "anti":
        found += [("match", one, two, ts) for one, two, ts in pairs]
    for stream in range(STREAMS):
        if question.preserved[stream]:
            met = {pair[stream] for pair in pairs}
            found += [
                _alone(stream, row, ts) for ts, _, row in feed.streams[stream] if row not in met
            ]
    return Counter(found)


def matches(question: Question, feed: Feed) -> list[tuple[int, int, int]]:
    """(row, row, ts) of all the pairs that join."""
    pairs = [
        (one, two, max(x, y))
        for x, key, one in feed.streams[0]
        for y, other, two in feed.streams[1]
        if key == other and y - x <= question.reaches[0] and x - y <= question.reaches[1]
    ]
    if question.verify is None or not pairs:
        return pairs
    ids = np.array(pairs, np.int64)
    return [
        pair
        for pair, held in zip(pairs, question.verify(ids[:, 0], ids[:, 1]), strict=True)
        if held
    ]


def _alone(stream: int, row: int, ts: int) -> Result:
    return ("unmatched", None if stream else row, row if stream else None, ts)


def questions(rng: np.random.Generator) -> list[Question]:
    """Every kind, settled by the key alone and not; reaches of either sign."""
    some = [(0, 0), (5, 2), (3, 0), (0, 4), (6, -2), (-2, 6), (-3, 3), (12, 12)]
    found = []
    for how in PRESERVED:
        for verify in (None, two_in_three):
            reaches = some[int(rng.integers(len(some)))]
            found.append(Question(how, reaches, verify))
    return found


def two_in_three(one: Rows, two: Rows) -> NDArray[np.bool_]:
    """Holds for two pairs of three."""
    verdict: NDArray[np.bool_] = (one + two) % 3 != 0
    return verdict


def random_feed(
    rng: np.random.Generator, size: int = 18, lateness: tuple[int, int] = (0, 0)
) -> Feed:
    """Few keys, many ties, times over some windows; no arrival delayed beyond its lateness."""
    pool = np.array(key_pool(rng, 2)[:4], np.int64)
    streams = []
    for late in lateness:
        count = int(rng.integers(size // 2, size + 1))
        ts = rng.integers(0, 25, count)
        arrival = np.argsort(ts + rng.integers(0, late + 1, count), kind="stable")
        keys = rng.choice(pool, count)
        records = zip(ts[arrival].tolist(), keys.tolist(), range(count), strict=True)
        streams.append(tuple(records))
    return Feed((streams[0], streams[1]), lateness)
