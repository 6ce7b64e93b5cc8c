"""Streams that are refused, and in which words: the column, what was given, what to do."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

import windrow as wr

from .asking import HINT, TABLE, UNITS, join, no, refused, stream

COLUMNS = "the columns are ad, at, day, text, geo"
CAST = "cast it, for example with pyarrow.compute.cast(column, pa.timestamp('us'))"
FIELDS = "which cannot be a key; use its fields (dotted names work) or cast it"
KEY = "expected a column name, a list of column names, or None for a join on its condition alone"
NAME = "use letters, digits and underscores, not starting with a digit"

DURATIONS = ("window", "lateness", "idle", "max_ahead")
STREAMS = [
    # unknown columns
    no("stream 'imp': key column 'nope' does not exist", COLUMNS, key="nope"),
    no("stream 'imp': key column 'nope' does not exist", COLUMNS, key=["ad", "nope"]),
    no("stream 'imp': key column 'AD' does not exist", COLUMNS, key="AD"),
    no("stream 'imp': key column 'geo.zip' does not exist", COLUMNS, key="geo.zip"),
    no("stream 'imp': key column 'ad.x' does not exist", COLUMNS, key="ad.x"),
    no("stream 'imp': key column '' does not exist", COLUMNS, key=""),
    no("stream 'imp': key column 5 does not exist", COLUMNS, key=[5]),
    no("stream 'imp': key column None does not exist", COLUMNS, key=["ad", None]),
    no("stream 'imp': time column 'nope' does not exist", COLUMNS, time="nope"),
    no("stream 'imp': time column 'geo.nope' does not exist", COLUMNS, time="geo.nope"),
    no("stream 'imp': time column None does not exist", COLUMNS, time=None),
    no("imp", "names column nope, which imp does not have; it has ad, at", beats="nope"),
    no("imp", "names column imp.nope, which imp does not have; it has ad", beats="imp.nope"),
    # columns of a wrong type
    no("stream 'imp': time column 'ad' is int64, expected a timestamp", CAST, time="ad"),
    no("stream 'imp': time column 'text' is string, expected a timestamp", CAST, time="text"),
    no("stream 'imp': time column 'day' is date32[day], expected a timestamp", CAST, time="day"),
    no("stream 'imp': time column 'geo.city' is string", CAST, time="geo.city"),
    no("stream 'imp': key column 'geo' is struct<", FIELDS, key="geo"),
    no("stream 'imp': key column 'tags' is list<", FIELDS, key="tags"),
    no("stream 'imp': key column 'pairs' is map<", FIELDS, key=["ad", "pairs"]),
    no("stream 'imp': key column 'nothing' is null", FIELDS, key="nothing"),
    no("imp", "is int64, not boolean", "'ad + 1'", beats="ad + 1"),
    no("imp", "compares int64 with string; CAST one of them", beats="ad = 'x'"),
    # keys that are no names
    no("stream 'imp': key is []", KEY, key=[]),
    no("stream 'imp': key is ()", KEY, key=()),
    no("stream 'imp': key is 5", KEY, key=5),
    # names
    *(no(f"stream name {name!r}:", NAME, name=name) for name in ("", "1a", "a b", "a.b", "a-b")),
    *(no(f"stream name {name!r}:", NAME, name=name) for name in (None, 5, b"imp", ["imp"])),
    *(
        no(
            f"stream name {name!r} is reserved for a column of the result; choose another",
            name=name,
        )
        for name in ("ts", "kind", "TS", "Kind")
    ),
    # durations
    *(
        no(f"stream 'imp': {what} is {value!r}", "which has no unit", HINT, **{what: value})
        for what in DURATIONS
        for value in (10, 0, 1.5, True)
    ),
    *(
        no(f"stream 'imp': {what} is {value!r}", "which is not a duration", HINT, **{what: value})
        for what in DURATIONS
        for value in ("", "soon", "10", "5 minutes?")
    ),
    *(
        no(f"stream 'imp': {what} is {value!r}, but must not be negative", **{what: value})
        for what in DURATIONS
        for value in ("-1 second", timedelta(microseconds=-1))
    ),
    *(
        no(
            f"stream 'imp': {what} is {value!r}, but",
            "not a unit of fixed length",
            UNITS,
            **{what: value},
        )
        for what in ("window", "lateness", "idle")
        for value in ("1 month", "2 years")
    ),
    no(
        "stream 'imp': max_ahead is '1 month', but 'month' is not a unit of fixed length",
        "use years, weeks",
        max_ahead="1 month",
    ),
    no("stream 'imp': max_ahead is", "must be below 73,000 years", max_ahead="74000 years"),
    no("stream 'imp': window is '0.1 microseconds'", "whole number of", window="0.1 microseconds"),
    no("stream 'imp': window is", "must be below 73,000 years", window=timedelta.max),
    no("stream 'imp': window is <function", "which has no unit", window=wr.rows),
    # predicates
    no("imp", "does not parse", "'ad = = 1'", beats="ad = = 1"),
    no("imp", "is empty", beats=" "),
    no("imp", "uses LENGTH(...), which is not supported; supported are", beats="length(text) = 1"),
    # punctuations
    no("stream 'imp': ends", "expected SQL text", ends=3),
    no("imp", "does not parse", ends="ad = = 1"),
    no("stream 'imp': ends is about keys, but key is None", key=None, ends="live"),
    no("stream 'imp': unique is about keys, but key is None", key=None, unique=True),
    no("stream 'imp': unique is 'yes', expected one of True, False", unique="yes"),
    no("stream 'imp': ends_to='ad' needs ends", ends_to="ad"),
    no("ends_to column 'nope' does not exist", ends="live", ends_to="nope"),
    no("ends_to column 'text' is string, but key 'ad' is int64", ends="live", ends_to="text"),
    no("ends_to='text' is the key itself", key="text", ends="live", ends_to="text"),
    no("key 'tags' is an array; give one of the two", key="tags", ends="live", ends_to="ad"),
    no("several keys need a single key column", key=["ad", "day"], ends="live", ends_to="ad"),
]


@pytest.mark.parametrize("refusal", STREAMS, ids=str)
def test_a_stream(refusal):
    refused(lambda: stream(**refusal.given), *refusal.parts)


class Frame:
    """Looks like another library's data frame."""


