"""FROM and JOIN: which streams a query is about, and what its columns' names mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from sqlglot import exp

from windrow import expressions
from windrow.cql.text import Text, listed, nearest
from windrow.expressions import Scope
from windrow.expressions.paths import find, match, spelled
from windrow.model import Stream, WindrowError

#: What a plain select may call the time of a result: the largest of its rows'.
TS = "ts"


@dataclass(frozen=True)
class Source:
    """A stream of FROM: its position among all streams, and what the query calls it."""

    position: int
    stream: Stream
    alias: str
    node: exp.Expr


@dataclass
class Names(Scope):
    """The columns of the streams of FROM, by alias. `result_time`: the name `ts` may stand alone.

    The columns that it has read are by the streams' own names.
    """

    sources: Sequence[Source] = ()
    result_time: bool = False

    def find(self, parts: list[str], quoted: bool) -> tuple[str, list[pa.Field]]:
        """The stream and the fields that a name means."""
        aliases = [source.alias for source in self.sources]
        alias = match(aliases, parts[0]) if len(parts) > 1 else None
        if alias is not None:
            source = self.sources[aliases.index(alias)]
            if fields := self._in(source, parts[1:], quoted):
                return source.stream.name, fields
        holders = [source for source in self.sources if self._in(source, parts, quoted)]
        path = ".".join(parts)
        if len(holders) == 1:
            fields = self._in(holders[0], parts, quoted)
            assert fields is not None
            return holders[0].stream.name, fields
        if holders:
            called = [holder.alias for holder in holders]
            raise WindrowError(
                f"names {path}, which is ambiguous: {listed(called)} have it; write "
                f"{' or '.join(f'{name}.{path}' for name in called)}"
            )
        if alias is not None:
            raise WindrowError(_no_column(source, parts[1:]))
        raise WindrowError(self._unknown(parts))

    def column(self, parts: list[str], quoted: bool) -> Any:
        """The term of a column, or of the result's time."""
        if self.result_time and len(parts) == 1 and parts[0].lower() == TS:
            held = [s for s in self.sources if self._in(s, parts, quoted)]
            if not held:
                return self.term((("", TS)), result_time(self.sources))
        return super().column(parts, quoted)

    def position(self, name: str) -> int:
        """The position of a stream among all."""
        return next(s.position for s in self.sources if s.stream.name == name)

    def type_of(self, ref: tuple[str, str]) -> pa.DataType:
        """The type of a column, as its stream has it."""
        return expressions.resolve(self.streams[ref[0]], ref[1])

    def _in(self, source: Source, parts: list[str], quoted: bool) -> list[pa.Field] | None:
        return find(source.stream.schema, parts, self.dialect, quoted)

    def _unknown(self, parts: list[str]) -> str:
        """What to say of a name that nothing has."""
        known = {name: s.alias for s in self.sources for name in s.stream.schema.names}
        path = ".".join(parts)
        if len(parts) == 1:
            if close := nearest(path, known).partition("mean ")[2]:
                close = f"; did you mean {known[close[:-1]]}.{close}"
            have = "; ".join(f"{s.alias} has {_columns(s)}" for s in self.sources)
            return f"names column {path}, which no stream has; {have}{close}"
        for source in self.sources:
            if source.stream.name.lower() == parts[0].lower():
                return (
                    f"names stream {parts[0]}, which this query calls {source.alias}; write "
                    f"{'.'.join([source.alias, *parts[1:]])}"
                )
        aliases = [source.alias for source in self.sources]
        return (
            f"names stream {parts[0]}, which is not in FROM; there are {listed(aliases)}"
            f"{nearest(parts[0], aliases)}"
        )


def _columns(source: Source) -> str:
    return ", ".join(source.stream.schema.names)


def _no_column(source: Source, parts: Sequence[str]) -> str:
    path = ".".join(parts)
    called = source.stream.name
    who = source.alias if source.alias == called else f"{source.alias} ({called})"
    close = nearest(path, source.stream.schema.names)
    return f"names column {path}, which {who} does not have; it has {_columns(source)}{close}"


def result_time(sources: Sequence[Source]) -> pa.DataType:
    """The type of a result's time: microseconds, in the first stream's zone."""
    first = min(sources, key=lambda source: source.position).stream
    kind = expressions.resolve(first.schema, first.time)
    return pa.timestamp("us", kind.tz if kind is not None else None)


@dataclass
class From:
    """The streams of FROM, and the conditions of ON."""

    sources: list[Source] = field(default_factory=list)
    on: list[exp.Expr] = field(default_factory=list)


def sources(text: Text, tree: exp.Select, streams: Sequence[Stream]) -> From:
    """Read FROM and the joins."""
    start = tree.args.get("from_")
    if start is None:
        raise text.error("has no FROM; name two streams or more, as in FROM a A, b B", tree)
    found = From()
    _add(text, start.this, streams, found.sources)
    for join in tree.args.get("joins") or ():
        side, method = join.args.get("side"), join.args.get("method")
        kind = join.args.get("kind") or ""
        if side or method or kind.upper() not in ("", "INNER", "CROSS"):
            words = " ".join(filter(None, (method, side, kind)))
            raise text.error(
                f"joins with {words} JOIN; continuous queries join with JOIN ... ON, or with a "
                "comma and WHERE",
                join,
            )
        if join.args.get("using"):
            raise text.error("joins with USING; write ON with the keys of both", join)
        _add(text, join.this, streams, found.sources)
        if join.args.get("on") is not None:
            found.on.append(join.args["on"])
    if len(found.sources) < 2:
        raise text.error("is about one stream; name two or more, as in FROM a A, b B", start)
    return found


def _add(text: Text, table: exp.Expr, streams: Sequence[Stream], found: list[Source]) -> None:
    more = [name for name, value in table.args.items() if value and name not in ("this", "alias")]
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier) or more:
        raise text.error(
            f"reads from {text.written(table)}; FROM takes streams by their names", table
        )
    names = [stream.name for stream in streams]
    name = match(names, table.name)
    if name is None:
        raise text.error(
            f"names stream {table.name}, which is unknown; there are {listed(names)}"
            f"{nearest(table.name, names)}",
            table.this,
        )
    position = names.index(name)
    alias = table.alias or name
    for other in found:
        if other.position == position:
            raise text.error(
                f"names stream {name} twice; make another stream of the same data with "
                "windrow.stream, under another name",
                table,
            )
        if other.alias.lower() == alias.lower():
            raise text.error(f"calls two streams {alias}; give each its own name", table)
    if streams[position].key is None:
        raise text.error(
            f"joins stream {name}, which has no key; continuous queries join on the key that "
            "windrow.stream declares",
            table,
        )
    found.append(Source(position, streams[position], alias, table))


def as_column(node: exp.Expr, names: Names) -> tuple[str, str] | None:
    """The stream and the path of a node that is a column and nothing else."""
    while isinstance(node, exp.Paren):
        node = node.this
    parts: list[Any] = []
    while isinstance(node, exp.Dot):
        parts.insert(0, node.expression)
        node = node.this
    if not isinstance(node, exp.Column):
        return None
    parts = [*node.parts, *parts]
    if not all(isinstance(part, exp.Identifier) for part in parts):
        return None
    try:
        stream, fields = names.find([p.name for p in parts], any(p.quoted for p in parts))
    except WindrowError:
        # The compiler of filters says what is wrong with it.
        return None
    return stream, spelled(names.streams[stream], fields)
