"""The naive schedules: each query's answer is its own, whatever happens in between."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from windrow.testing.schedules import NOTHING, SCHEDULES, NaiveSharedJoin, Row, isolated


@st.composite
def histories(draw: st.DrawFn) -> tuple[int, list[tuple]]:
    """Streams, and what happens in turn: rows come, queries come and go, some work is done."""
    streams = draw(st.sampled_from([2, 2, 3]))
    ids = iter(range(1000))
    row = st.builds(
        lambda stream, ts, key: Row(stream, ts, next(ids), key),
        st.integers(0, streams - 1),
        st.integers(0, 12),
        st.sampled_from(["x", "x", "x", "y", None]),
    )
    event = st.one_of(
        st.tuples(st.just("come"), st.lists(row, max_size=5)),
        st.tuples(st.just("add"), st.sampled_from([0, 1, 2, 5, 9, 20])),
        st.tuples(st.just("drop"), st.integers(0, 5)),
        st.tuples(st.just("steps"), st.integers(0, 6)),
        st.tuples(st.just("budget"), st.integers(0, 6)),
    )
    first = [("add", reach) for reach in draw(st.lists(st.sampled_from([0, 1, 3, 8]), max_size=4))]
    return streams, [*first, *draw(st.lists(event, max_size=12))]


def happen(join: NaiveSharedJoin, events) -> None:
    for at, (what, value) in enumerate(events):
        if what == "come":
            join.come(value)
        elif what == "add":
            join.add(f"q{at}", value)
        elif what == "drop":
            live = [name for name, q in join.queries.items() if q.dropped == math.inf]
            if live:
                join.drop(live[value % len(live)])
        elif what == "steps":
            for _ in range(value):
                join.step()
        else:
            join.run(budget=value)
    join.run()


@given(histories(), st.sampled_from(SCHEDULES), st.booleans())
def test_isolated_execution(history, schedule, nested) -> None:
    streams, events = history
    join = NaiveSharedJoin(streams, schedule, nested)
    happen(join, events)
    for query in join.queries.values():
        alone = isolated(join.arrivals, streams, query.reach, query.added, query.dropped)
        assert [answer.result for answer in join.answers[query.name]] == alone
        released = [answer.step for answer in join.answers[query.name]]
        assert released == sorted(released)


@given(histories(), st.sampled_from(SCHEDULES))
def test_steps_partition_what_an_arrival_scans(history, schedule) -> None:
    """From nothing to its last window, without a gap; and no later tuple overtakes an earlier."""
    streams, events = history
    join = NaiveSharedJoin(streams, schedule)
    happen(join, events)
    reached = dict.fromkeys(range(len(join.arrivals)), NOTHING)
    for step in join.steps:
        assert step.above == reached[step.arrival] < step.upto
        earlier = [n for n in range(step.arrival) if reached[n] < join.last[n]]
        assert all(reached[n] >= step.upto for n in earlier)
        reached[step.arrival] = step.upto
    assert list(reached.values()) == join.last


@given(histories(), st.sampled_from(SCHEDULES))
def test_results_are_released_as_soon_as_the_schedule_allows(history, schedule) -> None:
    """A result goes to a query once all earlier arrivals have scanned its window, SWF: at a step
    of the result's own last arrival."""
    streams, events = history
    join = NaiveSharedJoin(streams, schedule)
    happen(join, events)
    reached = dict.fromkeys(range(len(join.arrivals)), NOTHING)
    due = {name: [] for name in join.queries}
    produced = []
    for at, step in enumerate(join.steps):
        produced += step.results
        reached[step.arrival] = step.upto
        for name, query in join.queries.items():
            for result in sorted(produced, key=lambda result: result.order):
                number = result.arrival
                complete = all(
                    reached[n] == join.last[n] or reached[n] >= query.reach for n in range(number)
                )
                looked_at = schedule == "mqt" or number == step.arrival
                wanted = query.holds(number) and result.age <= query.reach
                known = [r for r, _ in due[name]]
                if wanted and complete and looked_at and result not in known:
                    due[name].append((result, at))
    for name, answers in join.answers.items():
        assert [(answer.result, answer.step) for answer in answers] == due[name]
