"""Punctuations about several keys: a list in an array column, a range with `ends_to`."""

import datetime as dt

import pyarrow as pa
import pytest

import windrow as wr

NUMBER = pa.int64()


def bids(rows, key=NUMBER, to=None):
    """Rows (key, second, closed[, to])."""
    columns = {
        "k": pa.array([row[0] for row in rows], key),
        "t": pa.array([row[1] * 1_000_000 for row in rows], pa.timestamp("us")),
        "closed": pa.array([row[2] for row in rows], pa.bool_()),
    }
    if to is not None:
        columns["to"] = pa.array([row[3] if len(row) > 3 else None for row in rows], to)
    return pa.table(columns)


def stream(table, name, **more):
    common = {"key": "k", "time": "t", "window": "100 seconds", "ends": "closed"}
    return wr.stream(table, name=name, **{**common, **more})


OTHERS = [(1, 0, False), (2, 0, False), (3, 0, False), (5, 0, False), (9, 50, False)]


def ended(table):
    return sorted(row["a"]["k"] for row in table.to_pylist() if row["kind"] == "end")


def test_a_list_ends_every_key_in_it():
    a = bids([([1], 0, False), ([2], 1, False), ([1, 2, 7], 2, True)], pa.list_(pa.int64()))
    b = bids(OTHERS)
    joined = wr.join(stream(a, "a"), stream(b, "b", ends=None), punctuate=True)
    assert ended(joined) == [1, 2, 7]
    assert joined.schema.field("a").type.field("k").type == pa.int64()
    matches = [row["a"]["k"] for row in joined.to_pylist() if row["kind"] == "match"]
    assert sorted(matches) == [1, 2]


@pytest.mark.parametrize("nothing", [None, []])
def test_an_empty_list_ends_nothing_but_tells_the_time(nothing):
    a = bids([([1], 0, False), (nothing, 20, True), ([1], 19, False)], pa.list_(pa.int64()))
    b = bids(OTHERS)
    joined = wr.join(stream(a, "a"), stream(b, "b", ends=None), punctuate=True, batch_rows=1)
    assert ended(joined) == []
    assert wr.metrics(joined).late["a"] == 1


def test_a_tuple_has_one_key():
    a = bids([([1, 2], 0, False)], pa.list_(pa.int64()))
    with pytest.raises(wr.WindrowError, match="a tuple has 2 keys in 'k'; only punctuations may"):
        stream(a, "a")


def test_a_range_ends_its_keys_without_the_last():
    a = bids([(1, 0, False), (1, 1, True, 4), (8, 2, True)], to=pa.int64())
    joined = wr.join(
        stream(a, "a", ends_to="to"), stream(bids(OTHERS), "b", ends=None), punctuate=True
    )
    assert ended(joined) == [1, 2, 3, 8]


@pytest.mark.parametrize("batch_rows", [None, 1])
def test_lists_and_ranges_among_three_streams(batch_rows):
    """a ends 1 by a list and c ends 2 and 3 by a range; b holds none of 7, which a ends."""
    a = bids([([1], 0, False), ([2], 1, False), ([1, 7], 2, True)], pa.list_(pa.int64()))
    b = bids(OTHERS)
    c = bids([(2, 1, False), (1, 1, False), (2, 3, True, 4)], to=pa.int64())
    sides = stream(a, "a"), stream(b, "b", ends=None), stream(c, "c", ends_to="to")
    joined = wr.join(*sides, punctuate=True, batch_rows=batch_rows)
    assert ended(joined) == [1, 2, 3, 7]
    matches = [row["a"]["k"] for row in joined.to_pylist() if row["kind"] == "match"]
    assert sorted(matches) == [1, 2]


def test_a_range_of_text_ends_keys_of_any_stream():
    a = bids([("ann", 0, False), ("zoe", 0, False)], pa.string())
    b = bids([("bob", 1, False)], pa.string())
    c = bids([("a", 2, True, "c")], pa.string(), to=pa.string())
    sides = stream(a, "a", ends=None), stream(b, "b", ends=None), stream(c, "c", ends_to="to")
    assert ended(wr.join(*sides, punctuate=True)) == ["ann", "bob"]


@pytest.mark.parametrize("to", [1, 0, -5])
def test_a_range_with_nothing_in_it_ends_nothing(to):
    a = bids([(1, 1, True, to)], to=pa.int64())
    joined = wr.join(
        stream(a, "a", ends_to="to"), stream(bids(OTHERS), "b", ends=None), punctuate=True
    )
    assert ended(joined) == []


def test_a_range_of_days():
    days = [dt.date(2026, 1, 30), dt.date(2026, 2, 2)]
    a = bids([(days[0], 1, True, days[1])], pa.date32(), to=pa.date32())
    b = bids([(days[0], 0, False), (days[1], 0, False)], pa.date32())
    joined = wr.join(stream(a, "a", ends_to="to"), stream(b, "b", ends=None), punctuate=True)
    assert ended(joined) == [days[0], dt.date(2026, 1, 31), dt.date(2026, 2, 1)]


@pytest.mark.parametrize(("low", "high"), [(0, 10**12), (-(2**62) - 2**61, 2**62 + 2**61)])
def test_ranges_that_are_too_long(low, high):
    a = bids([(low, 1, True, high)], to=pa.int64())
    with pytest.raises(wr.WindrowError, match="keys, more than 50,000,000; make them smaller"):
        stream(a, "a", ends_to="to")


def test_a_predicate_that_looks_at_the_key_is_refused():
    """It would be asked again of each key in the range."""
    a = bids([(100, 1, True, 103)], to=pa.int64())
    with pytest.raises(wr.WindrowError, match="looks at the key 'k'"):
        stream(a, "a", ends="k = 100", ends_to="to")
