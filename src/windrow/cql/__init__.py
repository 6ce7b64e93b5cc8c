"""Continuous queries: SQL over streams, and what becomes of a join's results for each query.

    text -> grammar (sqlglot and WINDOW) -> sources, joining, windowing, items -> CompiledQuery
    results of a shared join -> verdict -> plain select: project -> rows
                                        -> aggregates: inputs -> Aggregation -> rows

A `CompiledQuery` knows columns by (stream, path) and gets them from the engine that keeps the rows,
so it is the same in process and on Spark.
"""

from __future__ import annotations

from windrow.cql.compiling import compile_query
from windrow.cql.query import CompiledQuery, Filter, Item, Signature

__all__ = ["CompiledQuery", "Filter", "Item", "Signature", "compile_query"]
