"""Joins that are refused when the plan is built, and in which words."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

import windrow as wr

from .asking import HINT, TABLE, UNITS, bare, clocked, join, no, refused, stream, typed

ALIKE = "cast one of them to the other's type"
BETWEEN = ("-1 second", "1 second")


def on_spark() -> object:
    """What is taken for a Spark DataFrame."""
    return type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()


PAIRS = {
    "no streams": (lambda: wr.join(), ("a join takes two streams or more, but got 0",)),
    "one stream": (lambda: wr.join(stream()), ("a join takes two streams or more, but got 1",)),
    "a list of streams": (
        lambda: wr.join([stream("a"), stream("b")]),
        ("join takes streams, but got a list; give them one by one", "join(*streams)"),
    ),
    "a kind without its name": (
        lambda: join(stream("a"), stream("b"), "left"),
        ("join takes streams, but got a str; give the kind", "how='left'"),
    ),
    "a table": (
        lambda: join(stream("a"), TABLE),
        (
            "join takes streams, but got a Table",
            "windrow.stream(data, name=..., key=..., time=...)",
        ),
    ),
    "one name": (
        lambda: join(stream("imp"), stream("imp")),
        ("two streams are called 'imp'", "give each its own name"),
    ),
    "one name in two cases": (
        lambda: join(stream("imp"), stream("Imp")),
        ("streams 'imp' and 'Imp' differ in case only", "give each its own name"),
    ),
    "int and string keys": (
        lambda: join(stream("imp"), typed("clk", ["x"])),
        ("key column 'ad' of stream 'imp' is int64 but 'ad' of stream 'clk' is string", ALIKE),
    ),
    "a number without a sign that the other's type has no room for": (
        lambda: join(stream("imp"), typed("clk", pa.array([1], pa.uint64()))),
        ("'ad' of stream 'imp' is int64 but 'ad' of stream 'clk' is uint64", "cast both"),
    ),
    "int and float keys": (
        lambda: join(stream("imp"), typed("clk", pa.array([1], pa.float32()))),
        (
            "'ad' of stream 'imp' is int64 but 'ad' of stream 'clk' is float; cast both, for "
            "example with pyarrow.compute.cast(column, pa.float64())",
        ),
    ),
    "int and decimal keys": (
        lambda: join(stream("imp"), typed("clk", pa.array([Decimal(1)], pa.decimal128(9, 2)))),
        (
            "is int64 but 'ad' of stream 'clk' is decimal128(9, 2); cast both, for example with "
            "pyarrow.compute.cast(column, pa.decimal128(21, 2))",
        ),
    ),
    "decimals of two scales": (
        lambda: join(
            typed("imp", pa.array([Decimal(1)], pa.decimal128(9, 2))),
            typed("clk", pa.array([Decimal(1)], pa.decimal128(9, 3))),
        ),
        (
            "is decimal128(9, 2) but 'ad' of stream 'clk' is decimal128(9, 3); cast both, for "
            "example with pyarrow.compute.cast(column, pa.decimal128(10, 3))",
        ),
    ),
    "a range of floats that are narrower than the other's": (
        lambda: join(
            typed("imp", pa.array([1.5])),
            stream(
                "clk",
                pa.table(
                    {
                        "ad": pa.array([1], pa.float32()),
                        "to": pa.array([2], pa.float32()),
                        "at": TABLE["at"],
                        "live": [True],
                    }
                ),
                ends="live",
                ends_to="to",
            ),
        ),
        ("stream 'clk': ends_to makes ranges of 'ad', whose type float is narrower than", "double"),
    ),
    "the second of two key columns": (
        lambda: join(stream("imp", key=["ad", "text"]), stream("clk", key=["ad", "ad"])),
        ("key column 'text' of stream 'imp' is string but 'ad' of stream 'clk' is int64", ALIKE),
    ),
    "times of two units as keys": (
        lambda: join(stream("imp", key="at"), stream("clk", key="day")),
        ("key column 'at' of stream 'imp' is timestamp[us] but 'day'", ALIKE),
    ),
    "a different number of keys": (
        lambda: join(stream("imp", key=["ad", "text"]), stream("clk")),
        ("stream 'imp' has 2 key columns but stream 'clk' has 1; they must pair up",),
    ),
    "a different number of keys, the other way round": (
        lambda: join(stream("imp"), stream("clk", key=["ad", "text"])),
        ("stream 'imp' has 1 key column but stream 'clk' has 2; they must pair up",),
    ),
    "only the first has a key": (
        lambda: join(stream("imp"), stream("clk", key=None)),
        ("stream 'imp' has a key but stream 'clk' has none; give both a key, or neither",),
    ),
    "only the second has a key": (
        lambda: join(stream("imp", key=None), stream("clk")),
        ("stream 'clk' has a key but stream 'imp' has none; give both a key, or neither",),
    ),
    "one clock with a zone": (
        lambda: join(clocked("imp", pa.timestamp("us", "UTC")), stream("clk")),
        (
            "time column 'at' of stream 'imp' has a time zone but 'at' of stream 'clk' has none",
            "cast one of them",
        ),
    ),
    "the other clock with a zone": (
        lambda: join(stream("imp"), clocked("clk", pa.timestamp("ns", "Asia/Tokyo"))),
        ("time column 'at' of stream 'clk' has a time zone but 'at' of stream 'imp' has none",),
    ),
    "a table and a Spark DataFrame": (
        lambda: join(stream("imp"), replace(stream("clk"), data=on_spark())),
        (
            "streams of one join must be of one kind, but 'imp' is a pyarrow.Table, "
            "'clk' is a Spark DataFrame",
            "spark.createDataFrame(table)",
        ),
    ),
    "no window on the first": (
        lambda: join(bare("imp"), stream("clk")),
        ("stream 'imp' has no window, so its state would grow for ever", "between=(lo, hi)"),
    ),
    "no window on the second": (
        lambda: join(stream("imp"), bare("clk")),
        ("stream 'clk' has no window, so its state would grow for ever", "window='10 minutes'"),
    ),
    "between and windows": (
        lambda: join(between=BETWEEN),
        ("between is given, but stream 'imp' has a window too", "leave window out"),
    ),
    "between and one window": (
        lambda: join(bare("imp"), stream("clk"), between=BETWEEN),
        ("between is given, but stream 'clk' has a window too", "leave window out"),
    ),
    "between and a count window": (
        lambda: join(bare("imp"), stream("clk", window=wr.rows(1)), between=BETWEEN),
        ("between is given, but stream 'clk' has a window too", "leave window out"),
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_streams_that_cannot_meet(case):
    build, parts = PAIRS[case]
    refused(build, *parts)


@pytest.mark.parametrize(
    ("between", "parts"),
    [
        (("2 seconds", "1 second"), ("('2 seconds', '1 second')", "lower bound is above", "swap")),
        (("-1 second", "-2 seconds"), ("lower bound is above its upper bound; swap them",)),
        (("1 microsecond", timedelta(0)), ("lower bound is above its upper bound; swap them",)),
        (("1 second",), ("between is ('1 second',), expected a pair (lo, hi) of durations",)),
        ((), ("between is (), expected a pair (lo, hi) of durations",)),
        (("1 second",) * 3, ("expected a pair (lo, hi) of durations",)),
        ("1 second", ("between is '1 second', expected a pair (lo, hi) of durations",)),
        (timedelta(1), ("expected a pair (lo, hi) of durations",)),
        (5, ("between is 5, expected a pair (lo, hi) of durations",)),
        ((1, 2), ("between's lower bound is 1 (int), which has no unit", HINT)),
        (("1 second", 2), ("between's upper bound is 2 (int), which has no unit", HINT)),
        (("1 second", None), ("between's upper bound is None", HINT)),
        (("soon", "later"), ("between's lower bound is 'soon', which is not a duration", HINT)),
        (("0 seconds", "1 month"), ("between's upper bound is '1 month'", UNITS)),
        (("0 seconds", timedelta.max), ("between's upper bound is", "below 73,000 years")),
        ((timedelta.min, "0 seconds"), ("between's lower bound is", "below 73,000 years")),
    ],
    ids=repr,
)
def test_between(between, parts):
    refused(lambda: join(bare("imp"), bare("clk"), between=between), *parts)


COUNT = "expected a whole number of at least 1"
HOWS = "expected one of inner, left, right, full, semi, anti"

CHOICES = [
    *(no(f"how is {how!r}, {HOWS}", how=how) for how in ("cross", "", "left_inner", None, 3)),
    *(
        no(
            f"algorithm is {value!r}, expected one of 'auto', 'hash', 'nested-loops'",
            algorithm=value,
        )
        for value in ("merge", "HASH", None)
    ),
    *(
        no(
            f"invalidation is {value!r}, expected one of 'time-list', 'probe', 'probe-insert', "
            "'probe-all', 'all'",
            invalidation=value,
        )
        for value in ("lazy", "probe_all", None)
    ),
    *(
        no(f"late is {late!r}, expected one of 'drop', 'keep'", late=late)
        for late in ("fail", None)
    ),
    *(
        no(f"bad is {bad!r}, expected one of 'drop', 'fail', 'keep'", bad=bad)
        for bad in ("late", False)
    ),
    *(no(f"closed is {c!r}, expected one of True, False", closed=c) for c in ("yes", None, 2)),
    *(
        no(f"{what} is {value!r}, {COUNT}", **{what: value})
        for what in ("buckets", "batch_rows")
        for value in (0, -1, True, False, 1.5, 2.0, "3")
    ),
    *(
        no(
            f"order is {value!r}, expected one of 'none', 'sync-filter', 'filter-order',",
            "'adaptive'",
            order=value,
        )
        for value in ("sorted", None, True)
    ),
    *(
        no(f"alpha is {value!r}, expected a number from 0 to below 1", alpha=value)
        for value in (1, -0.1, "0.3", None, True)
    ),
    no(
        "order='adaptive' with how='left' and invalidation='probe'",
        "use 'time-list' or 'all'",
        how="left",
        order="adaptive",
        invalidation="probe",
    ),
    no("violations is 'keep', expected one of 'drop', 'fail'", violations="keep"),
    no("punctuate reports keys that are over, but no stream says", "to a stream", punctuate=True),
    no("finals reports keys that are over, but no stream says", finals={"n": "count(*)"}),
    no("memory is 'all', expected one of 'window', 'data', 'msf', 'dbf', 'hybrid'", memory="all"),
    no("stream 'imp' has a window, but memory= follows the data", memory="data"),
    # conditions
    no("condition names column nope, which imp does not have; it has ad", condition="imp.nope = 1"),
    no("condition names column x, which clk does not have", condition="imp.ad < clk.x"),
    no("condition names stream who, which is unknown; there are imp, clk", condition="who.ad = 1"),
    no("condition names column ad without its stream; write e.g. imp.ad", condition="ad = 1"),
    no("condition is int64, not boolean", condition="imp.ad + clk.ad"),
    no("condition compares int64 with string; CAST one", condition="imp.ad = clk.text"),
    no("condition uses LENGTH(...), which is not supported", condition="length(imp.text) > 1"),
    no("condition does not parse", condition="imp.ad <"),
    no("condition is empty", condition=""),
    *(no("condition", repr(value), condition=value) for value in (5, ["imp.ad = 1"], True)),
]


@pytest.mark.parametrize("refusal", CHOICES, ids=str)
@pytest.mark.parametrize("function", [wr.join, wr.plan, wr.explain])
def test_choices(function, refusal):
    """Refused when the plan is built, whatever is to be done with it."""
    streams = stream("imp"), stream("clk")
    refused(lambda: function(*streams, **refusal.given), *refusal.parts)


@pytest.mark.parametrize("value", [0, -1, True, False, 1.5, 2.0, "3", None])
def test_rows(value):
    refused(lambda: wr.rows(value), f"n is {value!r}, {COUNT}")


@pytest.mark.parametrize("per", ["all", "KEY", None, 1])
def test_rows_per(per):
    refused(lambda: wr.rows(1, per=per), f"per is {per!r}, expected one of 'key', 'stream'")


PUNCTUATED = [
    (("left", {}, {"unique": True}), "only stream 'clk' says where keys end, and a left join"),
    (("right", {"ends": "live"}, {}), "only stream 'imp' says where keys end, and a right join"),
    (("full", {"ends": "live"}, {}), "pass ends= or unique=True to both streams"),
    (("anti", {}, {"ends": "live"}), "only stream 'clk'"),
]


@pytest.mark.parametrize(("given", "message"), PUNCTUATED)
@pytest.mark.parametrize("asked", [{"punctuate": True}, {"finals": {"n": "count(*)"}}])
def test_ends_that_never_come(given, message, asked):
    how, one, two = given
    refused(lambda: join(stream("imp", **one), stream("clk", **two), how=how, **asked), message)


@pytest.mark.parametrize(
    ("given", "more", "message"),
    [
        ({"window": wr.rows(3)}, {}, "stream 'imp' has a count window, which punctuations"),
        ({}, {"algorithm": "nested-loops"}, "which need algorithm='hash'"),
        ({}, {"invalidation": "probe"}, "which need invalidation='time-list'"),
    ],
)
def test_what_punctuations_cannot_be_combined_with(given, more, message):
    refused(lambda: join(stream("imp", **given), stream("clk", unique=True), **more), message)


def test_a_stream_without_a_window_needs_the_others_punctuations():
    open_ended = stream("imp", window=None, unique=True)
    refused(
        lambda: join(open_ended, stream("clk")), "stream 'imp' has no window", "ends= or unique"
    )
    assert join(stream("imp", window=None), stream("clk", unique=True)).num_rows == 1
