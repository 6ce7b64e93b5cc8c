"""What is asked of a join: streams, windows, the plan. No engine.

Every duration and time here is an integer of microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, get_args

from windrow.dialect import TABLES, Dialect

if TYPE_CHECKING:
    import pyarrow as pa

How = Literal["inner", "left", "right", "full", "semi", "anti"]
Algorithm = Literal["auto", "hash", "nested-loops"]
Order = Literal["none", "sync-filter", "filter-order", "adaptive"]
Aggregate = Literal["count", "sum", "min", "max", "avg"]
Late = Literal["drop", "keep"]
Bad = Literal["drop", "fail", "keep"]
Violations = Literal["drop", "fail"]
Invalidation = Literal["time-list", "probe", "probe-insert", "probe-all", "all"]
Schedule = Literal["lwo", "swf", "mqt"]
Strategy = Literal["data", "msf", "dbf", "hybrid"]

#: Columns of the result beside the streams' own, so no stream may be called that.
RESERVED_NAMES = ("ts", "kind")

#: Times and durations stay below 2**61 µs (about 73,000 years): no sum in a kernel overflows.
LARGEST_MICROS = 2**61
#: A stream's progress before its first row, and after the end of a finite input: beyond the sum
#: of the largest time and the largest window.
BEGINNING = -(2**62) - 1
END = 2**62 + 1


class WindrowError(ValueError):
    """A request that cannot be carried out. Says what was given, what was expected, what to do."""


@dataclass(frozen=True)
class TimeWindow:
    """A tuple stays joinable for `micros` microseconds of event time."""

    micros: int


@dataclass(frozen=True)
class CountWindow:
    """A tuple stays joinable until `n` later tuples of its key (or of its stream) have come."""

    n: int
    per: Literal["key", "stream"] = "key"


Window = TimeWindow | CountWindow


@dataclass(frozen=True)
class Final:
    """An aggregate over a key's results: a function of a column of a stream, or of the rows."""

    name: str
    function: Aggregate
    stream: int | None = None
    column: str | None = None


@dataclass(frozen=True, eq=False)
class Stream:
    """One input of a join. Built by `windrow.stream`, which checks it."""

    data: Any
    schema: pa.Schema
    name: str
    key: tuple[str, ...] | None
    time: str
    window: Window | None = None
    lateness: int = 0
    #: Whose word the lateness is: the user's, the DataFrame's watermark's, or the default's.
    lateness_from: Literal["given", "watermark", "default"] = "given"
    idle: int | None = None
    #: How far ahead of the clock a time may be; None: any.
    max_ahead: int | None = None
    beats: str | None = None
    ends: str | None = None
    ends_to: str | None = None
    unique: bool = False
    #: Whether ranges up to `ends_to` are still to become punctuations of the keys in them.
    ranged: bool = False
    #: How its users call types and columns; the zone of its predicates' times.
    dialect: Dialect = TABLES
    #: The part of a join's condition that is about this stream alone. A tuple that fails it is
    #: mute: it counts in a count window and matches nothing.
    only: str | None = None

    @property
    def punctuated(self) -> bool:
        """Does it say when a key is over?"""
        return self.unique or self.ends is not None


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """What one query asks of its streams: all that the answer depends on beside them."""

    how: How = "inner"
    condition: str | None = None
    #: Its parts that are about several streams; those about one are with that stream (`only`). Of
    #: two streams the whole condition is one part.
    conjuncts: tuple[str, ...] = ()
    between: tuple[int, int] | None = None
    closed: bool = True
    late: Late = "drop"
    bad: Bad = "drop"
    violations: Violations = "drop"
    punctuate: bool = False
    finals: tuple[Final, ...] = ()
    #: Whether punctuations are heeded at all; without, it is paper 3's WJoin.
    heeding: bool = True
    order: Order = "none"
    #: None: windows, or punctuations, say how long a tuple stays.
    memory: DataMemory | None = None
    #: How its condition's names and times are meant.
    dialect: Dialect = TABLES

    @property
    def ordered(self) -> bool:
        """Do rows leave in the order of `ts`?"""
        return self.order != "none"

    @property
    def waits(self) -> bool:
        """May input wait for the slowest stream, so that rows leave in order?"""
        return self.order in ("sync-filter", "adaptive")

    @property
    def marked(self) -> bool:
        """Does the output carry the `kind` column?"""
        return self.late == "keep" or self.bad == "keep" or self.punctuate


