"""Tuples on their way through a row of delays: what is known of each, and when its turn is.

    time order --> turns 0, 1, 2, .. --> delay --> later turns --> delay --> the join

Turns count over all streams of a batch. A delay lets a tuple pass with the turn of the arrival that
lets it go, or keeps it for a later batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windrow.operators.arrivals import Arrivals

Numbers = NDArray[np.int64]

#: Of a tuple: the word in whose order keys ascend, its number among all that have arrived, its
#: time, key hash and row id. The word is first, because rows that wait are sorted by it.
WORD, NUMBER, TS, KEY, ROW = range(5)
WIDTH = 5
#: The two largest words count as one, so that there is a number above all words.
MOST_WORD = 2**63 - 2


@dataclass(frozen=True)
class Queue:
    """A stream's tuples in the order in which they pass, and their turns, which never fall."""

    rows: Numbers
    turns: Numbers

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def empty(cls) -> Queue:
        """No tuples."""
        return cls(np.empty((0, WIDTH), np.int64), np.empty(0, np.int64))

    @classmethod
    def by_turn(cls, rows: Numbers, turns: Numbers) -> Queue:
        """Tuples by their turns; those of one turn by their words, then as they arrived."""
        order = np.lexsort((rows[:, NUMBER], rows[:, WORD], turns))
        return cls(rows[order], turns[order])

    def then(self, rows: Numbers, turns: Numbers) -> Queue:
        """These, and more behind them."""
        return Queue(np.concatenate([self.rows, rows]), np.concatenate([self.turns, turns]))

    def arrivals(self) -> Arrivals:
        """As a join takes them."""
        return Arrivals(*(np.ascontiguousarray(self.rows[:, each]) for each in (TS, KEY, ROW)))


def numbered(queues: Sequence[Queue]) -> tuple[list[Queue], Numbers]:
    """The same with a turn for each tuple of all streams, from 0 on, and the streams by turn."""
    streams = np.repeat(np.arange(len(queues)), [len(queue) for queue in queues])
    order = np.lexsort((streams, np.concatenate([queue.turns for queue in queues])))
    turns = np.empty(len(order), np.int64)
    turns[order] = np.arange(len(order))
    parts = np.split(turns, np.cumsum([len(queue) for queue in queues])[:-1])
    found = [Queue(queue.rows, part) for queue, part in zip(queues, parts, strict=True)]
    return found, streams[order]


def together(queues: Sequence[Queue], column: int) -> Numbers:
    """A column of all tuples, by turn; the turns are those of `numbered`."""
    found = np.empty(sum(map(len, queues)), np.int64)
    for queue in queues:
        found[queue.turns] = queue.rows[:, column]
    return found
