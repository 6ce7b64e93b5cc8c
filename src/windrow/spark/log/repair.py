"""Progress that has run away, set back at a restart.

One row dated 9999 puts its stream's progress there, and every later row is late for ever. This
setting

    spark.windrow.progress.repair.<stream> = 2026-01-31 12:00:00

sets the progress of a stream that is later than this time back to it, at the first micro-batch
that runs under this value; a value that has been applied is in each bucket's directory and is not
applied again. The result is that of a stream that had not sent its far rows:

- Rows that put progress beyond the time, those later than it by more than the lateness, leave the
  state without a result, matched flags and held results with them.
- What the far progress has done stays done: rows of other streams that it dropped, and rows
  that were late to it, do not come back. So the log keeps the old progress as a `Change`.
- Count windows and ordered results have passed the smallest progress for good. A time before that
  is refused, and so is a stream with punctuations: what these have ended cannot be opened again.

Everything is done to the log, before the state is made again from it, so that two attempts at the
micro-batch do alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow import expressions
from windrow.duration import moment
from windrow.expressions import zones
from windrow.model import BEGINNING, END, JoinPlan, WindrowError
from windrow.operators.arrivals import Rows
from windrow.operators.gate.rates import Rates
from windrow.operators.progress import of_the_others
from windrow.operators.results import hold
from windrow.spark import words
from windrow.spark.log import held
from windrow.spark.log.chunks import ids_of
from windrow.spark.log.directory import Change, Directory, Entry
from windrow.spark.log.log import Log
from windrow.spark.log.tuples import REMOVED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: How far (µs) progress may be ahead of the clock, and of the other stream; beyond, it is pointed
#: out.
DAY = 86_400_000_000
YEAR = 365 * DAY
#: The setting's name, but for the stream's.
SETTING = "spark.windrow.progress.repair."
#: For each stream, the time to set its progress back to (µs), or None.
Times = Sequence[int | None]


def asked(spark: SparkSession, plan: JoinPlan) -> list[int | None]:
    """What the session's settings say of a plan's streams."""
    bare = SETTING.removesuffix(".")
    if spark.conf.get(bare, None) is not None:
        names = " or ".join(SETTING + stream.name for stream in plan.streams)
        raise WindrowError(f"{bare} is set, but does not say of which stream; set {names}")
    zone = words.zone(spark.conf.get("spark.sql.session.timeZone", "UTC"))
    found: list[int | None] = []
    for stream in plan.streams:
        text = spark.conf.get(SETTING + stream.name, None)
        kind = expressions.resolve(stream.schema, stream.time)
        zoned = kind is not None and kind.tz is not None
        found.append(None if text is None else parse(text, SETTING + stream.name, zone, zoned))
    return found


def parse(text: str, setting: str, zone: str, zoned: bool) -> int:
    """A time (µs), as a stream has it; `zone` is of a text that names none.

    >>> parse("1970-01-01 01:00:00", "it", "Europe/Berlin", zoned=True)
    0
    >>> parse("1970-01-01T00:00:00+00:00", "it", "Europe/Berlin", zoned=False) // 1_000_000
    3600
    """
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise WindrowError(
            f"{setting} is {text!r}, which is not a time; write it as 2026-01-31 12:00:00, in the "
            "session's time zone, or with a zone as 2026-01-31 12:00:00+00:00"
        ) from None
    if at.tzinfo is None:
        clock = pa.array([at], pa.timestamp("us"))
        there = zones.instants(clock, zone) if zoned else clock
    else:
        instant = pa.array([at], pa.timestamp("us", zone))
        there = instant if zoned else zones.local(instant)
    return int(there.cast(pa.int64())[0].as_py())


# -- what is to be done ------------------------------------------------------------------------


def due(kept: Directory, times: Times) -> dict[int, int]:
    """The streams whose progress is to be set back now, and to when."""
    pairs = zip(times, kept.repaired, kept.progress, strict=True)
    return {
        stream: time
        for stream, (time, done, progress) in enumerate(pairs)
        if time is not None and time != done and progress > time
    }


def refusals(kept: Directory, plan: JoinPlan, times: Times) -> list[str]:
    """Why progress cannot be set back so."""
    found = []
    for stream, time in due(kept, times).items():
        reason = _reason(kept, plan, stream, time)
        if reason is not None:
            found.append(
                f"{SETTING}{plan.streams[stream].name} asks to set its progress back from "
                f"{moment(kept.progress[stream])} to {moment(time)} (UTC), but {reason}"
            )
    return found


def _reason(kept: Directory, plan: JoinPlan, stream: int, time: int) -> str | None:
    if plan.schedule is not None:
        return (
            "its join is shared by queries whose windows have passed that; start from a new "
            "checkpoint"
        )
    if plan.punctuated:
        return (
            "the join has punctuations, and what they have ended cannot be opened again; start "
            "from a new checkpoint"
        )
    passed, how = min(kept.progress), "ordered results have left"
    if plan.counted:
        how = "count windows have counted"
    elif plan.order == "adaptive":
        # While it joined at once, each stream's own progress let rows go.
        passed = max(passed, kept.standing["gate"]["joined"][stream])
    if time >= passed or not (plan.counted or plan.ordered):
        return None
    return (
        f"{how} up to {moment(passed)} already; set it to a time from then on, or start from a new "
        "checkpoint"
    )


def advice(kept: Directory, clock: int) -> list[str]:
    """What to say of progress that is far ahead: how far, and how to set it back."""
    found = []
    for stream, (name, progress) in enumerate(
        zip(kept.question["streams"], kept.progress, strict=True)
    ):
        other = of_the_others(kept.progress, stream)
        ahead_of, back_to, by, zone = "the clock", clock, DAY, "+00:00"
        if progress <= clock + DAY and other > BEGINNING:
            ahead_of = f"stream {kept.question['streams'][kept.progress.index(other)]!r}"
            back_to, by, zone = other, YEAR, _zone(kept, stream)
        if BEGINNING < progress < END and progress > back_to + by:
            days = (progress - back_to) // DAY
            found.append(
                f"The progress of stream {name!r}, {moment(progress)}, is {days:,} days ahead of "
                f"{ahead_of}, and its rows before that are late. "
                + _remedy(kept, stream, moment(back_to) + zone)
            )
    return found


def _zone(kept: Directory, stream: int) -> str:
    """What the text of a stream's time needs: a zone, unless its times have none."""
    kind = kept.question["columns"][stream].get(kept.question["times"][stream], "tz=")
    return "+00:00" if "tz=" in kind else ""


