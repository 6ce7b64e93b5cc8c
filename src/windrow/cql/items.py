"""SELECT and GROUP BY: the columns of the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyarrow import types
from sqlglot import exp

from windrow.cql.joining import compiled
from windrow.cql.query import Function, Group, Item
from windrow.cql.sources import TS, Names, Source, as_column
from windrow.cql.text import Text
from windrow.expressions.paths import trail
from windrow.model import CountWindow

_FUNCTIONS: dict[type[Any], Function] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


@dataclass(frozen=True)
class Draft:
    """An item that has no name yet: what it is, its own name, and a longer one."""

    item: Item
    given: bool
    name: str
    longer: str
    node: exp.Expr


def groups(text: Text, tree: exp.Select, names: Names) -> list[tuple[exp.Expr, Group]]:
    """The values of GROUP BY, and how they are written."""
    clause = tree.args.get("group")
    if clause is None:
        return []
    if clause.args.keys() - {"expressions"} and any(
        value for name, value in clause.args.items() if name != "expressions"
    ):
        raise text.error("groups by ROLLUP, CUBE, sets or ALL; name columns", clause)
    found = []
    for node in clause.expressions:
        if isinstance(node, exp.Literal):
            raise text.error(f"groups by {node.name}, a constant; name columns", node)
        value = compiled(text, node, names)
        if types.is_nested(value.type) or types.is_null(value.type):
            raise text.error(f"groups by {_called(names, value.type)}; group by its fields", node)
        found.append((node, Group(value, value.type)))
    return found


def items(
    text: Text,
    tree: exp.Select,
    names: Names,
    grouped: Sequence[tuple[exp.Expr, Group]],
    window: object,
) -> tuple[tuple[Item, ...], bool]:
    """The items of SELECT, and whether they are aggregates."""
    nodes = list(tree.expressions)
    first = next((n for n in nodes if type(_bare(n)) in _FUNCTIONS), None)
    aggregated = first is not None or bool(grouped)
    if aggregated and isinstance(window, CountWindow):
        raise text.error(
            "computes aggregates over a window of rows; they are over windows of time, such as "
            "WINDOW 1 min",
            first or grouped[0][0],
        )
    drafts: list[Draft] = []
    for node in nodes:
        if aggregated:
            drafts.append(_of_group(text, node, names, grouped))
        elif isinstance(_bare(node), exp.Star) or isinstance(_bare(node).this, exp.Star):
            drafts += _all_columns(text, _bare(node), names)
        else:
            drafts.append(_plain(text, node, names))
    return tuple(_named(text, drafts, aggregated)), aggregated


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Alias | exp.Paren):
        node = node.this
    return node


def _refuse_aggregates_in(text: Text, inner: exp.Expr) -> None:
    """An aggregate is selected by itself."""
    nested = next(iter(inner.find_all(*_FUNCTIONS)), None)
    if nested is not None:
        raise text.error(
            f"computes with the aggregate {text.written(nested)}; select it by itself and compute "
            "with the answers",
            nested,
        )


def _plain(text: Text, node: exp.Expr, names: Names) -> Draft:
    inner = node.this if isinstance(node, exp.Alias) else node
    _refuse_aggregates_in(text, inner)
    value = compiled(text, inner, replace(names, result_time=True))
    whole = as_column(inner, names) if value.columns and value.columns[0][0] else None
    kind = names.type_of(whole) if whole else value.type
    if types.is_null(kind) and whole is None:
        raise text.error("selects NULL, which has no type; CAST it", inner)
    return _draft(text, node, Item("", kind, value, whole), names)


def _of_group(
    text: Text,
    node: exp.Expr,
    names: Names,
    grouped: Sequence[tuple[exp.Expr, Group]],
) -> Draft:
    """An item of a query with aggregates: an aggregate, or a value of GROUP BY."""
    inner = _bare(node)
    if type(inner) in _FUNCTIONS:
        return _draft(text, node, _aggregate(text, inner, names), names)
    key = _meaning(inner, names)
    for at, (written, group) in enumerate(grouped):
        if _meaning(_bare(written), names) == key:
            return _draft(text, node, Item("", group.type, group.value, group=at), names)
    _refuse_aggregates_in(text, inner)
    raise text.error(
        f"selects {text.written(inner)} beside aggregates; GROUP BY it, or aggregate it", inner
    )


def _meaning(node: exp.Expr, names: Names) -> Any:
    """What is the same for two spellings of one expression."""

    def resolved(each: exp.Expr) -> exp.Expr:
        found = as_column(each, names)
        return exp.column(found[1], found[0], quoted=True) if found else each

    return node.copy().transform(resolved)


def _aggregate(text: Text, node: exp.Expr, names: Names) -> Item:
    function = _FUNCTIONS[type(node)]
    inner, distinct = node.this, False
    if isinstance(inner, exp.Distinct):
        if function not in ("count", "min", "max"):
            raise text.error(f"computes {function.upper()} of DISTINCT; only COUNT takes it", node)
        several = inner.expressions
        if len(several) != 1:
            raise text.error("counts DISTINCT of several; count one, or group by the others", node)
        inner, distinct = several[0], function == "count"
    if node.args.get("expressions"):
        raise text.error(f"gives {function.upper()} several arguments; it takes one", node)
    if isinstance(inner, exp.Star):
        if function != "count" or distinct:
            raise text.error(f"computes {function.upper()} of *; only COUNT takes it", node)
        return Item("", pa.int64(), None, function="count")
    nested = next(iter(inner.find_all(*_FUNCTIONS)), None)
    if nested is not None:
        raise text.error("computes an aggregate of an aggregate", nested)
    value = compiled(text, inner, names)
    kind = result_type(function, distinct, value.type)
    if kind is None:
        what = f"{function.upper()}{' of DISTINCT' if distinct else ''}"
        raise text.error(
            f"computes {what} of {_called(names, value.type)}, which is not supported; CAST it",
            node,
        )
    return Item("", kind, value, function=function, distinct=distinct)


def result_type(function: Function, distinct: bool, kind: pa.DataType) -> pa.DataType | None:
    """The type of an aggregate of values of a type; None: there is none."""
    number = types.is_integer(kind) or types.is_floating(kind)
    narrow = types.is_decimal(kind) and kind.precision <= 38
    if function == "count":
        return None if distinct and types.is_nested(kind) else pa.int64()
    if function == "avg":
        return pa.float64() if number or narrow else None
    if function == "sum":
        if narrow:
            return pa.decimal128(min(38, kind.precision + 10), kind.scale)
        if not number:
            return None
        if types.is_floating(kind):
            return pa.float64()
        return pa.uint64() if kind == pa.uint64() else pa.int64()
    moment = types.is_temporal(kind) and not types.is_interval(kind)
    return kind if number or narrow or moment or types.is_boolean(kind) else None


def _all_columns(text: Text, node: exp.Expr, names: Names) -> list[Draft]:
    """What `*` or `a.*` stands for."""
    if any(node.args.get(each) for each in ("except_", "replace", "rename")):
        raise text.error("selects * with changes; name the columns", node)
    chosen: Sequence[Source] = names.sources
    if isinstance(node, exp.Column):
        chosen = [s for s in names.sources if s.alias.lower() == node.table.lower()]
        if not chosen:
            # The compiler of names says which there are.
            compiled(text, exp.column("*", node.args["table"].copy()), names)
    return [
        _draft(text, exp.column(name, source.alias, quoted=True), None, names)
        for source in chosen
        for name in source.stream.schema.names
    ]


def _draft(text: Text, node: exp.Expr, item: Item | None, names: Names) -> Draft:
    inner = node.this if isinstance(node, exp.Alias) else node
    if item is None:
        value = compiled(text, node, names)
        whole = as_column(node, names)
        item = Item("", names.type_of(whole) if whole else value.type, value, whole)
    if isinstance(node, exp.Alias):
        return Draft(item, True, node.alias, node.alias, node)
    found = as_column(inner, names)
    if found is None:
        written = text.written(inner)
        return Draft(item, False, written, written, node)
    fields = trail(names.streams[found[0]], found[1])
    assert fields is not None
    name = fields[-1].name
    alias = next(s.alias for s in names.sources if s.stream.name == found[0])
    return Draft(item, False, name, f"{alias}_{name}", node)


def _named(text: Text, drafts: Sequence[Draft], aggregated: bool) -> list[Item]:
    """Items under names of their own: where several would be called alike, the longer ones."""
    shared = Counter(draft.name.lower() for draft in drafts)
    taken = {TS} if aggregated else set()
    found = []
    for draft in drafts:
        several = shared[draft.name.lower()] > 1 and not draft.given
        name = draft.longer if several else draft.name
        if name.lower() in taken:
            time = aggregated and name.lower() == TS
            raise text.error(
                f"calls a column {name}, which "
                + ("is the time of every answer" if time else "another column is called too")
                + "; choose another name with AS",
                draft.node,
            )
        taken.add(name.lower())
        found.append(replace(draft.item, name=name))
    return found


def _called(names: Names, kind: pa.DataType) -> str:
    return names.dialect.type_name(kind)
