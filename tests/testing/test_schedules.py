"""The naive schedules: the worked examples of paper 2, and rules beside them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from windrow.model import WindrowError
from windrow.testing.schedules import (
    NOTHING,
    NaiveSharedJoin,
    Row,
    Step,
    timed,
)

A, B = range(2)
#: The windows of Q1, Q2 and Q3 in Figures 2(a) and 3(a): b6 is the first beyond w1 for a11.
WINDOWS = {"Q1": 4, "Q2": 8, "Q3": 12}


def figure(schedule, windows=WINDOWS, all_join=False) -> NaiveSharedJoin:
    """Streams A and B before a11: odd times and even ones, as the figures have them.

    In Figures 2(a) and 3(a) a11 joins b8, b4, b0 and b12 joins a9, a5, a1; in Figure 4 all join.
    """
    join = NaiveSharedJoin(2, schedule)
    before = [Row(t % 2 == 0, t, t, key(t, all_join)) for t in range(11)]
    # They came before the queries did, so that nothing of them is in the example.
    join.come(before)
    for name, reach in windows.items():
        join.add(name, reach)
    return join


def key(t: int, all_join: bool) -> str:
    if all_join:
        return "all"
    return {11: "star", 8: "star", 4: "star", 0: "star"}.get(
        t, "circle" if t in (12, 9, 5, 1) else f"alone {t}"
    )


def a11(all_join=False) -> Row:
    return Row(A, 11, 11, key(11, all_join))


def b12(all_join=False) -> Row:
    return Row(B, 12, 12, key(12, all_join))


def scanned(join) -> list[tuple[str, int, int]]:
    """The steps: the arrival by the figures' name, from, up to."""
    names = {11: "a11", 12: "b12"}
    return [(names[s.arrival], max(s.above, 0), s.upto) for s in join.steps]


def got(join, name, step) -> list[tuple[int, int]]:
    """What a query got in a step, as (time in A, time in B)."""
    return [answer.result.rows for answer in join.answers[name] if answer.step == step]


# -- the worked examples -----------------------------------------------------------------------


def test_figure_2a() -> None:
    join = figure("lwo")
    join.come([a11()])
    join.come([b12()])
    join.run()
    assert scanned(join) == [("a11", 0, 12), ("b12", 0, 12)]
    assert [r.rows for r in join.steps[0].results] == [(11, 8), (11, 4), (11, 0)]
    assert [r.rows for r in join.steps[1].results] == [(9, 12), (5, 12), (1, 12)]
    assert got(join, "Q1", 0) == [(11, 8)]
    assert got(join, "Q2", 0) == [(11, 8), (11, 4)]
    assert got(join, "Q3", 0) == [(11, 8), (11, 4), (11, 0)]
    assert got(join, "Q1", 1) == [(9, 12)]
    assert got(join, "Q2", 1) == [(9, 12), (5, 12)]
    assert got(join, "Q3", 1) == [(9, 12), (5, 12), (1, 12)]


def test_figure_3a() -> None:
    """Steps of the figure: each scan is followed by one in which results are released."""
    join = figure("swf")
    join.come([a11()])
    join.step()
    # "After this scan, tuple b12 arrives."
    join.come([b12()])
    join.run()
    assert scanned(join) == [
        ("a11", 0, 4),  # 1
        ("b12", 0, 4),  # 3
        ("a11", 4, 8),  # 5
        ("b12", 4, 8),  # 7
        ("a11", 8, 12),  # 9
        ("b12", 8, 12),  # 11
    ]
    assert [[r.rows for r in s.results] for s in join.steps] == [
        [(11, 8)],
        [(9, 12)],
        [(11, 4)],
        [(5, 12)],
        [(11, 0)],
        [(1, 12)],
    ]
    released = [{name: got(join, name, step) for name in WINDOWS} for step in range(6)]
    assert released == [
        {"Q1": [(11, 8)], "Q2": [(11, 8)], "Q3": [(11, 8)]},  # 2
        {"Q1": [(9, 12)], "Q2": [], "Q3": []},  # 4
        {"Q1": [], "Q2": [(11, 4)], "Q3": [(11, 4)]},  # 6
        {"Q1": [], "Q2": [(9, 12), (5, 12)], "Q3": []},  # 8
        {"Q1": [], "Q2": [], "Q3": [(11, 0)]},  # 10
        {"Q1": [], "Q2": [], "Q3": [(9, 12), (5, 12), (1, 12)]},  # 12
    ]


def test_figure_3a_under_mqt_releases_earlier() -> None:
    """With windows that lie further and further apart, MQT takes SWF's steps, and need not wait
    for b12's own."""
    windows = {"Q1": 4, "Q2": 9, "Q3": 15}
    swf, mqt = figure("swf", windows), figure("mqt", windows)
    for join in (swf, mqt):
        join.come([a11()])
        join.step()
        join.come([b12()])
        join.run()
    assert [s.results for s in swf.steps] == [s.results for s in mqt.steps]
    # a11 has scanned 8, then 12: (a9, b12) is complete, with what is before it.
    assert got(mqt, "Q2", 2) == [(11, 4), (9, 12)]
    assert got(mqt, "Q2", 3) == [(5, 12)]
    assert got(mqt, "Q3", 4) == [(11, 0), (9, 12), (5, 12)]
    assert got(mqt, "Q3", 5) == [(1, 12)]


