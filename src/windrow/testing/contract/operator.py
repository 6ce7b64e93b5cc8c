"""What every operator must do. A new one brings its factories and runs `OPERATOR_CHECKS`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from windrow.testing.contract.feeds import (
    STREAMS,
    Batch,
    Feed,
    Question,
    Result,
    Rows,
    answer,
    matches,
    questions,
    random_feed,
    two_in_three,
)
from windrow.testing.contract.handover import Handover, elsewhere
from windrow.testing.contract.keys import key_pool


class Results(Protocol):
    """Some results of one kind, as row ids per stream (None: nulls), and their times."""

    @property
    def kind(self) -> str:
        """match or unmatched."""

    @property
    def rows(self) -> tuple[Rows | None, ...]:
        """Row ids by stream."""

    @property
    def ts(self) -> Rows:
        """The largest time of each."""


class Operator(Protocol):
    """Batches in, results out."""

    def process(
        self, arrivals: Sequence[Any], before: Sequence[int], after: Sequence[int]
    ) -> Iterable[Results]:
        """Join a batch, given each stream's progress before and after it."""

    def handover(self) -> Handover:
        """Its arrays as they are, and what else must be known with them."""


@dataclass(frozen=True)
class OperatorUnderTest:
    """Factories of one operator.

    Parameters
    ----------
    make: an operator that has seen nothing yet.
    attach: an operator that goes on with another one's arrays, and the same question.
    arrivals: a stream's part of a batch, of times, keys and row ids.
    stored: the row ids that an operator stores of a stream.
    eager: whether what a batch's progress lets go of is gone when the batch is over.
    """

    make: Callable[[Question], Operator]
    attach: Callable[[Question, Handover], Operator]
    arrivals: Callable[[Rows, Rows, Rows], Any]
    stored: Callable[[Any, int], Rows]
    eager: bool = True


def run(
    under_test: OperatorUnderTest, operator: Operator, batches: Sequence[Batch]
) -> list[list[Result]]:
    """Feed an operator; the results of each batch.

    They are read only when all batches are through: a result must not change once it is out.
    """
    pieces = [list(_process(under_test, operator, batch)) for batch in batches]
    return [[result for piece in batch for result in results(piece)] for batch in pieces]


def _process(under_test: OperatorUnderTest, operator: Operator, batch: Batch) -> Iterable[Results]:
    arrivals = []
    for side in batch.arrivals:
        columns = np.array(side, np.int64).reshape(-1, 3).T
        arrivals.append(under_test.arrivals(*(np.ascontiguousarray(c) for c in columns)))
    return operator.process(arrivals, batch.before, batch.after)


def results(piece: Results) -> Iterator[Result]:
    """A piece row by row."""
    one, two = (
        [None] * len(piece.ts) if rows is None else rows.tolist() for rows in piece.rows[:STREAMS]
    )
    yield from zip([piece.kind] * len(piece.ts), one, two, piece.ts.tolist(), strict=True)


def same_answer_however_batched(under_test: OperatorUnderTest, seed: int = 0) -> None:
    """One batch, many, one stream far ahead, arrivals out of order: always the definition's."""
    rng = np.random.default_rng(seed)
    for question in questions(rng):
        late = (0, 0) if rng.random() < 0.4 else (int(rng.integers(9)), int(rng.integers(9)))
        feed = random_feed(rng, lateness=late)
        whole = [(len(feed.streams[0]), len(feed.streams[1]))]
        for batches in (
            feed.batches(whole, ended=True),
            feed.batches(whole),
            feed.batches(feed.evenly(1)),
            feed.batches(feed.evenly(4), ended=True),
            feed.batches(feed.anywhere(rng)),
            feed.batches(feed.ahead(0)),
            feed.batches(feed.ahead(1)),
        ):
            found = run(under_test, under_test.make(question), batches)
            _assert_same(found, answer(question, feed), question, batches)


def goes_on_elsewhere(under_test: OperatorUnderTest, seed: int = 0) -> None:
    """An operator replaced after each batch by one on a copy of its arrays."""
    rng = np.random.default_rng(seed)
    for question in questions(rng):
        feed = random_feed(rng, lateness=(0, int(rng.integers(5))))
        _go_on(under_test, question, feed, feed.anywhere(rng))


def remembers_who_was_matched(under_test: OperatorUnderTest, seed: int = 0) -> None:
    """Matched before it moves and let go after that: neither unmatched nor matched anew.

    0: a0 b0 match      it moves      9: a1 and b1 come, and a0 and b0 leave in silence
    1: a2 stays alone                 a2 leaves as unmatched; a1 and b1 meet only each other
    """
    for question in questions(np.random.default_rng(seed)):
        feed = Feed((((0, 7, 1), (1, 8, 2), (9, 7, 4)), ((0, 7, 1), (9, 7, 4))))
        asked = Question(question.how, (3, 3), question.verify)
        _go_on(under_test, asked, feed, [(2, 1), (3, 2)])
    # A semi join's tuple has met its partner before the move, and meets another after it.
    for verify in (None, two_in_three):
        feed = Feed((((0, 7, 1),), ((0, 7, 1), (2, 7, 3))))
        _go_on(under_test, Question("semi", (3, 3), verify), feed, [(1, 1), (1, 2)])


def _go_on(
    under_test: OperatorUnderTest, question: Question, feed: Feed, cuts: list[tuple[int, int]]
) -> None:
    batches = feed.batches(cuts)
    operator = under_test.make(question)
    found = []
    for batch in batches:
        found += run(under_test, operator, [batch])
        operator = under_test.attach(question, elsewhere(operator.handover()))
    _assert_same(found, answer(question, feed), question, batches)


