"""Paper 2's equations: each against the sum it is the closed form of, and against the schedule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.cost import paper2
from windrow.testing.schedules import NaiveSharedJoin, Row

#: Sizes of windows, smallest first, and queries for each.
WINDOWS = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 4)), min_size=1, max_size=4).map(
    lambda drawn: [(sum(s for s, _ in drawn[: i + 1]), q) for i, (_, q) in enumerate(drawn)]
)
MANY = st.integers(1, 5)


@given(WINDOWS, MANY)
def test_lwo_is_the_mean_over_all_results(windows, m) -> None:
    """The j-th tuple starts after j scans of the largest window; its k-th result takes k checks."""
    S_max = windows[-1][0]
    for S_i, _ in windows:
        times = [j * S_max + k for j in range(m) for k in range(1, S_i + 1)]
        assert paper2.lwo_response(S_i, S_max, m, 1.0) == pytest.approx(sum(times) / len(times))


@given(WINDOWS, MANY)
def test_isolated_is_a_window_of_its_own(windows, m) -> None:
    for S_i, _ in windows:
        times = [j * S_i + k for j in range(m) for k in range(1, S_i + 1)]
        assert paper2.isolated_response(S_i, m, 1.0) == pytest.approx(sum(times) / len(times))


def burst(schedule, windows, m) -> tuple[NaiveSharedJoin, list[float]]:
    """m tuples of one stream at once, against a tuple of the other at each age; ends of steps."""
    largest = windows[-1][0]
    join = NaiveSharedJoin(2, schedule)
    join.come([Row(1, t, t) for t in range(largest)])
    for at, (size, queries) in enumerate(windows):
        for more in range(queries):
            join.add(f"{at} {more}", size)
    join.come([Row(0, largest, j) for j in range(m)])
    join.run()
    clock, ends = 0.0, []
    for step in join.steps:
        clock += step.upto - max(step.above, 0)
        ends.append(clock)
    return join, ends


@given(WINDOWS, MANY)
def test_swf_is_the_mean_over_its_schedule(windows, m) -> None:
    join, ends = burst("swf", windows, m)
    for i, (S_i, _) in enumerate(windows):
        before = windows[i - 1][0] if i else 0
        scans = [end for step, end in zip(join.steps, ends, strict=True) if step.upto == S_i]
        assert paper2.swf_response(S_i, before, m, 1.0) == pytest.approx(sum(scans) / m)


@given(WINDOWS, MANY)
def test_mqt_is_the_mean_over_its_schedule(windows, m) -> None:
    """Results are released at the end of the step that the reference releases them in."""
    join, ends = burst("mqt", windows, m)
    assert all(sum(r.age > s.above for r in s.results) == s.scanned for s in join.steps)
    predicted = paper2.mqt_responses([S for S, _ in windows], [q for _, q in windows], m, 1.0)
    for i in range(len(windows)):
        times = [ends[answer.step] for answer in join.answers[f"{i} 0"]]
        assert len(times) == m * windows[i][0]
        assert predicted[i] == pytest.approx(sum(times) / len(times))


@given(WINDOWS, MANY)
def test_mqt_is_not_behind_swf_where_it_takes_its_steps(windows, m) -> None:
    swf, mqt = (burst(schedule, windows, m)[0] for schedule in ("swf", "mqt"))
    if [(s.arrival, s.upto) for s in swf.steps] != [(s.arrival, s.upto) for s in mqt.steps]:
        return
    queries = dict(windows)
    slower = paper2.responses("swf", queries, m, 1.0)
    for S, seconds in paper2.responses("mqt", queries, m, 1.0).items():
        assert seconds <= slower[S] + 1e-9


def test_responses_are_by_window_whatever_their_order() -> None:
    queries = {510.0: 1, 1.0: 2, 600.0: 3}
    for schedule in ("isolated", "lwo", "swf", "mqt"):
        found = paper2.responses(schedule, queries, m=5)
        assert list(found) == [1.0, 510.0, 600.0]
        assert all(seconds > 0 for seconds in found.values())
    assert paper2.responses("swf", queries, 5, 1.0)[600.0] == paper2.swf_response(600, 510, 5, 1.0)
    assert paper2.responses("lwo", queries, 5, 1.0)[1.0] == paper2.lwo_response(1, 600, 5, 1.0)


def test_who_pays_for_a_query_more() -> None:
    queries = {100.0: 1, 500.0: 1}
    assert paper2.penalty("isolated", queries, 60_000) == 1
    assert paper2.penalty("lwo", queries, 60_000) > 100
    assert paper2.penalty("swf", queries, 60_000) == 1
    # A small window more costs a single large query: its tuples scan in two parts.
    assert paper2.penalty("swf", {500.0: 1}, 100, m=9) > 1
