"""Small files in a folder of the checkpoint, wherever Spark can keep one.

Read and written at the driver, through Hadoop's file systems. A file is written under a hidden name
and renamed, so a reader sees all of it or nothing, after a kill too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Folder:
    """A folder. It is made when the first file is written, or by `make`."""

    def __init__(self, spark: SparkSession, place: str) -> None:
        self._spark = spark
        self.place = place.rstrip("/")
        jvm: Any = spark._jvm
        self._jvm = jvm
        path = self._path("")
        self._system = path.getFileSystem(spark._jsc.hadoopConfiguration())

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.place}/{name}" if name else self.place)

    def inside(self, *names: str) -> Folder:
        """A folder in this one."""
        return Folder(self._spark, "/".join([self.place, *names]))

    def make(self) -> Folder:
        """See that it is there."""
        self._system.mkdirs(self._path(""))
        return self

    def names(self) -> list[str]:
        """The names of what is in it, sorted, without hidden ones."""
        if not self._system.exists(self._path("")):
            return []
        found = (str(each.getPath().getName()) for each in self._system.listStatus(self._path("")))
        return sorted(name for name in found if not name.startswith((".", "_")))

    def read(self, name: str) -> str:
        """The text of a file."""
        stream = self._system.open(self._path(name))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Write a file that is not there yet."""
        hidden = self._path(f".{name}.{uuid4().hex}")
        stream = self._system.create(hidden, True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()
        if not self._system.rename(hidden, self._path(name)):
            raise OSError(f"cannot write {self.place}/{name}")

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        self._system.delete(self._path(name), False)
