"""Rows without a time, or too far ahead of the clock, against the loop that defines them."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import get_args
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.model import How, Stream, TimeWindow
from windrow.testing import assert_same_rows, cases, naive_batches, table
from windrow.testing._inputs import read

HOWS = get_args(How)


def limited(data, case):
    """The case's streams under limits that lie within their times, and a clock."""
    known = [0, *(int(t) for s in case.streams for t in read(s).times)]
    now = data.draw(st.sampled_from(known)) - data.draw(st.sampled_from([0, 5]))
    limits = st.sampled_from([None, 0, 4, 5, 6])
    return [replace(s, max_ahead=data.draw(limits)) for s in case.streams], now


def joined_at(now, case, streams, **choices) -> pa.Table:
    """Join as if the machine's clock showed that."""
    between = case.between and tuple(dt.timedelta(microseconds=bound) for bound in case.between)
    options = {**case.options, "between": between, **choices}
    return local_join(replace(wr.plan(*streams, **options), now=now)).run()


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("bad", ["drop", "keep"])
@settings(max_examples=max(settings().max_examples // 4, 3))
@given(data=st.data())
def test_bad_rows(how, bad, data):
    case = data.draw(cases(hows=[how], late=True, beats=True, max_rows=14))
    streams, now = limited(data, case)
    asked = {
        "batch_rows": data.draw(st.sampled_from([None, 1, 2, 3, 7])),
        "late": data.draw(st.sampled_from(["drop", "keep"])),
        "bad": bad,
    }
    result = joined_at(now, case, streams, **asked)
    expected, late = naive_batches(*streams, **case.options, **asked, now=now)
    assert_same_rows(result, expected)
    found = wr.metrics(result)
    assert found.bad == {s.name: int(read(s, now).bad.sum()) for s in streams}
    assert found.late == {name: len(rows) for name, rows in late.items()}


@pytest.mark.parametrize("order", ["sync-filter", "filter-order", "adaptive"])
@settings(max_examples=max(settings().max_examples // 4, 3))
@given(data=st.data())
def test_bad_rows_are_exempt_from_an_order(order, data):
    case = data.draw(cases(hows=["inner", "full", "semi"], late=True, beats=True))
    streams, now = limited(data, case)
    asked = {"batch_rows": data.draw(st.sampled_from([None, 1, 3])), "late": "keep", "bad": "keep"}
    result = joined_at(now, case, streams, order=order, **asked)
    assert_same_rows(result, naive_batches(*streams, **case.options, **asked, now=now)[0])
    kinds = result.column("kind").to_pylist()
    times = result.column("ts").cast(pa.int64()).to_pylist()
    apart = ("late", "bad")
    inside = [ts for ts, kind in zip(times, kinds, strict=True) if kind not in apart]
    assert inside == sorted(inside)


@given(data=st.data())
def test_bad_rows_do_not_count_in_count_windows(data):
    case = data.draw(cases(hows=["inner", "left"], count_windows=True, late=True))
    streams, now = limited(data, case)
    asked = {"batch_rows": data.draw(st.sampled_from([None, 1, 3])), "bad": "keep"}
    result = joined_at(now, case, streams, **asked)
    assert_same_rows(result, naive_batches(*streams, **case.options, **asked, now=now)[0])


# -- by hand -----------------------------------------------------------------------------------


def stream(text: str, name="a", **given) -> Stream:
    data = table(text, t=pa.timestamp("us"))
    marks = {what: what for what in ("beat", "over") if what in data.column_names}
    return Stream(
        data, data.schema, name, ("k",), "t", TimeWindow(100),
        beats=marks.get("beat"), ends=marks.get("over"), **given,
    )  # fmt: skip


def at(now, *streams, **choices) -> pa.Table:
    return local_join(replace(wr.plan(*streams, **choices), now=now)).run()


B = stream("v k t\n 0 x 1005", "b")


@pytest.mark.parametrize(
    ("time", "is_bad"), [(1009, False), (1010, False), (1011, True), (10**17, True)]
)
@pytest.mark.parametrize("bad", ["drop", "keep"])
def test_exactly_that_far_ahead_is_not_too_far(time, is_bad, bad):
    result = at(1000, stream(f"v k t\n 0 x {time}", max_ahead=10), B, bad=bad)
    assert wr.metrics(result).bad == {"a": int(is_bad), "b": 0}
    kinds = [(row.get("kind", "match"), row["ts"] is None) for row in result.to_pylist()]
    assert kinds == ([] if is_bad and bad == "drop" else [("bad" if is_bad else "match", is_bad)])


def test_a_time_that_no_window_could_be_added_to_is_only_too_far_ahead():
    far = stream(f"v k t\n 0 x {2**62}\n 1 x 1000", max_ahead=10)
    assert at(1000, far, B).num_rows == 1
    with pytest.raises(wr.WindrowError, match="more than 73,000 years"):
        at(1000, replace(far, max_ahead=None), B)


@pytest.mark.parametrize("what", ["", "beat", "over"])
def test_what_is_too_far_ahead_moves_no_progress(what):
    """As a tuple, a heartbeat or a punctuation; then a row that it would have made late."""
    marks = "".join(f" {name}" for name in [what] if what)
    text = f"v k t{marks}\n 0 x 5000{' true' if what else ''}\n 1 x 1000{' false' if what else ''}"
    a = stream(text)
    late = at(1000, a, B, batch_rows=1)
    assert wr.metrics(late).late["a"] == 1
    result = at(1000, replace(a, max_ahead=10), B, batch_rows=1, bad="keep")
    assert sorted(result.column("kind").to_pylist()) == ["bad", "match"]
    found = wr.metrics(result)
    assert (found.late["a"], found.bad["a"], found.beats["a"]) == (0, 1, 0)


def test_a_punctuation_that_is_too_far_ahead_ends_no_key():
    a = stream("v k t over\n 0 x 5000 true\n 1 x 1000 false", max_ahead=10)
    result = at(1000, a, replace(B, unique=True), punctuate=True, bad="keep", batch_rows=1)
    assert wr.metrics(result).violations == {"a": 0, "b": 0}
    assert sorted(result.column("kind").to_pylist()) == ["bad", "end", "match"]


def test_a_range_that_is_bad_ends_no_key():
    """It is one bad row, not one for each key in it."""
    text = "k to t over\n a c 1 true\n a c - true\n a c 99 true\n b - 3 false"
    data = table(text, t=pa.timestamp("us"))
    common = {"key": "k", "time": "t", "window": dt.timedelta(microseconds=50)}
    with mock.patch("windrow.api.clocks.time_ns", return_value=5_000):
        a = wr.stream(
            data, name="a", ends="over", ends_to="to", max_ahead=dt.timedelta(microseconds=5),
            **common,
        )  # fmt: skip
        b = wr.stream(data.slice(3), name="b", **common)
        result = wr.join(a, b, bad="keep")
    assert wr.metrics(result).bad == {"a": 2, "b": 0}
    kept = [row["a"] for row in result.to_pylist() if row["kind"] == "bad"]
    assert [(row["k"], row["to"]) for row in kept] == [("a", "c")] * 2


def by_the_clock(ahead: dt.timedelta, zone, name="a", **given) -> Stream:
    now = dt.datetime.now(dt.UTC) + ahead
    kind = pa.timestamp("us", zone)
    data = pa.table({"k": [1], "t": pa.array([now if zone else now.replace(tzinfo=None)], kind)})
    return wr.stream(data, name=name, key="k", time="t", window="1 minute", **given)


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
@pytest.mark.parametrize(
    ("given", "bad"),
    [
        ({}, 0),
        ({"max_ahead": None}, 0),
        ({"max_ahead": "1 hour"}, 1),
        ({"max_ahead": "3 hours"}, 0),
        ({"max_ahead": dt.timedelta(0)}, 1),
    ],
    ids=str,
)
def test_tables_have_a_limit_only_if_it_is_given(zone, given, bad):
    ahead = by_the_clock(dt.timedelta(hours=2), zone, **given)
    result = wr.join(ahead, by_the_clock(dt.timedelta(), zone, "b"))
    assert wr.metrics(result).bad == {"a": bad, "b": 0}


def test_the_default_in_words_is_a_limit_that_is_given():
    far = by_the_clock(dt.timedelta(days=366), "UTC", max_ahead="1 year")
    near = by_the_clock(dt.timedelta(days=364), "UTC", "b", max_ahead="1 year")
    assert wr.metrics(wr.join(far, near)).bad == {"a": 1, "b": 0}
    assert wr.metrics(wr.join(replace(far, max_ahead=None), near)).bad == {"a": 0, "b": 0}


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ("-", "1 rows have no time in 't'.*bad='keep'"),
        ("1011", "1 rows have a time in 't' that is more than max_ahead='10 microseconds' ahead"),
    ],
)
def test_bad_rows_fail_on_request(times, message):
    a = stream(f"v k t\n 0 x 1000\n 1 x {times}", max_ahead=10)
    with pytest.raises(wr.WindrowError, match=f"stream 'a': {message}"):
        at(1000, a, B, bad="fail")
    assert at(1000, replace(a, data=a.data.slice(0, 1)), B, bad="fail").num_rows == 1


def test_explain_says_what_counts():
    a = by_the_clock(dt.timedelta(), "UTC", max_ahead="1 year", lateness="5 minutes")
    b = by_the_clock(dt.timedelta(), "UTC", "b")
    lines = str(wr.explain(a, b)).splitlines()
    assert lines[1].endswith("lateness 5 minutes, at most 1 year ahead of the clock")
    assert lines[2].endswith("lateness 0 seconds by default")
