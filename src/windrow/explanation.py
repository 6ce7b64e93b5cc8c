"""A plan in words: what is asked, what was chosen, and by which numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from windrow import duration
from windrow.cost import paper4
from windrow.cost.optimizer import MICROS, Choice, Statistics
from windrow.model import LARGEST_MICROS, CountWindow, DataMemory, JoinPlan, Strategy, Stream
from windrow.operators.gate.spilling import WORTH
from windrow.operators.gate.strategies import Known, Prices, choice, needs


@dataclass(frozen=True)
class Explanation:
    """What a join will do. Its text is for people; the rest is for programs.

    On Spark nothing is known of the data beforehand: `choice` says how it is stored, and there
    are no `statistics`.
    """

    plan: JoinPlan
    choice: Choice
    statistics: Statistics | None = None

    def __str__(self) -> str:
        plan, choice = self.plan, self.choice
        lines = [f"{plan.how} join"]
        lines += [f"  {_stream(stream)}" for stream in plan.streams]
        if plan.between is not None:
            one, two = (stream.name for stream in plan.streams)
            low, high = (duration.show(bound) for bound in plan.between)
            lines.append(f"  {low} <= time of {two} - time of {one} <= {high}")
        elif not plan.closed:
            lines.append("  windows without their far edge")
        if plan.punctuated:
            lines.append(f"  {_punctuations(plan)}")
        if plan.condition is not None:
            lines.append(f"  where {plan.condition}")
        lines.append(f"algorithm: {choice.algorithm}, {choice.reason}")
        layout = choice.layout
        known = self.statistics is not None and plan.memory is None
        expected = f", about {layout.expected:,} live tuples expected" if known else ""
        lines.append(f"state: {layout.structure}, {layout.parts} parts{expected}")
        if len(plan.streams) > 2:
            lines.append(_probing(plan, self.statistics))
        if plan.memory is not None:
            lines += _memory(plan, plan.memory, in_process=self.statistics is not None)
        if plan.ordered:
            lines += _order(plan)
            if self.statistics is not None and len(plan.streams) == 2:
                lines += _responses(Prediction.of(plan, choice, self.statistics))
        return "\n".join(lines)

    __repr__ = __str__


def _stream(stream: Stream) -> str:
    key = "no key" if stream.key is None else "key " + ", ".join(stream.key)
    if stream.window is None:
        window = ""
    elif isinstance(stream.window, CountWindow):
        window = f", window of {stream.window.n} rows per {stream.window.per}"
    else:
        window = f", window {duration.show(stream.window.micros)}"
    origin = {"given": "", "watermark": " by its watermark", "default": " by default"}
    late = f", lateness {duration.show(stream.lateness)}{origin[stream.lateness_from]}"
    if stream.lateness >= LARGEST_MICROS:
        late = ", no row is late"
    if stream.max_ahead is not None:
        late += f", at most {duration.show(stream.max_ahead, years=True)} ahead of the clock"
    beats = f", beats where {stream.beats}" if stream.beats is not None else ""
    ends = f", ends where {stream.ends}" if stream.ends is not None else ""
    unique = ", each key once" if stream.unique else ""
    marks = _idle(stream) + beats + ends + unique
    return f"{stream.name}: {key}, time {stream.time}{window}{late}{marks}"


def _idle(stream: Stream) -> str:
    """After how much silence it is idle, and whether it can be."""
    if stream.idle is None:
        return ""
    # Tables and batch DataFrames: what is whole is never silent.
    never = "" if getattr(stream.data, "isStreaming", False) else " (never: this input is whole)"
    return f", idle after {duration.show(stream.idle)} of silence{never}"


def _punctuations(plan: JoinPlan) -> str:
    """When a key is over, by whose word."""
    said = [(at, stream.name) for at, stream in enumerate(plan.streams) if stream.punctuated]
    early = [name for at, name in said if plan.early(at)]
    ways = [f"when its last tuple of {name} has left, by {name}'s word" for name in early]
    if len(said) == len(plan.streams):
        whole = "both" if len(plan.streams) == 2 else "all"
        ways.insert(0, f"when {whole} streams have said so")
    if not ways:
        two = len(plan.streams) == 2
        return "a key ends " + ("for neither side: both would have to" if two else "for no stream")
    return "a key ends " + ", or ".join(ways)


def _probing(plan: JoinPlan, statistics: Statistics | None) -> str:
    """In which order the streams are probed, as far as it can be told."""
    names = [stream.name for stream in plan.streams]
    if statistics is None:
        return "probing: by the matches that each bucket finds, fewest first"
    matches = statistics.matches(plan)
    # Of semi and anti joins, one result of a row of the first stream is all that is wanted.
    first = 0 if plan.how in ("semi", "anti") else None
    ranked = sorted(range(len(names)), key=lambda at: (at != first, matches[at], at))
    order = ", then ".join(f"{names[at]} ({matches[at]:.3g} matches)" for at in ranked)
    return f"probing: {order}, and anew by what is found"


# -- memory that follows the data ------------------------------------------------------------


WAYS: dict[Strategy, str] = {
    "data": "the join stores what partners still to come may need",
    "msf": "input is sorted in memory first, so results come late, in the order of the key",
    "dbf": f"streams that are ahead by {WORTH} times the disk's time wait on disk",
    "hybrid": "input is sorted in memory first, then streams that run ahead wait on disk",
}


def _memory(plan: JoinPlan, memory: DataMemory, in_process: bool) -> list[str]:
    """What is given of the streams, what that comes to, and what is found out."""
    names = [stream.name for stream in plan.streams]
    lines = [f"memory: follows the data; {memory.strategy}, {WAYS[memory.strategy]}"]
    if memory.limit is not None and memory.strategy == "data":
        lines = ["memory: follows the data; the strategy is picked anew after each batch"]
    given, missing = _given(memory, names)
    if given:
        lines.append(f"  given: {'; '.join(given)}")
    if missing:
        lines.append(f"  found out while rows come: {', '.join(missing)}")
    if memory.strategy != "data" and (memory.lag or memory.rate):
        lines.append("  lag and rate do not hold behind rows that wait, so they are found out, too")
    known = Known.of(memory, names)
    if known is not None and memory.strategy == "data":
        most = [f"{known.stored('data', i):,} of {name}" for i, name in enumerate(names)]
        lines.append(f"  M, by Equation (8): {', '.join(most)}")
    if memory.limit is not None:
        lines.append(f"  limit: {memory.limit:,} bytes, at which the oldest rows leave, counted")
        if known is not None and in_process and memory.strategy == "data":
            lines.append(f"  {_picked(plan, known, memory.limit)}")
    return lines


def _given(memory: DataMemory, names: list[str]) -> tuple[list[str], list[str]]:
    """What is given, in words, and what is not."""
    pairs = {f"{i} to {j}": memory.lag.get((i, j)) for i in names for j in names if i != j}
    facts: dict[str, dict[str, Any]] = {
        "k": {name: memory.k.get(name) for name in names},
        "lag": pairs,
        "rate": {name: memory.rate.get(name) for name in names},
        "multiplicity": {name: memory.multiplicity.get(name) for name in names},
    }
    given, missing = [], []
    for what, numbers in facts.items():
        said = [f"{name} {each:,g}" for name, each in numbers.items() if each is not None]
        if said:
            given.append(f"{what} of {', '.join(said)}")
        if len(said) < len(numbers) and (what != "multiplicity" or memory.limit is not None):
            missing.append(what if not said else f"the rest of {what}")
    return given, missing


def _picked(plan: JoinPlan, known: Known, limit: int) -> str:
    """Which strategy a limit begins with, and why."""
    rows = [stream.data.nbytes / max(1, stream.data.num_rows) for stream in plan.streams]
    needed = needs(known, Prices.of_rows(rows), [False] * len(rows))
    asked = ", ".join(f"{strategy} {bytes_:,}" for strategy, bytes_ in needed.items())
    return f"by what is given, bytes: {asked}; so it begins with {choice(needed, limit)}"


# -- order -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prediction:
    """What paper 4 predicts of an ordered join, in its symbols; None where a stream is silent.

    c is the cost model's: the work of a second, spread over the pairs of an arriving tuple and one
    in the other's window.
    """

    c: float
    load: float
    switch_c: float | None
    sync_filter: float | None
    filter_order: float | None
    alpha: float

    @classmethod
    def of(cls, plan: JoinPlan, choice: Choice, statistics: Statistics) -> Prediction:
        """By the rates of the data and the costs of the chosen access path."""
        slow, fast = sorted(statistics.rates)
        windows = statistics.windows(plan)
        pairs = slow * fast * sum(windows)
        work = choice.costs.get("hash", 0.0)
        if choice.layout.structure == "buckets":
            work = choice.costs["nested-loops" if choice.layout.parts == 1 else "buckets"]
        c = work / pairs if pairs else 0.0
        w = max(windows)
        rates = {"λ_1": slow, "λ_2": fast}
        known = slow > 0
        return cls(
            c=c,
            load=paper4.load(**rates, w=w, c=c),
            switch_c=paper4.switch_cost(**rates, w=w, alpha=plan.alpha) if known and w else None,
            sync_filter=paper4.sync_filter_response(**rates, w=w, c=c) if known else None,
            filter_order=paper4.filter_order_response(**rates) if known else None,
            alpha=plan.alpha,
        )


def _order(plan: JoinPlan) -> list[str]:
    """Which rows wait for what."""
    ways = {
        "sync-filter": "input waits until every stream has passed it",
        "filter-order": "input is joined at once, results wait until every stream has passed them",
        "adaptive": "input waits, or results do, by what is measured",
    }
    lines = [f"order: {plan.order}, {ways[plan.order]}"]
    if plan.counted and plan.order != "sync-filter":
        lines.append("  a count window makes input wait, whatever the order")
    delays = []
    for stream, reach, single in zip(plan.streams, plan.reaches, plan.singles, strict=True):
        disorder = 0 if plan.order == "sync-filter" or plan.counted else stream.lateness
        if single and reach + disorder > 0:
            delays.append((reach + disorder, stream.name))
    if delays:
        delay, name = max(delays)
        lines.append(
            f"  every row waits {duration.show(delay)} longer, because only then is it known "
            f"whether a row of {name} stays alone"
        )
    return lines


def _responses(found: Prediction) -> list[str]:
    """What the equations say."""
    if found.sync_filter is None or found.filter_order is None:
        return ["  predicted response: a stream without tuples holds the other up until it ends"]
    saved = found.load / (1 + found.load)
    line = (
        f"  predicted response: sync-filter {_seconds(found.sync_filter)}, filter-order "
        f"{_seconds(found.filter_order)} ({saved:.1%} less), by Equations (3), (5) and (7)"
    )
    if found.switch_c is None:
        return [line]
    return [
        line,
        f"  c|w|λ1λ2 is {found.load:.3g} with c = {_seconds(found.c)}; adaptive switches at "
        f"{found.alpha:g}, where c is {_seconds(found.switch_c)}",
    ]


def _seconds(number: float) -> str:
    """A time that may be very short.

    >>> [_seconds(x) for x in (0.715, 0.0005, 3.2e-8, 0.0)]
    ['0.715 s', '500 µs', '0.032 µs', '0 s']
    """
    if number and number < 1 / 1000:
        return f"{number * MICROS:.3g} µs"
    return f"{number:.3g} s"
