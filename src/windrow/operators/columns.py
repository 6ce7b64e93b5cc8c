"""What the join needs of a stream's rows, from Arrow columns: times, keys, which rows are what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow import duration, expressions
from windrow.dialect import TABLES, Dialect
from windrow.model import LARGEST_MICROS, Stream, WindrowError
from windrow.operators.keys import Keys, hash_keys


@dataclass(frozen=True)
class Columns:
    """Times (µs), keys, and which rows are bad, heartbeats, punctuations of a key or of a range.

    None: no row is. `ahead`: how many of the bad ones have a time that is too far ahead. `mute`:
    the rows that fail the part of the condition about this stream alone.
    """

    ts: NDArray[np.int64]
    keys: Keys
    bad: NDArray[np.bool_] | None = None
    beats: NDArray[np.bool_] | None = None
    ends: NDArray[np.bool_] | None = None
    ranges: NDArray[np.bool_] | None = None
    ahead: int = 0
    mute: NDArray[np.bool_] | None = None

    def tuples(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Times and key hashes of the rows that are tuples."""
        if all(others is None for others in (self.bad, self.beats, self.ends, self.ranges)):
            return self.ts, self.keys.hashes
        chosen = self.are_tuples()
        return self.ts[chosen], self.keys.hashes[chosen]

    def are_tuples(self) -> NDArray[np.bool_]:
        """Which rows are tuples."""
        chosen = np.ones(len(self.ts), np.bool_)
        for others in (self.bad, self.beats, self.ends, self.ranges):
            if others is not None:
                chosen &= ~others
        return chosen

    def punctuations(self, unique: bool) -> NDArray[np.int64]:
        """The rows that are punctuations of a key. Where keys are unique, every tuple is one."""
        said = np.zeros(len(self.ts), np.bool_) if self.ends is None else self.ends
        if unique:
            said = said | self.are_tuples()
        if self.keys.null is not None:
            said = said & ~self.keys.null
        return np.flatnonzero(said)


def columns_of(stream: Stream, table: pa.Table, now: int | None = None) -> Columns:
    """Read a stream's rows. `now`: the clock that they may be too far ahead of."""
    ts, null = micros(expressions.extract(table, stream.time), stream)
    early = too_far_ahead(ts, stream, now)
    bad = null if early is None else (early if null is None else early | null)
    in_range(ts if early is None else ts[~early], stream)
    beats, ends = (
        None if said is None else marked(said, stream.name, table, stream.dialect)
        for said in (stream.beats, stream.ends)
    )
    if beats is not None and ends is not None:
        # A row is one thing only: what says that a key is over also says how late it is.
        beats = beats & ~ends
    ranges = None
    if stream.ranged and ends is not None:
        until = plain(expressions.extract(table, stream.ends_to or ""))
        ranges = ends & until.is_valid().to_numpy(zero_copy_only=False)
        # One without a time ends no key.
        ranges = ranges if bad is None else ranges & ~bad
        ends = ends & ~ranges
    keys = [expressions.extract(table, name) for name in stream.key or ()]
    ahead = 0 if early is None else int(early.sum())
    mute = None
    if stream.only is not None:
        mute = ~marked(stream.only, stream.name, table, stream.dialect)
    return Columns(ts, hash_keys(keys, table.num_rows), bad, beats, ends, ranges, ahead, mute)


def marked(
    predicate: str, name: str, table: pa.Table, dialect: Dialect = TABLES
) -> NDArray[np.bool_]:
    """Which rows an SQL predicate over a stream's columns marks; null does not."""
    test = expressions.predicate(predicate, name, table.schema, dialect)
    inputs = {ref: expressions.extract(table, ref[1]) for ref in test.columns}
    found: NDArray[np.bool_] = test.evaluate(inputs, table.num_rows).to_numpy(zero_copy_only=False)
    return found


def micros(
    column: pa.ChunkedArray, stream: Stream
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Event times as microseconds, and which of them are missing."""
    unit = column.type.unit
    try:
        column = column.cast(pa.timestamp("us", column.type.tz))
    except pa.ArrowInvalid as error:
        if unit != "ns":
            raise out_of_range(stream) from error
        raise WindrowError(
            f"stream {stream.name!r}: times in {stream.time!r} have unit {unit} and do not fit "
            "whole microseconds; round them, for example with pyarrow.compute.floor_temporal"
        ) from error
    values = plain(column)
    bad = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    ts = pc.fill_null(values.view(pa.int64()), 0) if bad is not None else values.view(pa.int64())
    array: NDArray[np.int64] = ts.to_numpy()
    return array, bad


def too_far_ahead(
    ts: NDArray[np.int64], stream: Stream, now: int | None
) -> NDArray[np.bool_] | None:
    """Which times are further ahead of the clock than the stream allows; None: none is."""
    if now is None or stream.max_ahead is None or not len(ts):
        return None
    latest = wall_clock(now, stream) + stream.max_ahead
    return ts > latest if int(ts.max()) > latest else None


def wall_clock(now: int, stream: Stream) -> int:
    """An instant as the stream's clock shows it: times without a zone are its dialect's."""
    kind, zone = expressions.resolve(stream.schema, stream.time), stream.dialect.zone
    if kind is None or kind.tz is not None or zone == "UTC":
        return now
    shown: int = pc.local_timestamp(pa.scalar(now, pa.timestamp("us", zone))).value
    return shown


def refuse_bad(stream: Stream, columns: Columns) -> None:
    """Fail if there is a bad row."""
    without = (0 if columns.bad is None else int(columns.bad.sum())) - columns.ahead
    if without:
        raise WindrowError(
            f"stream {stream.name!r}: {without} rows have no time in {stream.time!r}; fill or "
            "filter them, or pass bad='drop' or bad='keep'"
        )
    if columns.ahead:
        limit = duration.show(stream.max_ahead or 0, years=True)
        raise WindrowError(
            f"stream {stream.name!r}: {columns.ahead} rows have a time in {stream.time!r} that is "
            f"more than max_ahead={limit!r} ahead of the clock; filter them, or pass a larger "
            "max_ahead, bad='drop' or bad='keep'"
        )


def in_range(ts: NDArray[np.int64], stream: Stream) -> None:
    """Refuse times that no kernel could add a window to."""
    if len(ts) and max(abs(int(ts.min())), abs(int(ts.max()))) > LARGEST_MICROS:
        raise out_of_range(stream)


def out_of_range(stream: Stream) -> WindrowError:
    """What to say of times that no kernel could add a window to."""
    return WindrowError(
        f"stream {stream.name!r}: {stream.time!r} has times more than 73,000 years from 1970; "
        "filter them out first"
    )


def plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
