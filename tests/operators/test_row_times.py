"""Pieces of a join have the time of every row, so that all of them can judge a result."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.api import local_join

WINDOWS = {"a": "20 us", "b": "9 us", "c": "14 us"}


def stream(name, window):
    """Thirty rows of few keys, some of them null, in order of their times."""
    rng = np.random.default_rng(ord(name))
    key = pa.array(rng.integers(0, 4, 30), mask=rng.random(30) < 0.1)
    times = np.cumsum(rng.integers(0, 4, 30))
    table = pa.table({"k": key, "t": pa.array(times, pa.timestamp("us")), "v": key})
    return wr.stream(table, name=name, key="k", time="t", window=window)


@pytest.mark.parametrize("condition", [None, "a.v > 0", "a.v > 0 AND a.v <= b.v"])
@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("names", ["ab", "abc"])
@pytest.mark.parametrize("window", [None, wr.rows(3)], ids=["by time", "by count"])
def test_each_row_has_its_time(names, how, condition, window):
    streams = [stream(name, window or WINDOWS[name]) for name in names]
    run = local_join(wr.plan(*streams, how=how, condition=condition, batch_rows=7))
    columns = [each.data["t"].cast(pa.int64()).to_numpy() for each in streams]
    found = 0
    for piece in run.pieces():
        piece = piece.part(0, len(piece))
        there = [s for s, rows in enumerate(piece.rows) if rows is not None]
        assert there == [s for s, ts in enumerate(piece.row_ts) if ts is not None]
        assert len(piece.row_ts) == len(names)
        for s in there:
            assert piece.row_ts[s].tolist() == columns[s][piece.rows[s]].tolist()
        assert piece.ts.tolist() == np.max([piece.row_ts[s] for s in there], axis=0).tolist()
        found += len(piece)
    assert found > 0
