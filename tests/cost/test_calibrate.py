"""Calibration measures the real operator; what it saves is read back, anything else is not."""

import json
from dataclasses import asdict

import pytest

from windrow.cost import calibrate as calibration
from windrow.cost.calibrate import METHODS, REFERENCE, Constants, calibrate, constants, cost_file


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_measures_every_path() -> None:
    found = calibrate(repeats=2)
    assert set(found) == set(METHODS) == set(REFERENCE)
    for prices in found.values():
        assert all(calibration._sound(price) for price in asdict(prices).values())
    assert constants() == REFERENCE, "nothing was to be saved"


def test_runs_do_what_the_method_says() -> None:
    for method in METHODS.values():
        few, many, matching = (
            calibration._steady(method, trial, 1)
            for trial in (method.few, method.many, method.matching)
        )
        assert few.results == many.results == 0
        assert many.comparisons / many.tuples > 3 * few.comparisons / few.tuples
        assert matching.results == matching.comparisons


def test_saved_constants_are_used(monkeypatch) -> None:
    made = {path: Constants(1e-9, 2e-9, 3e-9, 4e-9) for path in METHODS}
    monkeypatch.setattr(calibration, "_measure", lambda method, repeats: made["hash"])
    assert calibrate(save=True) == made
    assert constants() == made
    assert [p.name for p in cost_file().parent.iterdir()] == ["costs.json"]


def saved() -> dict:
    return {
        "format": calibration.FORMAT,
        "paths": {path: asdict(prices) for path, prices in REFERENCE.items()},
    }


def broken(change) -> str:
    content = saved()
    change(content)
    return json.dumps(content)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "\ud800",
        broken(lambda c: c.update(format=0)),
        broken(lambda c: c.pop("paths")),
        broken(lambda c: c["paths"].pop("hash")),
        broken(lambda c: c["paths"]["hash"].pop("scan")),
        broken(lambda c: c["paths"]["hash"].update(other=1.0)),
        broken(lambda c: c["paths"]["hash"].update(scan="1")),
        broken(lambda c: c["paths"]["hash"].update(scan=-1e-9)),
        broken(lambda c: c["paths"]["hash"].update(scan=float("nan"))),
        broken(lambda c: c["paths"]["hash"].update(scan=1.0)),
    ],
)
def test_a_corrupt_or_foreign_file_is_ignored(text: str) -> None:
    path = cost_file()
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert constants() == REFERENCE


def test_reads_what_an_earlier_run_wrote() -> None:
    cost_file().parent.mkdir(parents=True)
    cost_file().write_text(broken(lambda c: c["paths"]["hash"].update(scan=7e-9)))
    assert constants()["hash"].scan == 7e-9


def test_without_a_cache_directory_of_its_own(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cost_file() == tmp_path / ".cache" / "windrow" / "costs.json"
