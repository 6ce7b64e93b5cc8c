"""The table of figures, and what follows from it."""

from collections import Counter
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.model import BatchMetrics, Metrics
from windrow.operators.figures import FIGURES, REPORTED, Share, added_up
from windrow.testing.broken import broken_cases

#: What micro-batches have beside the figures of buckets: of the driver, of pack, of the clock, and
#: what is the same in every bucket.
BESIDE = {
    *("batch", "streams", "rows", "progress", "lag", "trigger", "arena_hits", "arena_rebuilds"),
    *("pack_seconds", "join_seconds", "unpack_seconds"),
}


def test_each_figure_is_declared_once_and_has_its_attributes():
    names = [each.name for each in FIGURES]
    assert len(set(names)) == len(names)
    assert set(names) == {field.name for field in fields(Metrics)}
    reported = {each.name for each in REPORTED}
    assert {field.name for field in fields(BatchMetrics)} == BESIDE | reported
    kinds = {field.name: str(field.type) for field in fields(Metrics)}
    assert all((kinds[each.name] == "int") == (not each.per_stream) for each in FIGURES)


@pytest.mark.parametrize("order", ["none", "sync-filter", "filter-order"])
@given(case=broken_cases(), size=st.integers(1, 4))
def test_the_shares_of_batches_make_up_the_whole(order, case, size):
    """Counters add up, and gauges stand as they did after the last batch."""
    run = local_join(wr.plan(*case.streams, **case.options, order=order))
    lengths = [stream.data.num_rows for stream in case.streams]
    total, last = Counter(), {}
    for start in range(0, max(*lengths, 1), size):
        share = Share(run)
        spans = [(min(start, length), min(start + size, length)) for length in lengths]
        for _ in run.batch(spans):
            pass
        last = added_up([share.numbers()], run.names)
        for each in REPORTED:
            if each.kind == "counter":
                parts = last[each.name] if each.per_stream else {"": last[each.name]}
                total.update({(each.name, name): number for name, number in parts.items()})
    whole = vars(run.figures())
    for each in REPORTED:
        if each.kind == "counter":
            parts = whole[each.name] if each.per_stream else {"": whole[each.name]}
            assert parts == {name: total[each.name, name] for name in parts}
        elif not each.name.startswith("peak_"):
            assert whole[each.name] == last[each.name]


def test_buckets_add_up_by_stream_and_whole():
    one = {each.name: (1, 2) if each.per_stream else (3,) for each in REPORTED}
    found = added_up([one, one], ["a", "b"])
    assert (found["tuples"], found["matches"]) == ({"a": 2, "b": 4}, 6)
    assert added_up([], ["a", "b"])["tuples"] == {"a": 0, "b": 0}
    assert added_up([], ["a", "b"])["matches"] == 0
