"""Columns of tables by name, through structs and their nulls."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.expressions import extract, predicate, resolve
from windrow.model import WindrowError

from .rows import GEO, SCHEMA, TABLE, verdicts


def test_extract_carries_the_nulls_of_every_parent() -> None:
    inner = pa.StructArray.from_arrays(
        [pa.array([1, 2, 3, 4])], ["c"], mask=pa.array([False, True, False, False])
    )
    outer = pa.StructArray.from_arrays([inner], ["b"], mask=pa.array([True, False, False, False]))
    table = pa.table({"a": pa.chunked_array([outer, outer[2:]])})
    assert extract(table, "a.b.c").to_pylist() == [None, None, 3, 4, 3, 4]
    batch = pa.record_batch({"a": outer[1:]})
    assert extract(batch, "a.b.c").to_pylist() == [None, 3, 4]
    assert extract(batch, "a").type == outer.type


def test_a_name_with_a_dot_wins_over_a_nested_field() -> None:
    table = pa.table({"a": [{"b": 1, "c": 2}], "a.b": ["top"], "d.e": [{"f": 3}]})
    assert extract(table, "a.b").to_pylist() == ["top"]
    assert extract(table, "a.c").to_pylist() == [2]
    assert extract(table, "d.e.f").to_pylist() == [3]
    assert resolve(table.schema, "a.b") == pa.string()
    assert verdicts(
        predicate("`a.b` = 'top' AND a.c = 2 AND `d.e`.f = 3", "imp", table.schema), table
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [("n", pa.int64()), ("geo", GEO), ("geo.at.cell", pa.int32())]
    + [(path, None) for path in ("", "N", "geo.", "geo.cell", "n.x", "tags.t", ".n")],
)
def test_resolve(path: str, expected: pa.DataType | None) -> None:
    assert resolve(SCHEMA, path) == expected


def test_extract_names_the_columns_there_are() -> None:
    with pytest.raises(WindrowError, match=r"no column 'geo\.x'; the columns are n, small"):
        extract(TABLE, "geo.x")
