"""Which columns SQL text may name, and which of them it has named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from windrow.dialect import Dialect
from windrow.expressions import types
from windrow.expressions.paths import find, match, spelled
from windrow.expressions.terms import ColumnRef, Term
from windrow.model import WindrowError


@dataclass
class Scope:
    """The columns that may be named, and those that were, with the types they are computed in."""

    streams: Mapping[str, pa.Schema]
    dialect: Dialect
    own: str | None = None
    reads: dict[ColumnRef, pa.DataType] = field(default_factory=dict)
    #: The innermost part of the text that was refused.
    culprit: exp.Expr | None = None

    @property
    def wall(self) -> bool:
        """Is text next to a time without a zone one too? In process it is an instant in UTC."""
        return self.dialect.by_parts

    def column(self, parts: list[str], quoted: bool) -> Term:
        stream, fields = self.find(parts, quoted)
        ref = (stream, spelled(self.streams[stream], fields))
        return self.term(ref, types.plain(fields[-1].type, self.dialect.zone))

    def term(self, ref: ColumnRef, kind: pa.DataType) -> Term:
        """The term that reads a column, computed in a type."""
        to = self.reads.setdefault(ref, kind)
        return Term(to, lambda columns: columns[ref])

    def find(self, parts: list[str], quoted: bool) -> tuple[str, list[pa.Field]]:
        known = list(self.streams)
        stream = match(known, parts[0], self.dialect.folds) if len(parts) > 1 else None
        # A qualifier wins over a struct of the same name, as in Spark.
        if stream is not None and (fields := self.fields_of(stream, parts[1:], quoted)):
            return stream, fields
        if self.own is not None:
            stream = self.own
            if fields := self.fields_of(stream, parts, quoted):
                return stream, fields
        elif len(parts) == 1:
            holders = [s for s in self.streams if self.fields_of(s, parts, quoted)]
            fix = f"{(holders or list(self.streams))[0]}.{parts[0]}"
            raise WindrowError(f"names column {parts[0]} without its stream; write e.g. {fix}")
        if stream is None:
            there = ", ".join(known)
            raise WindrowError(f"names stream {parts[0]}, which is unknown; there are {there}")
        path = ".".join(parts if self.own else parts[1:])
        names = ", ".join(self.streams[stream].names)
        raise WindrowError(f"names column {path}, which {stream} does not have; it has {names}")

    def fields_of(self, stream: str, parts: list[str], quoted: bool) -> list[pa.Field] | None:
        return find(self.streams[stream], parts, self.dialect, quoted)
