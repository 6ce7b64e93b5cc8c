"""The arenas of a host: where they lie, whose they are, and when they go.

An arena belongs to a bucket of a query, and its name begins with the query's. Arenas of a query
that has ended are removed by its driver, if the driver is on their host. Those of a driver that was
killed are removed when a worker first enters an arena of another query, and so are all that have
not been used for an hour.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress

#: A memory file system smaller than this is left alone: containers often have 64 MB.
LEAST_MEMORY = 1 << 30
#: Arenas that have not been used for so long belong to queries that are gone.
FORGOTTEN_SECONDS = 3600.0
LOCK = "lock"

#: For which queries this process has swept which folders.
_swept: set[tuple[str, str]] = set()


class UnusableError(Exception):
    """Why there can be no arena."""


# -- where -------------------------------------------------------------------------------------


def root_of(directory: str | None) -> str:
    """The folder of this user's arenas."""
    return os.path.join(directory or default_directory(), f"windrow-{os.geteuid()}")


def default_directory() -> str:
    """Memory where the host has enough of it, else the first of Spark's local directories."""
    memory = "/dev/shm"
    try:
        found = os.statvfs(memory)
        if found.f_frsize * found.f_blocks >= LEAST_MEMORY and os.access(memory, os.W_OK):
            return memory
    except OSError:
        pass
    local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return local or tempfile.gettempdir()


def check_private(root: str) -> None:
    """Refuse a folder that is not ours, or that others can enter."""
    found = os.lstat(root)
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode):
        raise UnusableError(f"{root} is a link or a file, not a folder")
    if found.st_uid != os.geteuid():
        raise UnusableError(
            f"{root} belongs to the user with the number {found.st_uid}, but the workers run as "
            f"{os.geteuid()}"
        )
    if mode & 0o077:
        raise UnusableError(f"{root} has the mode {mode:o}, so other users can enter it, not 700")


# -- whose -------------------------------------------------------------------------------------


def of_query(query: str) -> str:
    """How the names of a query's arenas begin. The same after a restart."""
    return hashlib.sha256(query.encode()).hexdigest()[:16]


def boot() -> str:
    """Which start of the host this is: a crash can bring back a file that had been removed."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def this_process() -> str:
    """This process, as others on its host can look for it: host, namespace, number, start."""
    return " ".join([*_here(), str(os.getpid()), _started(os.getpid())])


def is_gone(owner: str) -> bool:
    """Is a process gone for sure? It is unknown of one on another host or in a container."""
    boot_id, space, pid, started = (owner.split(" ") + [""] * 4)[:4]
    if (boot_id, space) != _here() or not space or not pid.isdigit():
        return False
    return _started(int(pid)) != started


def _here() -> tuple[str, str]:
    with suppress(OSError):
        return boot(), os.readlink("/proc/self/ns/pid")
    return boot(), ""


def _started(pid: int) -> str:
    """When a process began, in the host's ticks; nothing if there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


# -- when they go ------------------------------------------------------------------------------


def sweep_once(root: str, name: str) -> None:
    """Remove what is no longer needed, when a process first enters an arena of a query."""
    query = name.partition("-")[0]
    if (root, query) not in _swept:
        _swept.add((root, query))
        sweep(root, query)


def sweep(root: str, query: str) -> None:
    """Remove arenas whose driver is gone, but for this query's, and those unused for long."""
    for name in os.listdir(root):
        folder = os.path.join(root, name)
        with suppress(OSError):
            old = time.time() - os.stat(folder).st_mtime >= FORGOTTEN_SECONDS
            if old or (not name.startswith(f"{query}-") and is_gone(_owner(folder))):
                remove(folder)


def remove_query(directory: str | None, query: str) -> None:
    """Remove the arenas of a query that has ended, as far as this host has them."""
    root, prefix = root_of(directory), of_query(query)
    with suppress(OSError):
        for name in os.listdir(root):
            if name.startswith(f"{prefix}-"):
                with suppress(OSError):
                    remove(os.path.join(root, name))


def remove(folder: str) -> None:
    """Remove an arena, unless a task holds it."""
    lock = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _owner(folder: str) -> str:
    """The driver that an arena was last used for."""
    with open(os.path.join(folder, LOCK), encoding="utf-8") as file:
        return file.read()
