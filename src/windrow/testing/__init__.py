"""Check joins: two oracles that share no code with the joins, and cases to try them on.

>>> import pyarrow as pa
>>> from windrow.model import Stream, TimeWindow
>>> from windrow.testing import assert_same_rows, duckdb_join, naive_join, table
>>> data = table('''
...     k  t
...     x  10
...     x  15
... ''', t=pa.timestamp("us"))
>>> a, b = (Stream(data, data.schema, name, ("k",), "t", TimeWindow(5)) for name in "ab")
>>> assert_same_rows(naive_join(a, b), duckdb_join(a, b))
>>> naive_join(a, b).num_rows
4
"""

from __future__ import annotations

from windrow.extras import needed

with needed("windrow.testing"):
    import duckdb as _duckdb  # noqa: F401
    import hypothesis as _hypothesis  # noqa: F401

from windrow.testing import contract
from windrow.testing.compare import assert_same_rows, rows
from windrow.testing.duckdb_oracle import duckdb_join
from windrow.testing.keys import KEY_KINDS, KeyKind
from windrow.testing.naive import naive_batches, naive_join
from windrow.testing.strategies import Case, cases, many_cases, streams
from windrow.testing.text import table

__all__ = [
    "KEY_KINDS",
    "Case",
    "KeyKind",
    "assert_same_rows",
    "cases",
    "contract",
    "duckdb_join",
    "many_cases",
    "naive_batches",
    "naive_join",
    "rows",
    "streams",
    "table",
]
