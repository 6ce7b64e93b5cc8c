"""What workers find that a user should know: said once in a run of a query, as a warning.

worker: Advice --> Reporter, accumulator --> driver: BOOK --> warnings.warn
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from windrow import duration, expressions
from windrow.model import JoinPlan, Stream


@dataclass(frozen=True)
class Advice:
    """A text, and what it is about: of one subject a run says one text only."""

    subject: str
    text: str


def no_arena(why: str) -> Advice:
    """There is no place for a bucket's state between micro-batches."""
    return Advice(
        "arena",
        f"the join's state cannot be kept between micro-batches: {why}; so each micro-batch "
        "makes it again from the checkpoint, which is right but slow; set "
        "spark.windrow.arena.dir to a folder with space that only this user can enter",
    )


def late(plan: JoinPlan, counts: Sequence[int]) -> Iterator[Advice]:
    """Rows of a bucket were dropped as late by a lateness that is only the default."""
    for at, (stream, count) in enumerate(zip(plan.streams, counts, strict=True)):
        kept = plan.late == "keep" and at in plan.shown
        if count and stream.lateness_from == "default" and not stream.lateness and not kept:
            yield Advice(
                f"late {stream.name}",
                f"rows of stream {stream.name!r} came late and were dropped: its lateness is 0 "
                "seconds, because neither lateness= nor a watermark says how far behind the "
                "largest time seen a row may come; pass lateness= to wr.stream (lateness='0 "
                "seconds' if this is what you want), or late='keep' to wr.join to see them",
            )


def noticed(notices: Mapping[str, str]) -> Iterator[Advice]:
    """What a bucket's join has found out of its streams, by their names."""
    for name, text in notices.items():
        yield Advice(f"input {name}", text)


def ahead(stream: Stream, furthest: int, kept: bool) -> Advice:
    """Rows are too far ahead of the clock; the time of one of them is `furthest`."""
    limit = duration.show(stream.max_ahead or 0, years=True)
    kind = expressions.resolve(stream.schema, stream.time)
    at = f"{np.datetime64(furthest, 'us')}{' UTC' if kind is not None and kind.tz else ''}"
    return Advice(
        f"ahead {stream.name}",
        f"stream {stream.name!r} has a row at {at}, which is more than max_ahead={limit!r} ahead "
        f"of the clock; such rows are bad: they move no progress and are "
        f"{'kept with kind bad' if kept else 'dropped'}; mend {stream.time!r}, or pass a larger "
        "max_ahead to wr.stream",
    )
