"""Streams as Arrow tables: (key, time, payload), in time order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.workload.arrivals import MICROS, Seed, arrivals
from windrow.workload.keys import Keys, Uniform
from windrow.workload.keys import selectivity as keys_of_selectivity

START = "2026-01-01"
STANDARD_SECONDS = 120
#: 1.2 M rows have 300,000 keys: four tuples of each key on each side.
STANDARD_ROWS_PER_KEY = 4


def stream_table(
    rate: float,
    duration: float,
    keys: Keys,
    *,
    seed: Seed = 0,
    start: str = START,
    payload: str = "v",
) -> pa.Table:
    """A stream of `rate` tuples a second over `duration` seconds.

    Columns: `key` (int64), `time` (timestamp[us, UTC], ascending), and the payload (double in
    [0, 1)). Times, keys and payload are drawn independently of each other.

    >>> table = stream_table(1000, 2, Uniform(10), seed=3)
    >>> table.schema.field("time").type
    TimestampType(timestamp[us, tz=UTC])
    """
    for_times, for_keys, for_payload = np.random.default_rng(seed).spawn(3)
    micros = arrivals(rate, duration, seed=for_times)
    return _table(micros, keys, for_keys, for_payload, start, payload)


def pair(
    rate_a: float,
    rate_b: float,
    duration: float,
    *,
    selectivity: float = 0.01,
    seed: Seed = 0,
    start: str = START,
) -> tuple[pa.Table, pa.Table]:
    """Two streams with uniform keys, as in paper 1, section 4.1.

    Changing one stream's rate leaves the other's rows as they are.

    >>> _, slow = pair(10, 100, 5, seed=1)
    >>> _, fast = pair(99, 100, 5, seed=1)
    >>> slow.equals(fast)
    True
    """
    keys = keys_of_selectivity(selectivity)
    for_a, for_b = np.random.default_rng(seed).spawn(2)
    return (
        stream_table(rate_a, duration, keys, seed=for_a, start=start),
        stream_table(rate_b, duration, keys, seed=for_b, start=start),
    )


def standard(
    rows: int = 1_200_000,
    *,
    seed: Seed = 0,
    streams: int = 2,
    rows_per_key: int = STANDARD_ROWS_PER_KEY,
) -> tuple[pa.Table, ...]:
    """The standard benchmark workload: streams of exactly `rows` rows each over 120 seconds.

    Uniform keys, one value for four rows of a stream: 300,000 at the standard size. A window of
    30 seconds on both sides gives 1.75 results a row, about 2.1 million, and a smaller workload
    has as many results a row. A row that arrives finds one match in each other stream, or with
    more `rows_per_key` a fourth of them. More streams leave the first ones as they are.

    >>> left, right = standard(1000)
    >>> left.num_rows, right.num_rows
    (1000, 1000)
    """
    keys = Uniform(max(1, rows // rows_per_key))
    return tuple(_exactly(rows, keys, rng) for rng in np.random.default_rng(seed).spawn(streams))


def _exactly(rows: int, keys: Keys, rng: np.random.Generator) -> pa.Table:
    for_times, for_keys, for_payload = rng.spawn(3)
    # A Poisson process whose count is known is that many uniform times.
    micros = np.sort(for_times.integers(0, STANDARD_SECONDS * MICROS, rows, dtype=np.int64))
    return _table(micros, keys, for_keys, for_payload, START, "v")


def _table(
    micros: npt.NDArray[np.int64],
    keys: Keys,
    for_keys: np.random.Generator,
    for_payload: np.random.Generator,
    start: str,
    payload: str,
) -> pa.Table:
    return pa.table(
        {
            "key": pa.array(keys.draw(len(micros), for_keys)),
            "time": timestamps(micros, start),
            payload: pa.array(for_payload.random(len(micros))),
        }
    )


def timestamps(micros: npt.NDArray[np.int64], start: str = START) -> pa.Array:
    """Microseconds since `start` as an Arrow column timestamp[us, UTC]."""
    origin = np.datetime64(start, "us").astype(np.int64)
    return pa.array(micros + origin).view(pa.timestamp("us", tz="UTC"))
