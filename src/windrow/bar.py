"""A progress bar on stderr, if that is a terminal and rich is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

T = TypeVar("T")


class Progress:
    """How far a piece of work has come. Without a bar it counts and shows nothing.

    >>> progress = Progress()
    >>> [rate * 2 for rate in progress.track([1, 10, 100])]
    [2, 20, 200]
    >>> progress.done, progress.total
    (3, 3)
    """

    def __init__(self, bar: RichProgress | None = None, description: str = "") -> None:
        self.done = 0
        self.total = 0
        self._bar = bar
        self._task = bar.add_task(description, total=None, note="") if bar else None

    def expect(self, steps: int) -> None:
        """Announce `steps` more steps."""
        self.total += steps
        self._show()

    def advance(self, steps: int = 1) -> None:
        """Report that `steps` more steps are done."""
        self.done += steps
        self._show()

    def note(self, text: str) -> None:
        """Say beside the bar what is going on."""
        self._show(text)

    def track(self, items: Sequence[T], label: Callable[[T], object] | None = None) -> Iterator[T]:
        """Go through `items`, a step each; `label` words the note beside the bar."""
        self.expect(len(items))
        for item in items:
            if label is not None:
                self.note(str(label(item)))
            yield item
            self.advance()

    def _show(self, note: str | None = None) -> None:
        if self._bar is None or self._task is None:
            return
        total = self.total or None
        if note is None:
            self._bar.update(self._task, completed=self.done, total=total)
        else:
            self._bar.update(self._task, completed=self.done, total=total, note=note)


@contextmanager
def progress_bar(description: str) -> Iterator[Progress]:
    """A bar named `description` for the time of the block, if it can be seen."""
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", style="dim", markup=False),
    )
    with RichProgress(*columns, console=Console(stderr=True)) as bar:
        progress = Progress(bar, description)
        yield progress
        progress.note("")