@pytest.mark.parametrize(
    ("module", "hint"),
    [
        ("pandas.core.frame", "convert it with pyarrow.Table.from_pandas(df)"),
        ("polars.dataframe.frame", "convert it with df.to_arrow()"),
        ("somewhere", "convert it with pyarrow.table(...)"),
    ],
)
def test_data_of_another_library(module, hint):
    kind = type("DataFrame", (Frame,), {"__module__": module})
    expected = f"stream 'imp': data is a {module}.DataFrame, expected a"
    refused(lambda: stream(table=kind()), expected, "pyarrow.Table", hint)


def test_a_record_batch_is_not_a_table():
    batch = TABLE.to_batches()[0]
    hint = "convert it with pyarrow.Table.from_batches([batch])"
    refused(lambda: stream(table=batch), "data is a pyarrow.lib.RecordBatch", hint)


@pytest.mark.parametrize("data", [None, [], {"ad": [1]}, "table.parquet"], ids=repr)
def test_data_that_is_no_table(data):
    refused(
        lambda: stream(table=data),
        "stream 'imp': data is a builtins.",
        "expected a",
        "pyarrow.Table",
    )


@pytest.mark.parametrize("value", [5, ["live"], True])
def test_a_predicate_that_is_no_text(value):
    refused(lambda: stream(beats=value), "imp", repr(value))


UNUSABLE = {
    "uuid": pa.array([b"1" * 16], pa.uuid()),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8())),
    "json": pa.array(["1"], pa.json_()),
    "encoded struct": pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([{"x": 1}])),
    "run ends": pa.RunEndEncodedArray.from_arrays([1], ["x"]),
    "interval": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    "list view": pa.array([[1]], pa.list_view(pa.int8())),
    "union": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_keys_of_types_that_cannot_be_compared(kind):
    """Refused with the plan; or, if they are taken, they must join."""
    table = pa.table({"ad": UNUSABLE[kind], "at": TABLE["at"]})
    try:
        one, two = stream("imp", table), stream("clk", table)
    except wr.WindrowError as error:
        assert "stream 'imp': key column 'ad' is" in str(error)  # noqa: PT017
        assert FIELDS in str(error)  # noqa: PT017
    else:
        assert join(one, two).num_rows == 1
