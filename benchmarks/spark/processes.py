"""A process with a time limit, and the memory that it and all its descendants take.

A system is a tree: Python, its JVM, the JVM's Python workers. Memory is the sum of their
proportional set sizes, so that pages which forked workers have in common count once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.2
#: Reading a large process's pages stops it for a moment; the rests between are so much longer.
REST = 20


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    #: None if it was ended at its limit.
    code: int | None
    output: str
    errors: str
    #: None where the system does not tell.
    peak_bytes: int | None
    #: Cores that others kept busy meanwhile: what the machine did, less what the tree did.
    others_cores: float


class Tree:
    """A process and its descendants, watched from outside."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.alive = {root}
        self.peak_bytes = 0
        self._ticks: dict[int, int] = {}
        self._machine_ticks = machine_ticks()
        self._start = time.monotonic()

    def sample(self) -> None:
        """Look at every process once."""
        stats = process_stats()
        self.alive = descendants(self.root, {p: parent for p, (parent, _) in stats.items()})
        self._ticks |= {p: stats[p][1] for p in self.alive if p in stats}
        self.peak_bytes = max(self.peak_bytes, sum(map(proportional_bytes, self.alive)))

    def others_cores(self) -> float:
        """Cores that were busy for somebody else, on average so far."""
        ticks = machine_ticks() - self._machine_ticks - sum(self._ticks.values())
        seconds = time.monotonic() - self._start
        return max(0.0, ticks / os.sysconf("SC_CLK_TCK") / seconds)

    def end(self) -> None:
        """End them all, by their ids."""
        self.sample()
        for process in self.alive:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def run(command: Sequence[str], limit_seconds: float) -> Ended:
    """Run to the end or to the limit, whatever comes first; nothing of it stays behind."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors)
        tree = Tree(process.pid)
        deadline = time.monotonic() + limit_seconds
        try:
            while process.poll() is None and time.monotonic() < deadline:
                start = time.monotonic()
                tree.sample()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(SAMPLE_SECONDS, REST * (time.monotonic() - start)))
            code = process.poll()
            others = tree.others_cores()
        finally:
            if process.poll() is None:
                tree.end()
                process.wait()
        output.seek(0)
        errors.seek(0)
        return Ended(code, output.read(), errors.read(), tree.peak_bytes or None, others)


def process_stats() -> dict[int, tuple[int, int]]:
    """Parent and processor ticks of every process."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # The name, in parentheses, may have spaces; the fields after it have not.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            found[int(entry.name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))
    return found


def descendants(root: int, parents: dict[int, int]) -> set[int]:
    """A process and all that it started, directly or not."""
    children: dict[int, list[int]] = {}
    for process, parent in parents.items():
        children.setdefault(parent, []).append(process)
    found, waiting = {root}, [root]
    while waiting:
        for child in children.get(waiting.pop(), []):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def proportional_bytes(process: int) -> int:
    """A process's proportional set size; 0 once it is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def machine_ticks() -> int:
    """Processor ticks that the machine was busy since it started."""
    with suppress(OSError):
        numbers = [int(n) for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        idle, waiting = numbers[3:5]
        return sum(numbers) - idle - waiting
    return 0
