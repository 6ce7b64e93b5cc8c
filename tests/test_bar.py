"""The bar counts, and shows itself on a terminal only."""

import io
import sys

import pytest

from windrow.bar import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("work") as progress:
        assert list(progress.track([1, 2], label=str)) == [1, 2]
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("work [bold]") as progress:
        for _ in progress.track([1, 2, 3], label=lambda n: f"step {n}"):
            pass
    assert "work [bold]" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()


def test_steps_can_be_announced_piecewise() -> None:
    with progress_bar("work") as progress:
        progress.expect(4)
        progress.advance(2)
        for _ in progress.track("ab"):
            pass
    assert (progress.done, progress.total) == (4, 6)
