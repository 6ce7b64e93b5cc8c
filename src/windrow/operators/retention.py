"""What a join keeps of a stream: asked of the kernel, and told to a log.

    TimeReach   a tuple until all others have passed its reach     progress tells what is gone
    LastRows    the last n rows of a key, or of the stream         only the rows that follow tell
    Needed      what complete results need, by a memory model      the join's standing tells

A kernel drops what is before a time (`steps.expire`), which it finds by what it is asked. A log
forgets the chunks before `bound`. What neither progress nor the stored rows tell is a mark: it
belongs into the join's `standing`, which is written down and is there again before the rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from windrow.kernels.task import BY_TIME, PER_KEY, PER_STREAM
from windrow.model import BEGINNING, LARGEST_MICROS, CountWindow, JoinPlan


class Retention(Protocol):
    """Of one stream."""

    @property
    def reach(self) -> int:
        """How far, in µs, its tuples reach to later ones of the others."""

    def ask(self, asked: Any) -> None:
        """Fill in what a kernel is asked of the stream: a record of `task.ASKED`."""

    def bound(self, passed: int) -> int:
        """A time that no stored tuple is before, once all others have passed that."""


@dataclass(frozen=True)
class TimeReach:
    """Tuples that the others have not passed by more than a reach."""

    reach: int

    def ask(self, asked: Any) -> None:
        """A time window."""
        asked.kind, asked.reach = BY_TIME, self.reach

    def bound(self, passed: int) -> int:
        """What the others have passed is gone."""
        return passed - self.reach


@dataclass(frozen=True)
class LastRows:
    """The last n tuples of each key, or of the stream. A time says nothing about them."""

    window: CountWindow
    reach: int = LARGEST_MICROS

    def ask(self, asked: Any) -> None:
        """A count window."""
        asked.kind = PER_KEY if self.window.per == "key" else PER_STREAM
        asked.reach, asked.count = self.reach, self.window.n

    def bound(self, passed: int) -> int:
        """The last rows of a key may be of any age."""
        return BEGINNING


@dataclass(frozen=True)
class Needed:
    """The latest tuples, as many as a memory manager says (`join/oblivious.py`)."""

    reach: int = LARGEST_MICROS

    def ask(self, asked: Any) -> None:
        """Any time is within reach."""
        asked.kind, asked.reach = BY_TIME, self.reach

    def bound(self, passed: int) -> int:
        """The latest tuples may be of any time."""
        return BEGINNING


def retentions(plan: JoinPlan) -> tuple[Retention, ...]:
    """What a plan keeps, by stream."""
    if plan.memory is not None:
        return tuple(Needed() for _ in plan.streams)
    windows = [stream.window for stream in plan.streams]
    return tuple(
        LastRows(window) if isinstance(window, CountWindow) else TimeReach(reach)
        for window, reach in zip(windows, plan.reaches, strict=True)
    )


def within(reaches: Sequence[int]) -> tuple[Retention, ...]:
    """Tuples within reach, by stream."""
    return tuple(TimeReach(reach) for reach in reaches)
