"""Claims, series, ids and the list of experiments."""

import numpy as np
import pytest

from windrow.bar import Progress
from windrow.experiments import catalogue, select
from windrow.experiments.frame import Experiment, Outcome, claim, measured, modelled
from windrow.model import WindrowError


def test_a_claim_takes_the_result_of_a_comparison_only() -> None:
    assert claim("a", np.float64(3) > 2, "3").held is True
    assert claim("a", False, "3").held is False
    for held in ("yes", 1, None, np.array([True])):
        with pytest.raises(TypeError, match="result of a comparison"):
            claim("a", held, "3")  # type: ignore[arg-type]


def test_a_claim_that_cannot_be_computed_fails_the_run() -> None:
    def run(progress: Progress) -> Outcome:
        return Outcome({}, (), (claim("a", 1 / len([]) > 2, "never"),))

    with pytest.raises(ZeroDivisionError):
        Experiment("1.1", "t", "p", run).run(Progress())


def test_series_are_plain_numbers_of_equal_length() -> None:
    series = measured("a", np.arange(3), [1.5, 2.5, 3.5])
    assert (series.x, series.y, series.kind) == ((0, 1, 2), (1.5, 2.5, 3.5), "measured")
    assert type(series.x[0]) is int
    assert modelled("a", [1], [2]).kind == "modelled"
    with pytest.raises(WindrowError, match="3 x and 2 y"):
        measured("a", [1, 2, 3], [1, 2])


def test_the_outcome_lists_the_series_of_all_panels(squares: Experiment) -> None:
    outcome = squares.run(Progress())
    assert [(s.name, s.kind) for s in outcome.series] == [
        ("loops", "measured"),
        ("loops", "modelled"),
    ]


@pytest.mark.parametrize("id", ["1", "1.", "x.4", "../1.4", "1.4.5", "1.4B", ""])
def test_ids_are_paper_and_figure(id: str) -> None:
    with pytest.raises(WindrowError, match="paper and figure"):
        Experiment(id, "t", "p", lambda progress: Outcome({}, (), ()))


def test_the_catalogue_is_in_numeric_order(squares: Experiment, early: Experiment) -> None:
    assert list(catalogue([squares, early])) == ["9.4", "9.10"]
    with pytest.raises(WindrowError, match="same id"):
        catalogue([squares, squares])


def test_select(squares: Experiment, early: Experiment) -> None:
    both = [squares, early]
    assert select([], both) == [early, squares]
    assert select(["9.10", "9.4", "9.10"], both) == [early, squares]
    assert select(["9.10"], both) == [squares]
    with pytest.raises(WindrowError, match=r"unknown experiment 8\.1; there are: 9\.4, 9\.10"):
        select(["9.4", "8.1"], both)


def test_the_registered_experiments_have_different_ids() -> None:
    catalogue()