@dataclass(frozen=True)
class DataMemory:
    """Memory that follows the data (paper 5), in place of windows. Built by `windrow.data`.

    What is given are bounds, by the names of streams: k scrambling factors; lag, by two names, how
    many tuples the first is ahead of the second; rates, of which only ratios count; multiplicity,
    the most tuples of a key. limit: bytes that buffers may have.
    """

    strategy: Strategy = "data"
    k: dict[str, int] = field(default_factory=dict)
    lag: dict[tuple[str, str], int] = field(default_factory=dict)
    rate: dict[str, float] = field(default_factory=dict)
    multiplicity: dict[str, int] = field(default_factory=dict)
    limit: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Execution:
    """The choices that change the price of an answer and not the answer."""

    algorithm: Algorithm = "auto"
    invalidation: Invalidation = "time-list"
    buckets: int | None = None
    batch_rows: int | None = None
    alpha: float = 0.3


@dataclass(frozen=True, eq=False)
class JoinPlan(Question, Execution):
    """A checked join: streams, what is asked of them, and how it is executed."""

    streams: tuple[Stream, ...]
    #: Of a join that queries share, in which order its windows are served. The queries' own windows
    #: come and go while it runs.
    schedule: Schedule | None = None
    #: The machine's clock (µs) when a join of tables began. On Spark each micro-batch has its own.
    now: int | None = None

    @property
    def preserved(self) -> tuple[bool, ...]:
        """Per stream: do its unmatched tuples reach the output?"""
        kinds = {"left": (0,), "right": (1,), "full": (0, 1), "anti": (0,)}.get(self.how, ())
        return tuple(i in kinds for i in range(len(self.streams)))

    @property
    def singles(self) -> tuple[bool, ...]:
        """Per stream: can its rows reach the output alone, once their fate is known?"""
        return tuple(
            kept or (self.how == "semi" and i == 0) for i, kept in enumerate(self.preserved)
        )

    @property
    def counted(self) -> bool:
        """Does a window count rows?"""
        return any(isinstance(stream.window, CountWindow) for stream in self.streams)

    @property
    def shown(self) -> tuple[int, ...]:
        """The streams that have a struct in the output."""
        return (0,) if self.how in ("semi", "anti") else tuple(range(len(self.streams)))

    def bad_of(self, stream: int) -> Bad:
        """What becomes of a stream's bad rows. One that is not shown has no column to keep them."""
        return "drop" if self.bad == "keep" and stream not in self.shown else self.bad

    @property
    def punctuated(self) -> bool:
        """Are there punctuations that the join heeds?"""
        return self.heeding and any(stream.punctuated for stream in self.streams)

    @property
    def span(self) -> int:
        """How long after its time a punctuation speaks of its key: the longest window."""
        return max(0, *self.reaches)

    def early(self, stream: int) -> bool:
        """May a punctuation of this stream propagate before the others have punctuated too?

        Not while another stream's rows of the key could still leave unmatched.
        """
        return not any(kept for other, kept in enumerate(self.preserved) if other != stream)

    @property
    def can_end(self) -> bool:
        """Is there a way for a key to end, so that it can be reported?"""
        said = [stream.punctuated for stream in self.streams]
        return self.heeding and (
            all(said) or any(there and self.early(s) for s, there in enumerate(said))
        )

    @property
    def reaches(self) -> tuple[int, ...]:
        """How far, in µs, a tuple of each stream reaches to later tuples of the others.

        x of X and y of Y join in time iff ts(y) - ts(x) <= reach(X) and ts(x) - ts(y) <= reach(Y).
        Windows and `between` both come down to that; `closed=False` takes one microsecond off,
        but never the tie. A count window bounds no time, so its reach is the largest there is.
        """
        if self.between is not None:
            return (self.between[1], -self.between[0])
        return tuple(self._reach(s.window) for s in self.streams)

    def _reach(self, window: Window | None) -> int:
        if isinstance(window, TimeWindow):
            return window.micros if self.closed else max(window.micros - 1, 0)
        return LARGEST_MICROS


