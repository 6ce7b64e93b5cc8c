"""What a run leaves on disk, and reading it back."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from windrow.bar import Progress
from windrow.experiments import plot, store
from windrow.experiments.frame import Experiment, Outcome, Panel, measured, modelled
from windrow.model import WindrowError


@pytest.fixture
def kept(squares: Experiment, tmp_path: Path) -> Path:
    directory = tmp_path / "new" / "results"
    store.run(squares, directory, Progress())
    return directory


def test_json_fields(kept: Path) -> None:
    fields = json.loads((kept / "9.10.json").read_text(encoding="utf-8"))
    assert fields["id"] == "9.10"
    assert fields["title"] == "Squares <of> n"
    assert fields["parameters"] == {"sizes": [2, 4, 8], "window": "<30 s> & on", "rate": 7}
    assert [(s["name"], s["kind"], s["x"], s["y"]) for s in fields["series"]] == [
        ("loops", "measured", [2, 4, 8], [4, 16, 64]),
        ("loops", "modelled", [2, 4, 8], [4, 16, 64]),
    ]
    assert fields["series"][0]["basis"] == "counted"
    assert fields["claims"] == [
        {"text": "The model <b>fits</b>", "held": True, "measured": "[4, 16, 64] [counted]"},
        {"text": "Work is constant", "held": False, "measured": "4 < 64"},
    ]
    assert set(fields["environment"]) == {"python", "numpy", "numba", "cpu", "duration_seconds"}
    assert fields["environment"]["cpu"]
    assert sorted(p.name for p in kept.iterdir()) == ["9.10.json", "9.10.svg"]


def test_svg_is_well_formed_and_the_same_each_time(kept: Path, squares: Experiment) -> None:
    text = (kept / "9.10.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    store.run(squares, kept, Progress())
    assert (kept / "9.10.svg").read_text(encoding="utf-8") == text
    assert "<dc:date>" not in text


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_any_number_of_panels(count: int) -> None:
    panel = Panel("wall time", "x", "y", (measured("a", [1, 2], [0, -1]), modelled("b", [1], [2])))
    ElementTree.fromstring(plot.svg("t", [panel] * count))


def test_a_missing_value_is_null(tmp_path: Path) -> None:
    panel = Panel("counted", "x", "y", (measured("a", [1, 2], [float("nan"), 5]),))
    experiment = Experiment("1.1", "t", "p", lambda progress: Outcome({}, (panel,), ()))
    result = store.run(experiment, tmp_path, Progress())
    assert result.series[0]["y"] == [None, 5]
    assert store.load(tmp_path) == [result]


def test_results_are_read_back_in_numeric_order(
    kept: Path, early: Experiment, squares: Experiment
) -> None:
    store.run(early, kept, Progress())
    (kept / "notes.json").write_text("{}")
    results = store.load(kept)
    assert [r.id for r in results] == ["9.4", "9.10"]
    assert results[1].claims == squares.run(Progress()).claims
    assert results[1].svg == (kept / "9.10.svg").read_text(encoding="utf-8")


def test_a_parameter_without_json_form_is_refused(tmp_path: Path) -> None:
    experiment = Experiment("1.1", "t", "p", lambda progress: Outcome({"a": object()}, (), ()))
    with pytest.raises(TypeError, match="no JSON form"):
        store.run(experiment, tmp_path, Progress())
    assert list(tmp_path.iterdir()) == []


def test_no_results(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(WindrowError, match=r"no results in .*experiments run"):
            store.load(directory)


@pytest.mark.parametrize("text", ["{", "[]", '{"claims": []}', '{"claims": [{"txt": 1}]}'])
def test_a_broken_result_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "1.4.json").write_text(text)
    with pytest.raises(WindrowError, match=r"1\.4\.json is no result"):
        store.load(tmp_path)
