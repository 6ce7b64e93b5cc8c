"""The figures of paper 3, scaled down: counts against brute force, claims against broken input."""

from dataclasses import replace

import numpy as np
import pytest

from windrow.bar import Progress
from windrow.experiments import catalogue
from windrow.experiments.paper3 import common, figure_8, figure_9, figure_10, figure_11, figure_12
from windrow.experiments.paper3.common import Run, Setup
from windrow.model import Metrics, WindrowError

#: Twelve seconds of tuples, and segments of a fifth of a second instead of a second.
SMALL = Setup(("punct-asc-20-40", "punct-asc-20-40"), seconds=12, every=1)
MIXED = replace(SMALL, patterns=("punct-asc-20-40", "punct-random-20-40"))


def held(outcome) -> list[bool]:
    return [claim.held for claim in outcome.claims]


def all_finite(outcome) -> bool:
    return all(np.isfinite([*series.x, *series.y]).all() for series in outcome.series)


def streams(setup: Setup) -> list[tuple[np.ndarray, np.ndarray]]:
    """Times and keys of the tuples that were fed."""
    found = []
    for side in range(2):
        table = common.table(setup, side).slice(0, common._ranges(setup)[-1][side][1])
        if "over" in table.column_names:
            table = table.filter(~table["over"].to_numpy())
        found.append((common.micros(table), table["key"].to_numpy()))
    return found


def brute_force(setup: Setup, window: float) -> int:
    """Results by comparing all pairs."""
    (t_one, k_one), (t_two, k_two) = streams(setup)
    apart = np.abs(t_one[:, None] - t_two[None, :]) <= window * 1e6
    return int((apart & (k_one[:, None] == k_two[None, :])).sum())


# -- the set-up ------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", [SMALL, MIXED, replace(MIXED, irrelevant=True)])
def test_both_joins_find_the_same_results(setup: Setup) -> None:
    expected = brute_force(setup, 1)
    for join in ("PWJoin", "WJoin"):
        assert common.measure(setup, join, (1, 1)).results[-1] == expected
    assert common.measure(setup, "PJoin", (None, None)).results[-1] == brute_force(setup, 1e6)


def test_no_promise_is_broken() -> None:
    for setup in (SMALL, MIXED):
        assert sum(common.measure(setup, "PWJoin", (1, 1)).last.violations.values()) == 0


def test_wjoin_holds_the_window_and_nothing_ends() -> None:
    run = common.measure(SMALL, "WJoin", (2, 2))
    ends = [common.micros(common.table(SMALL, side))[stop - 1] for side, (_, stop) in
            enumerate(common._ranges(SMALL)[-1])]  # fmt: skip
    expected = tuple(
        int((times >= ends[1 - side] - 2_000_000).sum())
        for side, (times, _) in enumerate(streams(SMALL))
    )
    assert run.stored[-1] == expected
    assert run.ended == (0,) * len(run.steps)


def test_pjoin_propagates_what_both_have_punctuated() -> None:
    ended = []
    for side, (_, stop) in enumerate(common._ranges(MIXED)[-1]):
        table = common.table(MIXED, side).slice(0, stop)
        ended.append(table["key"].to_numpy()[table["over"].to_numpy()])
    run = common.measure(MIXED, "PJoin", (None, None))
    assert run.ended[-1] == len(np.intersect1d(*ended))


def test_steps_change_no_count() -> None:
    coarse, fine = (common.measure(replace(MIXED, every=e), "PWJoin", (1, 1)) for e in (3, 1))
    assert coarse.steps == fine.steps[2::3]
    assert coarse.results == fine.results[2::3]
    assert coarse.ended == fine.ended[2::3]
    assert coarse.stored == fine.stored[2::3]


def test_a_stream_does_not_depend_on_the_other() -> None:
    assert common.table(SMALL, 0).equals(common.table(MIXED, 0))
    assert not common.table(SMALL, 1).equals(common.table(MIXED, 1))


def test_pjoin_of_a_stream_without_punctuations_is_refused() -> None:
    setup = replace(SMALL, patterns=(None, "punct-asc-20-40"), values=1000)
    with pytest.raises(WindrowError, match="stream 'b' has no window"):
        common.measure(setup, "PJoin", (None, None))


# -- the figures -----------------------------------------------------------------------------


def test_figures_are_listed() -> None:
    listed = [i for i in catalogue() if i.startswith("3.")]
    assert listed == ["3.8", "3.9", "3.10", "3.11", "3.12"]


def test_figure_8() -> None:
    outcome = figure_8.run(Progress(), replace(SMALL, seconds=40), windows=(1, 2, 4))
    assert held(outcome) == [True, True, True, False, True], "Equation (1) is not for such streams"
    assert all_finite(outcome)
    assert [series.kind for series in outcome.panels[1].series] == ["measured"] + ["modelled"] * 2


def test_figure_8_counts_the_streams() -> None:
    found = figure_8.counted(SMALL, 0)
    table = common.table(SMALL, 0)
    over, keys = table["over"].to_numpy(), table["key"].to_numpy()
    assert found.tuples[-1] == (~over).sum()
    assert found.punctuations[-1] == over.sum()
    assert found.values[-1] == len(np.unique(keys))
    half = len(common.micros(table)[: common._ranges(SMALL)[5][0][1]])
    assert found.values[5] == len(np.unique(keys[:half]))


