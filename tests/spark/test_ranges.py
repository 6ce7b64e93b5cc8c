"""Ranges of keys that cannot be counted through, in a bucket's log and on real Spark."""

import datetime as dt
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.spark.log import renew
from windrow.spark.log.log import Log
from windrow.testing import assert_same_rows, naive_join

from .buckets import Run, arenas, batches, ends

HOWS = ("inner", "left", "right", "full", "semi", "anti")
TEXT = pa.string()
KEYS = ("a", "ab", "b", "ba", "c", "é", "")


@pytest.fixture(autouse=True, scope="module")
def hasty():
    """Logs are merged and written anew at every turn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renew, "LEAST_RENEWED", 4)
        patch.setattr(Log, "MERGED_AT_ONCE", 2)
        yield


def table(rows, kind=TEXT):
    """Rows (key, time, over, to)."""
    keys, times, over, to = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table(
        {
            "k": pa.array(keys, kind),
            "t": pa.array(times, pa.timestamp("us")),
            "n": pa.array(range(len(rows)), pa.int64()),
            "over": pa.array(over, pa.bool_()),
            "to": pa.array(to, kind),
        }
    )


def stream(data, name, window=5, **more):
    said = {"ends": "over", "ends_to": "to"}
    window = f"{window} microseconds"
    return wr.stream(data, name=name, key="k", time="t", window=window, **{**said, **more})


@st.composite
def ranged(draw, name):
    """A stream that keeps what its ranges say: no tuple of a key in one comes after it."""
    tuples = draw(st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 25)), max_size=10))
    rows = [(key, time, False, None) for key, time in tuples]
    for _ in range(draw(st.integers(0, 3))):
        low, high = draw(st.sampled_from(KEYS)), draw(st.sampled_from([*KEYS, "zz"]))
        last = max((t for k, t in tuples if low <= k < high), default=draw(st.integers(0, 25)))
        rows.append((low, last + draw(st.sampled_from([0, 1, 6])), True, high))
    rows.sort(key=lambda row: (row[1], row[2]))
    return stream(table(rows), name, draw(st.sampled_from([0, 2, 5])))


def tuples_only(side):
    """The oracles know no punctuations."""
    data = side.data.filter(pc.invert(side.data["over"]))
    return wr.stream(data, name=side.name, key="k", time="t", window=side.window)


@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=15)
@given(data=st.data())
def test_any_batches_and_any_loss_give_the_same_rows_and_ends(how, data):
    a, b = data.draw(ranged("a")), data.draw(ranged("b"))
    order = data.draw(st.sampled_from(["none", "sync-filter", "filter-order"]))
    plan = wr.plan(a, b, how=how, punctuate=True, order=order)
    rows = data.draw(st.sampled_from([1, 2, 100]))
    losses = data.draw(st.sets(st.integers(0, 9)))
    with arenas() as folder:
        # The plan's tables have the ranges' keys already; a stream on Spark has the ranges.
        run = Run(wr.plan(a, b, how=how, punctuate=True, order=order), folder)
        for number, tables in enumerate(batches((a, b), rows)):
            run.batch(tables, lose=number in losses)
        found = run.finish()
    expected = naive_join(tuples_only(a), tuples_only(b), how=how)
    assert_same_rows(found.filter(pc.field("kind") != "end").drop_columns("kind"), expected)
    local = wr.join(a, b, how=how, punctuate=True, batch_rows=rows)
    # A bucket no longer knows a key whose tuples have left before the range came.
    assert set(ends(found)) <= set(ends(local))
    if rows == 100:
        assert set(ends(found)) == set(ends(local))
    assert plan.streams[0].ranged


@pytest.mark.parametrize(
    ("kind", "inside", "edge", "outside", "low", "high"),
    [
        (pa.string(), "az", "a", "b", "a", "b"),
        (pa.float64(), 0.5, -0.0, 1.0, 0.0, 1.0),
        (pa.decimal128(5, 2), Decimal("1.99"), Decimal("1.00"), Decimal("2.00"), 1, 2),
        (pa.timestamp("us"), dt.datetime(2026, 1, 1, 5), dt.datetime(2026, 1, 1),
         dt.datetime(2026, 1, 2), dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2)),
        (pa.binary(), b"\x01\xff", b"\x01", b"\x02", b"\x01", b"\x02"),
    ],
)  # fmt: skip
def test_a_range_has_its_lower_edge_and_not_its_upper(kind, inside, edge, outside, low, high):
    b = table([(key, 1, False, None) for key in (inside, edge, outside)], kind)
    a = table([(low, 3, True, high)], kind)
    found = wr.join(stream(a, "a"), stream(b, "b", ends=None, ends_to=None), punctuate=True)
    assert ends(found) == Counter([inside, edge])


@pytest.mark.parametrize(("at", "ended"), [(0, 0), (1, 1), (6, 1), (11, 1), (12, 0)])
def test_a_range_is_about_keys_that_came_within_a_span_of_it(at, ended):
    """The windows are 5, the range is at 6."""
    b = table([("b", at, False, None)])
    a = table([("a", 6, True, "c")])
    found = wr.join(stream(a, "a"), stream(b, "b", ends=None, ends_to=None), punctuate=True)
    assert sum(ends(found).values()) == ended


def test_ranges_on_spark(files):
    """Text keys; the range is there in the second file, and a key of it comes in the third."""
    bids = [("ann", 1, False, None), ("bob", 2, False, None)]
    closing = [("a", 4, True, "b"), ("zoe", 4, False, None)]
    files.write("a", table([*bids, *closing, ("zoe", 5, False, None), ("zoe", 60, False, None)]), 2)
    opened = [("ann", 0, False, None), ("bob", 0, False, None), ("zoe", 1, False, None)]
    later = [("amy", 5, False, None), ("zoe", 6, False, None), ("zoe", 60, False, None)]
    files.write("b", table([*opened, *later]), 2)
    a, b = files.stream("a"), files.stream("b")
    sides = stream(a, "a"), stream(b, "b", ends=None, ends_to=None)
    found = files.run(wr.join(*sides, punctuate=True))
    assert ends(found) == Counter(["ann", "amy"])


def test_a_predicate_that_looks_at_the_upper_end_is_refused():
    with pytest.raises(wr.WindrowError, match="looks at 'to', which is empty once a range"):
        stream(table([]), "a", ends="to is not null")
