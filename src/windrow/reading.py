"""What is read of what users give: their data's schema, and their SQL texts and Columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from windrow import checks, endings, expressions
from windrow.dialect import TABLES, Dialect
from windrow.local import patterns
from windrow.model import Stream


def dialect_of(data: Any) -> Dialect:
    """How the users of this kind of data call things."""
    if not checks.is_spark(data):
        return TABLES
    from windrow.spark import words

    return words.dialect(data.sparkSession)


def predicate(
    given: Any, data: Any, schema: pa.Schema, name: str, what: str, dialect: Dialect
) -> str | None:
    """A predicate as SQL text that has been understood."""
    column = checks.is_spark(data) and checks.is_spark(given)
    if column:
        from windrow.spark import words

        given = words.column_text(data, given, f"stream {name!r}: {what}")
    text = checks.sql(given, f"stream {name!r}: {what}")
    if text is not None:
        with checks.said(column):
            expressions.predicate(text, name, schema, dialect)
    return text


def condition(given: Any, streams: Sequence[Stream], dialect: Dialect) -> str | None:
    """A condition as SQL text that has been understood."""
    column = checks.is_spark(given) and all(checks.is_spark(stream.data) for stream in streams)
    if column:
        from windrow.spark import words

        given = words.condition_text({stream.name: stream.data for stream in streams}, given)
    text = checks.sql(given, "condition", '"imp.price < clk.bid"')
    if text is not None:
        with checks.said(column):
            expressions.condition(text, {stream.name: stream.schema for stream in streams}, dialect)
    return text


def parts(
    text: str | None, streams: Sequence[Stream], dialect: Dialect
) -> tuple[tuple[Stream, ...], tuple[str, ...]]:
    """The streams with what a condition asks of each alone, and its parts about several.

    Of two streams the condition stays whole: a restart may change it, so what it would keep out of
    the state must be there.
    """
    if text is None or len(streams) == 2:
        return tuple(streams), () if text is None else (text,)
    found = expressions.conjuncts(text, {s.name: s.schema for s in streams}, dialect)
    own = {
        stream.name: [part.sql for part in found if part.streams == {stream.name}]
        for stream in streams
    }
    chosen = tuple(
        replace(stream, only=" AND ".join(f"({sql})" for sql in own[stream.name]) or None)
        for stream in streams
    )
    return chosen, tuple(part.sql for part in found if len(part.streams) != 1)


def one_key_a_row(
    data: Any, schema: pa.Schema, name: str, key: Any, ends: str | None, ends_to: str | None
) -> tuple[Any, bool]:
    """The data, with punctuations about several keys as one for each; and are ranges left?"""
    if ends is None or not endings.has_several(schema, key, ends_to):
        return data, False
    endings.patterns(schema, name, key, ends, ends_to, dialect_of(data))
    if endings.is_ranged(schema, key, ends_to):
        return data, True
    if checks.is_spark(data):
        from windrow.spark import patterns as on_spark

        return on_spark.one_key_a_row(data, name, str(key), ends, ends_to), False
    return patterns.one_key_a_row(data, name, str(key), ends, ends_to), False


def schema_of(data: Any, name: str) -> pa.Schema:
    if not checks.is_spark(data):
        return checks.table(data, name).schema
    from windrow.spark import engine

    return engine.arrow_schema(data, name)
