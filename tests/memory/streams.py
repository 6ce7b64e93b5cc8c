"""Streams that are ordered in the long run, as tables, and what is true of them.

Times are numbers of arrivals, so that the order of arrival is the same however the tables are cut
into batches: `batches` says where.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import pyarrow as pa

import windrow as wr
from windrow.testing.ordering import keys_of, lag, scrambling_factor

NAMES = "abcdef"


def tables(arrivals, streams, kind=None, times=None):
    """One table for each stream: its keys, and times (the numbers of the arrivals)."""
    kind = pa.int64() if kind is None else kind
    found = []
    for stream in range(streams):
        mine = [(key, at) for at, (which, key) in enumerate(arrivals) if which == stream]
        found.append(
            pa.table(
                {
                    "k": pa.array([key for key, _ in mine], pa.int64()).cast(kind),
                    "t": pa.array([at for _, at in mine], pa.timestamp("us")),
                    "n": pa.array(range(len(mine)), pa.int64()),
                }
            )
        )
    return found


def streams_of(made, **options):
    """Streams of these tables."""
    return [
        wr.stream(table, name=name, key="k", time="t", **options)
        for name, table in zip(NAMES, made, strict=False)
    ]


def truth(arrivals, streams, keys=None):
    """All that may be given of these streams, exactly, with hindsight."""
    numbers = range(streams)
    k = [scrambling_factor(keys_of(arrivals, each)) for each in numbers]
    lags = {}
    for i, j in product(numbers, numbers):
        if i == j:
            continue
        found = [lag(arrivals, i, j, after) for after in range(1, len(arrivals) + 1)]
        lags[NAMES[i], NAMES[j]] = max((each for each in found if each is not None), default=0)
    return {
        "k": {NAMES[each]: k[each] for each in numbers},
        "lag": lags,
        "rate": dict.fromkeys(NAMES[:streams], 1.0),
    }


def as_fed(arrivals, batch_rows):
    """The order in which they come when so many rows of each stream come at a time."""
    if batch_rows is None:
        return arrivals
    numbers, batches = Counter(), []
    for stream, _ in arrivals:
        batches.append(numbers[stream] // batch_rows)
        numbers[stream] += 1
    # Sorting keeps the order within a batch.
    return [each for _, each in sorted(zip(batches, arrivals, strict=True), key=lambda at: at[0])]


def expected(arrivals, streams):
    """Row numbers of every combination with equal keys."""
    by_key = [{} for _ in range(streams)]
    for stream in range(streams):
        for n, key in enumerate(keys_of(arrivals, stream)):
            by_key[stream].setdefault(key, []).append(n)
    shared = set.intersection(*(set(keys) for keys in by_key))
    return Counter(rows for key in shared for rows in product(*(keys[key] for keys in by_key)))


def results(joined, streams):
    """Row numbers of a join's results; None beside an unmatched row."""
    rows = joined.to_pylist()
    names = NAMES[:streams]
    return Counter(
        tuple(row[name] and row[name]["n"] for name in names if name in row) for row in rows
    )
