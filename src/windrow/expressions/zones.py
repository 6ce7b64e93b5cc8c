"""Instants and wall-clock times of a zone, as Spark (that is, java.time) converts them.

Between the two stands the zone's offset. Where a wall-clock time happens twice the first is meant,
and one that a change of clocks leaves out is as much later as the clocks are put forward. Arrow
has the offsets, but of many zones only up to 2037; later ones come from Python's zone database.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.model import UNITS, WindrowError

UTC = "UTC"
_DAY = UNITS["day"]
#: A step that no change of clocks happens within, in any zone since there are rules.
_QUARTER = UNITS["hour"] // 4
#: 400 years: after them the calendar, and so every rule, repeats.
_CYCLE = 146_097 * _DAY
#: Up to here Arrow knows the offsets: the beginning of 2037.
_KNOWN = 2_114_380_800_000_000
_LAST = 253_402_300_799_000_000
_FIXED = re.compile(r"([+-])(\d\d):(\d\d)")


def local(x: Any) -> Any:
    """Instants (a timestamp with a zone) as wall-clock times of their zone."""
    return _on_array(x, lambda us: pc.add_checked(us, _offsets(us, x.type.tz)), pa.timestamp("us"))


def instants(x: Any, zone: str) -> Any:
    """Wall-clock times of a zone as instants."""

    def run(us: pa.Array) -> pa.Array:
        before, after = _candidates(us, zone)
        return pc.if_else(_valid(us, before, zone), before, _else(us, before, after, zone))

    return _on_array(x, run, pa.timestamp("us", zone))


def shift(x: Any, by: Any) -> Any:
    """Instants, later by durations: whole days on the calendar of their zone, the rest as it is.

    A day is as long as the clocks make it; a wall-clock time that happens twice stays the one it
    was, if it can.
    """
    zone = x.type.tz
    wanted = pc.cast(by, pa.duration("us"))
    whole = pc.multiply(pc.divide(pc.cast(wanted, pa.int64()), _DAY), _DAY)
    rest = pc.subtract(wanted, pc.cast(whole, pa.duration("us")))

    def run(us: pa.Array) -> pa.Array:
        offsets = _offsets(us, zone)
        there = pc.add_checked(pc.add_checked(us, offsets), whole)
        kept = pc.subtract_checked(there, offsets)
        before, after = _candidates(there, zone)
        first = pc.if_else(_valid(there, before, zone), before, _else(there, before, after, zone))
        moved = pc.if_else(pc.equal(_offsets(kept, zone), offsets), kept, first)
        return pc.if_else(pc.equal(whole, 0), us, moved)

    return pc.add_checked(_on_array(x, run, pa.timestamp("us", zone)), rest)


def _candidates(there: pa.Array, zone: str) -> tuple[pa.Array, pa.Array]:
    """What wall-clock times are by the offset of a day before, and of a day after."""
    before = _offsets(pc.subtract_checked(there, _DAY), zone)
    after = _offsets(pc.add_checked(there, _DAY), zone)
    return pc.subtract_checked(there, before), pc.subtract_checked(there, after)


def _valid(there: pa.Array, instant: pa.Array, zone: str) -> pa.Array:
    return pc.equal(pc.add_checked(instant, _offsets(instant, zone)), there)


def _else(there: pa.Array, before: pa.Array, after: pa.Array, zone: str) -> pa.Array:
    """By the later offset; in a gap neither holds, and the earlier one moves it forward."""
    return pc.if_else(_valid(there, after, zone), after, before)


def _on_array(x: Any, run: Callable[[pa.Array], pa.Array], to: pa.DataType) -> Any:
    """Microseconds through a function, of an array or of a single value."""
    single = isinstance(x, pa.Scalar)
    micros = pc.cast(x, pa.timestamp("us", x.type.tz), safe=False)
    us = pc.cast(pa.array([micros], micros.type) if single else micros, pa.int64())
    made = run(us).view(to)
    return made[0] if single else made


def _offsets(us: pa.Array, zone: str) -> pa.Array:
    """How far the zone's clocks are ahead of UTC at these instants, in microseconds."""
    fixed = _FIXED.fullmatch(zone)
    if zone == UTC or fixed:
        minutes = int(fixed[2]) * 60 + int(fixed[3]) if fixed else 0
        ahead = minutes * UNITS["minute"] * (-1 if fixed and fixed[1] == "-" else 1)
        return pc.add(pc.subtract(us, us), ahead)
    # An unknown zone is refused when the expression is compiled, on zero rows.
    rules = zone_info(zone)
    late = pc.fill_null(pc.greater_equal(us, _KNOWN), False)
    if not pc.any(late).as_py():
        return _by_arrow(us, zone)
    ahead = _by_arrow(pc.if_else(late, 0, us), zone)
    places = late.to_numpy(zero_copy_only=False)
    values = pc.fill_null(us, 0).to_numpy()
    found = np.zeros(len(us), np.int64)
    found[places] = _by_python(values[places], rules)
    return pc.if_else(late, pa.array(found), ahead)


def _by_arrow(us: pa.Array, zone: str) -> pa.Array:
    there = pc.local_timestamp(us.view(pa.timestamp("us", zone)))
    return pc.subtract(there.view(pa.int64()), us)


def _by_python(us: NDArray[np.int64], rules: ZoneInfo) -> NDArray[np.int64]:
    """Offsets of late instants: one question for each quarter of an hour that occurs."""
    quarters, back = np.unique(us // _QUARTER, return_inverse=True)
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    ahead = np.empty(len(quarters), np.int64)
    for at, quarter in enumerate(quarters.tolist()):
        instant = quarter * _QUARTER
        instant -= max(0, -(-(instant - _LAST) // _CYCLE)) * _CYCLE
        there = (epoch + dt.timedelta(microseconds=instant)).astimezone(rules)
        offset = there.utcoffset()
        assert offset is not None
        ahead[at] = offset // dt.timedelta(microseconds=1)
    found: NDArray[np.int64] = ahead[back.reshape(-1)]
    return found


def zone_info(zone: str) -> ZoneInfo:
    """A zone's rules."""
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise WindrowError(
            f"uses times of the zone {zone!r}, which is not in this machine's zone database; "
            "set spark.sql.session.timeZone to a zone that is, such as Europe/Berlin or +01:00"
        ) from error
