"""One bucket of a join that queries share: rows and what is asked in, routed results out.

packed rows --+--> queries that come and go
              +--> as of any join --> results in the order of their queries --> routed --> rows
                                                                           --> a note
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from windrow.model import END
from windrow.operators.join.ranked import RankedJoin
from windrow.operators.join.shared import SharedJoin
from windrow.operators.released import Released
from windrow.spark.bucket import BucketJoin, Packed
from windrow.spark.log.tuples import Arrived
from windrow.spark.queries import control
from windrow.spark.queries.catalog import Catalog, Shape
from windrow.spark.queries.control import CONTROL
from windrow.spark.queries.notes import Note
from windrow.spark.queries.results import Routed
from windrow.spark.queries.router import Router


@dataclass(frozen=True)
class Sharing:
    """What a bucket of a shared join must know: what queries are compiled against, and which of
    those streams are the join's."""

    shape: Shape
    positions: tuple[int, ...]


class SharedBucket(BucketJoin):
    """The shared join of one bucket, for one micro-batch. `share` tells it who asks."""

    def share(self, sharing: Sharing) -> SharedBucket:
        """Know the queries that the directory has."""
        assert isinstance(self.pipeline.join, SharedJoin | RankedJoin)
        self.join = self.pipeline.join
        self.sharing = sharing
        self.catalog = Catalog(sharing.shape, self.log.directory, self.log.store)
        return self

    def serve(self, packed: Sequence[Packed]) -> Iterator[Routed]:
        """Serve a micro-batch and make it durable; results come while it runs."""
        asked = control.newest(packed)
        if asked is not None:
            self.catalog.take(asked, self.join)
        self.join.budget = self.catalog.budget
        queries = list(self.catalog.queries.values())
        router = Router(queries, self.log.payloads, self.sharing.positions)
        for piece in self.process([row for row in packed if row.side != CONTROL]):
            assert isinstance(piece, Released)
            routed = router.route(piece)
            if routed is not None:
                yield routed

    def _commit(self, arrived: Sequence[Sequence[Arrived]], before: Sequence[int]) -> None:
        self._note = self._noted()
        self.catalog.settle(self.join)
        super()._commit(arrived, before)

    def note(self, bucket: int) -> Note | None:
        """What there is to say to the aggregates, if there are any, after a micro-batch."""
        buckets = self.log.directory.buckets
        return self._note and replace(self._note, bucket=bucket, buckets=buckets)

    def _noted(self) -> Note | None:
        """Before queries that are over are forgotten: what they got last is to be counted."""
        aggregates = [q for q in self.catalog.queries.values() if q.query.aggregated]
        if not aggregates:
            return None
        waits = {query.id: self.join.waits_from(query.reach) for query in aggregates}
        return Note(
            bucket=0,
            buckets=0,
            batch=self.log.directory.batch,
            progress=min(progress.now for progress in self.pipeline.progress),
            aggregates=tuple(query.asked for query in aggregates),
            before={id: time for id, time in waits.items() if time < END},
            over=tuple(q.id for q in aggregates if q.dropped <= self.join.under_way_from),
        )
