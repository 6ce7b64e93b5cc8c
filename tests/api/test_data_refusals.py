"""Data that only shows to be wrong when it is read."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest

import windrow as wr

from .asking import MICROS, TABLE, clocked, join, refused, stream

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
