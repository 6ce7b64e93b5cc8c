"""Flags of punctuations as Python sees them: those that are there, and what kernels tell of them.

The kernels tell in six numbers (`kernels.ends.Punctuations`), which mean one thing of what a flag
did to a row and another of what became of the flag itself:

    what    stream   row      by_stream   by_row            a row was kept or thrown out, or asked
    what    stream   row      ts          key      flag     a flag is new or changed, or it is gone
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import ends, inodes

Ints = NDArray[np.int64]

#: What is told: of rows that flags kept or threw out, of broken promises; of flags that are there.
REMOVED, VIOLATED, FLAGGED = ends.REMOVED, ends.VIOLATED, ends.FLAGGED
#: The numbers of what is told.
WIDTH = 6


@dataclass(frozen=True)
class Flagged:
    """I-Nodes: their punctuations' times, keys and row ids, and their flags."""

    ts: Ints
    key: Ints
    row: Ints
    flag: Ints

    def __len__(self) -> int:
        return len(self.ts)

    def values(self) -> Ints:
        """What their records hold in place of a row id."""
        return (self.row << inodes.FLAG_BITS) | self.flag


class Deeds(NamedTuple):
    """What flags did to rows, each known by stream and row id; and which punctuation it was."""

    what: Ints
    stream: Ints
    row: Ints
    by_stream: Ints
    by_row: Ints


class Changes(NamedTuple):
    """What became of flags, in order: whose they are, and what they say; FLAGGED, or gone."""

    what: Ints
    stream: Ints
    row: Ints
    ts: Ints
    key: Ints
    flag: Ints

    @classmethod
    def of_numbers(cls, numbers: Ints) -> Self:
        """As `numbers` gave them."""
        return cls(*numbers.reshape(WIDTH, -1))

    @classmethod
    def new(cls, stream: int, rows: Ints, flags: Flagged) -> Self:
        """Flags of a stream as if they were new, with other row ids."""
        what, streams = np.full(len(flags), FLAGGED), np.full(len(flags), stream)
        return cls(what, streams, rows, flags.ts, flags.key, flags.flag)

    @classmethod
    def together(cls, parts: Sequence[Changes]) -> Self:
        """One after the other."""
        none = np.empty((WIDTH, 0), np.int64)
        return cls(*np.concatenate([none, *(part.numbers() for part in parts)], axis=1))

    def numbers(self) -> Ints:
        """As plain numbers, a row for each column."""
        return np.stack(self)

    def chosen(self, which: Ints | NDArray[np.bool_]) -> Changes:
        """Some of them, in that order."""
        return Changes(*(column[which] for column in self))

    def flags_of(self, stream: int) -> Flagged:
        """The flags of a stream."""
        mine = self.chosen(self.stream == stream)
        return Flagged(mine.ts, mine.key, mine.row, mine.flag)


def told(touched: Ints) -> tuple[Deeds, Changes]:
    """What the kernels told, taken apart."""
    of_rows = touched[0] <= ends.ASKED
    return Deeds(*touched[:5, of_rows]), Changes(*touched[:, ~of_rows])
