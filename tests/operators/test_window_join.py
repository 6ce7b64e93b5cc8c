"""The contract of operators, on the window join with every structure, strategy and buffer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from windrow.model import END
from windrow.operators.arrivals import Arrivals
from windrow.operators.gate import Passed
from windrow.operators.join import window
from windrow.operators.join.flags import Flags
from windrow.operators.join.window import JoinConfig, WindowJoin
from windrow.operators.retention import within
from windrow.state.join_state import Layout
from windrow.state.room import HEAP
from windrow.testing import contract
from windrow.testing.contract import OPERATOR_CHECKS, Feed, OperatorUnderTest, Question
from windrow.testing.contract.operator import (
    frees_what_expired,
    goes_on_elsewhere,
    loses_nothing_when_ahead,
    remembers_who_was_matched,
    results_leave_in_their_batch,
    run,
    same_answer_however_batched,
    works_without_tuples,
)

#: (structure, parts, invalidation)
WAYS = [
    ("time-list", 1, "time-list"),
    ("time-list", 5, "time-list"),
    ("buckets", 1, "time-list"),
    *(
        ("buckets", parts, how)
        for how in ("probe", "probe-insert", "probe-all", "all")
        for parts in (1, 3)
    ),
]
EAGER = ("time-list", "all")


class Fed:
    """A window join behind an open gate."""

    def __init__(self, join):
        self.join = join
        self.handover = join.handover

    def process(self, arrivals, before, after):
        tuples = [side.in_time_order() for side in arrivals]
        return self.join.process(Passed(tuples, before, after))


def operator(structure, parts, invalidation) -> OperatorUnderTest:
    def make(question: Question) -> Fed:
        holds = question.verify
        verify = None if holds is None else lambda rows: holds(*rows)
        config = JoinConfig(
            question.how, within(question.reaches), question.preserved, invalidation, verify
        )
        return Fed(WindowJoin(config, Layout(2, structure, parts)).begin())

    def attach(question, parts):
        fed = make(question)
        fed.join.attach(*parts, HEAP)
        return fed

    return OperatorUnderTest(
        make=make,
        attach=attach,
        arrivals=Arrivals,
        stored=lambda fed, stream: fed.join.state.rows(stream),
        eager=invalidation in EAGER,
    )


@pytest.fixture(params=WAYS, ids=lambda way: "-".join(map(str, way)))
def under_test(request):
    return operator(*request.param)


@pytest.mark.kernel
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("check", OPERATOR_CHECKS, ids=lambda check: check.__name__)
def test_contract(check, under_test, seed):
    check(under_test, seed)


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("check", "buffer"),
    [
        *((same_answer_however_batched, buffer) for buffer in (1, 2, 3, 7)),
        (goes_on_elsewhere, 2),
        (results_leave_in_their_batch, 1),
        (results_leave_in_their_batch, 3),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_full_buffer_stops_the_kernel_anywhere(check, under_test, buffer, monkeypatch):
    """In the middle of scans and of expiries; going on gives what would have come anyway."""
    monkeypatch.setattr(window, "BUFFER_ROWS", buffer)
    check(under_test, buffer)


@pytest.mark.parametrize("buffer", [1, 3, 1 << 16])
@pytest.mark.parametrize("how", contract.feeds.PRESERVED)
@pytest.mark.parametrize("verify", [None, contract.feeds.two_in_three], ids=["settled", "verified"])
def test_many_partners_and_many_leavers_at_once(under_test, how, verify, buffer, monkeypatch):
    """Ten tuples a side, all of one key and time: 100 pairs, then all of them expire at once."""
    monkeypatch.setattr(window, "BUFFER_ROWS", buffer)
    crowd = [[(10, 5, n) for n in range(10)] + [(40, 6, n) for n in range(10, 20)]] * 2
    late_one = [(99, 7, 20)]
    feed = Feed((crowd[0], crowd[1] + late_one))
    question = Question(how, (4, 4), verify)
    for cuts in ([(20, 21)], [(10, 0), (10, 21), (20, 21)], [(0, 21), (20, 21)]):
        batches = feed.batches(cuts)
        found = run(under_test, under_test.make(question), batches)
        assert Counter(chain.from_iterable(found)) == contract.feeds.answer(question, feed)


def test_counts_do_not_depend_on_the_buffer(under_test, monkeypatch):
    """What is stored, matched and compared is the same work, in more visits."""
    feed = contract.feeds.random_feed(np.random.default_rng(3), size=40)
    figures = []
    for buffer in (1, 5, 1 << 16):
        monkeypatch.setattr(window, "BUFFER_ROWS", buffer)
        fed = under_test.make(Question("full", (5, 3)))
        join = fed.join
        run(under_test, fed, feed.batches(feed.evenly(6)))
        comparisons, _ = join.looked_at()
        figures.append((comparisons, join.matches, join.unmatched, join.stored(0), join.stored(1)))
    assert figures[0] == figures[1] == figures[2]


# -- the contract itself: it must catch what it is there for --------------------------------------

TIME_LIST = operator("time-list", 1, "time-list")


def test_a_forgotten_flag_shows(monkeypatch):
    attach = Flags.attach

    def forgetful(arrays, facts, room):
        flags = attach(arrays, facts, room)
        flags.bytes[:] = 0
        return flags

    monkeypatch.setattr(Flags, "attach", forgetful)
    with pytest.raises(AssertionError, match="too many"):
        remembers_who_was_matched(TIME_LIST, 0)


class Wrapped:
    """A window join that is told something else."""

    def __init__(self, join, tell) -> None:
        self.join, self.tell = join, tell
        self.handover = join.handover

    def process(self, arrivals, before, after):
        return self.join.process(*self.tell(arrivals, before, after))


def told(tell) -> OperatorUnderTest:
    return replace(
        TIME_LIST,
        make=lambda question: Wrapped(TIME_LIST.make(question), tell),
        stored=lambda wrapped, stream: wrapped.join.join.state.rows(stream),
    )


def asked(change) -> OperatorUnderTest:
    return replace(TIME_LIST, make=lambda question: TIME_LIST.make(change(question)))


def slower(arrivals, before, after):
    return (
        arrivals,
        before,
        [max(p - 1, b) if p < END else p for p, b in zip(after, before, strict=True)],
    )


MUTANTS = {
    "own progress expires": (
        loses_nothing_when_ahead,
        told(lambda arrivals, before, after: (arrivals, before[::-1], after[::-1])),
    ),
    "progress comes late": (results_leave_in_their_batch, told(slower)),
    "progress comes late, and the state stays": (frees_what_expired, told(slower)),
    "one microsecond too far": (
        same_answer_however_batched,
        asked(lambda q: replace(q, reaches=(q.reaches[0] + 1, q.reaches[1]))),
    ),
    "the condition is forgotten": (
        same_answer_however_batched,
        asked(lambda q: replace(q, verify=None)),
    ),
    "an end that never comes": (
        works_without_tuples,
        told(lambda arrivals, before, after: (arrivals, before, [min(p, 3) for p in after])),
    ),
    "lazy, and called eager": (
        frees_what_expired,
        replace(operator("buckets", 1, "probe"), eager=True),
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_contract_catches(mutant):
    check, broken = MUTANTS[mutant]
    with pytest.raises(AssertionError):
        check(broken, 0)
