"""A join that is over is gone at once: its rows do not wait for the garbage collector."""

import gc
import weakref

import pyarrow as pa
import pytest

import windrow as wr
from windrow.api import local_join

TABLE = pa.table({"k": [1, 2], "t": pa.array([1, 2], pa.timestamp("us")), "over": [False, True]})
WINDOW = {"window": "5 seconds"}


def streams(names, **options):
    return [wr.stream(TABLE, name=name, key="k", time="t", **options) for name in names]


@pytest.mark.parametrize(
    ("chosen", "asked"),
    [
        (streams("ab", **WINDOW), {}),
        (streams("ab", **WINDOW), {"how": "left", "order": "adaptive"}),
        (streams("abc", **WINDOW), {"condition": "a.k <= b.k AND b.k <= c.k"}),
        (streams("ab", window=wr.rows(2)), {}),
        (streams("ab", ends="over", **WINDOW), {"finals": {"n": "count(*)"}}),
        (streams("ab"), {"memory": "data"}),
        (streams("ab"), {"memory": "hybrid"}),
    ],
)
def test_nothing_of_a_join_is_left(chosen, asked):
    gc.collect()
    gc.disable()
    try:
        join = local_join(wr.plan(*chosen, **asked))
        list(join.record_batches(join.pieces()))
        left = [weakref.ref(each) for each in (join, *join.stages.values(), *join.tables)]
        del join
        assert [each() for each in left] == [None] * len(left)
    finally:
        gc.enable()