def test_figure_8_notices() -> None:
    steps = (1.0, 2.0, 3.0)

    def point(window: float, with_purge: int, without: int) -> figure_8.Point:
        return figure_8.Point(
            window,
            *(run(steps, stored=((n // 2, n // 2),) * 3) for n in (with_purge, without)),
        )

    good = [point(1, 150, 200), point(3, 300, 600)]
    exact = {
        1: figure_8.Model((150,) * 3, (150,) * 3),
        3: figure_8.Model((300,) * 3, (300,) * 3),
    }
    assert [c.held for c in figure_8.claims(SMALL, good, exact)] == [True] * 5
    shrinking = [point(1, 100, 200), point(3, 500, 600)]
    found = figure_8.claims(SMALL, shrinking, exact)
    assert [c.held for c in found] == [False, True, True, False, False]
    worse = [point(1, 210, 200), point(3, 300, 700)]
    found = figure_8.claims(SMALL, worse, exact)
    assert [c.held for c in found] == [True, False, False, False, False]


def test_figure_9() -> None:
    outcome = figure_9.run(Progress(), replace(SMALL, seconds=60), windows=(1, 5), repeats=1)
    # Probes cost the same in both, so a larger window brings nothing. The last claim is a clock's.
    assert held(outcome)[:4] == [True, True, False, False]
    assert all_finite(outcome)
    assert [panel.basis for panel in outcome.panels] == ["counted", "wall time"]


def test_figure_9_notices() -> None:
    fast, slow = run(work=(50, 100)), run(work=(100, 200))
    ahead = [figure_9.Point(5, slow, slow), figure_9.Point(15, fast, slow)]
    assert [c.held for c in figure_9.claims(ahead)][:4] == [True] * 4
    behind = [figure_9.Point(5, fast, slow), figure_9.Point(15, slow, fast)]
    assert [c.held for c in figure_9.claims(behind)][:4] == [True, False, False, False]
    other = [figure_9.Point(5, slow, slow), figure_9.Point(15, run(results=(1, 3)), slow)]
    assert not figure_9.claims(other)[0].held
    quick = replace(slow, seconds=(0.01, 0.02))
    assert figure_9.claims([figure_9.Point(15, quick, slow)])[4].held
    assert not figure_9.claims([figure_9.Point(15, slow, quick)])[4].held


def test_figure_10() -> None:
    setup = replace(MIXED, irrelevant=True)
    outcome = figure_10.run(Progress(), setup, window=1, repeats=1)
    assert held(outcome) == [True] * 3
    assert all_finite(outcome)
    relevant = figure_10.run(Progress(), MIXED, window=1, repeats=1)
    assert not relevant.claims[0].held, "these punctuations match"


def test_figure_10_notices() -> None:
    some = Metrics(punctuations={"a": 5}, tuples={"a": 100})
    cheap, dear = run(work=(1, 1000), last=some), run(work=(1, 1100), last=some)
    assert [c.held for c in figure_10.claims(figure_10.Found(cheap, cheap, cheap))] == [True] * 3
    found = figure_10.claims(figure_10.Found(dear, cheap, cheap))
    assert [c.held for c in found] == [True, False, True]
    found = figure_10.claims(figure_10.Found(run(work=(1, 1000)), dear, cheap))
    assert [c.held for c in found] == [False, True, False], "nothing was punctuated"


def test_figure_11() -> None:
    outcome = figure_11.run(Progress(), MIXED, window=0.5)
    assert held(outcome) == [True] * 2
    assert all_finite(outcome)


def test_figure_11_notices() -> None:
    less, more = run(ended=(0, 5)), run(ended=(3, 4))
    assert [c.held for c in figure_11.claims(less, more)] == [True, False]
    assert [c.held for c in figure_11.claims(more, less)] == [False, False]


def test_figure_12() -> None:
    setup = replace(SMALL, patterns=(None, "punct-asc-20-40"), values=2000)
    outcome = figure_12.run(Progress(), setup, window=2)
    assert held(outcome) == [True] * 3
    assert all_finite(outcome)


def test_figure_12_notices() -> None:
    steps = tuple(float(t) for t in range(1, 12))
    last = Metrics(punctuations={"b": 22})
    none = run(steps, ended=(0,) * 11)
    half = run(steps, ended=tuple(range(11)), last=last)
    assert [c.held for c in figure_12.claims(half, none, 1)] == [True, True, False]
    whole = run(steps, ended=tuple(range(0, 22, 2)), last=last)
    assert [c.held for c in figure_12.claims(whole, none, 1)] == [True, True, True]
    assert not figure_12.claims(whole, whole, 1)[0].held
    late = run(steps, ended=(0,) * 6 + tuple(range(4, 24, 4)), last=last)
    assert [c.held for c in figure_12.claims(late, none, 1)] == [True, False, True]


def run(
    steps=(1.0, 2.0),
    stored=((1, 1), (1, 1)),
    results=(1, 2),
    work=(10, 20),
    ended=(0, 0),
    last=None,
) -> Run:
    return Run(steps, stored, results, work, ended, (0.1, 0.2), last or Metrics())
