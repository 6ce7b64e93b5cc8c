"""The table of a join's figures: each is declared here once, and everything else follows.

    Pipeline --read--> Metrics                                              in process
    Pipeline --read--> a bucket's share of a micro-batch --+-- added up --> BatchMetrics   on Spark
                                     of the other buckets --+

A figure becomes an attribute of `windrow.model.Metrics` with its name, and of `BatchMetrics` if
that has one; they say what it means. On Spark figures add up over the buckets. To add one: a line
here, an attribute there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from windrow.kernels import cursor as c
from windrow.model import BatchMetrics, Metrics

if TYPE_CHECKING:
    from windrow.operators.pipeline import Pipeline
    from windrow.state.runs import Runs

#: One number for each stream of a figure that belongs to streams, otherwise one.
Numbers = tuple[int, ...]
PerStream = Callable[["Pipeline", int], int]
Whole = Callable[["Pipeline"], int]


@dataclass(frozen=True)
class Figure:
    """A figure. Exactly one of `stream` and `whole` reads it.

    A counter only grows, and a micro-batch's share is what it has grown by; a gauge says how things
    stand after it.
    """

    name: str
    kind: Literal["counter", "gauge"]
    stream: PerStream | None = None
    whole: Whole | None = None

    def read(self, pipeline: Pipeline) -> Numbers:
        """What it is now."""
        if self.whole is not None:
            return (self.whole(pipeline),)
        assert self.stream is not None
        return tuple(self.stream(pipeline, stream) for stream in range(len(pipeline.names)))

    def shown(self, numbers: Sequence[int], names: Sequence[str]) -> Any:
        """As an attribute: by the names of the streams, or one number."""
        return numbers[0] if self.whole is not None else dict(zip(names, numbers, strict=True))


# -- where they are read from ------------------------------------------------------------------


def _admitted(name: str) -> PerStream:
    """What the pipeline counts of the rows that come."""

    def read(pipeline: Pipeline, stream: int) -> int:
        counted: int = getattr(pipeline.metrics, name)[pipeline.names[stream]]
        return counted

    return read


def _slots(first: int) -> PerStream:
    """Slots of the kernels' cursor, one for each stream."""
    return lambda pipeline, stream: int(pipeline.join.cursor[first + stream])


def _slot(at: int) -> Whole:
    """A slot of the kernels' cursor."""
    return lambda pipeline: int(pipeline.join.cursor[at])


def _waiting(read: Callable[[Runs], int]) -> PerStream:
    """Of the input that waits, where there is an order."""

    def of_stream(pipeline: Pipeline, stream: int) -> int:
        order = pipeline.order
        return 0 if order is None else read(order.waiting(pipeline.join)[stream])

    return of_stream


def _held(read: Callable[[Runs], int]) -> Whole:
    """Of the results that wait, where there is an order."""
    return lambda pipeline: 0 if pipeline.order is None else read(pipeline.order.hold.runs)


def _stale(pipeline: Pipeline, stream: int) -> int:
    reach, bound = pipeline.plan.reaches[stream], pipeline.joined(1 - stream)
    return pipeline.join.state.stale_rows(stream, reach, bound)


FIGURES: tuple[Figure, ...] = (
    # What came.
    Figure("batches", "counter", whole=lambda p: p.metrics.batches),
    Figure("tuples", "counter", _admitted("tuples")),
    Figure("late", "counter", _admitted("late")),
    Figure("bad", "counter", _admitted("bad")),
    Figure("beats", "counter", _admitted("beats")),
    # What is stored.
    Figure("inserted", "counter", _slots(c.INSERTED_ONE)),
    Figure("invalidated", "counter", _slots(c.DROPPED_ONE)),
    Figure("stale", "gauge", _stale),
    Figure("live_rows", "gauge", lambda p, stream: p.join.state.live_rows(stream)),
    Figure("live_bytes", "gauge", lambda p, stream: p.join.state.live_bytes(stream)),
    Figure("peak_rows", "gauge", lambda p, stream: p.join.state.peak_rows(stream)),
    Figure("allocated_bytes", "gauge", whole=lambda p: p.allocated()),
    # What punctuations do.
    Figure("punctuations", "counter", _slots(c.ACTED_ONE)),
    Figure("violations", "counter", _slots(c.VIOLATIONS_ONE)),
    Figure("purged", "counter", _slots(c.PURGED_ONE)),
    Figure("discarded", "counter", _slots(c.DISCARDED_ONE)),
    Figure("skipped", "counter", _slots(c.SKIPPED_ONE)),
    Figure("flags", "gauge", lambda p, stream: p.join.state.live_flags(stream)),
    Figure("ended", "counter", whole=_slot(c.ENDED)),
    Figure("ended_early", "counter", whole=_slot(c.EARLY)),
    Figure("finals", "counter", whole=lambda p: 0 if p.finals is None else p.finals.count),
    Figure("partials", "gauge", whole=lambda p: 0 if p.finals is None else p.finals.held()),
    # What is joined.
    Figure("comparisons", "counter", whole=_slot(c.COMPARISONS)),
    Figure("checks", "counter", whole=_slot(c.CHECKS)),
    Figure("candidates", "counter", whole=lambda p: p.join.candidates),
    Figure("matches", "counter", whole=lambda p: p.join.matches),
    Figure("unmatched", "counter", whole=lambda p: p.join.unmatched),
    # What waits for the order.
    Figure("waiting", "gauge", _waiting(len)),
    Figure("waiting_bytes", "gauge", _waiting(lambda runs: runs.nbytes)),
    Figure("peak_waiting", "gauge", _waiting(lambda runs: runs.peak)),
    Figure("held", "gauge", whole=_held(len)),
    Figure("held_bytes", "gauge", whole=_held(lambda runs: runs.nbytes)),
    Figure("peak_held", "gauge", whole=_held(lambda runs: runs.peak)),
    Figure("switches", "gauge", whole=lambda p: 0 if p.order is None else p.order.switches),
)
_BATCH_NAMES = {field.name for field in fields(BatchMetrics)}
#: Those that a bucket reports of a micro-batch.
REPORTED = tuple(figure for figure in FIGURES if figure.name in _BATCH_NAMES)


# -- what becomes of them ----------------------------------------------------------------------


def metrics(pipeline: Pipeline) -> Metrics:
    """All of them so far."""
    names = pipeline.names
    return Metrics(**{each.name: each.shown(each.read(pipeline), names) for each in FIGURES})


class Share:
    """What a pipeline does in one micro-batch, from when this is made."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._before = {each: each.read(pipeline) for each in REPORTED if each.kind == "counter"}
        if pipeline.order is not None:
            pipeline.order.forget_peaks(pipeline.join)

    def numbers(self) -> dict[str, Numbers]:
        """What counters have grown by, and how gauges stand."""
        found = {each: each.read(self._pipeline) for each in REPORTED}
        for each, before in self._before.items():
            found[each] = tuple(a - b for a, b in zip(found[each], before, strict=True))
        return {each.name: numbers for each, numbers in found.items()}


def added_up(buckets: Sequence[Mapping[str, Numbers]], names: Sequence[str]) -> dict[str, Any]:
    """The attributes of `BatchMetrics` that buckets have a share in."""
    found = {}
    for each in REPORTED:
        zero = (0,) * (len(names) if each.stream is not None else 1)
        shares = [bucket[each.name] for bucket in buckets]
        total = [sum(column) for column in zip(zero, *shares, strict=True)]
        found[each.name] = each.shown(total, names)
    return found
