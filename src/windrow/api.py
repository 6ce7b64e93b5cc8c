"""The public functions: build a checked plan, pick the engine by the data's type, run it."""

from __future__ import annotations

import json
import time as clocks
from collections.abc import Callable, Sequence
from typing import Any, Protocol, overload

import pyarrow as pa

from windrow import (
    admission,
    checks,
    duration,
    endings,
    layout,
    meeting,
    reading,
)
from windrow.cost.optimizer import choose
from windrow.explanation import Explained, Explanation, QueriesExplanation
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
from windrow.planning import Duration, plan, takes


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
    ends: SQL predicate (on Spark also a Column) that marks rows as punctuations: they say that the
        stream sends no further tuple of the row's key, and are no tuples. Where the key column is
        an array, they end every key in it; a tuple's array has one, which is the key in the result.
    ends_to: a column; where a punctuation has a value there, it ends all keys from its own up to
        that one, which is left out. Of keys that cannot be counted through, such as text, these
        are the ones that any stream has sent within a span (the longest window) of its time.
    unique: whether a key occurs once only, so that every tuple ends its key.
    beats: SQL predicate (or Column) that marks rows as heartbeats: they only move progress.
    max_ahead: how far ahead of the clock a time may be; a row that is further is bad (see `bad` of
        `join`) and moves no progress. The clock is the micro-batch's own. A table and a batch
        DataFrame have this limit only if it is given, by the clock when the join begins. None:
        no limit. A year has 365 days.

    >>> import pyarrow as pa, datetime as dt
    >>> t = pa.table({"id": [1], "at": [dt.datetime(2026, 1, 1)]})
    >>> stream(t, name="clicks", key="id", time="at", window="5 minutes").window
    TimeWindow(micros=300000000)
    """
    name = checks.stream_name(name)
    schema = reading.schema_of(data, name)
    words = reading.dialect_of(data)
    key = checks.spelled(schema, key, name, "key", words)
    time = checks.spelled(schema, time, name, "time", words)
    ends_to = checks.spelled(schema, ends_to, name, "ends_to", words)
    behind, origin = admission.lateness(lateness, data, name, schema, time)
    marks = {
        what: reading.predicate(given, data, schema, name, what, words)
        for what, given in (("beats", beats), ("ends", ends))
    }
    data, ranged = reading.one_key_a_row(data, schema, name, key, marks["ends"], ends_to)
    schema = reading.schema_of(data, name)
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


def _window(window: Duration | Window | None, name: str) -> Window | None:
    if isinstance(window, CountWindow):
        return rows(window.n, window.per)
    if window is None or isinstance(window, TimeWindow):
        return window
    return TimeWindow(duration.parse(window, f"stream {name!r}: window"))


@takes(plan)
def join(asked: JoinPlan) -> Any:
    """Join two streams or more; the answer does not depend on how it is computed.

    A result has one row of each stream, with equal keys, and every two of its rows are within the
    earlier one's window.

    Parameters
    ----------
    how: inner, left, right, full, semi or anti; PySpark's spellings work. Of more than two streams
        left, semi and anti are of the first against the join of all others; right and full are of
        two.
    condition: more SQL over the streams' structs, such as "imp.price < clk.bid"; on Spark also a
        Column, such as F.col("imp.price") < F.col("clk.bid").
    between: (lo, hi) bounds on the second stream's time less the first's, in place of windows; of
        two streams only.
    closed: whether a tuple exactly a window away still joins. Equal times always do.
    order: "none", or rows leave in the order of `ts`: "sync-filter" lets input wait, "filter-order"
        joins at once and lets results wait, "adaptive" switches between them by what it measures.
    alpha: the share c|w|λ1λ2, summed over the pairs of streams, from which "adaptive" lets results
        wait: a wish for an improvement of alpha / (1 + alpha) in response time.
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
    memory: "window", or without windows what stays follows the data, where the key ascends (or
        descends) in the long run: "data" finds out what complete results need; "msf" sorts first,
        "dbf" lets streams that run ahead wait on disk, "hybrid" does both. `windrow.data()` says
        what is known of the streams, or how much memory there is.
    batch_rows: feed the tables in pieces of so many rows of each, as a stream would bring them.

    Returns what came in, a table or a DataFrame: one struct column per stream, `ts` (the largest
    event time in the row), and `kind` where rows can be other than matches and unmatched: with
    late="keep", bad="keep" or punctuate=True. Semi and anti joins have the first stream only.
    """
    if not meeting.one_engine(asked.streams):
        return local_join(asked).run()
    from windrow.spark import engine

    return engine.join(asked)


@overload
def explain(queries: Explained, /) -> QueriesExplanation: ...
@overload
def explain(*streams: Stream, **choices: Any) -> Explanation: ...
def explain(*asked: Any, **choices: Any) -> Explanation | QueriesExplanation:
    """What `join` would do with the same arguments, and the numbers behind it. Print it.

    Of `ContinuousQueries`: which share a join, and predicted response times by window and schedule.
    """
    if len(asked) == 1 and not choices and isinstance(asked[0], Explained):
        return asked[0].explained()
    return _explain_join(*asked, **choices)


@takes(plan)
def _explain_join(asked: JoinPlan) -> Explanation:
    if meeting.one_engine(asked.streams):
        return Explanation(asked, layout.on_spark(asked))
    tables = [TablePayload(stream, asked.now) for stream in asked.streams]
    found = layout.statistics(tables)
    return Explanation(asked, choose(asked, found), found)


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
    from windrow.spark.tools import check as on_spark

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
        from windrow.spark.metrics import book

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
    return LocalJoin(asked, tables, layout.for_tables(asked, tables).layout, clock)
