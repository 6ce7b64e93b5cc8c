"""The public functions: build a checked plan, pick the engine by the data's type, run it."""

from __future__ import annotations

import json
import time as clocks
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from inspect import signature
from typing import Any, Protocol, TypedDict, Unpack, overload

import pyarrow as pa

from windrow import (
    admission,
    aggregates,
    checks,
    duration,
    effects,
    endings,
    expressions,
    layout,
)
from windrow.cost.optimizer import choose
from windrow.dialect import TABLES, Dialect
from windrow.explanation import Explanation
from windrow.local import patterns
from windrow.local.engine import METADATA_KEY, LocalJoin
from windrow.local.payload import TablePayload
from windrow.model import (
    BatchMetrics,
    CountWindow,
    JoinPlan,
    Metrics,
    Stream,
    TimeWindow,
    Window,
    WindrowError,
)

Duration = str | timedelta


def rows(n: int, per: str = "key") -> CountWindow:
    """A window of the last `n` rows, of each key or of the whole stream.

    >>> rows(3)
    CountWindow(n=3, per='key')
    """
    checks.choice(per, ("key", "stream"), "per")
    return CountWindow(checks.count(n, "n"), "key" if per == "key" else "stream")


def stream(
    data: Any,
    *,
    name: str,
    key: str | Sequence[str] | None,
    time: str,
    window: Duration | Window | None = None,
    lateness: Duration | None = None,
    idle: Duration | None = None,
    ends: Any = None,
    ends_to: str | None = None,
    unique: bool = False,
    beats: Any = None,
    max_ahead: Duration | None = admission.A_YEAR,
) -> Stream:
    """An input of a join.

    Parameters
    ----------
    data: a `pyarrow.Table`, in arrival order, or a Spark DataFrame, streaming or batch.
    name: the stream's name in the result and in conditions.
    key: the key column or columns (dotted names reach into structs); None joins on the
        condition alone. On Spark names are Spark's: case and backticks as there.
    time: the event-time column, a timestamp.
    window: how long a tuple stays joinable: "10 minutes", "10m", a `timedelta`, or `rows(n)`.
    lateness: how far behind the largest time seen a row may come and still count. None: as far as
        the watermark that a streaming DataFrame has on its time column, else "0 seconds".
    idle: after how much silence the stream no longer holds others back. Tables have no clock,
        so they are never idle.
    ends: SQL predicate that marks rows as punctuations: no tuples, they say that the stream sends
        no further tuple of the row's key. Where the key column is an array, they end every key in
        it, and tuples have arrays of one; in the result the key is the element.
    ends_to: a column; where a punctuation has a value there, it ends all keys from its key up to,
        but without, that one. Of keys that cannot be counted through, such as text, these are the
        ones that either stream has sent within a span (the longest window) of its time.
    unique: whether a key occurs once only, so that every tuple ends its key.
    beats: SQL predicate that marks rows as heartbeats: no tuples, they only move progress.
    max_ahead: how far ahead of the clock a time may be; a row that is further is bad (see `bad` of
        `join`) and moves no progress. The clock is the micro-batch's own. A table and a batch
        DataFrame have this limit only if it is given, by the clock when the join begins. None:
        there is none. A year has 365 days.

    On Spark a predicate may be a Column as well.

    >>> import pyarrow as pa, datetime as dt
    >>> t = pa.table({"id": [1], "at": [dt.datetime(2026, 1, 1)]})
    >>> stream(t, name="clicks", key="id", time="at", window="5 minutes").window
    TimeWindow(micros=300000000)
    """
    name = checks.stream_name(name)
    schema = _schema(data, name)
    words = _dialect(data)
    key = checks.spelled(schema, key, name, "key", words)
    time = checks.spelled(schema, time, name, "time", words)
    ends_to = checks.spelled(schema, ends_to, name, "ends_to", words)
    behind, origin = admission.lateness(lateness, data, name, schema, time)
    marks = {
        what: _predicate(given, data, schema, name, what, words)
        for what, given in (("beats", beats), ("ends", ends))
    }
    several = marks["ends"] is not None and endings.has_several(schema, key, ends_to)
    ranged = False
    if several:
        endings.patterns(schema, name, key, marks["ends"] or "", ends_to, words)
        ranged = endings.is_ranged(schema, key, ends_to)
    if several and not ranged:
        data = _one_key_a_row(data, name, str(key), marks["ends"] or "", ends_to)
        schema = _schema(data, name)
    keys = checks.key_columns(schema, key, name, words)
    endings.punctuated(name, keys, marks["ends"], ends_to, unique)
    return Stream(
        data=data,
        schema=schema,
        name=name,
        key=keys,
        time=checks.time_column(schema, time, name, words),
        window=_window(window, name),
        lateness=behind,
        lateness_from=origin,
        idle=None if idle is None else duration.parse(idle, f"stream {name!r}: idle"),
        beats=marks["beats"],
        ends=marks["ends"],
        ends_to=ends_to,
        unique=unique,
        ranged=ranged,
        max_ahead=admission.max_ahead(max_ahead, data, name),
        dialect=words,
    )


