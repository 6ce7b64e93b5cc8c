"""A stream's tuples that wait, first in, first out, most of them on disk.

    push --> tail, in memory --> blocks of 4,096, on disk --> head, in memory --> pop

A block that cannot be written, because the disk is full, stays in memory: nothing is lost.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.operators.gate import files
from windrow.operators.gate.files import Folder
from windrow.operators.gate.turns import ROW, WIDTH

Numbers = NDArray[np.int64]

#: Tuples in a block, and those that are read ahead (C), unless memory is short.
BLOCK, AHEAD = 1 << 12, 1 << 10
#: Bytes that a stream's files have at most. What is more stays in memory.
MOST_BYTES = 1 << 36


@dataclass(frozen=True)
class Queueing:
    """How many tuples a block has, and how many are read ahead: C."""

    block: int
    ahead: int

    @classmethod
    def usual(cls) -> Queueing:
        """Where memory has no limit."""
        return cls(BLOCK, AHEAD)


class Disk:
    """How long it takes to write a block and to read one, as it was found out.

    `seconds` is what decisions go by: it changes only with `settle`, between batches.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.seconds: float | None = None
        self._latest: dict[str, float] = {}

    def timed(self, what: str, work: Callable[[], Any]) -> Any:
        """Do it, and take down how long it took."""
        begun = self.clock()
        found = work()
        self._latest[what] = self.clock() - begun
        return found

    def settle(self, folder: Folder) -> None:
        """Use from now on what was found out; the first time, try it."""
        if self.seconds is None:
            try:
                block = np.zeros((BLOCK, WIDTH), np.int64)
                path = self.timed("write", lambda: folder.write(block))
                self.timed("read", lambda: files.read(path))
                path.unlink()
            except OSError:
                # Without a disk nothing is to be gained.
                return
        if len(self._latest) == 2:
            self.seconds = sum(self._latest.values())


class Spill:
    """The queue of one stream."""

    def __init__(self, folder: Folder, disk: Disk) -> None:
        self.folder, self.disk = folder, disk
        self.block = BLOCK
        self.head = np.empty((0, WIDTH), np.int64)
        #: Of each block its file, or its rows if it could not be written; and how many they are.
        self.blocks: deque[tuple[Path | Numbers, int]] = deque()
        self.tail = [np.empty((0, WIDTH), np.int64)]

    def __len__(self) -> int:
        return self.in_memory() + self.on_disk()

    def in_memory(self) -> int:
        """How many of them are in memory."""
        kept = sum(count for block, count in self.blocks if not isinstance(block, Path))
        return len(self.head) + kept + sum(map(len, self.tail))

    def on_disk(self) -> int:
        """How many of them are on disk."""
        return sum(count for block, count in self.blocks if isinstance(block, Path))

    def push(self, rows: Numbers) -> None:
        """Take rows in."""
        self.tail.append(rows)
        block = self.block
        if sum(map(len, self.tail)) < block:
            return
        waiting = np.concatenate(self.tail)
        for start in range(0, len(waiting) - block + 1, block):
            self.blocks.append((self._written(waiting[start : start + block]), block))
        self.tail = [waiting[len(waiting) - len(waiting) % block :].copy()]

    def _written(self, rows: Numbers) -> Path | Numbers:
        if self.on_disk() * rows.itemsize * WIDTH < MOST_BYTES:
            try:
                path: Path = self.disk.timed("write", lambda: self.folder.write(rows))
                return path
            except OSError:
                pass
        return rows.copy()

    def pop(self) -> Numbers:
        """Take the oldest rows out, a block of them; none if there are none."""
        rows, self.head = self.head, self.head[:0]
        if len(rows):
            return rows
        if self.blocks:
            block, _ = self.blocks.popleft()
            if not isinstance(block, Path):
                return block
            found: Numbers = self.disk.timed("read", lambda: files.read(block))
            block.unlink()
            return found
        rows = np.concatenate(self.tail)
        self.tail = [rows[:0]]
        return rows

    def put_back(self, rows: Numbers) -> None:
        """Rows that were popped last, after all."""
        self.head = np.concatenate([rows, self.head])

    def rows(self) -> Numbers:
        """The row ids that wait."""
        blocks = [b if not isinstance(b, Path) else files.read(b) for b, _ in self.blocks]
        whole: Numbers = np.concatenate([self.head, *blocks, *self.tail])
        return whole[:, ROW]

    # -- memory that outlives a process ----------------------------------------------------

    def handover(self) -> tuple[dict[str, NDArray[Any]], list[tuple[str, int]]]:
        """What is in memory, and the files; a block without a file has the name ""."""
        kept = [block for block, _ in self.blocks if not isinstance(block, Path)]
        arrays = {
            "head": self.head,
            "kept": np.concatenate([self.head[:0], *kept]),
            "tail": np.concatenate(self.tail),
        }
        named = [(str(b) if isinstance(b, Path) else "", count) for b, count in self.blocks]
        return arrays, named

    def attach(self, arrays: dict[str, NDArray[Any]], named: list[tuple[str, int]]) -> None:
        """Go on with what `handover` gave; the files are taken over."""
        self.head, self.tail = arrays["head"], [arrays["tail"]]
        kept, at = arrays["kept"], 0
        for path, count in named:
            if path:
                self.blocks.append((self.folder.adopt(Path(path)), count))
            else:
                self.blocks.append((kept[at : at + count], count))
                at += count
