"""Streams as in paper 5, section 5, scrambled, congested and bursty, fed by the clock."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.api import local_join
from windrow.operators.gate import spill
from windrow.workload.epochs import Change, query_1

K = 60
#: S_2 sends next to nothing for a while, and S_3 has a burst.
CHANGES = [(), (Change(1 / 8, start=2, seconds=3),), (Change(8, start=6, seconds=1),)]


@pytest.fixture(scope="module")
def streams():
    return query_1(9, scrambling=(K,) * 3, changes=CHANGES)


def fed(tables, memory, step=0.25):
    """Keys of the results as they come, and the figures after each step of the clock."""
    plan = wr.plan(
        *(
            wr.stream(table, name=name, key="epoch", time="time")
            for name, table in zip("abc", tables, strict=True)
        ),
        memory=memory,
    )
    clock = [0.0]
    run, keys, figures = local_join(plan, clock=lambda: clock[0]), [], []
    times = [table["time"].cast(pa.int64()).to_numpy() for table in tables]
    begun, over = min(each[0] for each in times), max(each[-1] for each in times)
    at = [0] * 3
    while any(start < len(each) for start, each in zip(at, times, strict=True)):
        clock[0] += step
        now = begun + clock[0] * 1e6
        to = [int(np.searchsorted(each, now, side="right")) for each in times]
        for piece in run.batch(list(zip(at, to, strict=True))):
            keys += tables[0]["epoch"].take(pa.array(piece.rows[0])).to_pylist()
        figures.append(run.figures())
        at = to
    assert now >= over
    return keys, figures


def whole(tables):
    """How many results each epoch has."""
    counts = [Counter(table["epoch"].to_pylist()) for table in tables]
    product = {key: counts[0][key] * counts[1][key] * counts[2][key] for key in counts[0]}
    return Counter({key: count for key, count in product.items() if count})


def most(figures, name):
    """The most of all streams after any step."""
    return max(sum(getattr(each, name).values()) for each in figures)


def test_every_strategy_is_complete_and_saves_what_it_is_for(streams, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(spill, "BLOCK", 16)
    monkeypatch.setattr(spill, "AHEAD", 16)
    known = {"k": dict.fromkeys("abc", K), "multiplicity": dict.fromkeys("abc", 2)}
    stored, spilled = {}, {}
    for strategy in ("data", "msf", "dbf", "hybrid"):
        keys, figures = fed(streams, wr.data(**known, strategy=strategy))
        assert Counter(keys) == whole(streams)
        assert (keys == sorted(keys)) == (strategy in ("msf", "hybrid"))
        stored[strategy] = most(figures, "live_rows")
        spilled[strategy] = most(figures, "spilled")
    assert spilled["data"] == spilled["msf"] == 0 < min(spilled["dbf"], spilled["hybrid"])
    assert stored["hybrid"] < min(stored["msf"], stored["dbf"])
    assert max(stored["msf"], stored["dbf"]) < stored["data"]


def test_under_a_limit_the_strategy_follows_the_lag(streams, monkeypatch, tmp_path):
    """Congestion makes two streams run ahead, and only the disk has room for that."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    known = {"k": dict.fromkeys("abc", K), "multiplicity": dict.fromkeys("abc", 2)}
    keys, figures = fed(streams, wr.data(**known, limit="32 kB"))
    assert Counter(keys) <= whole(streams)
    assert {each.strategy for each in figures} >= {"msf", "hybrid"}
    for each in figures:
        waits = sum(each.waiting.values()) - sum(each.spilled.values())
        assert 56 * sum(each.live_rows.values()) + 64 * waits <= 32_000
    last = figures[-1]
    assert (last.produced, last.producible) == (len(keys), whole(streams).total())
    keys, figures = fed(streams, wr.data(**known, limit="1 MB"))
    assert Counter(keys) == whole(streams)
    assert {each.strategy for each in figures} == {"data"}