@dataclass
class Metrics:
    """The figures of one join, per stream where a stream is what they belong to.

    `comparisons` counts stored tuples looked at by probes, `checks` those looked at by
    invalidation; `live_*` is the state when the join stopped. `peak_rows` adds up the high-water
    marks of the state's parts, so it is an upper bound. An anti join reports no matches.

    `live_bytes` are those of the records that the state has of its live rows and flags: 32 bytes
    each (time, key, row, link). A row's own columns do not count, they stay where they are.
    `allocated_bytes` is the memory of the whole state, used or not: records, the hash chains'
    heads, matched flags, what waits and is held. It does not go back when rows leave, because the
    rows that follow use it again.

    Of `punctuations` that acted, tuples were `purged`; others were `discarded` on arrival, after
    their probe, or `skipped` without one, or `violations` of a promise. `flags` are the I-Nodes
    held when the join stopped. `ended` keys were propagated, `ended_early` of them before both
    streams had punctuated. `finals` are the rows that left for them, `partials` the rows that are
    held for keys that are open.

    Of more than two streams, `probes` counts how often each was probed and `found` the tuples that
    were found, so `probe_order` has the streams with the fewest matches a probe first.

    In order: tuples `waiting` to be joined (under count windows without an order, too) and results
    `held`, when the join stopped and at most, and how often the adaptive policy has switched.

    Of a join that queries share: tuples `suspended`, whose larger windows are still to be scanned.

    Of memory that follows the data: the `scrambling` factors so far and how many tuples are to stay
    (`memory`; 0: all, since it is not known yet). Of those that are `waiting` under "dbf" and
    "hybrid", `spilled` are on disk; `waiting_bytes` and `peak_waiting` leave them out. A `limit`
    has `forced` tuples out; under one, `strategy` is what the manager has picked, which asks for
    `asked_bytes`, and it has picked anew as often as it has `switches`. Tuples and moments have
    `broken` given bounds. `accuracy` is the share of `producible` results that were `produced`, of
    a sample of at most 2,048 keys, before the condition.
    """

    batches: int = 0
    tuples: dict[str, int] = field(default_factory=dict)
    inserted: dict[str, int] = field(default_factory=dict)
    invalidated: dict[str, int] = field(default_factory=dict)
    stale: dict[str, int] = field(default_factory=dict)
    live_rows: dict[str, int] = field(default_factory=dict)
    live_bytes: dict[str, int] = field(default_factory=dict)
    peak_rows: dict[str, int] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)
    bad: dict[str, int] = field(default_factory=dict)
    beats: dict[str, int] = field(default_factory=dict)
    punctuations: dict[str, int] = field(default_factory=dict)
    violations: dict[str, int] = field(default_factory=dict)
    purged: dict[str, int] = field(default_factory=dict)
    discarded: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    flags: dict[str, int] = field(default_factory=dict)
    probes: dict[str, int] = field(default_factory=dict)
    found: dict[str, int] = field(default_factory=dict)
    comparisons: int = 0
    checks: int = 0
    candidates: int = 0
    matches: int = 0
    unmatched: int = 0
    ended: int = 0
    ended_early: int = 0
    finals: int = 0
    partials: int = 0
    allocated_bytes: int = 0
    waiting: dict[str, int] = field(default_factory=dict)
    waiting_bytes: dict[str, int] = field(default_factory=dict)
    peak_waiting: dict[str, int] = field(default_factory=dict)
    held: int = 0
    held_bytes: int = 0
    peak_held: int = 0
    switches: int = 0
    suspended: int = 0
    scrambling: dict[str, int] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    spilled: dict[str, int] = field(default_factory=dict)
    forced: dict[str, int] = field(default_factory=dict)
    broken: dict[str, int] = field(default_factory=dict)
    strategy_number: int = 0
    asked_bytes: int = 0
    produced: int = 0
    producible: int = 0

    @property
    def strategy(self) -> Strategy | None:
        """What was picked under a limit of memory; None without one."""
        found: tuple[Strategy, ...] = get_args(Strategy)
        return found[self.strategy_number - 1] if self.strategy_number else None

    @property
    def accuracy(self) -> float | None:
        """The share of results that were produced, by the sample; None if none could be."""
        return accuracy(self.produced, self.producible)

    @property
    def probe_order(self) -> tuple[str, ...]:
        """The streams in the order in which they are best probed, by what probes have found."""
        return probe_order(self.probes, self.found)


