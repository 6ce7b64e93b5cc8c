"""A process with a time limit, and the memory that it and all its descendants take.

A system is a tree: Python, its JVM, the JVM's Python workers. Memory is the sum of their
proportional set sizes, so that pages which forked workers have in common count once. Files in the
memory file system are memory too, whether a process has them mapped at the moment or not.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

MEMORY_FILES = "/dev/shm"
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

    def told(self, log: Path, limit: str) -> tuple[Any, str]:
        """What it printed last, as JSON, and what went wrong; `log` gets what a failed one said."""
        if self.code == 0:
            return json.loads(self.output.splitlines()[-1]), ""
        log.write_text(self.errors)
        return None, f"failed, see {log}" if self.code is not None else f"was ended {limit}"


class Tree:
    """A process and its descendants, watched from outside."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.alive = {root}
        self.peak_bytes = 0
        self._ticks: dict[int, int] = {}
        self._ticks_with_reaped = 0
        self._files_before = memory_files_bytes()
        self._machine_ticks = machine_ticks()
        self._start = time.monotonic()

    def sample(self) -> None:
        """Look at every process once."""
        stats = process_stats()
        self.alive = descendants(self.root, {p: stat.parent for p, stat in stats.items()})
        here = {p: stats[p] for p in self.alive if p in stats}
        self._ticks |= {p: stat.ticks for p, stat in here.items()}
        self._ticks_with_reaped = sum(stat.ticks + stat.reaped for stat in here.values())
        sizes = [proportional_bytes(process) for process in self.alive]
        mapped = sum(of_files for _, of_files in sizes)
        unmapped = max(0, memory_files_bytes() - self._files_before - mapped)
        self.peak_bytes = max(self.peak_bytes, sum(whole for whole, _ in sizes) + unmapped)

    def others_cores(self) -> float:
        """Cores that were busy with other work, on average so far.

        A worker that ended between two looks shows in its parent's count of reaped ones, if it was
        reaped; one that was not shows as it was last seen. The larger sum misses less.
        """
        own = max(sum(self._ticks.values()), self._ticks_with_reaped)
        ticks = machine_ticks() - self._machine_ticks - own
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


class Stat(NamedTuple):
    """A process's parent, its processor ticks, and those of children that it has reaped."""

    parent: int
    ticks: int
    reaped: int


def process_stats() -> dict[int, Stat]:
    """Every process as it is now."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # The name, in parentheses, may have spaces; the fields after it have not.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            user, system, reaped_user, reaped_system = map(int, fields[11:15])
            found[int(entry.name)] = Stat(
                int(fields[1]), user + system, reaped_user + reaped_system
            )
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


def proportional_bytes(process: int) -> tuple[int, int]:
    """A process's proportional set size, and what of it are memory files; 0 once it is gone."""
    sizes: dict[str, int] = {}
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            name, _, size = line.partition(":")
            if name in ("Pss", "Pss_Shmem"):
                sizes[name] = int(size.split()[0]) * 1024
    return sizes.get("Pss", 0), sizes.get("Pss_Shmem", 0)


def memory_files_bytes() -> int:
    """What the memory file system holds; 0 where there is none."""
    try:
        found = os.statvfs(MEMORY_FILES)
    except OSError:
        return 0
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def machine_ticks() -> int:
    """Processor ticks that the machine was busy since it started."""
    with suppress(OSError):
        numbers = [int(n) for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        idle, waiting = numbers[3:5]
        return sum(numbers) - idle - waiting
    return 0