def _remedy(kept: Directory, stream: int, back_to: str) -> str:
    if kept.question["punctuations"] is not None:
        return (
            "If a wrong time has put it there, start from a new checkpoint: a join with "
            "punctuations cannot be set back."
        )
    return (
        "If a wrong time has put it there, set it back at the next start of the query with "
        f"{SETTING}{kept.question['streams'][stream]}={back_to}"
    )


# -- doing it ----------------------------------------------------------------------------------


def apply(log: Log, times: Times) -> bool:
    """Do to a bucket's log what is asked and was not done before; was there anything to do?"""
    kept, plan = log.directory, log.plan
    found = refusals(kept, plan, times)
    if found:
        raise WindrowError("\n".join(found))
    back = due(kept, times)
    kept.repaired = [
        done if time is None else time for time, done in zip(times, kept.repaired, strict=True)
    ]
    if not back:
        return False
    far = {
        stream: _take_out(log, stream, time + plan.streams[stream].lateness)
        for stream, time in back.items()
        # Where times say nothing of what stays, the tuples may stay, too.
        if plan.memory is None
    }
    kept.changes.append(Change(kept.batch, kept.reaches, list(kept.progress)))
    gate = kept.standing["gate"]
    for stream, time in back.items():
        kept.progress[stream] = time
        gate["joined"][stream] = min(gate["joined"][stream], time)
    if "rates" in gate:
        # What was measured was measured by far times.
        gate["rates"] = Rates(plan.reaches).snapshot()
    if plan.ordered:
        _let_go(log, far)
    return True


def _take_out(log: Log, stream: int, last: int) -> Rows:
    """Log the rows of a stream that are later than that as removed; returns their ids."""
    directory = log.directory
    far = [np.empty(0, np.int64)]
    for entry in [entry for entry in directory.of(stream) if entry.newest > last]:
        ts = log.columns_of(entry).ts
        far.append(ids_of(log.rows_of(entry), entry.first)[ts > last])
        left = ts[ts <= last]
        if len(left):
            _shorten(directory, entry, int(left.max()))
        else:
            log.forget([entry])
    rows = np.sort(np.concatenate(far))
    log.add_rows(REMOVED, stream, rows)
    return rows


def _shorten(directory: Directory, entry: Entry, newest: int) -> None:
    """Judge a chunk by the rows that are left: else it would hold those after it for ever."""
    at = directory.chunks.index(entry)
    directory.chunks[at] = entry.until(newest)


def _let_go(log: Log, far: dict[int, Rows]) -> None:
    """Take results with these rows out of the hold buffer's log."""
    rows = held.logged(log)
    gone = np.zeros(len(rows), np.bool_)
    for stream, ids in far.items():
        gone |= hold.with_rows(rows, stream, ids)
    if gone.any():
        held.drop(log)
        held.add(log, rows[~gone])
