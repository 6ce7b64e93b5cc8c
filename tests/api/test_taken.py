"""What is not refused."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

import windrow as wr

from .asking import bare, clocked, join, stream, typed


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