#: Figure 4: w1 = 2w, w2 = 3w, w3 = 6w with w = 2.
W = 2
THREE = {"Q1": 2 * W, "Q2": 3 * W, "Q3": 6 * W}


def test_figure_4_matrix() -> None:
    join = figure("mqt", THREE, all_join=True)
    join.come([a11(True)])
    w1, w2, w3 = THREE.values()
    matrix = {
        (NOTHING, w1): Fraction(1, 2 * W),
        (NOTHING, w2): Fraction(2, 3 * W),
        (NOTHING, w3): Fraction(2, 3 * W),
        (w1, w2): Fraction(1, W),
        (w1, w3): Fraction(1, W),
        (w2, w3): Fraction(1, 3 * W),
    }
    assert {pair: join._max_qt(*pair) for pair in matrix} == matrix


def test_figure_4() -> None:
    join = figure("mqt", THREE, all_join=True)
    join.come([a11(True)])
    join.step()
    join.come([b12(True)])
    join.run()
    assert scanned(join) == [
        ("a11", 0, 4),
        ("a11", 4, 6),
        ("b12", 0, 4),
        ("b12", 4, 6),
        ("a11", 6, 12),
        ("b12", 6, 12),
    ]
    # "(a11, b12) and (a9, b12) can be released to the query of window w2, even before b12
    # completely scans w2."
    assert got(join, "Q1", 2) == got(join, "Q2", 2) == [(11, 12), (9, 12)]
    assert got(join, "Q2", 3) == [(7, 12)]
    # When a11 has scanned w3, what is held of b12 goes to Q3.
    assert got(join, "Q3", 3) == []
    assert got(join, "Q3", 4) == [(11, 4), (11, 2), (11, 0), (11, 12), (9, 12), (7, 12)]
    assert got(join, "Q3", 5) == [(5, 12), (3, 12), (1, 12)]


# -- rules beside the figures ------------------------------------------------------------------


def steps_of(join) -> list[tuple[int, int]]:
    return [(s.arrival, s.upto) for s in join.steps]


def pairs(count: int) -> list[Row]:
    """Tuples of A and B in turn, at 0, 1, 2, ..."""
    return [Row(t % 2, t, t) for t in range(count)]


def with_windows(schedule, *reaches, streams=2) -> NaiveSharedJoin:
    join = NaiveSharedJoin(streams, schedule)
    for at, reach in enumerate(reaches):
        join.add(f"q{at}", reach)
    return join


def test_equal_throughput_takes_the_larger_window() -> None:
    join = with_windows("mqt", 5, 10)
    join.come(pairs(2))
    join.run()
    # 1/5 for each: arrival 0 goes on, arrival 1 waits.
    assert steps_of(join) == [(0, 5), (0, 10), (1, 5), (1, 10)]
    later = with_windows("mqt", 5, 11)
    later.come(pairs(2))
    later.run()
    assert steps_of(later) == [(0, 5), (1, 5), (0, 11), (1, 11)]


def test_a_query_more_changes_the_choice() -> None:
    join = with_windows("mqt", 5, 11, 11)
    join.come(pairs(2))
    join.run()
    assert steps_of(join) == [(0, 5), (0, 11), (1, 5), (1, 11)]


@pytest.mark.parametrize(("streams", "first"), [(2, (0, 11)), (3, (1, 5))])
def test_more_streams_divide_by_powers(streams, first) -> None:
    """Two queries over 6 beat one over 5; over 121 - 25 they do not beat one over 25."""
    join = with_windows("mqt", 5, 11, 11, streams=streams)
    join.come(pairs(2))
    join.run()
    assert steps_of(join)[1] == first


def test_a_window_of_nothing_goes_first() -> None:
    join = with_windows("mqt", 0, 5, 5, 5)
    join.come(pairs(3))
    join.run()
    assert steps_of(join) == [(0, 0), (1, 0), (2, 0), (0, 5), (1, 5), (2, 5)]


def test_a_budget_stops_at_a_boundary() -> None:
    join = with_windows("lwo", 2, 4)
    join.come(pairs(6))
    # 0, 1, 1, 2, 2 combinations are within 4 of arrivals 0 to 4.
    assert steps_of(join) == []
    assert [s.scanned for s in join.run(budget=3)] == [0, 1, 1, 2]
    assert join.run(budget=0) == []
    assert [s.scanned for s in join.run()] == [2, 2]
    assert join.run() == []


