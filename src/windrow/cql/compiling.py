"""From a query's text to a `CompiledQuery`, clause by clause."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from windrow.cql import grammar
from windrow.cql.items import groups, items
from windrow.cql.joining import filters
from windrow.cql.query import CompiledQuery
from windrow.cql.sources import TS, Names, result_time, sources
from windrow.cql.text import Text
from windrow.cql.windowing import window
from windrow.model import Stream, TimeWindow, WindrowError

#: The clauses that a query may have.
_CLAUSES = {"expressions", "from_", "joins", "where", "group", "windows"}
_CALLED = {
    "with_": "WITH",
    "distinct": "DISTINCT",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "laterals": "LATERAL VIEW",
}


def compile_query(sql: str, name: str, streams: Sequence[Stream]) -> CompiledQuery:
    """The query that a text asks of these streams.

    >>> import pyarrow as pa
    >>> fields = {"id": pa.int64(), "value": pa.float64(), "at": pa.timestamp("us")}
    >>> streams = [Stream(None, pa.schema(fields), n, ("id",), "at") for n in ("heat", "damp")]
    >>> query = compile_query(
    ...     "SELECT A.id FROM Heat A, Damp B WHERE A.id = B.id AND A.value > 30 WINDOW 1 min",
    ...     "hot", streams)
    >>> query.signature, query.window.micros, [part.test.sql for part in query.filters]
    (Signature(streams=(0, 1), kind='time'), 60000000, ['A.value > 30'])
    >>> compile_query("SELECT A.id FROM Heat A, Dump B WHERE A.id = B.id WINDOW 1 min", "hot",
    ...     streams)
    Traceback (most recent call last):
    windrow.model.WindrowError: query 'hot', line 1, column 26: names stream Dump, which is unknown; there are heat and damp; did you mean damp?
      SELECT A.id FROM Heat A, Dump B WHERE A.id = B.id WINDOW 1 min
                               ^^^^
    """  # noqa: E501
    if not isinstance(sql, str):
        raise WindrowError(f"query {name!r} is {sql!r}, expected SQL text")
    text = Text(sql, name)
    tree = grammar.parse(text)
    _refuse_clauses(text, tree)
    found = sources(text, tree, streams)
    schemas = {source.stream.name: source.stream.schema for source in found.sources}
    names = Names(schemas, streams[0].dialect, sources=found.sources)
    asked = filters(text, tree, found, names)
    length, slide = window(text, tree)
    grouped = groups(text, tree, names)
    select, aggregated = items(text, tree, names, grouped, length)
    if slide is not None and not aggregated:
        raise text.error(
            "slides, but computes no aggregate; a plain select has a row for each result, as it "
            "comes, so leave SLIDE out",
            tree.args["windows"].expressions[1],
        )
    if aggregated and isinstance(length, TimeWindow) and length.micros == 0:
        raise text.error(
            "computes aggregates over WINDOW 0, an interval that holds nothing",
            tree.args["windows"].expressions[0],
        )
    time = result_time(found.sources)
    fields = [pa.field(item.name, item.type) for item in select]
    return CompiledQuery(
        name=name,
        sql=sql,
        streams=tuple(source.position for source in found.sources),
        aliases=tuple(source.alias for source in found.sources),
        names=tuple(source.stream.name for source in found.sources),
        window=length,
        slide=slide,
        filters=asked,
        select=select,
        group_by=tuple(group for _, group in grouped),
        aggregated=aggregated,
        schema=pa.schema([*fields, pa.field(TS, time)] if aggregated else fields),
        time=time,
    )


def _refuse_clauses(text: Text, tree: exp.Select) -> None:
    for clause, node in tree.args.items():
        if clause in _CLAUSES or not node:
            continue
        word = _CALLED.get(clause, clause.strip("_").upper())
        at = text.sql.upper().find(word)
        raise text.error(
            f"uses {word}, which is not supported; a continuous query is SELECT ... FROM ... WHERE "
            "... [GROUP BY ...] WINDOW ... [SLIDE ...]",
            (at, at + len(word)) if at >= 0 else None,
        )
