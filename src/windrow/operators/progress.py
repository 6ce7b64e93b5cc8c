"""How far each stream has come: what makes a tuple late, and what lets a stored one go.

Progress starts at minus infinity, follows the largest time seen less the lateness, is raised by
heartbeats as they are, and is plus infinity once a finite input has ended. It never goes back.
Where no row is late, because lateness has no bound, only heartbeats and the end move it.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.model import BEGINNING, END, LARGEST_MICROS


class Progress:
    """One stream's progress.

    >>> progress = Progress(lateness=10)
    >>> progress.observe(newest=100)
    >>> progress.now
    90
    >>> progress.observe(newest=95, beat=93)
    >>> progress.now
    93
    """

    def __init__(self, lateness: int, now: int = BEGINNING) -> None:
        self.lateness = lateness
        self.now = now

    def observe(self, newest: int | None = None, beat: int | None = None) -> None:
        """A batch has come: its largest tuple time, its largest heartbeat."""
        if newest is not None and self.lateness < LARGEST_MICROS:
            self.now = max(self.now, newest - self.lateness)
        if beat is not None:
            self.now = max(self.now, beat)

    def end(self) -> None:
        """The input is finite and has ended."""
        self.now = END


def of_the_others(progress: Sequence[int], stream: int) -> int:
    """The smallest progress of the other streams: what lets this one's tuples go.

    >>> of_the_others([5, 7, 6], 0)
    6
    """
    return min(now for other, now in enumerate(progress) if other != stream)
