"""Which rows of a stream count: how late they may come, and how far ahead of the clock they may be.

Both have a default that follows the data. A streaming DataFrame's own watermark is its lateness,
and only a stream that goes on has a clock to be ahead of: one row of the year 9999 would make all
that come after it late. A table, or a batch DataFrame, has such a limit only if it is given.
"""

from __future__ import annotations

import warnings
from datetime import timedelta
from typing import Any, Literal

import pyarrow as pa

from windrow import checks, duration, expressions
from windrow.model import WindrowError

Origin = Literal["given", "watermark", "default"]
#: Callers of `wr.stream`, as `warnings.warn` counts from here.
CALLER = 4


class Usual(str):
    """A default that can be told from the same words when they are given."""

    __slots__ = ()


#: How far ahead of the clock a time may be, if nothing else is said.
A_YEAR = Usual("1 year")


def lateness(
    given: str | timedelta | None, data: Any, name: str, schema: pa.Schema, time: object
) -> tuple[int, Origin]:
    """How late rows may come, in µs, and whose word that is."""
    streaming = is_streaming(data)
    found: tuple[int, Origin] = (0, "default")
    if given is not None:
        found = duration.parse(given, f"stream {name!r}: lateness"), "given"
    elif streaming:
        found = _watermark(data, name, schema, time)
    if streaming and found[0] == 0:
        _warn_if_unordered(data, name, schema, time)
    return found


def max_ahead(given: str | timedelta | None, data: Any, name: str) -> int | None:
    """How far ahead of the clock times may be, in µs; None: as far as they like."""
    if given is None or (isinstance(given, Usual) and not is_streaming(data)):
        return None
    return duration.parse(given, f"stream {name!r}: max_ahead", years=True)


def is_streaming(data: Any) -> bool:
    """Does it go on, as a streaming DataFrame does?"""
    return bool(checks.is_spark(data) and data.isStreaming)


def _names(schema: pa.Schema, time: object) -> list[str]:
    """The columns from the top down to the time."""
    trail = expressions.trail(schema, time) if isinstance(time, str) else None
    return [field.name for field in trail or ()]


def _watermark(data: Any, name: str, schema: pa.Schema, time: object) -> tuple[int, Origin]:
    """What the DataFrame's watermark says of its time column."""
    from windrow.spark import metadata

    delay = metadata.delay(data, _names(schema, time))
    if delay is not None:
        return delay, "watermark"
    others = metadata.watermarked(data)
    if others:
        raise WindrowError(
            f"stream {name!r} has a watermark on {' and '.join(map(repr, others))}, which the time "
            f"column {time!r} does not carry, so it does not say how late rows may come; pass "
            "lateness=, or call withWatermark on the time column itself"
        )
    return 0, "default"


def _warn_if_unordered(data: Any, name: str, schema: pa.Schema, time: object) -> None:
    from windrow.spark import output

    if output.is_unordered(data, _names(schema, time)):
        warnings.warn(
            f"stream {name!r} comes from a join with order='none', whose rows are out of order by "
            "up to a window and the lag of its inputs; without lateness the late ones are "
            "dropped: pass lateness= of at least the larger window",
            UserWarning,
            stacklevel=CALLER,
        )
