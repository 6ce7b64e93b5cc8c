"""What Spark's users write: its rule for names, its time zone, and Columns, as SQL text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import types

from windrow import expressions
from windrow.dialect import SparkDialect
from windrow.model import WindrowError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?(?::?00)?")
_UTC = {"UTC", "GMT", "UT", "Z", "Etc/UTC", "Etc/GMT", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT"}
#: Java's short names of zones (ZoneId.SHORT_IDS), which Spark takes and zone databases do not have.
_SHORT = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka", "CAT": "Africa/Harare", "CNT": "America/St_Johns",
    "CST": "America/Chicago", "CTT": "Asia/Shanghai", "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris", "EST": "-05:00", "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia", "MST": "-07:00", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
}  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: Microseconds from the year 1 to 1970, and to the end of the year 9999: what Python can write.
_YEAR_1 = (_EPOCH - datetime(1, 1, 1, tzinfo=UTC)) // _MICROSECOND
_YEARS = (datetime(9999, 12, 31, tzinfo=UTC) - datetime(1, 1, 1, tzinfo=UTC)) // _MICROSECOND


def dialect(spark: SparkSession) -> SparkDialect:
    """How this session calls things, as it is set now."""
    sensitive = (spark.conf.get("spark.sql.caseSensitive", "false") or "").lower() == "true"
    naive = spark.conf.get("spark.sql.timestampType", "TIMESTAMP_LTZ") == "TIMESTAMP_NTZ"
    there = zone(spark.conf.get("spark.sql.session.timeZone", "UTC"))
    return SparkDialect(there, fold=not sensitive, ntz=naive)


def zone(name: str | None) -> str:
    """A session's time zone under a name that Arrow knows.

    >>> zone("GMT+8"), zone("-03:30"), zone("Etc/UTC"), zone("Europe/Berlin")
    ('+08:00', '-03:30', 'UTC', 'Europe/Berlin')
    """
    if not name or name in _UTC:
        return "UTC"
    found = _OFFSET.fullmatch(name)
    if found is None:
        return _SHORT.get(name, name)
    sign, hours, minutes = found.groups()
    offset = f"{sign}{int(hours):02}:{minutes or '00'}"
    return "UTC" if offset[1:] == "00:00" else offset


def column_text(frame: DataFrame, column: Column, what: str) -> str:
    """A predicate that was given as a Column, as the SQL text that Spark makes of it."""
    return _text(frame, column, what, "the stream")


def condition_text(frames: Mapping[str, DataFrame], column: Column) -> str:
    """A condition over the streams' structs that was given as a Column, as SQL text."""
    spark = next(iter(frames.values())).sparkSession
    fields = [types.StructField(name, frame.schema) for name, frame in frames.items()]
    nothing = spark.createDataFrame([], types.StructType(fields))
    names = " and ".join(f'F.col("{name}.column")' for name in frames)
    return _text(nothing, column, "condition", f"the streams' structs; use {names}")


def _text(frame: DataFrame, column: Column, what: str, to: str) -> str:
    """What Spark's analysis makes of a Column in a filter, written in SQL."""
    try:
        filtered: Any = frame.filter(column)
        found = filtered._jdf.queryExecution().analyzed().condition()
        text: str = found.sql()
        instants = _instants(found)
        qualifiers = _qualifiers(found)
    except (AttributeError, TypeError) as error:
        raise WindrowError(
            f"{what} is a Column, which has no SQL text here (on Spark Connect none has); pass it "
            "as SQL text"
        ) from error
    except PySparkException as error:
        said = str(error).strip().splitlines()[0]
        raise WindrowError(f"{what} does not fit {to}: {said}") from error
    for shown, exact in instants.items():
        text = text.replace(shown, exact)
    return expressions.plainly(text, qualifiers, dialect(frame.sparkSession).naive)


def _instants(condition: Any) -> dict[str, str]:
    """Spark's text of each instant in a condition, and a text that names its zone.

    Spark writes what the clocks of the session's zone show, which is two instants where these are
    put back.
    """
    found: dict[str, str] = {}
    leaves = condition.collectLeaves()
    for leaf in (leaves.apply(at) for at in range(leaves.length())):
        if leaf.getClass().getSimpleName() != "Literal" or leaf.value() is None:
            continue
        if leaf.dataType().typeName() != "timestamp" or not 0 <= leaf.value() + _YEAR_1 < _YEARS:
            continue
        instant = _EPOCH + timedelta(microseconds=leaf.value())
        exact = f"TIMESTAMP_LTZ '{instant:%Y-%m-%d %H:%M:%S.%f}Z'"
        if found.setdefault(leaf.sql(), exact) != exact:
            raise WindrowError(
                f"condition has two instants that Spark both writes as {leaf.sql()}; pass SQL "
                "text in which they name their zone, such as TIMESTAMP '2026-10-25 02:30:00+01:00'"
            )
    return found


def _qualifiers(condition: Any) -> set[tuple[str, ...]]:
    """What Spark writes before the names of columns that come from a table or an alias."""
    found = set()
    attributes = condition.references().iterator()
    while attributes.hasNext():
        qualifier = attributes.next().qualifier()
        found.add(tuple(qualifier.apply(at) for at in range(qualifier.length())))
    return found - {()}
