"""The figures of paper 1, scaled down: counts against formulas, claims against broken input."""

from dataclasses import replace

import numpy as np
import pytest

from windrow.bar import Progress
from windrow.cost.calibrate import REFERENCE
from windrow.experiments import catalogue
from windrow.experiments.paper1 import common, figure_4, figure_5, figure_6, figure_7, figure_8
from windrow.experiments.paper1.common import STRATEGIES, WNL, Run, Setup, whj

#: Six seconds of tuples instead of sixty, ten values instead of a hundred.
SMALL = Setup(rates=(200, 200), selectivity=0.1, window=3, seconds=6)


@pytest.fixture(autouse=True)
def reference_prices(monkeypatch):
    """What the clock says is not tested here."""
    monkeypatch.setattr(common, "prices", lambda: REFERENCE)


def held(outcome) -> list[bool]:
    return [claim.held for claim in outcome.claims]


def all_finite(outcome) -> bool:
    return all(np.isfinite([*series.x, *series.y]).all() for series in outcome.series)


def kinds(panel) -> set[str]:
    return {series.kind for series in panel.series}


# -- the set-up ------------------------------------------------------------------------------


def brute_force(setup: Setup) -> int:
    """Results of the counted part, by comparing all pairs."""
    one, two = (common._stream(setup, side) for side in range(2))
    apart = np.abs(one.ts[:, None] - two.ts[None, :]) <= setup.window * 1e6
    later = np.maximum(one.ts[:, None], two.ts[None, :]) >= setup.window * 1e6
    return int((apart & later & (one.key[:, None] == two.key[None, :])).sum())


def test_every_way_finds_the_same_results() -> None:
    expected = brute_force(SMALL)
    for way in (WNL, whj(3), whj(10), *(common.strategy(s, 10, SMALL) for s in STRATEGIES)):
        assert common.measure(SMALL, way, repeats=1).results == expected


def test_nested_loops_compare_with_the_whole_window() -> None:
    one, two = (common._stream(SMALL, side).ts for side in range(2))
    micros = round(SMALL.window * 1e6)
    expected = sum(
        int(((other >= t - micros) & (other <= t - tie)).sum())
        for own, other, tie in ((one, two, 1), (two, one, 0))
        for t in own
        if t >= micros
    )
    assert common.measure(SMALL, WNL, repeats=1).comparisons == expected


def test_as_many_buckets_as_values_compare_matches_only() -> None:
    run = common.measure(SMALL, whj(10), repeats=1)
    assert run.comparisons == run.results


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_invalidation_looks_at_1_and_the_stale(strategy) -> None:
    run = common.measure(SMALL, common.strategy(strategy, 10, SMALL), repeats=1)
    predicted = common.modelled_checks(SMALL, strategy, 10)
    assert run.checks == pytest.approx(predicted, rel=0.05)


@pytest.mark.parametrize("strategy", ["probe", "probe-insert", "time-list"])
def test_batches_change_no_count(strategy) -> None:
    way = common.strategy(strategy, 10, SMALL)
    join = common._join(SMALL, way)
    for start in range(6):
        common._feed(join, SMALL, start, start + 1)
        if start == 2:
            before = join.looked_at()
    run = common.measure(SMALL, way, repeats=1)
    assert join.looked_at()[0] - before[0] == run.comparisons
    # The end of a batch may look once more at the end of a list.
    assert join.looked_at()[1] - before[1] == pytest.approx(run.checks, abs=20)


def test_a_stream_does_not_depend_on_the_other_rate() -> None:
    other = replace(SMALL, rates=(50, 200))
    assert common._stream(SMALL, 1).ts.tolist() == common._stream(other, 1).ts.tolist()


# -- the figures -----------------------------------------------------------------------------


def test_figures_are_listed() -> None:
    assert [i for i in catalogue() if i.startswith("1.")] == ["1.4", "1.5", "1.6", "1.7", "1.8"]


def test_figure_4() -> None:
    outcome = figure_4.run(Progress(), SMALL, rates=(100, 200, 400), buckets=10)
    assert held(outcome) == [True] * 3
    assert all_finite(outcome)
    assert [kinds(panel) for panel in outcome.panels] == [{"measured", "modelled"}] * 2
    found = {(s.name.split()[0], s.kind): np.array(s.y) for s in outcome.panels[0].series}
    for name in ("nested", "hash"):
        assert found[name, "measured"] == pytest.approx(found[name, "modelled"], rel=0.1)


def test_figure_4_notices() -> None:
    outcome = figure_4.run(Progress(), SMALL, rates=(100, 200, 400), buckets=7)
    assert not outcome.claims[0].held, "seven buckets for ten values are uneven"
    quadratic = [
        figure_4.Point(
            replace(SMALL, rates=(rate, 200)), work(60 * 200 * rate**2), work(6 * 200 * rate**2)
        )
        for rate in (10, 100, 1000)
    ]
    assert [c.held for c in figure_4.claims(quadratic, 10)] == [True, False, False]


