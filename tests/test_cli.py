"""The command line: thin, quick, and clear when it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from windrow import experiments
from windrow.bar import Progress
from windrow.cli import app
from windrow.experiments.frame import Experiment, Outcome, Panel, claim, measured


def count(progress: Progress) -> Outcome:
    doubled = [n * 2 for n in progress.track([1, 2, 3])]
    panel = Panel("counted", "n", "2 n", (measured("doubled", [1, 2, 3], doubled),))
    return Outcome(
        {"up to": 3},
        (panel,),
        (
            claim("Twice [three] is six", doubled[-1] == 6, f"{doubled[-1]}"),
            claim("Twice one is three", doubled[0] == 3, f"{doubled[0]}"),
        ),
    )


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = tuple(Experiment(id, f"Figure {id}", "Paper 9", count) for id in ("9.10", "9.4"))
    monkeypatch.setattr(experiments, "EXPERIMENTS", figures)


def call(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_list_in_numeric_order() -> None:
    code, out, _ = call("experiments", "list")
    assert code == 0
    assert out.index("9.4") < out.index("9.10")
    assert "Figure 9.10" in out


def test_run_some(tmp_path: Path) -> None:
    code, out, err = call("experiments", "run", "9.10", "--out", tmp_path / "d")
    assert code == 0
    assert err == ""
    assert sorted(p.name for p in (tmp_path / "d").iterdir()) == ["9.10.json", "9.10.svg"]
    lines = out.splitlines()
    assert any("✓" in line and "Twice [three] is six" in line for line in lines)
    assert any("✗" in line and "Twice one is three" in line and "2" in line for line in lines)


def test_run_all(tmp_path: Path) -> None:
    code, _, _ = call("experiments", "run", "--out", tmp_path)
    assert code == 0
    kept = json.loads((tmp_path / "9.4.json").read_text(encoding="utf-8"))
    assert [c["held"] for c in kept["claims"]] == [True, False]
    assert (tmp_path / "9.10.json").exists()


def test_run_unknown(tmp_path: Path) -> None:
    code, _, err = call("experiments", "run", "9.4", "1.99", "--out", tmp_path)
    assert code == 2
    assert "unknown experiment 1.99; there are: 9.4, 9.10" in err
    assert list(tmp_path.iterdir()) == []


def test_a_failing_run_is_not_swallowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(progress: Progress) -> Outcome:
        raise ArithmeticError("no such number")

    monkeypatch.setattr(experiments, "EXPERIMENTS", (Experiment("9.1", "t", "p", fail),))
    with pytest.raises(ArithmeticError, match="no such number"):
        call("experiments", "run", "--out", tmp_path)


def test_report(tmp_path: Path) -> None:
    call("experiments", "run", "--out", tmp_path)
    code, out, _ = call("experiments", "report", "--out", tmp_path)
    assert code == 0
    assert out.strip() == str(tmp_path / "report.html")
    assert "Twice one is three" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_report_without_results(tmp_path: Path) -> None:
    code, _, err = call("experiments", "report", "--out", tmp_path)
    assert code == 2
    assert f"no results in {tmp_path}" in err


def test_out_must_not_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    code, _, err = call("experiments", "run", "--out", tmp_path / "f")
    assert code == 2
    assert "is a file" in err


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys, windrow\n"
        "before = set(sys.modules)\n"
        "from typer.testing import CliRunner\n"
        "import windrow.cli\n"
        "assert CliRunner().invoke(windrow.cli.app, ['--help']).exit_code == 0\n"
        "heavy = {'numba', 'matplotlib', 'pyarrow', 'duckdb', 'windrow.experiments'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
