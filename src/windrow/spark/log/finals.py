"""Partial rows of finals in a bucket's log: those of each batch, and which have been taken."""

from __future__ import annotations

import numpy as np

from windrow.operators.pipeline import Pipeline
from windrow.operators.results import Finals
from windrow.spark.log.directory import NO_STREAM, Partials
from windrow.spark.log.log import Log

KIND = "taken"
#: How many blobs of partial rows there may be before they become one.
MOST_PARTIALS = 64


class PartialRows:
    """Partial rows of a log, on behalf of the finals stage."""

    def __init__(self, log: Log, pipeline: Pipeline) -> None:
        assert isinstance(pipeline.results, Finals)
        self.log = log
        self.finals = pipeline.results

    def write(self) -> None:
        """Write the partial rows of this batch down, and which ones have gone into finals."""
        log, finals, directory = self.log, self.finals, self.log.directory
        if len(directory.partials) >= MOST_PARTIALS and not finals.renewed:
            finals.merge()
        oldest, renewed = finals.oldest(), finals.renewed
        for partials in list(directory.partials):
            if renewed or partials.first + partials.rows <= oldest:
                log.drop_blob(partials.number)
                directory.partials.remove(partials)
        for first, batch in finals.take_added():
            if first + batch.num_rows > oldest:
                number = log.put_rows(batch)
                directory.partials.append(Partials(number, first, batch.num_rows))
        directory.next_partial = finals.next_row
        self._write_taken(renewed)

    def _write_taken(self, renewed: bool) -> None:
        log, directory = self.log, self.log.directory
        taken = self.finals.take_taken()
        # A blob is kept whole, so what was taken of it must stay known.
        first = min((p.first for p in directory.partials), default=self.finals.next_row)
        deltas = directory.deltas_of(KIND, NO_STREAM)
        if renewed or len(deltas) >= log.MERGED_AT_ONCE:
            if not renewed:
                taken = np.sort(np.concatenate([log.rows(KIND, NO_STREAM), taken]))
            for delta in deltas:
                log.drop_delta(delta)
        log.add_rows(KIND, NO_STREAM, taken[taken >= first])

    def find(self) -> None:
        """Which blob has which rows, where all else is at hand."""
        for part in self.log.directory.partials:
            self.finals.find(part.first, part.number)

    def restore(self) -> None:
        """The partial rows that are held."""
        log, directory = self.log, self.log.directory
        parts = [(part.first, log.open_blob(part.number)) for part in directory.partials]
        self.finals.load(parts, log.rows(KIND, NO_STREAM), directory.next_partial)