def results_leave_in_their_batch(under_test: OperatorUnderTest, seed: int = 0) -> None:
    """In order, a match leaves when its later tuple comes, and an unmatched row in the first
    batch in which the other stream's progress passes its reach: never before, never twice."""
    rng = np.random.default_rng(seed)
    for question in questions(rng):
        feed = random_feed(rng)
        for cuts in (feed.evenly(1), feed.evenly(3), feed.anywhere(rng), feed.ahead(0)):
            batches = feed.batches(cuts)
            found = run(under_test, under_test.make(question), batches)
            expected = _by_batch(question, feed, batches)
            for number, (got, wanted) in enumerate(zip(found, expected, strict=True)):
                _assert_same([got], wanted, question, batches[: number + 1], f"batch {number}")


def _by_batch(question: Question, feed: Feed, batches: Sequence[Batch]) -> list[Counter[Result]]:
    came = [
        {row: n for n, batch in enumerate(batches) for *_, row in batch.arrivals[stream]}
        for stream in range(STREAMS)
    ]
    met: dict[int, int] = {}
    for first, second, _ in matches(question, feed):
        number = max(came[0][first], came[1][second])
        met[first] = min(met.get(first, number), number)
    expected: list[Counter[Result]] = [Counter() for _ in batches]
    for result, count in answer(question, feed).items():
        kind, one, two, ts = result
        if kind == "unmatched":
            stream, row = (0, one) if two is None else (1, two)
            number = max(came[stream][_known(row)], _passed(question, batches, stream, ts))
        elif two is None:
            number = met[_known(one)]
        else:
            number = max(came[0][_known(one)], came[1][two])
        expected[number][result] += count
    return expected


def _known(row: int | None) -> int:
    assert row is not None
    return row


def _passed(question: Question, batches: Sequence[Batch], stream: int, ts: int) -> int:
    """The first batch after which nothing of the other stream can reach this time."""
    return next(
        n
        for n, batch in enumerate(batches)
        if ts + question.reaches[stream] < batch.after[1 - stream]
    )


def frees_what_expired(under_test: OperatorUnderTest, seed: int = 0) -> None:
    """In order, after each batch: what can still match is stored, and (eager) nothing else is."""
    rng = np.random.default_rng(seed)
    for question in questions(rng):
        feed = random_feed(rng)
        for cuts in (feed.evenly(2), feed.ahead(0), feed.ahead(1)):
            operator = under_test.make(question)
            batches = feed.batches(cuts)
            for n, batch in enumerate(batches):
                run(under_test, operator, [batch])
                seen = tuple(
                    [t for each in batches[: n + 1] for t in each.arrivals[stream]]
                    for stream in range(STREAMS)
                )
                met = {one for one, *_ in matches(question, Feed((seen[0], seen[1])))}
                for stream in range(STREAMS):
                    bound = batch.after[1 - stream]
                    reach = question.reaches[stream]
                    alive = {row for ts, _, row in seen[stream] if ts + reach >= bound}
                    # One match settles a tuple of a semi or anti join: it needs no place then.
                    settled = met if question.how in ("semi", "anti") and stream == 0 else set()
                    stored = set(under_test.stored(operator, stream).tolist())
                    assert stored >= alive - settled, f"lost {alive - settled - stored}: {question}"
                    if under_test.eager:
                        assert stored <= alive, f"kept {stored - alive}: {question}, batch {n}"


def loses_nothing_when_ahead(under_test: OperatorUnderTest, seed: int = 0) -> None:
    """A stream many windows ahead of the other waits for it with all its tuples."""
    rng = np.random.default_rng(seed)
    for question in questions(rng):
        keys = rng.choice(key_pool(rng, 2)[:3], 60).tolist()
        slow = [(ts, keys[ts], ts) for ts in range(0, 60, 7)]
        fast = [(ts, keys[59 - ts], ts) for ts in range(60)]
        for stream in range(STREAMS):
            feed = Feed((fast, slow) if stream == 0 else (slow, fast))
            batches = feed.batches(feed.ahead(stream))
            found = run(under_test, under_test.make(question), batches)
            _assert_same(found, answer(question, feed), question, batches)


def works_without_tuples(under_test: OperatorUnderTest, seed: int = 0) -> None:
    """Empty batches, an empty side, and progress that moves without a tuple."""
    for question in questions(np.random.default_rng(seed)):
        for feed in (Feed(((), ())), Feed((((4, 1, 0),), ())), Feed(((), ((4, 1, 0),)))):
            counts = (len(feed.streams[0]), len(feed.streams[1]))
            batches = feed.batches([(0, 0), counts, counts])
            found = run(under_test, under_test.make(question), batches)
            _assert_same(found, answer(question, feed), question, batches)


OPERATOR_CHECKS: tuple[Callable[[OperatorUnderTest, int], None], ...] = (
    same_answer_however_batched,
    goes_on_elsewhere,
    remembers_who_was_matched,
    results_leave_in_their_batch,
    frees_what_expired,
    loses_nothing_when_ahead,
    works_without_tuples,
)


def _assert_same(
    found: Iterable[Sequence[Result]],
    expected: Counter[Result],
    question: Question,
    batches: Sequence[Batch],
    where: str = "all batches",
) -> None:
    got = Counter(result for batch in found for result in batch)
    if got == expected:
        return
    lines = [
        f"{where}: missing {_shown(expected - got)}, too many {_shown(got - expected)}",
        f"{question.how}, reaches {question.reaches}, verify {question.verify is not None}",
    ]
    lines += [f"  {batch.arrivals}  progress {batch.before} -> {batch.after}" for batch in batches]
    raise AssertionError("\n".join(lines))


def _shown(found: Counter[Result]) -> str:
    return str(sorted(found.elements(), key=str)) if found else "none"
