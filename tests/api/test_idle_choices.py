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
    assert (choice.algorithm, choice.parts) == ("hash", 3)


NO_NULLS = pa.schema([("k", pa.int64()), pa.field("t", pa.timestamp("us"), nullable=False)])


def never_null(name, **given):
    return wr.stream(DATA.cast(NO_NULLS), name=name, key="k", time="t", window="1 second", **given)


def test_bad_rows_cannot_be_kept_where_no_row_is_bad():
    message = "bad='keep' has no effect: no row of stream 'a' and 'b' can be bad.*leave bad out"
    with pytest.raises(wr.WindrowError, match=message):
        wr.join(never_null("a"), never_null("b"), bad="keep")


@pytest.mark.parametrize(
    ("how", "one", "two", "works"),
    [
        ("inner", {"max_ahead": "1 year"}, {}, True),
        ("inner", {}, {"max_ahead": "1 year"}, True),
        ("semi", {"max_ahead": "1 year"}, {}, True),
        # The second stream has no column.
        ("semi", {}, {"max_ahead": "1 year"}, False),
        ("anti", {}, {"max_ahead": "1 year"}, False),
    ],
)
def test_bad_rows_can_be_kept_where_a_shown_stream_can_have_some(how, one, two, works):
    def join():
        return wr.join(never_null("a", **one), never_null("b", **two), how=how, bad="keep")

    if works:
        assert "kind" in join().column_names
    else:
        with pytest.raises(wr.WindrowError, match="bad='keep' has no effect: no row of stream 'a'"):
            join()


def test_finals_leave_no_room_for_bad_rows():
    a, b = (
        wr.stream(DATA, name=n, key="k", time="t", window="1 second", unique=True) for n in "ab"
    )
    for what in ("late", "bad"):
        with pytest.raises(wr.WindrowError, match=f"finals are all that.*leave {what} at 'drop'"):
            wr.join(a, b, finals={"n": "count(*)"}, **{what: "keep"})
