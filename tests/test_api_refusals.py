"""What is refused, and in which words: the stream, the column, what was given, what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

MICROS = pa.timestamp("us")
NOON = datetime(2026, 1, 1, 12)

TABLE = pa.table(
    {
        "ad": pa.array([1], pa.int64()),
        "at": pa.array([NOON], MICROS),
        "day": pa.array([NOON.date()], pa.date32()),
        "text": ["x"],
        "geo": [{"city": "Ulm", "seen": NOON}],
        "tags": [["x"]],
        "pairs": pa.array([[("x", 1)]], pa.map_(pa.string(), pa.int64())),
        "nothing": pa.nulls(1),
        "live": [True],
    }
)


def stream(name="imp", table=TABLE, **given) -> wr.Stream:
    return wr.stream(
        table, **{"name": name, "key": "ad", "time": "at", "window": "1 hour", **given}
    )


def join(*streams, **given) -> pa.Table:
    return wr.join(*(streams or (stream("imp"), stream("clk"))), **given)


def refused(build, *parts: str) -> None:
    """Fails unless it is refused in words that hold every part, in this order."""
    with pytest.raises(wr.WindrowError) as error:
        build()
    assert re.search(".*".join(map(re.escape, parts)), str(error.value), re.DOTALL), error.value


# -- one stream --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Refusal:
    """Arguments that are refused, and parts of the message, in their order."""

    given: dict[str, Any]
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.given.items())


def no(*parts: str, **given) -> Refusal:
    return Refusal(given, parts)


COLUMNS = "the columns are ad, at, day, text, geo"
CAST = "cast it, for example with pyarrow.compute.cast(column, pa.timestamp('us'))"
FIELDS = "which cannot be a key; use its fields (dotted names work) or cast it"
KEY = "expected a column name, a list of column names, or None for a join on its condition alone"
NAME = "use letters, digits and underscores, not starting with a digit"
HINT = 'write for example "10 minutes", "1 hour 30 minutes" or timedelta(minutes=10)'
UNITS = "use weeks, days, hours, minutes, seconds, milliseconds or microseconds"

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
        for what in ("window", "lateness", "idle")
        for value in (10, 0, 1.5, True)
    ),
    no("stream 'imp': lateness is None (NoneType), which has no unit", HINT, lateness=None),
    *(
        no(f"stream 'imp': {what} is {value!r}", "which is not a duration", HINT, **{what: value})
        for what in ("window", "lateness", "idle")
        for value in ("", "soon", "10", "5 minutes?")
    ),
    *(
        no(f"stream 'imp': {what} is {value!r}, but must not be negative", **{what: value})
        for what in ("window", "lateness", "idle")
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
    no("stream 'imp': window is '0.1 microseconds'", "whole number of", window="0.1 microseconds"),
    no("stream 'imp': window is", "must be below 73,000 years", window=timedelta.max),
    no("stream 'imp': window is <function", "which has no unit", window=wr.rows),
    # predicates
    no("imp", "does not parse", "'ad = = 1'", beats="ad = = 1"),
    no("imp", "is empty", beats=" "),
    no("imp", "uses ABS(...), which is not supported; supported are", beats="abs(ad) = 1"),
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


# -- a join --------------------------------------------------------------------------------------


def typed(name, column, **given) -> wr.Stream:
    """A stream whose key is of another type."""
    return stream(name, pa.table({"ad": column, "at": TABLE["at"]}), **given)


def clocked(name, kind, micros=0) -> wr.Stream:
    """A stream whose time is of another type, or at another time."""
    return stream(name, pa.table({"ad": [1], "at": pa.array([micros], kind)}))


ALIKE = "cast one of them to the other's type"
BETWEEN = ("-1 second", "1 second")


def on_spark() -> object:
    """What is taken for a Spark DataFrame."""
    return type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()


def bare(name) -> wr.Stream:
    return stream(name, window=None)


PAIRS = {
    "no streams": (lambda: wr.join(), ("this version joins two streams, but got 0",)),
    "one stream": (lambda: wr.join(stream()), ("this version joins two streams, but got 1",)),
    "three streams": (
        lambda: join(stream("a"), stream("b"), stream("c")),
        ("this version joins two streams, but got 3",),
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
        ("two streams are called 'Imp' (case does not count)", "give each its own name"),
    ),
    "int and string keys": (
        lambda: join(stream("imp"), typed("clk", ["x"])),
        ("key column 'ad' of stream 'imp' is int64 but 'ad' of stream 'clk' is string", ALIKE),
    ),
    "keys of two widths": (
        lambda: join(stream("imp"), typed("clk", pa.array([1], pa.int32()))),
        ("'ad' of stream 'imp' is int64 but 'ad' of stream 'clk' is int32", ALIKE),
    ),
    "decimals of two scales": (
        lambda: join(
            typed("imp", pa.array([Decimal(1)], pa.decimal128(9, 2))),
            typed("clk", pa.array([Decimal(1)], pa.decimal128(9, 3))),
        ),
        ("is decimal128(9, 2) but 'ad' of stream 'clk' is decimal128(9, 3)", ALIKE),
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


def later(name, value, default, what) -> Refusal:
    parts = (
        f"{name}={value!r}: {what}",
        f"not supported in this version; leave {name} at {default!r}",
    )
    return Refusal({name: value}, parts)


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
    *(no(f"bad is {bad!r}, expected one of 'drop', 'fail'", bad=bad) for bad in ("keep", False)),
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
    later("memory", "msf", "window", "data-driven memory"),
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


# -- data that only shows when it is read ----------------------------------------------

FIT = "do not fit whole microseconds; round them, for example with pyarrow.compute.floor_temporal"
YEARS = "has times more than 73,000 years from 1970; filter them out first"


def test_times_finer_than_a_microsecond():
    ns = pa.timestamp("ns")
    refused(
        lambda: join(clocked("imp", ns, 1001), clocked("clk", ns, 1000)),
        "stream 'imp': times in 'at' have unit ns and",
        FIT,
    )
    refused(lambda: join(clocked("imp", ns, 1000), clocked("clk", ns, -1)), "stream 'clk'", FIT)
    assert join(clocked("imp", ns, 1000), clocked("clk", ns, -1000)).num_rows == 1


@pytest.mark.parametrize("micros", [2**61 + 1, -(2**61) - 1, 2**63 - 1, -(2**63)])
def test_times_out_of_range(micros):
    one, two = clocked("imp", MICROS, 0), clocked("clk", MICROS, micros)
    refused(lambda: join(one, two), "stream 'clk': 'at'", YEARS)


@pytest.mark.parametrize(("unit", "count"), [("s", 2**62), ("ms", -(2**62))])
def test_times_out_of_range_in_coarser_units(unit, count):
    """Rounding does not help a time that is too far away."""
    one, two = clocked("imp", MICROS, 0), clocked("clk", pa.timestamp(unit), count)
    refused(lambda: join(one, two), "stream 'clk'", "73,000 years from 1970; filter them out first")


@pytest.mark.parametrize("micros", [2**61, -(2**61)])
def test_the_largest_times_and_windows_are_taken(micros):
    """What is not refused is joined: nothing overflows, and nothing is left in the state."""
    one, two = clocked("imp", MICROS, micros), clocked("clk", MICROS, -micros)
    assert join(one, two, how="full").num_rows == 2
    for how, window in product(("left", "right", "full"), ("0 seconds", f"{2**61} microseconds")):
        far = stream("imp", one.data, window=window)
        other = stream("clk", pa.table({"ad": [2], "at": two.data["at"]}), window=window)
        found = join(far, other, how=how)
        assert found.num_rows == (2 if how == "full" else 1), (how, window)
        assert wr.metrics(found).live_rows == {"imp": 0, "clk": 0}


def test_bad_rows_fail_on_request():
    table = pa.table({"ad": [1, 1, 1], "at": pa.array([0, None, None], MICROS)})
    one, two = stream("imp", table), stream("clk", table)
    refused(
        lambda: join(one, two, bad="fail"),
        "stream 'imp': 2 rows have no time in 'at'",
        "fill or filter them, or pass bad='drop'",
    )
    good = stream("imp", table.slice(0, 1))
    refused(lambda: join(good, two, bad="fail"), "stream 'clk': 2 rows have no time in 'at'")
    assert join(one, two).num_rows == 1


def test_metrics_of_another_table():
    message = "this Table carries no metrics; pass the table that windrow.join returned"
    refused(lambda: wr.metrics("x"), "this str carries no metrics")
    refused(lambda: wr.metrics(TABLE), message)
    refused(lambda: wr.metrics(join().replace_schema_metadata(None)), message)


# -- and what is not refused ------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelled", "how"),
    [
        ("inner", "inner"),
        ("left", "left"),
        ("leftouter", "left"),
        ("left_outer", "left"),
        ("LEFT", "left"),
        ("right", "right"),
        ("rightouter", "right"),
        ("right_outer", "right"),
        ("outer", "full"),
        ("full", "full"),
        ("fullouter", "full"),
        ("full_outer", "full"),
        ("semi", "semi"),
        ("leftsemi", "semi"),
        ("left_semi", "semi"),
        ("anti", "anti"),
        ("leftanti", "anti"),
        ("left_anti", "anti"),
    ],
)
def test_pyspark_spellings(spelled, how):
    assert wr.plan(stream("imp"), stream("clk"), how=spelled).how == how


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (pa.string(), pa.large_string()),
        (pa.string(), pa.dictionary(pa.int32(), pa.string())),
        (pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.large_string())),
    ],
    ids=str,
)
def test_encodings_of_one_type_meet(one, two):
    mine, its = (typed(n, pa.array(["x"], kind)) for n, kind in (("imp", one), ("clk", two)))
    assert join(mine, its).num_rows == 1


def test_zones_are_only_a_way_to_write_an_instant():
    one, two = (
        clocked(n, pa.timestamp("us", z)) for n, z in (("imp", "UTC"), ("clk", "Asia/Tokyo"))
    )
    assert join(one, two).num_rows == 1


def test_dotted_keys_and_times():
    one, two = (stream(name, key="geo.city", time="geo.seen") for name in ("imp", "clk"))
    assert join(one, two).num_rows == 1


def test_between_of_either_sign_and_as_a_list():
    for between in (["-2 seconds", "-1 second"], (timedelta(0), "0 seconds"), ("1 day", "2 days")):
        assert wr.plan(bare("imp"), bare("clk"), between=between).between is not None


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