def accuracy(produced: int, producible: int) -> float | None:
    """Paper 5's output accuracy, Equation (1)."""
    return produced / producible if producible else None


def probe_order(probes: dict[str, int], found: dict[str, int]) -> tuple[str, ...]:
    """The streams that were probed, those with the fewest matches a probe first.

    >>> probe_order({"imp": 10, "clk": 100, "buy": 0}, {"imp": 5, "clk": 20, "buy": 0})
    ('clk', 'imp')
    """
    return tuple(sorted((n for n, k in probes.items() if k), key=lambda n: found[n] / probes[n]))


@dataclass(frozen=True)
class BatchMetrics:
    """The figures of one micro-batch of a join on Spark, per stream where they belong to one.

    `rows` is all that was read: tuples, late and bad rows, beats and punctuations, of which
    `punctuations` acted. `live_*`, `flags` and `partials` (rows held for the finals of open keys)
    are the state after the micro-batch; `live_bytes` and `allocated_bytes`, over all buckets, are
    as in `Metrics`. `progress` is None before a stream's first row; `lag` is how far it is behind
    the stream furthest ahead. Of the buckets, `arena_hits` found their state at hand and
    `arena_rebuilds` made it again from the log. Seconds are summed over tasks.

    In order: tuples `waiting` to be joined and results `held` after the micro-batch, the most of
    them while it ran, summed over buckets, and how often buckets of an adaptive join have switched.
    Rows of the micro-batch have a `ts` before its `trigger`, and not before the last one's.

    Of a join that queries share: tuples `suspended`, and results `held` that some query waits for.
    """

    batch: int
    streams: tuple[str, ...]
    rows: dict[str, int]
    tuples: dict[str, int]
    late: dict[str, int]
    bad: dict[str, int]
    beats: dict[str, int]
    punctuations: dict[str, int]
    violations: dict[str, int]
    probes: dict[str, int]
    found: dict[str, int]
    matches: int
    unmatched: int
    ended: int
    finals: int
    partials: int
    live_rows: dict[str, int]
    live_bytes: dict[str, int]
    allocated_bytes: int
    flags: dict[str, int]
    progress: dict[str, datetime | None]
    lag: dict[str, timedelta | None]
    trigger: datetime | None
    waiting: dict[str, int]
    waiting_bytes: dict[str, int]
    peak_waiting: dict[str, int]
    held: int
    held_bytes: int
    peak_held: int
    switches: int
    suspended: int
    memory: dict[str, int]
    forced: dict[str, int]
    broken: dict[str, int]
    produced: int
    producible: int
    arena_hits: int
    arena_rebuilds: int
    pack_seconds: float
    join_seconds: float
    unpack_seconds: float

    @property
    def accuracy(self) -> float | None:
        """As of `Metrics`, since the buckets' states were last made."""
        return accuracy(self.produced, self.producible)

    @property
    def probe_order(self) -> tuple[str, ...]:
        """As of `Metrics`, by this micro-batch."""
        return probe_order(self.probes, self.found)
