"""A bucket's memory on the host, between micro-batches: mapped files that any worker can open.

Spark's Python workers have no ties to a partition, so what one leaves in its own memory the next
one cannot see. An arena is a folder per bucket, in memory where the host has enough of it:

    <directory>/windrow-<uid>/<query>-<join>-<bucket>/    lock, manifest, arrays and chunks

Nothing in it is ever needed: the state store has the log. The manifest names the token of the
directory that the files belong to. It is removed before the first change and written after the
last, so a worker that dies, a retry, another attempt or another host's commit all leave a token
that does not match, and the bucket is rebuilt. Files carry the time of their commit: one that
was written, cut or replaced since is noticed and not used.

An arena is held under an exclusive lock; a task that cannot have it works on the heap. Space is
allocated before it is mapped: a write to a mapping on a full memory file system kills the process.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.spark import arenas
from windrow.spark.arenas import LOCK, boot

MANIFEST = "manifest"
#: Is told why arenas cannot be used.
Warn = Callable[[str], None]


@dataclass(frozen=True)
class Kept:
    """A file as the manifest has it: enough to notice a change."""

    file: str
    size: int
    changed: int


class Arena:
    """One bucket's folder, held under its lock until `leave`. Makes arrays: a `Room`."""

    def __init__(self, folder: str, lock: int, warn: Warn | None = None) -> None:
        self.folder = folder
        self._lock = lock
        self._warn = warn
        self._next = time.time_ns()
        #: Which file each mapping is of. Weak, so that a replaced array is let go.
        self._files: WeakKeyDictionary[mmap.mmap, str] = WeakKeyDictionary()
        self._chunks: dict[int, Kept] = {}
        self._full = False

    # -- entering and leaving --------------------------------------------------------------

    @classmethod
    def enter(
        cls, directory: str | None, name: str, owner: str = "", warn: Warn | None = None
    ) -> Arena | None:
        """The arena of that name, locked; None if it cannot be had or trusted.

        `owner` is the driver that it is used for. `warn` is told why arenas cannot be used here; a
        lock that another task holds is no reason to.
        """
        try:
            root = arenas.root_of(directory)
            os.makedirs(root, mode=0o700, exist_ok=True)
            arenas.check_private(root)
            arenas.sweep_once(root, name)
            folder = os.path.join(root, name)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            lock = os.open(
                os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600
            )
        except (OSError, ValueError, arenas.UnusableError) as error:
            if warn is not None:
                warn(str(error))
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A sweep may have removed the folder before the lock was ours.
            if os.fstat(lock).st_ino == os.stat(os.path.join(folder, LOCK)).st_ino:
                _sign(lock, owner)
                return cls(folder, lock, warn)
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
        except OSError as error:
            self._give_up(error)
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
        except OSError as error:
            self._give_up(error)

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
        except OSError as error:
            self._give_up(error)
        self.clear()

    def _give_up(self, error: OSError) -> None:
        """Go on without: nothing more is written, and nothing is left."""
        self._full = True
        if self._warn is not None:
            self._warn(f"{self.folder}: {error.strerror}")

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


def _sign(lock: int, owner: str) -> None:
    """Write the driver that the arena is used for into the lock's file."""
    text = owner.encode()
    if os.pread(lock, len(text) + 1, 0) != text:
        os.ftruncate(lock, 0)
        os.pwrite(lock, text, 0)


def _owner(array: Any) -> Any:
    """What an array's memory belongs to: a mapping, or something else."""
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