def test_figure_5() -> None:
    outcome = figure_5.run(Progress(), SMALL, buckets=(1, 2, 5, 10, 20, 40))
    assert held(outcome) == [True] * 3
    assert all_finite(outcome)
    assert [kinds(panel) for panel in outcome.panels] == [{"measured", "modelled"}] * 2


def test_figure_5_notices() -> None:
    never_flat = [figure_5.Point(N, work(72_000_000 // N)) for N in (1, 10, 100)]
    assert [c.held for c in figure_5.claims(never_flat, SMALL)] == [True, False, False]
    always_flat = [figure_5.Point(N, work(72_000)) for N in (1, 10, 100)]
    assert [c.held for c in figure_5.claims(always_flat, SMALL)] == [False, True, False]


def test_figure_6() -> None:
    outcome = figure_6.run(Progress(), SMALL, (0.5, 0.1), buckets=(1, 2, 5, 10, 20))
    assert held(outcome) == [True] * 2
    assert all_finite(outcome)
    assert "from 2 buckets on" in outcome.claims[0].measured
    assert "from 10 buckets on" in outcome.claims[1].measured


@pytest.mark.parametrize(
    ("comparisons", "flat_from"),
    [((100, 50, 20, 20), 5), ((100, 50, 20, 10), 10), ((10, 10, 10, 10), 1), ((10, 20, 10, 10), 5)],
)
def test_figure_6_finds_the_flat_part(comparisons, flat_from) -> None:
    curve = figure_6.Curve(SMALL, (1, 2, 5, 10), tuple(work(n) for n in comparisons))
    assert curve.flat_from == flat_from
    assert figure_6.claims([curve])[0].held == (flat_from == SMALL.distinct)


def test_figure_7() -> None:
    outcome = figure_7.run(Progress(), replace(SMALL, selectivity=0.02), (150, 300), buckets=50)
    assert held(outcome) == [True] * 5
    assert all_finite(outcome)
    assert {s.name for s in outcome.series} == set(STRATEGIES)


def test_figure_7_notices() -> None:
    same = figure_7.Point(SMALL, {name: work(100, checks=10) for name in STRATEGIES})
    dear = dict(same.runs, **{"probe-all": work(100, checks=1000), "all": work(100, checks=2000)})
    assert [c.held for c in figure_7.claims([replace(same, runs=dear)])] == [True] * 5
    dear["time-list"] = work(140, checks=10)
    found = figure_7.claims([replace(same, runs=dear)])
    assert [c.held for c in found] == [True, True, True, False, True]
    dear["time-list"] = work(500, checks=10)
    found = figure_7.claims([replace(same, runs=dear)])
    assert [c.held for c in found] == [True, True, True, False, False]
    dear["all"] = work(100, checks=20)
    assert [c.held for c in figure_7.claims([replace(same, runs=dear)])][:2] == [False, False]


SKEWED = Setup(rates=(100, 10_000), selectivity=0.02, window=3, seconds=6)


def test_figure_8() -> None:
    outcome = figure_8.run(Progress(), SKEWED, buckets=50, every=0.2)
    assert held(outcome) == [True] * 5
    assert all_finite(outcome)


def test_figure_8_model() -> None:
    found = figure_8.Occupancy(SKEWED, 50, 0.2, {})
    assert found.modelled("all", 1) == 10_000
    assert found.modelled("all", 6) == 30_000
    assert found.modelled("probe", 3) == 30_000
    assert found.modelled("probe", 1e6) == 30_000 + 50 * 10_000 / 100


def test_figure_8_notices() -> None:
    window = [1000 * t for t in range(1, 4)]
    stored = {name: [*window, 3000, 3000, 3000] for name in STRATEGIES}
    setup = Setup(rates=(10, 1000), window=3, seconds=6)
    found = figure_8.Occupancy(setup, 1, 1.0, stored)
    only_probe, amount, steady, later, listed = figure_8.claims(found)
    assert not only_probe.held, "nothing is stale"
    assert not amount.held
    assert steady.held
    assert not later.held
    assert listed.held
    stored["time-list"] = [*window, 4000, 5000, 6000]
    only_probe, _, steady, _, listed = figure_8.claims(found)
    assert not steady.held
    assert not listed.held


def work(comparisons: int, checks: int = 0) -> Run:
    return Run(tuples=100, comparisons=comparisons, checks=checks, results=1, seconds=0.1)


def test_claims_follow_the_run(monkeypatch) -> None:
    """A join that always counts the same keeps only the claims that say just that."""
    monkeypatch.setattr(common, "measure", lambda setup, way: work(1000, checks=1000))
    assert held(figure_4.run(Progress())) == [False, False, False]
    assert held(figure_5.run(Progress())) == [False, True, False], "flat it is"
    assert held(figure_6.run(Progress())) == [False, False, False]
    assert held(figure_7.run(Progress())) == [False, False, True, True, True], "all alike"
