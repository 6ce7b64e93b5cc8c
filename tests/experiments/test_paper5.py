"""The figures of paper 5, scaled down: the driver beside plain loops, claims on broken input."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import windrow as wr
from windrow.bar import Progress
from windrow.experiments import catalogue
from windrow.experiments.paper5 import (
    buffers,
    common,
    driver,
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
    figure_11,
    queries,
)
from windrow.experiments.paper5.buffers import Curves
from windrow.experiments.paper5.common import Setup
from windrow.testing.ordering import keys_of, scrambled
from windrow.workload.tables import timestamps

#: With the congestion, and without the burst; scrambled less, and once.
SMALL = Setup(seconds=50, scrambling=60, repetitions=1)
SHORT = Setup(seconds=12, scrambling=30, repetitions=1)


def held(outcome) -> list[bool]:
    return [claim.held for claim in outcome.claims]


def all_finite(outcome) -> bool:
    return all(np.isfinite([*series.x, *series.y]).all() for series in outcome.series)


def tables(arrivals, streams):
    """Streams of epochs; an arrival each tenth of a second."""
    found = []
    for stream in range(streams):
        times = [100_000 * at for at, (which, _) in enumerate(arrivals) if which == stream]
        keys = pa.array(keys_of(arrivals, stream), pa.int64())
        found.append(pa.table({"epoch": keys, "time": timestamps(np.array(times, np.int64))}))
    return found


# -- what results need, beside plain loops ---------------------------------------------------


@given(scrambled(streams=3, most=7))
def test_needs_are_what_plain_loops_find(arrivals) -> None:
    made = tables(arrivals, 3)
    came = [[at for at, (s, _) in enumerate(arrivals) if s == stream] for stream in range(3)]
    keys = [keys_of(arrivals, stream) for stream in range(3)]
    expected = []
    for rows in product(*(range(len(each)) for each in keys)):
        if len({keys[stream][row] for stream, row in enumerate(rows)}) == 1:
            at = [came[stream][row] for stream, row in enumerate(rows)]
            last = max(at)
            expected.append(
                tuple(
                    0 if at[s] == last else sum(before < last for before in came[s]) - rows[s]
                    for s in range(3)
                )
            )
    if not all(map(len, came)):
        assert common.complete(made) == 0
        return
    found = common.needs(made)
    assert sorted(map(tuple, found.stored.tolist())) == sorted(expected)
    assert common.complete(made) == len(expected)
    most = [2, 3, 2]
    share = [all(a <= b for a, b in zip(each, most, strict=True)) for each in expected]
    if expected:
        assert found.accuracy(most) == pytest.approx(np.mean(share))


@pytest.mark.parametrize("rows", [1, 20, 200])
def test_windows_of_rows_find_what_is_within_them(rows) -> None:
    """The paper's buffers of a fixed size, and the library's count windows."""
    made = SHORT.streams(1, 1)
    needs = common.needs(made)
    trace = driver.run(made, None, rows=[rows] * 3)
    assert trace.results == round(needs.accuracy([rows] * 3) * len(needs.at))
    assert queries.windowed(SHORT, 1, [[rows] * 3])[0] == needs.accuracy([rows] * 3)


# -- the driver ------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.1, 1.0, None])
def test_the_driver_joins_what_the_join_does(step) -> None:
    made = SHORT.streams(1, 2)
    trace = driver.run(made, queries.given(SHORT.factors(1, 2), "data", apriori=True), step=step)
    needs = common.needs(made)
    assert trace.results == len(needs.at) == common.complete(made) > 100
    # Results leave in the step in which their last tuple came.
    assert sorted(trace.times.tolist()) == pytest.approx(sorted(needs.at.tolist()))
    begun = np.concatenate([[0], trace.at[:-1]])
    assert (trace.times < trace.at[trace.left]).all()
    assert (trace.times >= begun[trace.left] - 1e-9).all()
    assert len(trace.took) == len(trace.at) == len(trace.stored)
    assert (trace.took > 0).all()


def test_the_manager_looks_as_often_as_it_is_told() -> None:
    """After ten arrivals: then as much is stored as is predicted, and little more."""
    made = SHORT.streams(1, 1)
    eager, patient = (driver.run(made, wr.data(), eager=each) for each in (True, False))
    assert eager.memory < patient.memory
    late = eager.at > 6
    assert (eager.stored[late] <= eager.predicted[late] + driver.EACH).all()
    assert (patient.stored[late] > patient.predicted[late] + 10).any()


def test_j3_takes_what_j1_and_j2_have_found() -> None:
    tree = queries.tree(SHORT, 1, "data", True)
    made = SHORT.streams(2, 1)
    for which, trace, table in zip(common.UPSTREAM, tree.upstream, tree.inputs, strict=True):
        assert table.num_rows == trace.results == common.complete(made[which])
        times = driver.micros(table)
        assert (np.diff(times) >= 0).all()
        assert (times - tree.start) / 1e6 == pytest.approx(trace.times)
    assert tree.last.results == tree.complete == common.complete(tree.inputs)
    assert tree.accuracy == 1
    assert tree.memory == sum(each.memory for each in (*tree.upstream, tree.last))
    # (10) has four for each of k: two tuples an epoch of the others.
    assert tree.last.predicted[-1].min() > 4 * sum(SHORT.factors(2, 1)[:3])


def test_w_join_on_both_queries() -> None:
    assert queries.windowed(SHORT, 1, [[1000] * 3, [1000] * 3, [5000] * 2]) == (1, 16000)
    poor, _ = queries.windowed(SHORT, 1, [[5] * 3, [5] * 3, [20] * 2])
    assert 0 < poor < 1


def test_curves_by_second() -> None:
    at, values = np.array([0.0, 0.5, 2.0, 9.0]), np.array([[1], [3], [2], [7]])
    assert common.most_by_second(at, values, 4)[:, 0].tolist() == [3, 0, 2, 7]


# -- the figures -----------------------------------------------------------------------------


def test_figures_are_listed() -> None:
    assert [i for i in catalogue() if i.startswith("5.")] == [f"5.{n}" for n in range(5, 12)]


def test_figure_5() -> None:
    outcome = figure_5.run(Progress(), SMALL)
    # S2 is behind from the congestion on; there is no burst within fifty seconds.
    assert held(outcome) == [True, True, True, True, False, True, False, True]
    assert all_finite(outcome)
    assert len(outcome.panels) == 3


def curves(**changed) -> Curves:
    """A hundred seconds of three streams, in which all is as the paper says."""
    optimal = np.full((100, 3), 100.0)
    optimal[30:, [0, 2]], optimal[85:, 2] = 200, 500
    apriori = optimal * 1.2
    given = Curves(optimal, apriori, apriori * 1.01, [0, 0, 0], ([1.0, 1.0], [0.993, 0.996]))
    return replace(given, **changed)


def test_figure_5_notices() -> None:
    def verdicts(**changed):
        return [claim.held for claim in figure_5.claims(curves(**changed))]

    good = curves()
    assert verdicts() == [True] * 8
    assert verdicts(accuracies=([1.0, 0.9999], [0.99, 0.993]))[:2] == [False, False]
    assert verdicts(below=[0, 1, 0])[2] is False
    assert verdicts(monitored=good.monitored * 2)[3:5] == [False, False]
    assert verdicts(monitored=good.monitored * [1, 2, 1])[3:5] == [True, False]
    assert verdicts(optimal=np.full((100, 3), 150.0))[5:7] == [False, False]
    assert verdicts(monitored=good.apriori * 1.1)[7] is False


def test_figures_6_and_7() -> None:
    six, seven = (figure.run(Progress(), SHORT) for figure in (figure_6, figure_7))
    assert held(six)[0] is held(six)[2] is True
    assert held(six)[3] is held(seven)[3] is True
    # Twelve seconds are too short to fall behind.
    assert held(seven)[4] is False
    assert all_finite(six)
    assert all_finite(seven)


def test_figures_6_and_7_notice() -> None:
    good = curves(monitored=curves().optimal * 2)
    assert [claim.held for claim in figure_6.claims(good, 0)] == [True] * 4
    bad = replace(good, below=[3, 0, 0], monitored=good.optimal)
    assert [claim.held for claim in figure_6.claims(bad, 0)][2:] == [False, False]
    assert [claim.held for claim in figure_6.claims(bad, 1)][2:] == [True, False]
    falls = np.concatenate([np.full((30, 2), 10.0), np.full((30, 2), 100.0)])
    assert figure_7.grows(replace(good, monitored=falls, optimal=falls)).held
    assert not figure_7.grows(replace(good, monitored=falls[::-1], optimal=falls)).held


def test_figure_8() -> None:
    outcome = figure_8.run(Progress(), SHORT)
    assert len(outcome.claims) == 4
    assert all_finite(outcome)
    # A window of what WO-Join has finds less, and needs to be larger.
    one = figure_8.pair(SHORT, 1, 1)
    assert one.windowed < one.accuracy
    assert one.factor > 1


def test_figure_8_notices() -> None:
    good = figure_8.Pair(1000, 0.995, 0.3, 2.0)
    assert [claim.held for claim in figure_8.claims([good, good])] == [True] * 4
    bad = replace(good, windowed=0.5)
    assert [claim.held for claim in figure_8.claims([bad, good])] == [False, True, True, True]
    bad = replace(good, factor=1.2)
    assert [claim.held for claim in figure_8.claims([good, bad])] == [True, True, True, False]


def test_figures_9_to_11() -> None:
    for figure in (figure_9, figure_10, figure_11):
        outcome = figure.run(Progress(), SHORT)
        assert all_finite(outcome)
        assert len({series.name for series in outcome.series}) >= 4


@pytest.mark.parametrize("strategy", ["data", "msf", "dbf", "hybrid"])
def test_every_strategy_is_complete_with_scrambling_factors(strategy) -> None:
    trace = queries.single(SHORT, 3, strategy, True)
    assert trace.results == common.complete(SHORT.streams(1, 3))
    assert trace.stored.shape == trace.waiting.shape
    assert trace.waiting.any() == (strategy != "data")
    tree = queries.tree(SHORT, 3, strategy, True)
    assert tree.last.results <= tree.complete
    assert sum(trace.results for trace in tree.upstream) == sum(
        common.complete(SHORT.streams(2, 3)[which]) for which in common.UPSTREAM
    )


def test_what_is_handed_on_by_strategy() -> None:
    told = wr.data(k={"s1": 3}, rate={"s1": 1.0}, lag={("s1", "s2"): 4})
    found = {s: queries.known(told, s) for s in ("data", "msf", "dbf", "hybrid")}
    assert found["data"] == told
    assert [bool(each.rate) for each in found.values()] == [True, False, True, False]
    assert [bool(each.lag) for each in found.values()] == [True, False, False, False]


def test_figure_9_notices() -> None:
    def buffer(before, after, waiting=0.0):
        stored = np.concatenate([np.full(85, before), np.full(35, after)])
        return figure_9.Buffer(stored, waiting * stored)

    good = {
        "data": buffer(1000.0, 4000.0),
        "msf": buffer(900.0, 3900.0, 0.2),
        "dbf": buffer(600.0, 650.0, 0.1),
        "hybrid": buffer(300.0, 300.0, 0.8),
    }

    def verdicts(learning=0.6, **changed):
        found = figure_9.claims(good | changed, buffer(500.0, 500.0, learning))
        return [claim.held for claim in found]

    assert verdicts() == [True] * 5
    assert verdicts(msf=buffer(500.0, 500.0)) == [False, True, True, True, True]
    assert verdicts(dbf=buffer(600.0, 3000.0)) == [True, False, True, True, True]
    assert verdicts(hybrid=buffer(900.0, 900.0, 0.8)) == [True, True, False, True, True]
    assert verdicts(hybrid=buffer(300.0, 300.0, 0.2)) == [True, True, True, False, True]
    assert verdicts(learning=0.3) == [True, True, True, True, False]


def test_figure_10_notices() -> None:
    good = {
        "data": [(4000, 1), (18000, 1)],
        "msf": [(3900, 1), (9000, 1)],
        "dbf": [(2000, 1), (15000, 1)],
        "hybrid": [(900, 1), (4000, 0.995)],
    }

    def verdicts(**changed):
        return [claim.held for claim in figure_10.claims(good | changed)]

    assert verdicts() == [True] * 4
    assert verdicts(dbf=[(3950, 1), (15000, 1)]) == [False, True, True, True]
    assert verdicts(msf=[(3900, 1), (16000, 1)]) == [True, False, True, True]
    assert verdicts(hybrid=[(2100, 1), (4000, 1)]) == [True, True, False, True]
    assert verdicts(hybrid=[(900, 1), (4000, 0.9)]) == [True, True, True, False]


def test_figure_11_notices() -> None:
    good = {"window": 1e-4, "data": 1.1e-4, "dbf": 1.6e-4, "msf": 5.0, "hybrid": 6.0}

    def verdicts(**changed):
        return [claim.held for claim in figure_11.claims(good | changed)]

    assert verdicts() == [True] * 3
    assert verdicts(window=5e-5) == [False, True, True]
    assert verdicts(dbf=1e-3) == [True, False, True]
    assert verdicts(hybrid=1e-3) == [True, True, False]


def test_latency_is_from_the_last_tuple_until_the_step_is_over() -> None:
    """Two results: one leaves at once, one a step later, behind a step that took a second."""
    trace = driver.Trace(
        at=np.array([1.0, 2.0, 2.5]),
        stored=np.zeros((3, 2)),
        waiting=np.zeros((3, 2)),
        predicted=np.zeros((3, 2)),
        left=np.array([0, 2]),
        times=np.array([1.0, 2.0]),
        key_rows=np.array([0, 0]),
        took=np.array([0.25, 1.0, 0.5]),
    )
    assert figure_11.average(trace) == pytest.approx((0.25 + 1.5) / 2)


def test_what_is_said_of_accuracy() -> None:
    whole, nearly = (buffers.accuracy(curves(accuracies=([one], [one]))) for one in (1.0, 0.99999))
    assert [claim.held for claim in whole] == [True, True]
    assert [claim.held for claim in nearly] == [False, True]
    assert "100 %" not in nearly[0].measured
