"""Rows that arrive out of time order, by a bounded amount."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.model import WindrowError
from windrow.workload.arrivals import Seed


def disorder(table: pa.Table, lateness: int, seed: Seed = 0, *, time: str = "time") -> pa.Table:
    """The rows of `table` in an arrival order that respects `lateness`.

    Each row is delayed by up to `lateness` microseconds and the rows are put in the order of their
    delayed times. So no row arrives more than `lateness` behind the largest time seen before it,
    and a stream declared with that lateness drops none.

    >>> from windrow.workload import Uniform, stream_table
    >>> table = stream_table(1000, 1, Uniform(10), seed=5)
    >>> shuffled = disorder(table, 50_000, seed=5)
    >>> shuffled.equals(table), shuffled.sort_by("time").equals(table.sort_by("time"))
    (False, True)
    """
    if lateness < 0:
        raise WindrowError(f"lateness is {lateness!r}; give microseconds, 0 or more")
    column = table.column(time)
    if not pa.types.is_timestamp(column.type) or column.null_count:
        raise WindrowError(
            f"column {time!r} is {column.type} with {column.null_count} nulls; "
            "give a timestamp column without nulls"
        )
    micros = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64()).to_numpy()
    delays = np.random.default_rng(seed).integers(0, lateness, len(micros), endpoint=True)
    return table.take(pa.array(np.argsort(micros + delays, kind="stable")))