def _dialect(data: Any) -> Dialect:
    """How the users of this kind of data call things."""
    if not checks.is_spark(data):
        return TABLES
    from windrow.spark import words

    return words.dialect(data.sparkSession)


def _predicate(
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


def _condition(given: Any, streams: Sequence[Stream], dialect: Dialect) -> str | None:
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


def _one_key_a_row(data: Any, name: str, key: str, ends: str, ends_to: str | None) -> Any:
    """Punctuations about several keys, as one for each."""
    if checks.is_spark(data):
        from windrow.spark import patterns as on_spark

        return on_spark.one_key_a_row(data, name, key, ends, ends_to)
    return patterns.one_key_a_row(data, name, key, ends, ends_to)


def _schema(data: Any, name: str) -> pa.Schema:
    if not checks.is_spark(data):
        return checks.table(data, name).schema
    from windrow.spark import engine

    return engine.arrow_schema(data, name)


def _window(window: Duration | Window | None, name: str) -> Window | None:
    if isinstance(window, CountWindow):
        return rows(window.n, window.per)
    if window is None or isinstance(window, TimeWindow):
        return window
    return TimeWindow(duration.parse(window, f"stream {name!r}: window"))


def plan(
    *streams: Stream,
    how: str = "inner",
    condition: Any = None,
    between: tuple[Duration, Duration] | None = None,
    closed: bool = True,
    order: str = "none",
    late: str = "drop",
    bad: str = "drop",
    violations: str = "drop",
    punctuate: bool = False,
    finals: dict[str, str] | None = None,
    algorithm: str = "auto",
    invalidation: str = "time-list",
    memory: str = "window",
    alpha: float = 0.3,
    buckets: int | None = None,
    batch_rows: int | None = None,
) -> JoinPlan:
    """The checked plan that `join` runs and `explain` shows; takes what `join` takes."""
    checks.not_yet({"memory": (memory, "window")})
    chosen = checks.streams(streams)
    checks.bounded(chosen, between)
    words = _dialect(chosen[0].data)
    condition = _condition(condition, chosen, words)
    if algorithm == "hash" and chosen[0].key is None:
        raise WindrowError(
            "algorithm='hash' needs a key, but the streams have none; use 'nested-loops' or 'auto'"
        )
    endings.heeding(chosen, algorithm, invalidation, violations)
    asked = JoinPlan(
        streams=chosen,
        how=checks.how(how),
        condition=condition,
        between=_between(between),
        closed=checks.choice(closed, (True, False), "closed"),
        late="keep" if checks.choice(late, ("drop", "keep"), "late") == "keep" else "drop",
        bad=checks.bad(bad),
        algorithm=checks.algorithm(algorithm),
        invalidation=checks.invalidation(invalidation),
        buckets=checks.count_or_none(buckets, "buckets"),
        batch_rows=checks.count_or_none(batch_rows, "batch_rows"),
        violations="fail" if violations == "fail" else "drop",
        punctuate=checks.choice(punctuate, (True, False), "punctuate"),
        order=checks.order(order),
        alpha=checks.share(alpha, "alpha"),
        now=None if checks.is_spark(chosen[0].data) else clocks.time_ns() // 1000,
        dialect=words,
    )
    asked = replace(asked, finals=aggregates.parse(finals, asked))
    endings.ending(asked)
    effects.refuse_idle_choices(asked, in_process=not checks.one_engine(chosen))
    checks.in_order(asked)
    if any(stream.ranged for stream in chosen) and not checks.one_engine(chosen):
        asked = replace(asked, streams=patterns.ranges_to_keys(asked))
    return asked


def _between(between: tuple[Duration, Duration] | None) -> tuple[int, int] | None:
    if between is None:
        return None
    if not isinstance(between, tuple | list) or len(between) != 2:
        raise WindrowError(f"between is {between!r}, expected a pair (lo, hi) of durations")
    lo = duration.parse(between[0], "between's lower bound", signed=True)
    hi = duration.parse(between[1], "between's upper bound", signed=True)
    if lo > hi:
        raise WindrowError(
            f"between is {between!r}, but its lower bound is above its upper bound; swap them"
        )
    return lo, hi


class Choices(TypedDict, total=False):
    """The keywords of `join`; `plan` has their defaults."""

    how: str
    condition: Any
    between: tuple[Duration, Duration] | None
    closed: bool
    order: str
    late: str
    bad: str
    violations: str
    punctuate: bool
    finals: dict[str, str] | None
    algorithm: str
    invalidation: str
    memory: str
    alpha: float
    buckets: int | None
    batch_rows: int | None


def join(*streams: Stream, **choices: Unpack[Choices]) -> Any:
    """Join two streams; the answer does not depend on how it is computed.

    Parameters
    ----------
    how: inner, left, right, full, semi or anti; PySpark's spellings work.
    condition: more SQL over the streams' structs, such as "imp.price < clk.bid"; on Spark also a
        Column, such as F.col("imp.price") < F.col("clk.bid").
    between: (lo, hi) bounds on the second stream's time less the first's, in place of windows.
    closed: whether a tuple exactly a window away still joins. Equal times always do.
    order: "none", or rows leave in the order of `ts`: "sync-filter" lets input wait, "filter-order"
        joins at once and lets results wait, "adaptive" switches between them by what it measures.
    alpha: the share c|w|λ1λ2 from which "adaptive" lets results wait: a wish for an improvement of
        alpha / (1 + alpha) in response time.
    late: "drop" late rows (they are counted) or "keep" them in the result, marked.
    bad: "drop" rows without a time or too far ahead (they are counted), "keep" them in the result,
        marked, or "fail".
    violations: "drop" tuples that come after their key has ended (counted), or "fail".
    punctuate: whether the result also has a row for each key that is over (kind "end").
    finals: aggregates over each key's results, such as {"best": "max(bid.price)"}; the result is
        then one row per key, once no further result can have it.
    algorithm: "hash", "nested-loops", or "auto" to decide by the calibrated cost model.
    invalidation: "time-list", or one of paper 1's: "probe", "probe-insert", "probe-all", "all".
    buckets: into how many parts the keys are split by their hash, each with a state of its own. On
        Spark a part is what one task joins; in process it is a hash bucket of paper 1's strategies,
        or a cell of the time list. None leaves the choice. The answer is the same.
    batch_rows: feed the tables in pieces of so many rows of each, as a stream would bring them.

    `memory` belongs to a later version and is refused unless at its default.

    Returns what came in, a table or a DataFrame: one struct column per stream, `ts` (the largest
    event time in the row), and `kind` where rows can be other than matches and unmatched: with
    late="keep", bad="keep" or punctuate=True. Semi and anti joins have the first stream only.
    """
    asked = plan(*streams, **choices)
    if not checks.one_engine(asked.streams):
        return local_join(asked).run()
    from windrow.spark import engine

    return engine.join(asked)


def explain(*streams: Stream, **choices: Unpack[Choices]) -> Explanation:
    """What `join` would do with the same arguments, and the numbers behind it. Print it."""
    asked = plan(*streams, **choices)
    if checks.one_engine(asked.streams):
        return Explanation(asked, layout.on_spark(asked))
    tables = [TablePayload(stream, asked.now) for stream in asked.streams]
    found = layout.statistics(tables)
    return Explanation(asked, choose(asked, found), found)


# One list of defaults: `plan` has it, and help() shows it for the others too.
for _function in (join, explain):
    _shown = signature(plan).replace(return_annotation=signature(_function).return_annotation)
    setattr(_function, "__signature__", _shown)  # noqa: B010


def configure(builder: Any) -> Any:
    """A `SparkSession.builder` with the settings that joins on Spark need."""
    from windrow.spark import session

    return session.configure(builder)


def ordered(write: Callable[[Any, int], None]) -> Callable[[Any, int], None]:
    """What `foreachBatch` needs so that the rows of an ordered join come one after the other.

    `write` gets each micro-batch's DataFrame, in the order of `ts`, and its number:

        joined = wr.join(imp, clk, order="adaptive")
        joined.writeStream.foreachBatch(wr.ordered(write)).start()

    No row of a micro-batch is before any of the one before it. Rows that came late and are kept
    (late="keep") are exempt.
    """
    from windrow.spark import sink

    return sink.ordered(write)


def check(joined: Any, checkpoint: Any) -> None:
    """Ask a Spark checkpoint, before a query starts, whether the query could go on from it.

    `joined` is the streaming DataFrame that `join` returned, or one that was made from it, with one
    join in it or several; `checkpoint` the query's checkpointLocation. Raises a `WindrowError` with
    every reason why the restart would be refused. A checkpoint that is not there yet refuses
    nothing.
    """
    from windrow.spark import check as on_spark

    on_spark.check(joined, checkpoint)


class Query(Protocol):
    """What `metrics` asks of a `pyspark.sql.streaming.StreamingQuery`."""

    @property
    def id(self) -> str: ...
    @property
    def runId(self) -> str: ...  # noqa: N802


@overload
def metrics(result: Query) -> list[BatchMetrics]: ...
@overload
def metrics(result: pa.Table) -> Metrics: ...
def metrics(result: Any) -> Any:
    """The figures of a join, from its result or from the Spark query that runs it.

    A table that `join` returned gives a `Metrics`. A `StreamingQuery` that this process started
    gives the last micro-batches that have finished, about 100 and the oldest first: a list with one
    `BatchMetrics` for each micro-batch and join. A micro-batch that still runs is not among them.
    Each start of a query is a run with a list of its own: the object that `start()` returned gives
    its own run's, also when the query has been started again since. The list is empty before the
    first micro-batch has finished, for a query that has no join of windrow's, and on Spark
    Connect, where workers cannot report.
    """
    if checks.is_spark(result) and hasattr(result, "runId"):
        from windrow.spark import book

        return book.finished(result)
    found = (getattr(getattr(result, "schema", None), "metadata", None) or {}).get(METADATA_KEY)
    if found is None:
        raise WindrowError(
            f"this {type(result).__name__} carries no metrics; pass the table that windrow.join "
            "returned, before its schema's metadata is replaced, or the StreamingQuery of a join"
        )
    return Metrics(**json.loads(found))


def local_join(asked: JoinPlan, clock: Callable[[], float] = clocks.perf_counter) -> LocalJoin:
    """A run of a plan over tables that has not begun: batches can be fed by hand.

    `clock` tells the seconds that an adaptive join measures.
    """
    tables = [TablePayload(stream, asked.now) for stream in asked.streams]
    return LocalJoin(asked, tables, layout.for_tables(asked, tables).state(), clock)
