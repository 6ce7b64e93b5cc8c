"""The durable state of one bucket: a log of live chunks and a small directory.

A chunk is a blob as it arrived, written once and removed when all its rows have expired, so a
micro-batch costs what it brings and what it frees. Which tuples are stored is not written down:
it follows from the chunks, the progress around their batches, and the progress now. What does not
follow, the matched flags, is written as deltas: the row ids that a batch matched.

The directory names all of it, with a format version and a random token. The token is new after
every batch; an arena is used only if its token is the directory's.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from windrow.model import BEGINNING, WindrowError

#: Deltas of flags, finals and held results belong to no stream.
NO_STREAM = -1
#: Raised whenever the meaning of the directory or of a chunk changes.
FORMAT = 5


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
    """A live chunk: which rows of which stream, when it came, and the progress around its batch.

    `merged` counts how often it was merged; a merged chunk knows its stored rows and their order
    itself.
    """

    number: int
    stream: int
    first: int
    rows: int
    batch: int
    oldest: int
    newest: int
    bytes: int
    own_before: int
    others_before: list[int]
    others_after: list[int]
    merged: int = 0

    def until(self, newest: int) -> Entry:
        """The same, when its rows after that time have gone."""
        return replace(self, oldest=min(self.oldest, newest), newest=newest)


@dataclass(frozen=True)
class Delta:
    """What a batch changed about stored rows, as an array in a blob.

    matched, removed: row ids of a stream, that met a partner or that a punctuation threw or kept
    out. flags: what became of punctuation flags; `newest_row` is then the largest of their times.
    ranges, said: rows that punctuate ranges of keys, and the keys that have had theirs.
    taken: numbers of partial rows that went into finals. held: results that wait for the trigger,
    and `newest_row` is the largest of their times. held back: results that some queries wait for,
    and `newest_row` is the last of their arrivals. seen: what a memory manager remembers of the
    tuples of a stream, and `newest_row` is the place of the last.
    """

    number: int
    stream: int
    rows: int
    newest_row: int
    merged: int = 0
    kind: str = "matched"


@dataclass(frozen=True)
class Partials:
    """Partial rows of finals in a blob: numbers [first, first + rows)."""

    number: int
    first: int
    rows: int


@dataclass(frozen=True)
class Change:
    """A restart with other windows or progress: what both were up to a batch."""

    batch: int
    reaches: list[int]
    progress: list[int]


@dataclass
class Directory:
    """What a bucket's blobs mean."""

    buckets: int
    question: dict[str, Any]
    reaches: list[int]
    format: int = FORMAT
    token: str = ""
    batch: int = 0
    next_number: int = 0
    next_rows: list[int] = field(default_factory=list)
    progress: list[int] = field(default_factory=list)
    live: list[int] = field(default_factory=list)
    #: For `idle`: how long each stream has been silent, the last micro-batch's own time, how far
    #: the largest such time is ahead of it, and what has been counted since that (`silence.py`).
    silence: list[int] = field(default_factory=list)
    now: int | None = None
    ahead: int = 0
    counted: int = 0
    chunks: list[Entry] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    partials: list[Partials] = field(default_factory=list)
    next_partial: int = 0
    #: Where each stage stands, beside its rows; empty before the first batch.
    standing: dict[str, Any] = field(default_factory=dict)
    #: What the bucket's arenas are called, beside the query's name. Drawn at random, because a
    #: worker cannot tell two joins of a query apart, but each has its own directory.
    arena: str = ""
    #: For each stream, payload columns that a restart came without, and the batch before it: rows
    #: that were stored up to then have them no more, also if they come back.
    dropped: list[dict[str, int]] = field(default_factory=list)
    #: For each stream, the time to which its progress was last asked to be set back.
    repaired: list[int | None] = field(default_factory=list)
    #: Of a join that queries share: which queries there are (`queries/catalog.py`).
    queries: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def new(cls, buckets: int, question: dict[str, Any], reaches: list[int]) -> Directory:
        """Of a bucket that has nothing yet."""
        directory, streams = cls(buckets, question, reaches), len(reaches)
        directory.next_rows, directory.live = [0] * streams, [0] * streams
        directory.progress, directory.silence = [BEGINNING] * streams, [0] * streams
        directory.dropped, directory.repaired = [{} for _ in reaches], [None] * streams
        return directory

    def number(self) -> int:
        """A number for the next blob."""
        self.next_number += 1
        return self.next_number

    def of(self, stream: int) -> list[Entry]:
        """A stream's chunks, oldest first."""
        return [entry for entry in self.chunks if entry.stream == stream]

    def deltas_of(self, kind: str, stream: int) -> list[Delta]:
        """The changes of one kind to a stream's rows, oldest first."""
        return [delta for delta in self.deltas if (delta.kind, delta.stream) == (kind, stream)]

    def oldest_row(self, stream: int) -> int:
        """The smallest row id of a stream that is in a chunk."""
        return min((entry.first for entry in self.of(stream)), default=self.next_rows[stream])

    def hidden(self, entry: Entry) -> frozenset[str]:
        """The columns that a chunk may have, but that have been dropped since."""
        gone = self.dropped[entry.stream].items()
        return frozenset(column for column, batch in gone if entry.batch <= batch)

    def forget_changes(self) -> None:
        """Forget what was changed before the oldest chunk came."""
        oldest = min((entry.batch for entry in self.chunks), default=self.batch)
        self.changes = [change for change in self.changes if change.batch >= oldest]
        self.dropped = [
            {column: batch for column, batch in gone.items() if batch >= oldest}
            for gone in self.dropped
        ]

    def forget(self, gone: list[Entry]) -> None:
        """Take chunks out."""
        numbers = {entry.number for entry in gone}
        self.chunks = [entry for entry in self.chunks if entry.number not in numbers]

    # -- text ------------------------------------------------------------------------------

    def to_text(self) -> str:
        """As it is kept: rows of numbers, because there may be hundreds."""
        plain = {**self.__dict__}
        for name in ("chunks", "deltas", "changes", "partials"):
            plain[name] = [list(asdict(part).values()) for part in plain[name]]
        return json.dumps(plain)

    @classmethod
    def of_store(cls, store: Store) -> Directory | None:
        """A store's directory; None at the beginning."""
        text = store.directory()
        return None if text is None else cls.from_text(text)

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
        plain["changes"] = [Change(*values) for values in plain["changes"]]
        plain["partials"] = [Partials(*values) for values in plain.get("partials", ())]
        return cls(**plain)


def before(directory: Directory, stream: int, bound: int) -> list[Entry]:
    """The first chunks of a stream whose rows are all before a time.

    A list drops from its old end only, so a chunk is gone only when all before it are.
    """
    gone: list[Entry] = []
    for chunk in directory.of(stream):
        if chunk.newest >= bound:
            break
        gone.append(chunk)
    return gone
