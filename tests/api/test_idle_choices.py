"""Choices that would change nothing are refused, and those that change something are taken."""

import pyarrow as pa
import pytest

import windrow as wr

DATA = pa.table({"k": [1, 2], "t": pa.array([0, 1], pa.timestamp("us"))})


def streams(window="5 seconds", key="k"):
    return [wr.stream(DATA, name=n, key=key, time="t", window=window) for n in ("a", "b")]


@pytest.mark.parametrize(
    "choice",
    [
        {"algorithm": "hash"},
        {"algorithm": "nested-loops"},
        {"invalidation": "probe"},
        {"buckets": 3},
    ],
    ids=repr,
)
@pytest.mark.parametrize("per", ["key", "stream"])
def test_count_windows_have_a_list_of_their_own(choice, per):
    (name,) = choice
    with pytest.raises(
        wr.WindrowError, match=f"{name}=.* has no effect with wr.rows.*leave {name}"
    ):
        wr.join(*streams(wr.rows(2, per=per)), **choice)


def test_nested_loops_have_no_buckets():
    with pytest.raises(wr.WindrowError, match="buckets=3 has no effect with algorithm='nested-loo"):
        wr.join(*streams(), algorithm="nested-loops", buckets=3)
    with pytest.raises(wr.WindrowError, match="buckets=3 has no effect without a key"):
        wr.join(*streams(key=None), condition="a.k = b.k", buckets=3)


@pytest.mark.parametrize("buckets", [None, 1])
def test_one_bucket_is_what_nested_loops_are(buckets):
    assert wr.join(*streams(), algorithm="nested-loops", buckets=buckets).num_rows == 2


def test_buckets_that_are_asked_for_are_had():
    """Two rows are joined cheapest by nested loops, which have no buckets."""
    choice = wr.explain(*streams(), buckets=3).choice
    assert (choice.algorithm, choice.layout.parts) == ("hash", 3)
