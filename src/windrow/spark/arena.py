"""A bucket's memory on the host, between micro-batches: mapped files that any worker can open.

Spark's Python workers have no ties to a partition, so what one leaves in its own memory the next
one cannot see. An arena is a folder per bucket, in memory where the host has enough of it:

    <directory>/windrow-<uid>/<join>-<bucket>/    lock, manifest, arrays and chunks

Nothing in it is ever needed: the state store has the log. The manifest names the token of the
directory that the files belong to. It is removed before the first change and written after the
last, so a worker that dies, a retry, another attempt or another host's commit all leave a token
that does not match, and the bucket is rebuilt. Files carry the time of their commit: one that
was written, cut or replaced since is noticed and not used.

An arena is held under an exclusive lock. Who cannot have it works privately. Space is allocated
before it is mapped, because a full memory file system kills whoever writes to the mapping.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import shutil
import stat
import tempfile
import time
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

#: A memory file system smaller than this is left alone: containers often have 64 MB.
LEAST_MEMORY = 1 << 30
#: Arenas that nobody has used for so long belong to queries that are gone.
FORGOTTEN_SECONDS = 3600.0
MANIFEST, LOCK = "manifest", "lock"


@dataclass(frozen=True)
class Kept:
    """A file as the manifest has it: enough to notice a change."""

    file: str
    size: int
    changed: int


class Arena:
    """One bucket's folder, held under its lock until `leave`. Makes arrays: a `Room`."""

    def __init__(self, folder: str, lock: int) -> None:
        self.folder = folder
        self._lock = lock
        self._next = time.time_ns()
        #: Which file each mapping is of. Weak, so that a replaced array is let go.
        self._files: WeakKeyDictionary[mmap.mmap, str] = WeakKeyDictionary()
        self._chunks: dict[int, Kept] = {}
        self._full = False

    # -- entering and leaving --------------------------------------------------------------

    @classmethod
    def enter(cls, directory: str | None, name: str) -> Arena | None:
        """The arena of that name, locked; None if it cannot be had or trusted."""
        try:
            root = os.path.join(directory or default_directory(), f"windrow-{os.geteuid()}")
            os.makedirs(root, mode=0o700, exist_ok=True)
            if not _private(root):
                return None
            folder = os.path.join(root, name)
            if not os.path.isdir(folder):
                sweep(root)
                os.makedirs(folder, mode=0o700, exist_ok=True)
            lock = os.open(
                os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600
            )
        except OSError:
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A sweep may have removed the folder before the lock was ours.
            if os.fstat(lock).st_ino == os.stat(os.path.join(folder, LOCK)).st_ino:
                return cls(folder, lock)
        except OSError:
            pass
        os.close(lock)
        return None

    def leave(self) -> None:
        """Let others in."""
        os.close(self._lock)

    # -- opening ---------------------------------------------------------------------------

    def open(self, token: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        """The arrays and facts left under that token; None, and all files gone, if they are not.

        From here on the arena is dirty: its manifest is gone until `commit` writes a new one.
        """
        try:
            found = self._read_manifest(token)
            if found is not None:
                os.unlink(self._path(MANIFEST))
                return found
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        self.clear()
        return None

    def _read_manifest(self, token: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        with open(self._path(MANIFEST), encoding="utf-8") as file:
            manifest = json.load(file)
        if (manifest["token"], manifest["boot"]) != (token, boot()):
            return None
        self._chunks = {int(n): Kept(*kept) for n, kept in manifest["chunks"].items()}
        arrays = {}
        for name, (kept, kind, shape) in manifest["arrays"].items():
            mapped = self._map(Kept(*kept))
            if mapped is None:
                return None
            count = int(np.prod(shape))
            arrays[name] = np.frombuffer(mapped, np.dtype(kind), count).reshape(shape)
            self._files[mapped] = Kept(*kept).file
        return arrays, manifest["facts"]

    def clear(self) -> None:
        """Remove all files."""
        self._chunks = {}
        self._files.clear()
        try:
            for name in os.listdir(self.folder):
                if name != LOCK:
                    os.unlink(self._path(name))
        except OSError:
            self._full = True

    # -- arrays ----------------------------------------------------------------------------

    def empty(self, shape: tuple[int, ...], kind: type[Any] = np.int64) -> NDArray[Any]:
        """An array in a file of its own; on the heap if there is no space, and then no commit."""
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        if size == 0 or self._full:
            return np.empty(shape, kind)
        file = self._fresh("array")
        try:
            mapped = self._allocate(file, size)
        except OSError:
            self._full = True
            return np.empty(shape, kind)
        array: NDArray[Any] = np.frombuffer(mapped, kind, int(np.prod(shape))).reshape(shape)
        self._files[mapped] = file
        return array

    # -- chunks ----------------------------------------------------------------------------

    def put_chunk(self, number: int, blob: bytes | pa.Buffer) -> None:
        """Keep a chunk."""
        if self._full:
            return
        file = self._fresh("chunk")
        try:
            fd = os.open(self._path(file), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.posix_fallocate(fd, 0, len(blob))
                _write_all(fd, blob)
            finally:
                os.close(fd)
            self._chunks[number] = self._seal(file)
        except OSError:
            self._full = True

    def chunk(self, number: int) -> pa.Buffer | None:
        """A chunk's bytes, mapped; None if it is not there as it was left."""
        kept = self._chunks.get(number)
        mapped = None if kept is None else self._map(kept)
        return None if mapped is None else pa.py_buffer(mapped)

    def drop_chunk(self, number: int) -> None:
        """Forget a chunk."""
        self._chunks.pop(number, None)

    # -- commit ----------------------------------------------------------------------------

    def commit(self, token: str, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        """Leave everything under a new token; nothing at all where there was no space."""
        try:
            if not self._full:
                self._write_manifest(token, arrays, facts)
                return
        except OSError:
            pass
        self.clear()

    def _write_manifest(
        self, token: str, arrays: dict[str, NDArray[Any]], facts: dict[str, Any]
    ) -> None:
        kept = {}
        # Two names can be views of one file.
        sealed: dict[str, Kept] = {}
        for name, array in arrays.items():
            file = self._file_of(array) or self._copy(array)
            if file not in sealed:
                sealed[file] = self._seal(file)
            kept[name] = (_plain(sealed[file]), array.dtype.str, array.shape)
        chunks = {number: _plain(chunk) for number, chunk in self._chunks.items()}
        used = {entry[0][0] for entry in kept.values()} | {c.file for c in self._chunks.values()}
        for name in os.listdir(self.folder):
            if name not in used and name != LOCK:
                os.unlink(self._path(name))
        manifest = {"token": token, "boot": boot(), "arrays": kept, "chunks": chunks}
        manifest["facts"] = facts
        fresh = self._path(f"{MANIFEST}.new")
        with open(fresh, "w", encoding="utf-8") as out:
            json.dump(manifest, out)
        os.replace(fresh, self._path(MANIFEST))

    def _file_of(self, array: NDArray[Any]) -> str | None:
        """The file that an array is the beginning of; None if it was made elsewhere."""
        owner = _owner(array)
        if not isinstance(owner, mmap.mmap) or not array.flags.c_contiguous:
            return None
        start = np.frombuffer(owner, np.uint8, 1)
        return self._files.get(owner) if _address(start) == _address(array) else None

    def _copy(self, array: NDArray[Any]) -> str:
        """A file for an array that was made elsewhere: small ones, and empty ones."""
        file = self._fresh("array")
        mapped = self._allocate(file, max(array.nbytes, 1))
        mapped[: array.nbytes] = array.tobytes()
        return file

    # -- files -----------------------------------------------------------------------------

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _fresh(self, what: str) -> str:
        self._next += 1
        return f"{what}-{self._next:x}"

    def _allocate(self, file: str, size: int) -> mmap.mmap:
        fd = os.open(self._path(file), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.posix_fallocate(fd, 0, size)
            return mmap.mmap(fd, size)
        except OSError:
            os.unlink(self._path(file))
            raise
        finally:
            os.close(fd)

    def _seal(self, file: str) -> Kept:
        """Give a file a time of change of ours: writing to a mapping alone may not set any."""
        path = self._path(file)
        now = time.time_ns()
        os.utime(path, ns=(now, now))
        found = os.stat(path)
        return Kept(file, found.st_size, found.st_mtime_ns)

    def _map(self, kept: Kept) -> mmap.mmap | None:
        """A file's bytes, if it is as it was left."""
        if kept.file != os.path.basename(kept.file):
            return None
        try:
            fd = os.open(self._path(kept.file), os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            found = os.fstat(fd)
            same = (found.st_size, found.st_mtime_ns) == (kept.size, kept.changed)
            return mmap.mmap(fd, kept.size) if same and kept.size else None
        finally:
            os.close(fd)


def boot() -> str:
    """Which start of the host this is: a crash can bring back a file that had been removed."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


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


def sweep(root: str) -> None:
    """Remove arenas that nobody has used for long, unless somebody holds one."""
    for name in os.listdir(root):
        folder = os.path.join(root, name)
        try:
            if time.time() - os.stat(folder).st_mtime < FORGOTTEN_SECONDS:
                continue
            lock = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            pass
        finally:
            os.close(lock)


def _private(root: str) -> bool:
    """Is this a folder of ours that nobody else can enter?"""
    found = os.lstat(root)
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.geteuid()
        and stat.S_IMODE(found.st_mode) & 0o077 == 0
    )


def _owner(array: Any) -> Any:
    """What an array's memory belongs to: a mapping, or nothing we know."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _plain(kept: Kept) -> tuple[str, int, int]:
    return kept.file, kept.size, kept.changed


def _write_all(fd: int, blob: bytes | pa.Buffer) -> None:
    view = memoryview(blob)
    while len(view):
        view = view[os.write(fd, view) :]
