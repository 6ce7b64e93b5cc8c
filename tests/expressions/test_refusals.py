"""Conditions that are refused, and in which words."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.dialect import SparkDialect
from windrow.expressions import condition, predicate
from windrow.model import WindrowError

from .rows import SCHEMA, SCHEMAS

UNSUPPORTED = {
    "foo(imp.n) = 1": "uses FOO(...)",
    "count(*) > 1": "uses COUNT(...)",
    "current_timestamp() > imp.naive": "uses CURRENT_TIMESTAMP(...)",
    "try_cast(imp.s AS INT) = 1": "uses TRY_CAST(...)",
    "exists(SELECT 1)": "uses EXISTS(...)",
    "length(imp.s) = 1": "uses LENGTH(...)",
    "imp.s LIKE ANY ('a%', 'b%')": "uses LIKE in",
    "imp.s ILIKE 'a%'": "uses ILIKE in",
    "imp.s RLIKE 'a'": "uses RLIKE in `imp.s RLIKE 'a'`",
    "imp.n IS DISTINCT FROM 1": "uses IS DISTINCT FROM in",
    "imp.s RLIKE 'a.*'": "uses",
    "CASE WHEN imp.ok THEN true END": "uses CASE in",
    "imp.n IN (SELECT 1)": "uses SUBQUERY in `(SELECT 1)`",
    "imp.n = (SELECT 1)": "uses SUBQUERY in",
    "imp.n IN ()": "uses IN in",
    "imp.n BETWEEN SYMMETRIC 1 AND 2": "uses BETWEEN in",
    "imp.n IS imp.small": "uses IS in",
    "imp.n DIV 2 = 1": "uses DIV in `imp.n DIV 2`",
    "imp.n & 1 = 1": "uses & in",
    "imp.s || 'a' = 'b'": "uses || in",
    "imp.tags[0] = 'a'": "uses BRACKET in",
    "imp.tags[0].f = 'a'": "uses BRACKET in",
    "imp.* = 1": "uses STAR in",
    "(imp.n, imp.x) = (1, 2)": "uses TUPLE in",
    "imp.n = ?": "uses PLACEHOLDER in",
    "SELECT 1": "uses SELECT in",
    "imp.ok AS fine": "uses ALIAS in",
}
REFUSED = {
    "imp.n IN (imp.small, 1)": "uses IN with columns in its list; write x = a OR x = b",
    "imp.n = ": "does not parse",
    "imp.s = 'a": "does not parse",
    "": "is empty",
    "  -- nothing": "is empty",
    "imp.ok; imp.ok": "holds several statements",
    "imp.n": "is int64, not boolean",
    "imp.n + 1": "is int64, not boolean",
    "NOT imp.n": "has int64 where a boolean is needed",
    "imp.n AND imp.ok": "has int64 where a boolean is needed",
    "imp.s IS TRUE": "has string where a boolean is needed",
    "imp.s < 3": "compares string with int64; CAST one of them",
    "imp.s > imp.x": "compares string with double",
    "imp.code = imp.n": "compares string with int64",
    "imp.ok = 1": "compares bool with int64",
    "imp.ok = 'true'": "compares bool with string",
    "imp.naive = 1": "compares timestamp[us] with int64",
    "imp.s = imp.naive": "compares string with timestamp[us]",
    "imp.wait > 5": "compares duration[s] with int64",
    "imp.n IN (1, 'a')": "compares int64 with string",
    "imp.n BETWEEN 'a' AND 'b'": "compares string with int64",
    "imp.geo = imp.geo": "compares struct<lat: double, at: struct<cell: int32>> with",
    "imp.naive = 'soon'": "cannot be computed (Failed to parse string: 'soon'",
    "DATE '2024-13-01' = imp.day": "cannot be computed (Failed to parse string: '2024-13-01'",
    "CAST('x' AS INT) = 1": "cannot be computed (Failed to parse string: 'x'",
    "9223372036854775807 + 1 > imp.n": "cannot be computed (overflow)",
    "imp.s + 1 = 2": "computes string + int64, which has no meaning",
    "imp.naive + 1 = imp.naive": "computes timestamp[us] + int64",
    "imp.naive + imp.naive = imp.naive": "computes timestamp[us] + timestamp[us]",
    "imp.wait * 2 = imp.wait": "computes duration[s] * int64",
    "-imp.s = 'a'": "computes - string",
    "CAST(imp.x AS STRING) = '1'": "casts double to string, which is not supported",
    "CAST(imp.n AS TIMESTAMP) = imp.naive": "casts int64 to timestamp[us, tz=UTC]",
    "CAST(imp.naive AS BIGINT) = 1": "casts timestamp[us] to int64",
    "CAST(imp.tags AS STRING) = ''": "casts list<item: string> to string",
    "CAST(imp.n AS BINARY) = imp.s": "casts to BINARY, which is not supported; supported are bool",
    "CAST(imp.n AS DECIMAL(39, 0)) = 1": "casts to DECIMAL(39, 0); decimals have 1 to 38 digits",
    "imp.wait < INTERVAL 1 MONTH": "uses INTERVAL '1' MONTH; an interval is one number of WEEKS",
    "imp.wait < INTERVAL '1 day 2 hours'": "uses INTERVAL '1 day 2 hours'; an interval is one",
    "imp.wait < INTERVAL '1:30' SECOND TO MINUTE": "uses INTERVAL '1:30' SECOND TO MINUTE; an",
    "imp.wait < INTERVAL '1-2' YEAR TO MONTH": "uses INTERVAL '1-2' YEAR TO MONTH; an",
    "imp.wait < INTERVAL '1:30:5' DAY TO SECOND": "uses INTERVAL '1:30:5' DAY TO SECOND; an",
    "CAST(imp.wait AS INTERVAL YEAR) = imp.wait": "casts duration[s] to INTERVAL YEAR",
    "CAST(imp.n AS INTERVAL DAY) = imp.wait": "casts int64 to INTERVAL DAY",
    "imp.n LIKE '1%'": "uses LIKE on int64; CAST it to STRING",
    "imp.s LIKE 1": "uses LIKE on int64",
    "imp.s LIKE imp.s": "uses LIKE with a pattern that is no literal",
    "imp.s LIKE 'a#b' ESCAPE '#'": "in which the escape character '#' stands before neither",
    "imp.s LIKE 'a#' ESCAPE '#'": "in which the escape character '#' stands before neither",
    "imp.s LIKE 'a' ESCAPE '##'": "uses LIKE with ESCAPE '##', expected one character",
    "COALESCE(imp.n, imp.s) = 1": "chooses between int64 and string; CAST one of them",
    "COALESCE(imp.naive, imp.n) = 1": "chooses between timestamp[us] and int64",
    "ABS(imp.s) = 1": "computes ABS of string, which has no meaning; CAST it",
    "ABS(imp.naive) = 1": "computes ABS of timestamp[us]",
    "UPPER(imp.n) = 'A'": "uses UPPER on int64; CAST it to STRING",
    "LOWER(imp.day) = 'a'": "uses LOWER on date32[day]",
    "imp.naive - imp.n > INTERVAL 1 DAY": "computes timestamp[us] - int64",
    "imp.naive - imp.naive > 5": "compares duration[us] with int64",
    "imp.wait < INTERVAL imp.n MINUTES": "uses INTERVAL imp.n MINUTES; an interval is one",
    "imp.wait < INTERVAL '0.5' MICROSECOND": "which is no 64-bit number of microseconds",
    "imp.wait < INTERVAL 99999999999 WEEKS": "which is no 64-bit number of microseconds",
    "foo.n = 1": "names stream foo, which is unknown; there are imp, clk",
    "imp.foo = 1": "names column foo, which imp does not have; it has n, small, big, x",
    "imp.geo.foo = 1": "names column geo.foo, which imp does not have",
    "clk.TAG = 'a'": "names column TAG, which clk does not have; it has bid, Tag, tag, ON",
    "bid < 1": "names column bid without its stream; write e.g. clk.bid",
    "foo < 1": "names column foo without its stream; write e.g. imp.foo",
    "(" * 3_000 + "true" + ")" * 3_000: "is nested too deeply",
}


@pytest.mark.parametrize(("sql", "message"), UNSUPPORTED.items(), ids=UNSUPPORTED.keys())
def test_unsupported(sql: str, message: str) -> None:
    with pytest.raises(WindrowError) as caught:
        condition(sql, SCHEMAS)
    tail = (
        "supported are comparison (with <=> and BETWEEN), arithmetic, boolean logic, null tests, "
        "IN, LIKE, CAST, COALESCE, ABS, UPPER and LOWER"
    )
    text = str(caught.value)
    assert text.startswith(f"condition {message}")
    assert f", which is not supported; {tail}: {sql!r}" in text


@pytest.mark.parametrize(
    ("sql", "message"), REFUSED.items(), ids=[sql[:60] or "empty" for sql in REFUSED]
)
def test_refused(sql: str, message: str) -> None:
    with pytest.raises(WindrowError) as caught:
        condition(sql, SCHEMAS)
    assert message in str(caught.value)
    assert sql[:50] in str(caught.value).replace("\\'", "'")


def test_a_predicate_says_whose_it_is() -> None:
    with pytest.raises(WindrowError, match="predicate of imp names column foo, which imp does not"):
        predicate("foo = 1", "imp", SCHEMA)
    with pytest.raises(WindrowError, match=r"names column clk\.bid, which imp does not have"):
        predicate("clk.bid = 1", "imp", SCHEMA)


@pytest.mark.parametrize(
    ("sql", "value", "message"),
    [
        ("n + 1 > 0", 2**63 - 1, "overflow"),
        ("-n > 0", -(2**63), "overflow"),
        ("n * n > 0", 2**32, "overflow"),
        ("ABS(n) > 0", -(2**63), "overflow"),
        ("CAST(n AS TINYINT) = 1", 300, "Integer value 300 not in range"),
        ("CAST(n AS DECIMAL(2, 1)) = 1", 10, "does not fit in precision 2"),
    ],
)
def test_rows_that_do_not_compute(sql: str, value: int, message: str) -> None:
    expression = predicate(sql, "imp", SCHEMA)
    with pytest.raises(WindrowError, match=message) as caught:
        expression.evaluate({("imp", "n"): pa.array([1, value])}, 2)
    assert f"cannot compute {sql!r} on these rows" in str(caught.value)


LAST = 2**63 - 1


@pytest.mark.parametrize(
    ("sql", "micros"),
    [
        ("naive + INTERVAL 1 MICROSECOND > naive", LAST),
        ("naive - INTERVAL 2 MICROSECONDS < naive", -LAST),
        ("naive - TIMESTAMP_NTZ '1969-12-31' > INTERVAL 1 DAY", LAST),
        ("utc + INTERVAL 1 MICROSECOND > utc", LAST),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_times_that_overflow_are_refused(sql: str, micros: int, zone: str) -> None:
    kinds = {"naive": pa.timestamp("us"), "utc": pa.timestamp("us", "UTC")}
    test = predicate(sql, "imp", pa.schema(kinds), SparkDialect(zone))
    columns = {ref: pa.array([micros], kinds[ref[1]]) for ref in test.columns}
    with pytest.raises(WindrowError, match=r"cannot compute .*overflow"):
        test.evaluate(columns, 1)
