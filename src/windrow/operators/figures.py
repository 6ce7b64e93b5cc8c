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
from typing import Any, Literal, Protocol

from windrow.model import BatchMetrics, Metrics
from windrow.operators.stage import Stage

#: One number for each stream of a figure that belongs to streams, otherwise one.
Numbers = tuple[int, ...]


class Counting(Protocol):
    """What figures are read of: a pipeline."""

    names: list[str]
    metrics: Metrics
    stages: dict[str, Stage]

    def stale(self) -> list[int]:
        """Tuples of each stream that could be gone."""

    def allocated(self) -> int:
        """The bytes of all stages' arrays."""


@dataclass(frozen=True)
class Figure:
    """A figure. A stage of the pipeline says what it is, under this name, unless `read` does.

    A counter only grows, and a micro-batch's share is what it has grown by; a gauge says how things
    stand after it.
    """

    name: str
    kind: Literal["counter", "gauge"]
    per_stream: bool = True
    read: Callable[[Counting], Sequence[int]] | None = None

    def shown(self, numbers: Sequence[int], names: Sequence[str]) -> Any:
        """As an attribute: by the names of the streams, or one number."""
        return dict(zip(names, numbers, strict=True)) if self.per_stream else numbers[0]


def _admitted(name: str) -> Figure:
    """What the pipeline counts of the rows that come."""
    return Figure(name, "counter", read=lambda p: list(getattr(p.metrics, name).values()))


def _whole(name: str, kind: Literal["counter", "gauge"]) -> Figure:
    return Figure(name, kind, per_stream=False)


FIGURES: tuple[Figure, ...] = (
    # What came.
    Figure("batches", "counter", False, lambda p: [p.metrics.batches]),
    _admitted("tuples"),
    _admitted("late"),
    _admitted("bad"),
    _admitted("beats"),
    # What is stored.
    Figure("inserted", "counter"),
    Figure("invalidated", "counter"),
    Figure("stale", "gauge", read=lambda p: p.stale()),
    Figure("live_rows", "gauge"),
    Figure("live_bytes", "gauge"),
    Figure("peak_rows", "gauge"),
    Figure("allocated_bytes", "gauge", False, lambda p: [p.allocated()]),
    # What punctuations do.
    Figure("punctuations", "counter"),
    Figure("violations", "counter"),
    Figure("purged", "counter"),
    Figure("discarded", "counter"),
    Figure("skipped", "counter"),
    Figure("flags", "gauge"),
    _whole("ended", "counter"),
    _whole("ended_early", "counter"),
    _whole("finals", "counter"),
    _whole("partials", "gauge"),
    # What is joined.
    Figure("probes", "counter"),
    Figure("found", "counter"),
    _whole("comparisons", "counter"),
    _whole("checks", "counter"),
    _whole("candidates", "counter"),
    _whole("matches", "counter"),
    _whole("unmatched", "counter"),
    # What waits for the order.
    Figure("waiting", "gauge"),
    Figure("waiting_bytes", "gauge"),
    Figure("peak_waiting", "gauge"),
    _whole("held", "gauge"),
    _whole("held_bytes", "gauge"),
    _whole("peak_held", "gauge"),
    _whole("switches", "gauge"),
    # What queries share.
    _whole("suspended", "gauge"),
    # What memory that follows the data does.
    Figure("scrambling", "gauge"),
    Figure("memory", "gauge"),
    Figure("spilled", "gauge"),
    Figure("forced", "counter"),
    Figure("broken", "counter"),
    _whole("strategy_number", "gauge"),
    _whole("asked_bytes", "gauge"),
    _whole("produced", "gauge"),
    _whole("producible", "gauge"),
)
_BATCH_NAMES = {field.name for field in fields(BatchMetrics)}
#: Those that a bucket reports of a micro-batch.
REPORTED = tuple(figure for figure in FIGURES if figure.name in _BATCH_NAMES)


# -- what becomes of them ----------------------------------------------------------------------


def read(pipeline: Counting, wanted: Sequence[Figure]) -> dict[Figure, Numbers]:
    """What they are now."""
    said: dict[str, Sequence[int]] = {}
    for stage in pipeline.stages.values():
        per_stream, whole = stage.figures()
        said |= {**per_stream, **{name: [number] for name, number in whole.items()}}
    found = {}
    for each in wanted:
        none = [0] * (len(pipeline.names) if each.per_stream else 1)
        numbers = said.get(each.name, none) if each.read is None else each.read(pipeline)
        found[each] = tuple(numbers)
    return found


def metrics(pipeline: Counting) -> Metrics:
    """All of them so far."""
    numbers = read(pipeline, FIGURES)
    return Metrics(**{each.name: each.shown(numbers[each], pipeline.names) for each in FIGURES})


class Share:
    """What a pipeline does in one micro-batch, from when this is made."""

    def __init__(self, pipeline: Counting) -> None:
        self._pipeline = pipeline
        self._before = read(pipeline, [each for each in REPORTED if each.kind == "counter"])
        for stage in pipeline.stages.values():
            stage.forget_peaks()

    def numbers(self) -> dict[str, Numbers]:
        """What counters have grown by, and how gauges stand."""
        found = read(self._pipeline, REPORTED)
        for each, before in self._before.items():
            found[each] = tuple(a - b for a, b in zip(found[each], before, strict=True))
        return {each.name: numbers for each, numbers in found.items()}


def added_up(buckets: Sequence[Mapping[str, Numbers]], names: Sequence[str]) -> dict[str, Any]:
    """The attributes of `BatchMetrics` that buckets have a share in."""
    found = {}
    for each in REPORTED:
        zero = (0,) * (len(names) if each.per_stream else 1)
        shares = [bucket[each.name] for bucket in buckets]
        total = [sum(column) for column in zip(zero, *shares, strict=True)]
        found[each.name] = each.shown(total, names)
    return found
