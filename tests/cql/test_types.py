"""Every type that a column may have: selected, counted, grouped by, aggregated."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import windrow as wr

DAY, LATER = dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2)
#: Two values of each type, the smaller one first.
VALUES = {
    pa.bool_(): (False, True),
    pa.int8(): (-1, 1),
    pa.uint8(): (1, 200),
    pa.int16(): (-300, 300),
    pa.uint16(): (1, 60_000),
    pa.int32(): (-70_000, 70_000),
    pa.uint32(): (1, 2**32 - 1),
    pa.int64(): (-(2**62), 2**62),
    pa.uint64(): (1, 2**64 - 1),
    pa.float16(): (0.5, 1.5),
    pa.float32(): (-0.25, 1.5),
    pa.float64(): (-1e300, 0.1),
    pa.decimal128(5, 2): (Decimal("-1.25"), Decimal("999.99")),
    pa.decimal128(38, 0): (Decimal(-(10**37)), Decimal(10**37)),
    pa.decimal256(60, 0): (Decimal(-(10**50)), Decimal(10**50)),
    pa.timestamp("s"): (DAY, LATER),
    pa.timestamp("ns"): (DAY, LATER),
    pa.timestamp("us", "UTC"): (DAY.replace(tzinfo=dt.UTC), LATER.replace(tzinfo=dt.UTC)),
    pa.date32(): (DAY.date(), LATER.date()),
    pa.date64(): (DAY.date(), LATER.date()),
    pa.duration("us"): (dt.timedelta(0), dt.timedelta(1)),
    pa.time32("s"): (dt.time(1), dt.time(2)),
    pa.time64("us"): (dt.time(1), dt.time(2)),
    pa.string(): ("a", "b"),
    pa.large_string(): ("a", "b"),
    pa.string_view(): ("a", "b"),
    pa.binary(): (b"a", b"b"),
    pa.large_binary(): (b"a", b"b"),
    pa.binary_view(): (b"a", b"b"),
    pa.binary(2): (b"aa", b"bb"),
    pa.dictionary(pa.int32(), pa.string()): ("a", "b"),
}
NUMBERS = [kind for kind in VALUES if pa.types.is_integer(kind) or pa.types.is_floating(kind)]
ORDERED = [
    kind
    for kind in VALUES
    if kind in NUMBERS
    or pa.types.is_boolean(kind)
    or pa.types.is_decimal128(kind)
    or pa.types.is_temporal(kind)
]


def answers(kind: pa.DataType, item: str, group: str = "") -> pa.Table:
    """Of results at 1, 2 and 3 µs with the smaller value, the larger one and none."""
    values = pa.array([*VALUES[kind], None], kind)
    at = pa.array([1, 2, 3], pa.timestamp("us"))
    one = pa.table({"k": [1, 2, 3], "v": values, "at": at})
    other = pa.table({"k": [1, 2, 3], "at": at})
    queries = wr.ContinuousQueries(
        wr.stream(one, name="a", key="k", time="at"),
        wr.stream(other, name="b", key="k", time="at"),
    )
    queries.add(f"SELECT {item} AS x FROM a, b WHERE a.k = b.k {group} WINDOW 10 us", name="q")
    return queries.run()["q"]


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_selected(kind: pa.DataType) -> None:
    found = answers(kind, "a.v").column("x")
    assert (found.type, found.to_pylist()) == (kind, [*VALUES[kind], None])


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_counted(kind: pa.DataType) -> None:
    assert answers(kind, "COUNT(a.v)").column("x").to_pylist() == [1, 2, 2]
    assert answers(kind, "COUNT(DISTINCT a.v)").column("x").to_pylist() == [1, 2, 2]


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_grouped_by(kind: pa.DataType) -> None:
    found = answers(kind, "a.v", "GROUP BY a.v").column("x")
    assert found.to_pylist() == [*VALUES[kind], None]


@pytest.mark.parametrize("kind", ORDERED, ids=str)
def test_least_and_most(kind: pa.DataType) -> None:
    small, large = VALUES[kind]
    least, most = answers(kind, "MIN(a.v)").column("x"), answers(kind, "MAX(a.v)").column("x")
    assert least.to_pylist() == [small] * 3
    assert most.to_pylist() == [small, large, large]


@pytest.mark.parametrize("kind", [k for k in VALUES if k not in ORDERED], ids=str)
def test_what_has_no_least(kind: pa.DataType) -> None:
    with pytest.raises(wr.WindrowError, match=r"computes MIN of .*, which is not supported"):
        answers(kind, "MIN(a.v)")


@pytest.mark.parametrize("kind", [k for k in NUMBERS if k != pa.uint64()], ids=str)
def test_sums(kind: pa.DataType) -> None:
    small, large = VALUES[kind]
    assert answers(kind, "SUM(a.v)").column("x").to_pylist() == [
        small,
        small + large,
        small + large,
    ]
    mean = (small + large) / 2
    assert answers(kind, "AVG(a.v)").column("x").to_pylist() == [small, mean, mean]
