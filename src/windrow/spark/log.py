"""The durable state of one bucket: a log of live chunks and a small directory.

A chunk is a blob as it arrived, written once and removed when all its rows have expired, so a
micro-batch costs what it brings and what it frees. Which tuples are stored is not written down:
it follows from the chunks, the progress around their batches, and the progress now. What does not
follow, the matched flags, is written as deltas: the row ids that a batch matched.

The directory names all of it, with a format version and a random token. The token is new after
every batch; a cached state is used only if its token is the directory's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from windrow.model import BEGINNING, WindrowError

#: Raised whenever the meaning of the directory or of a chunk changes.
FORMAT = 1


class Store(Protocol):
    """Where a bucket's blobs and its directory are kept. Spark's state store, or a test's dict."""

    def read(self, number: int) -> bytes:
        """A blob."""

    def write(self, number: int, blob: bytes) -> None:
        """Keep a blob."""

    def remove(self, number: int) -> None:
        """Forget a blob."""

    def directory(self) -> str | None:
        """The directory's text; None at the beginning."""

    def set_directory(self, text: str) -> None:
        """Replace it."""


@dataclass(frozen=True)
class Entry:
    """A live chunk: which rows of which stream, when it came, and the progress around its batch."""

    number: int
    stream: int
    first: int
    rows: int
    batch: int
    newest: int
    own_before: int
    other_before: int
    other_after: int


@dataclass(frozen=True)
class Delta:
    """Row ids of a stream that were matched, as an array in a blob."""

    number: int
    stream: int
    rows: int
    newest_row: int


@dataclass
class Directory:
    """What a bucket's blobs mean."""

    buckets: int
    question: dict[str, Any]
    format: int = FORMAT
    token: str = ""
    batch: int = 0
    next_number: int = 0
    next_rows: list[int] = field(default_factory=lambda: [0, 0])
    progress: list[int] = field(default_factory=lambda: [BEGINNING, BEGINNING])
    chunks: list[Entry] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)

    def number(self) -> int:
        """A number for the next blob."""
        self.next_number += 1
        return self.next_number

    def to_text(self) -> str:
        """As it is kept: rows of numbers, because there may be hundreds."""
        plain = {**self.__dict__}
        plain["chunks"] = [list(asdict(chunk).values()) for chunk in self.chunks]
        plain["deltas"] = [list(asdict(delta).values()) for delta in self.deltas]
        return json.dumps(plain)

    @classmethod
    def from_text(cls, text: str) -> Directory:
        """Read it back; another format is refused rather than misread."""
        plain = json.loads(text)
        if plain.get("format") != FORMAT:
            raise WindrowError(
                f"this checkpoint's join state has format {plain.get('format')!r}, but this "
                f"version of windrow reads format {FORMAT}; go on with the version that wrote it, "
                "or start from a new checkpoint"
            )
        plain["chunks"] = [Entry(*values) for values in plain["chunks"]]
        plain["deltas"] = [Delta(*values) for values in plain["deltas"]]
        return cls(**plain)


def check_question(kept: Directory, buckets: int, question: dict[str, Any]) -> None:
    """Refuse to go on where the answer would be wrong."""
    if kept.buckets != buckets:
        raise WindrowError(
            f"this checkpoint was written with {kept.buckets} buckets, but the join has {buckets}: "
            f"stored tuples would sit in the wrong ones; pass buckets={kept.buckets}, or start "
            "from a new checkpoint"
        )
    for name, value in question.items():
        if kept.question.get(name) != value:
            raise WindrowError(
                f"this checkpoint was written with {name} {kept.question.get(name)!r}, but the "
                f"join has {value!r}; stored tuples would not match; change it back, or start from "
                "a new checkpoint"
            )


def expired_chunks(chunks: Sequence[Entry], reaches: Sequence[int], progress: Sequence[int]) -> int:
    """How many chunks of one stream, from the oldest on, have no stored tuple left.

    A list drops from its old end only, so a chunk is gone only when all before it are.
    """
    count = 0
    for chunk in chunks:
        if chunk.newest + reaches[chunk.stream] >= progress[1 - chunk.stream]:
            break
        count += 1
    return count
