"""What the buckets of a shared join say to the aggregates over its results.

A note travels with the results, so what it says holds for the results up to there, whenever they
are read: which aggregates there are, and before which time each has all its results.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from windrow.model import END
from windrow.spark.queries.control import Asked


@dataclass(frozen=True)
class Note:
    """A bucket's, at the end of a micro-batch. There are `buckets` of them.

    `progress`: the smallest of the streams'; the results before that have been found and released,
    but for those of the queries in `before`, by id, which are complete up to that time only.
    `over`: those that were dropped and have all that they ever get; no later note names them.
    """

    bucket: int
    buckets: int
    batch: int
    progress: int
    aggregates: tuple[Asked, ...]
    before: dict[int, int]
    over: tuple[int, ...] = ()

    def to_text(self) -> str:
        """As it travels."""
        plain = asdict(self)
        plain["aggregates"] = [[asked.id, asked.name, asked.sql] for asked in self.aggregates]
        return json.dumps(plain)

    @classmethod
    def from_text(cls, text: str) -> Note:
        """Read it back."""
        plain = json.loads(text)
        plain["aggregates"] = tuple(Asked(*asked) for asked in plain["aggregates"])
        plain["over"] = tuple(plain["over"])
        plain["before"] = {int(id): time for id, time in plain["before"].items()}
        return cls(**plain)

    def awaits(self, query: int) -> bool:
        """May a query get more from this bucket?"""
        return query not in self.over and any(asked.id == query for asked in self.aggregates)

    def frontier(self, query: int) -> int:
        """The time before which a query has all its results of this bucket."""
        if not self.awaits(query):
            return END
        return min(self.progress, self.before.get(query, self.progress))
