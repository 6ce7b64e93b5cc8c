"""Keys of two widths: they meet in the wider type, as in SQL, and nothing is lost on the way."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import assert_same_rows, duckdb_join

HOWS = ("inner", "left", "right", "full", "semi", "anti")
#: The types of each stream's key, and values that the narrower one has and those it has not.
WIDTHS = {
    "int and long": (pa.int32(), pa.int64(), [0, -1, 5, -(2**31), 2**31 - 1], [2**31, -(2**40)]),
    "tinyint and smallint": (pa.int8(), pa.int16(), [0, -128, 127], [128, -129, 383]),
    "without a sign": (pa.uint8(), pa.uint64(), [0, 255], [256, 2**64 - 1]),
    "with and without a sign": (pa.uint32(), pa.int32(), [0, 7, 2**31 - 1], [-1, -(2**31)]),
    "float and double": (
        pa.float32(), pa.float64(), [0.0, -0.0, 1.5, float("nan"), 2.0**100], [0.1, 1e300],
    ),
    "a dictionary": (pa.dictionary(pa.int8(), pa.int32()), pa.int64(), [0, 5, -7], [2**31]),
}  # fmt: skip


def table(kind: pa.DataType, values: list[object], seed: int) -> pa.Table:
    """Each value several times, nulls between them, at times that mostly meet."""
    rng = np.random.default_rng(seed)
    drawn = [[*values, None][at] for at in rng.integers(0, len(values) + 1, 60)]
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    keys = pa.array(drawn, plain)
    return pa.table(
        {
            "k": keys.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else keys,
            "t": pa.array(np.sort(rng.integers(0, 500, 60)), pa.timestamp("us")),
            "n": np.arange(60),
        }
    )


def streams(one: pa.Table, two: pa.Table, **more: object) -> list[object]:
    common = {"key": "k", "time": "t", "window": "40 microseconds", **more}
    return [wr.stream(t, name=n, **common) for t, n in ((one, "a"), (two, "b"))]


@pytest.mark.parametrize(("how", "flip"), list(product(HOWS, (False, True))))
@pytest.mark.parametrize("case", WIDTHS)
def test_duckdb_agrees(case: str, how: str, flip: bool) -> None:
    narrow, wide, both, only = WIDTHS[case]
    # Of two types neither of which holds the other, each has values of its own.
    tables = [table(narrow, both, 1), table(wide, both + only, 2)]
    asked = streams(*(tables[::-1] if flip else tables))
    joined = wr.join(*asked, how=how)
    assert_same_rows(joined, duckdb_join(*asked, how=how))
    assert joined.schema.field("a").type.field("k").type == (wide if flip else narrow)


def test_several_key_columns_of_which_one_differs() -> None:
    one, two = table(pa.int32(), [1, 2], 3), table(pa.int64(), [1, 2, 2**40], 4)
    one, two = (t.append_column("s", [["x", "y"][i % 2] for i in range(60)]) for t in (one, two))
    asked = streams(one, two, key=["s", "k"])
    assert_same_rows(wr.join(*asked, how="full"), duckdb_join(*asked, how="full"))
    assert wr.join(*asked).num_rows > 0


def ended(kind: pa.DataType, rows: list[tuple[object, int, bool]]) -> pa.Table:
    keys, times, over = zip(*rows, strict=True)
    at = pa.array(times, pa.timestamp("us"))
    return pa.table({"k": pa.array(keys, kind), "t": at, "over": over})


@pytest.mark.parametrize("flip", [False, True])
def test_a_key_that_ends_is_in_each_struct_that_has_room_for_it(flip: bool) -> None:
    narrow = ended(pa.int32(), [(1, 1, False), (1, 5, True)])
    wide = ended(pa.int64(), [(1, 2, False), (2**40, 3, True), (1, 6, True)])
    sides = [wide, narrow] if flip else [narrow, wide]
    common = {"key": "k", "time": "t", "ends": "over"}
    a, b = (wr.stream(t, name=n, **common) for t, n in zip(sides, "ab", strict=True))
    joined = wr.join(a, b, punctuate=True)
    ends = [row for row in joined.to_pylist() if row["kind"] == "end"]
    found = {(row["a"]["k"], row["b"]["k"]) for row in ends}
    assert found == {(1, 1), (2**40, None) if flip else (None, 2**40)}


def test_finals_have_the_wider_type() -> None:
    narrow = ended(pa.int32(), [(1, 1, False), (1, 5, True)])
    wide = ended(pa.int64(), [(1, 2, False), (1, 3, False), (1, 6, True)])
    common = {"key": "k", "time": "t", "ends": "over"}
    for first, second in ((narrow, wide), (wide, narrow)):
        a, b = (wr.stream(t, name=n, **common) for t, n in ((first, "a"), (second, "b")))
        found = wr.join(a, b, finals={"pairs": "count(*)"})
        assert found.schema.field("k").type == pa.int64()
        assert [(row["k"], row["pairs"]) for row in found.to_pylist()] == [(1, 2)]