def test_nested_loops_look_at_every_key() -> None:
    rows = [Row(A, 0, 0, "x"), Row(A, 1, 1, "y"), Row(B, 2, 2, "x")]
    looked = {}
    for nested in (False, True):
        join = NaiveSharedJoin(2, "lwo", nested)
        join.add("q", 5)
        join.come(rows)
        join.run()
        looked[nested] = [s.scanned for s in join.steps]
        assert [a.result.rows for a in join.answers["q"]] == [(0, 2)]
    assert looked == {False: [0, 0, 1], True: [0, 0, 2]}


def test_rows_without_a_key_take_no_part() -> None:
    join = with_windows("lwo", 5)
    join.come([Row(A, 0, 0, None), Row(B, 0, 0, None), Row(A, 1, 1, "x")])
    join.run()
    assert steps_of(join) == [(0, 5)]


def test_arrival_order() -> None:
    """Batch, time, stream, row id."""
    join = with_windows("lwo", 5)
    join.come([Row(B, 3, 0), Row(A, 3, 1), Row(A, 3, 0), Row(B, 2, 1)])
    join.come([Row(A, 1, 2)])
    assert [(r.ts, r.stream, r.row) for r in join.arrivals] == [
        (2, B, 1),
        (3, A, 0),
        (3, A, 1),
        (3, B, 0),
        (1, A, 2),
    ]


# -- queries come and go -----------------------------------------------------------------------


def test_an_added_largest_window_is_not_for_earlier_arrivals() -> None:
    join = with_windows("swf", 2)
    join.come(pairs(3))
    assert join.step() is not None
    join.add("large", 4)
    join.come([Row(B, 3, 3)])
    join.run()
    assert steps_of(join) == [(0, 2), (1, 2), (2, 2), (3, 2), (3, 4)]
    assert [a.result.arrival for a in join.answers["large"]] == [3, 3]


def test_a_window_between_is_a_boundary_for_earlier_arrivals_too() -> None:
    join = with_windows("swf", 2, 9)
    join.come(pairs(2))
    join.step()
    join.add("between", 5)
    join.run()
    assert steps_of(join) == [(0, 2), (1, 2), (0, 5), (1, 5), (0, 9), (1, 9)]
    assert join.answers["between"] == []


def test_a_dropped_window_stays_until_the_next_has_passed_it() -> None:
    join = with_windows("swf", 2, 5, 9)
    join.come(pairs(2))
    for _ in range(3):
        join.step()
    join.drop("q1")
    assert join.boundaries() == [2, 5, 9]
    join.come([Row(A, 2, 2)])
    join.run()
    # Arrival 0 stands at 5. It goes on once 1 and 2 have come as far, so they stop there too.
    assert steps_of(join) == [
        *((0, 2), (1, 2), (0, 5)),
        *((2, 2), (1, 5), (2, 5), (0, 9), (1, 9), (2, 9)),
    ]
    join.come([Row(B, 3, 3)])
    join.run()
    assert steps_of(join)[-2:] == [(3, 2), (3, 9)]


def test_a_dropped_largest_window_is_scanned_by_those_it_holds() -> None:
    join = with_windows("swf", 2, 9)
    join.come(pairs(2))
    join.step()
    join.drop("q1")
    join.come([Row(A, 2, 2)])
    join.run()
    assert steps_of(join) == [(0, 2), (1, 2), (2, 2), (0, 9), (1, 9)]
    assert [a.result.arrival for a in join.answers["q1"]] == [1]
    assert [a.result.arrival for a in join.answers["q0"]] == [1, 2]


def test_without_a_query_an_arrival_is_done() -> None:
    join = NaiveSharedJoin(2, "mqt")
    join.come(pairs(3))
    assert join.run() == []
    join.add("q", 9)
    join.come([Row(B, 3, 3)])
    join.run()
    # It finds what came before the query did.
    assert [a.result.rows for a in join.answers["q"]] == [(2, 3), (0, 3)]


def test_refusals() -> None:
    with pytest.raises(WindrowError, match="expected one of lwo, swf, mqt"):
        NaiveSharedJoin(2, "fifo")
    join = with_windows("mqt", 1)
    with pytest.raises(WindrowError, match="there is a query 'q0' already"):
        join.add("q0", 2)


# -- a clock -----------------------------------------------------------------------------------


def test_a_clock_lets_tuples_come() -> None:
    """SWF: the tuple that is there when a step ends goes first."""
    join = with_windows("swf", 2, 4)
    ends = timed(join, pairs(3), [0.0, 1.0, 10.0], price=lambda step: 1.5)
    assert steps_of(join) == [(0, 2), (1, 2), (0, 4), (1, 4), (2, 2), (2, 4)]
    assert ends == [1.5, 3.0, 4.5, 6.0, 11.5, 13.0]


def test_a_clock_counts_work() -> None:
    join = with_windows("lwo", 9)

    def price(step: Step) -> float:
        return 0.5 * step.scanned

    assert timed(join, pairs(4), [0.0] * 4, price) == [0.0, 0.5, 1.0, 2.0]
