"""Joins of three streams and more that are refused, and in which words."""

from __future__ import annotations

import pyarrow as pa
import pytest

import windrow as wr

from .asking import bare, clocked, join, refused, stream, typed

BETWEEN = ("-1 second", "1 second")
NAMES = "('imp', 'clk', 'buy')"


def two(**given):
    """The first two of three streams."""
    return stream("imp", **given), stream("clk", **given)


CASES = {
    "right": (
        lambda: join(*two(), stream("buy"), how="right"),
        (f"how='right' joins two streams, but got 3 {NAMES}", "use inner, left, semi or anti"),
    ),
    "full, in PySpark's spelling": (
        lambda: join(*two(), stream("buy"), how="outer"),
        (f"how='full' joins two streams, but got 3 {NAMES}", "the first stream against all others"),
    ),
    "nine": (
        lambda: join(*(stream(f"s{at}") for at in range(9))),
        ("8 streams at most, but got 9", "join some of them first, and the result with the rest"),
    ),
    "between": (
        lambda: join(bare("imp"), bare("clk"), bare("buy"), between=BETWEEN),
        ("between is about the times of two streams, but got 3", "give each a window"),
    ),
    "between, where leaving the windows out would not help": (
        lambda: join(*two(), stream("buy"), between=BETWEEN),
        ("between is about the times of two streams, but got 3", "give each a window"),
    ),
    "a name in two cases": (
        lambda: join(*two(), stream("IMP")),
        ("streams 'imp' and 'IMP' differ in case only", "give each its own name"),
    ),
    "the same stream twice": (
        lambda: join(*two(), stream("imp")),
        ("two streams are called 'imp'", "give each its own name"),
    ),
    "a table": (
        lambda: join(*two(), stream("buy").data),
        ("join takes streams, but got a Table; wrap the data with windrow.stream",),
    ),
    "a tuple of the others": (
        lambda: join(stream("imp"), (stream("clk"), stream("buy"))),
        ("join takes streams, but got a tuple; give them one by one",),
    ),
    "a key of another type": (
        lambda: join(*two(), typed("buy", ["x"])),
        ("'ad' of stream 'imp' is int64 but 'ad' of stream 'buy' is string", "cast one of them"),
    ),
    "keys of two types that meet in no third": (
        lambda: join(*two(), typed("buy", pa.array([1], pa.uint64()))),
        ("'ad' of stream 'imp' is int64 but 'ad' of stream 'buy' is uint64; cast both",),
    ),
    "one has two keys": (
        lambda: join(*two(), stream("buy", key=["ad", "text"])),
        ("stream 'imp' has 1 key column but stream 'buy' has 2; they must pair up",),
    ),
    "one has no key": (
        lambda: join(*two(), stream("buy", key=None)),
        ("stream 'imp' has a key but stream 'buy' has none",),
    ),
    "one has a clock with a zone": (
        lambda: join(*two(), clocked("buy", pa.timestamp("us", "UTC"))),
        ("of stream 'buy' has a time zone but 'at' of stream 'imp' has none",),
    ),
    "no window": (
        lambda: join(*two(), bare("buy")),
        (
            "stream 'buy' has no window, so its state would grow for ever; give it "
            "window='10 minutes' (or windrow.rows(n)), or say where the keys of 'imp' and 'clk' "
            "end (ends= or unique=True)",
        ),
    ),
    "no window, and only one of the others has punctuations": (
        lambda: join(stream("imp"), stream("clk", unique=True), bare("buy")),
        ("stream 'buy' has no window", "say where the keys of 'imp' end"),
    ),
    "no window among four": (
        lambda: join(*two(), stream("buy"), bare("pay")),
        ("stream 'pay' has no window", "where the keys of 'imp', 'clk' and 'buy' end"),
    ),
    "a stream that the condition does not know": (
        lambda: join(*two(), stream("buy"), condition="imp.ad < sale.ad"),
        ("condition names stream sale, which is unknown; there are imp, clk, buy",),
    ),
    "a column that its stream does not have": (
        lambda: join(*two(), stream("buy"), condition="imp.ad < clk.ad AND buy.price > 1"),
        ("condition names column price, which buy does not have; it has ad",),
    ),
    "a condition that compares two types, of the second and the third": (
        lambda: join(*two(), stream("buy"), condition="clk.ad = buy.text"),
        ("condition compares int64 with string; CAST one of them",),
    ),
    "an order, and rows alone beside a count window": (
        lambda: join(
            stream("imp", window=wr.rows(2)), stream("clk"), stream("buy"), how="left",
            order="adaptive",
        ),
        ("order='adaptive' with how='left'", "row of stream 'imp' stays alone", "count window"),
    ),
    "ends of keys, where no stream says so": (
        lambda: join(*two(), stream("buy"), punctuate=True),
        ("no stream says where keys end", "pass ends= or unique=True to a stream"),
    ),
    "ends of keys, where the first keeps its unmatched rows": (
        lambda: join(
            stream("imp"), stream("clk", unique=True), stream("buy", unique=True), how="left",
            punctuate=True,
        ),
        (
            "stream 'imp' does not say where keys end, and a left join keeps its unmatched rows",
            "pass ends= or unique=True to stream 'imp'",
        ),
    ),
    "punctuations beside a count window": (
        lambda: join(stream("imp", window=wr.rows(2)), stream("clk"), stream("buy", unique=True)),
        ("stream 'imp' has a count window, which punctuations of stream 'buy'",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_streams_that_cannot_meet(case):
    build, parts = CASES[case]
    refused(build, *parts)


@pytest.mark.parametrize("function", [wr.join, wr.plan, wr.explain])
def test_refused_when_the_plan_is_built(function):
    refused(lambda: function(*two(), stream("buy"), how="full"), "how='full' joins two streams")


def test_keys_of_several_widths_meet_in_the_widest():
    widths = [pa.int16(), pa.int64(), pa.int8(), pa.int32()]
    sides = [typed(f"s{at}", pa.array([1], width)) for at, width in enumerate(widths)]
    result = wr.join(*sides)
    assert result.num_rows == 1
    assert [result.schema.field(f"s{at}").type.field("ad").type for at in range(4)] == widths
