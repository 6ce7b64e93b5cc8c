"""Memory that follows the data (paper 5): what is given of the streams, and what is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import get_args

import pyarrow as pa

from windrow import checks, expressions
from windrow.model import (
    LARGEST_MICROS,
    CountWindow,
    DataMemory,
    JoinPlan,
    Strategy,
    Stream,
    WindrowError,
)
from windrow.operators.keys import DIGITS

WORDS = ("window", *get_args(Strategy))
#: Bytes of a unit, in words.
UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def data(
    k: dict[str, int] | None = None,
    lag: dict[tuple[str, str], int] | None = None,
    rate: dict[str, float] | None = None,
    multiplicity: dict[str, int] | None = None,
    limit: str | int | None = None,
    strategy: str = "data",
) -> DataMemory:
    """Memory that follows the data, with what is known of the streams: for `memory=` of a join.

    Parameters
    ----------
    k: scrambling factors: tuples of a stream that are further apart than this are in ascending
        order of the key (equal keys count as out of order).
    lag: {("a", "b"): n}: a is at most n tuples ahead of b (Definition 2.6 of paper 5).
    rate: tuples a second. rate[a] / rate[b] bounds the arrivals of a for each of b, over any k[b]
        arrivals of b.
    multiplicity: the most tuples of one key.
    limit: bytes that the buffers of all streams may have, such as "64 MB". At the limit results are
        lost, and counted.
    strategy: "data", "msf", "dbf" or "hybrid", as the words of `memory=` alone. With a limit,
        "data" lets the manager pick one, and anew after each batch.

    All are bounds, of whole streams. With k, rates and lags of all streams, results are complete;
    what is not given is found out while the streams come.

    >>> data(k={"a": 4}, limit="64 MB").limit
    64000000
    """
    chosen: Strategy = checks.literal(Strategy, strategy, "strategy")
    for what, given in (("k", k), ("lag", lag), ("multiplicity", multiplicity)):
        for name, number in (given or {}).items():
            least = -(2**40) if what == "lag" else int(what == "multiplicity")
            _whole(number, f"{what}[{name!r}]", least)
    for name, each in (rate or {}).items():
        if not isinstance(each, Real) or not (math.isfinite(each) and each > 0):
            raise WindrowError(
                f"rate[{name!r}] is {each!r}, expected tuples a second, above 0; only the ratios "
                "of rates count"
            )
    for pair in lag or {}:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise WindrowError(
                f"lag has the key {pair!r}, expected a pair of stream names, as in "
                '{("a", "b"): 100}: a is at most 100 tuples ahead of b'
            )
    return DataMemory(
        chosen,
        {name: int(number) for name, number in (k or {}).items()},
        {(one, two): int(number) for (one, two), number in (lag or {}).items()},
        {name: float(number) for name, number in (rate or {}).items()},
        {name: int(number) for name, number in (multiplicity or {}).items()},
        None if limit is None else _bytes(limit),
    )


def _whole(number: object, what: str, least: int) -> None:
    if not isinstance(number, Integral) or isinstance(number, bool) or number < least:
        floor = "" if least < 0 else f" of {least} or more"
        raise WindrowError(f"{what} is {number!r}, expected a whole number{floor}")


def _bytes(limit: str | int) -> int:
    """Bytes, from a number or words."""
    if isinstance(limit, Integral) and not isinstance(limit, bool) and limit > 0:
        return int(limit)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?i?b)\s*", str(limit).lower())
    if found is None or float(found[1]) <= 0 or not isinstance(limit, str):
        raise WindrowError(f"limit is {limit!r}, expected bytes, such as '64 MB' or '1.5 GiB'")
    return max(1, int(float(found[1]) * UNITS[found[2]]))


# -- a join ----------------------------------------------------------------------------------


def asked(memory: object) -> DataMemory | None:
    """What `memory=` asks for; None where windows say what stays."""
    if isinstance(memory, DataMemory):
        return memory
    if memory not in WORDS:
        raise WindrowError(
            f"memory is {memory!r}, expected one of {', '.join(map(repr, WORDS))}, or what "
            "windrow.data() returns"
        )
    return None if memory == "window" else data(strategy=str(memory))


def streams(chosen: Sequence[Stream], memory: DataMemory) -> tuple[Stream, ...]:
    """The streams of a join whose memory follows the data: no row is late unless that is asked."""
    for stream in chosen:
        _one_key_in_order(stream)
        if stream.window is not None:
            kind = "count window" if isinstance(stream.window, CountWindow) else "window"
            raise WindrowError(
                f"stream {stream.name!r} has a {kind}, but memory= follows the data instead; leave "
                "window out, or memory"
            )
        if stream.punctuated:
            raise WindrowError(
                f"stream {stream.name!r} says where its keys end, which bounds what is kept by "
                "itself; leave memory out (and window), or ends and unique"
            )
    _named(memory, [stream.name for stream in chosen])
    return tuple(
        replace(stream, lateness=LARGEST_MICROS) if stream.lateness_from == "default" else stream
        for stream in chosen
    )


def _one_key_in_order(stream: Stream) -> None:
    """Keys in whose order a stream comes in the long run."""
    said = f"memory= follows the order of the key, but stream {stream.name!r}"
    if stream.key is None or len(stream.key) != 1:
        columns = "none" if stream.key is None else f"{len(stream.key)} key columns"
        raise WindrowError(
            f"{said} has {columns}; give it one key column: a whole number, a date, a timestamp or "
            "a decimal"
        )
    kind = expressions.resolve(stream.schema, stream.key[0])
    assert kind is not None
    if not _orderable(kind):
        raise WindrowError(
            f"{said} has the key {stream.key[0]!r} of type {stream.dialect.type_name(kind)}; a key "
            f"in order is a whole number, a date, a timestamp or a decimal of {DIGITS} digits at "
            "most; cast it, or give the streams windows"
        )


def _orderable(kind: pa.DataType) -> bool:
    if pa.types.is_decimal(kind):
        return bool(kind.precision <= DIGITS)
    whole = pa.types.is_integer(kind) and not pa.types.is_uint64(kind)
    return bool(whole or pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _named(memory: DataMemory, names: Sequence[str]) -> None:
    """All that is given is of streams of this join."""

    def check(what: str, given: Iterable[str]) -> None:
        for name in given:
            if name not in names:
                raise WindrowError(
                    f"{what} names stream {name!r}, but the join has {', '.join(map(repr, names))}"
                )

    for what in ("k", "rate", "multiplicity"):
        check(what, getattr(memory, what))
    for pair in memory.lag:
        check("lag", pair)
    for name, k in memory.k.items():
        if k < memory.multiplicity.get(name, 1) - 1:
            raise WindrowError(
                f"k[{name!r}] is {k} and multiplicity[{name!r}] {memory.multiplicity[name]}, but "
                "equal keys count as out of order: k is at least the multiplicity less 1"
            )


def refuse(plan: JoinPlan) -> None:
    """Refuse what cannot go together with memory that follows the data."""
    memory = plan.memory
    if memory is None:
        return
    for name, given, default in (
        ("between", plan.between, None),
        ("order", plan.order, "none"),
        ("punctuate", plan.punctuate, False),
        ("finals", plan.finals, ()),
    ):
        if given != default:
            raise WindrowError(
                f"{name}={given!r} goes by times, but with memory={memory.strategy!r} a result may "
                f"hold rows of any times; leave {name} out, or give the streams windows"
            )
    for name, choice, usual in (
        ("algorithm", plan.algorithm, "auto"),
        ("invalidation", plan.invalidation, "time-list"),
    ):
        if choice != usual:
            raise WindrowError(
                f"{name}={choice!r} has no effect with memory={memory.strategy!r}: buffers are "
                f"lists in order of arrival, found by hash; leave {name} out"
            )
    if any(plan.preserved):
        _all_given(plan, memory)


def _all_given(plan: JoinPlan, memory: DataMemory) -> None:
    """A row that leaves unmatched must never have had a partner to come."""
    why = (
        f"how={plan.how!r}: a row is unmatched once it is evicted, which is wrong unless nothing "
        "that it could meet is still to come"
    )
    if memory.limit is not None:
        raise WindrowError(f"{why}, and a limit evicts what is still needed; leave limit out")
    if memory.strategy != "data":
        raise WindrowError(
            f"{why}; bounds of lags and rates do not hold behind strategy={memory.strategy!r}, "
            "which lets rows wait; use 'data', or how='inner'"
        )
    names = [stream.name for stream in plan.streams]
    pairs = [(i, j) for i in names for j in names if i != j]
    missing = [f"k[{name!r}]" for name in names if name not in memory.k]
    missing += [f"rate[{name!r}]" for name in names if name not in memory.rate]
    missing += [f"lag[{pair!r}]" for pair in pairs if pair not in memory.lag]
    if missing:
        raise WindrowError(
            f"{why}; that takes bounds for all streams, so give windrow.data() "
            f"{', '.join(missing)} too, or use how='inner'"
        )
