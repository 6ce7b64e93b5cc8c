"""Files of tuples that wait on disk: a folder for each owner, which never outlives its process.

    <temporary folder>/windrow-spill-<user>/      0700
        <random>/                                 0700, one for each owner
            lock                                  held while the owner lives
            0.arrow, 1.arrow, ..                  a block of tuples each, gone once it is read

A lock is the system's, so it ends with its process, however that ends: whoever makes a folder first
removes all those beside it whose locks nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.model import WindrowError

LOCK = "lock"


class Folder:
    """An owner's folder, made when it is first needed. It goes with its owner."""

    def __init__(self, place: str | None = None) -> None:
        self.place = place
        self.path: Path | None = None
        self._next = 0

    def write(self, rows: NDArray[np.int64]) -> Path:
        """A file with these rows. An `OSError` leaves nothing behind."""
        path = self._made() / f"{self._next}.arrow"
        self._next += 1
        columns = [pa.array(np.ascontiguousarray(column)) for column in rows.T]
        batch = pa.RecordBatch.from_arrays(columns, [str(at) for at in range(len(columns))])
        try:
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
                writer.write_batch(batch)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path

    def adopt(self, path: Path) -> Path:
        """The same file, of another owner, as one of its own."""
        mine = self._made() / f"{self._next}.arrow"
        self._next += 1
        if not path.exists():
            raise WindrowError(
                f"{path} is gone, with tuples that waited in it for their partners; files on disk "
                "do not outlive the process that wrote them, so start the join anew"
            )
        try:
            os.link(path, mine)
        except OSError:
            shutil.copy2(path, mine)
        return mine

    def close(self) -> None:
        """Remove it."""
        if self.path is not None:
            self._finalizer()
            self.path = None

    def _made(self) -> Path:
        if self.path is None:
            above = Path(self.place or tempfile.gettempdir()) / f"windrow-spill-{os.getuid()}"
            above.mkdir(mode=0o700, parents=True, exist_ok=True)
            if above.lstat().st_uid != os.getuid():
                raise PermissionError(f"{above} belongs to somebody else")
            above.chmod(0o700)
            remove_orphans(above)
            # The lock is held before the folder has a name that others look at.
            hidden = Path(tempfile.mkdtemp(prefix=".", dir=above))
            lock = open(hidden / LOCK, "wb")  # noqa: SIM115
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.path = hidden.rename(above / hidden.name[1:])
            self._finalizer = weakref.finalize(self, _remove, self.path, lock)
        return self.path


def read(path: Path) -> NDArray[np.int64]:
    """The rows of a file."""
    with pa.OSFile(str(path), "rb") as source:
        table = pa.ipc.open_file(source).read_all()
    return np.stack([column.to_numpy() for column in table.columns], axis=1)


def remove_orphans(above: Path) -> None:
    """Remove the folders whose owners are no more."""
    for folder in above.iterdir():
        if folder.name.startswith("."):
            # It has just been begun, and its lock may not be held yet.
            continue
        try:
            with open(folder / LOCK, "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            # Its owner lives, or somebody else is removing it.
            continue


def _remove(path: Path, lock: IO[Any]) -> None:
    shutil.rmtree(path, ignore_errors=True)
    lock.close()
