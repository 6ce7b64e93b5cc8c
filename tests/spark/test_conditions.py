"""Spark as the oracle of conditions: what it says of rows, by text and by Column, in any zone."""

import datetime as dt
from decimal import Decimal
from itertools import product

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812

import windrow as wr
from windrow.expressions import condition, extract, predicate
from windrow.spark import words

#: Of every sort that Spark takes: cities, offsets, Java's short names.
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/St_Johns",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "GMT+8",
    "-03:30",
    "PST",
    "EST",
]


@pytest.fixture
def settings(spark):
    """Settings of the session, set back afterwards."""
    names = ("spark.sql.session.timeZone", "spark.sql.timestampType", "spark.sql.caseSensitive")
    kept = {name: spark.conf.get(name) for name in names}
    yield spark.conf
    for name, value in kept.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Tables as parquet files, which carry their values past every session's zone."""
    folder = tmp_path_factory.mktemp("tables")

    def write(name, table):
        pq.write_table(table, folder / name)
        return str(folder / name)

    return write


def agree(spark, path, table, conditions):
    """Spark and the compiled text say the same of every row; returns how often Spark says yes."""
    asked = [f"coalesce({text}, false) AS c{at}" for at, text in enumerate(conditions)]
    theirs = spark.read.parquet(path).selectExpr("n", *asked).orderBy("n").toArrow()
    dialect = words.dialect(spark)
    held = 0
    for at, text in enumerate(conditions):
        test = predicate(text, "imp", table.schema, dialect)
        ours = test.evaluate({ref: extract(table, ref[1]) for ref in test.columns}, table.num_rows)
        said = theirs[f"c{at}"].to_pylist()
        wrong = [row for row, pair in enumerate(zip(ours.to_pylist(), said, strict=True))
                 if pair[0] != pair[1]]  # fmt: skip
        assert not wrong, (text, dialect.zone, said[wrong[0]], table.slice(wrong[0], 1).to_pylist())
        held += sum(said)
    return held


# -- times ---------------------------------------------------------------------------------------


def utc(*parts):
    return dt.datetime(*parts, tzinfo=dt.UTC)


#: Both sides of the changes of clocks in Berlin (00:59:59.999999 and 01:00 UTC), a day from them,
#: both times that clocks show 02:30 in October, and years before and after all zone tables.
INSTANTS = [
    utc(2024, 3, 30, 1, 30), utc(2024, 3, 31, 0, 30), utc(2024, 3, 31, 0, 59, 59, 999999),
    utc(2024, 3, 31, 1, 0), utc(2024, 3, 31, 1, 30), utc(2024, 4, 1, 0, 30),
    utc(2024, 10, 26, 0, 30), utc(2024, 10, 27, 0, 30), utc(2024, 10, 27, 1, 30),
    utc(2024, 10, 28, 1, 30), utc(2050, 3, 27, 0, 30), utc(2400, 7, 1), utc(1900, 1, 1),
    utc(1969, 12, 31, 23, 59, 59, 999999), utc(1582, 10, 10), None,
]  # fmt: skip
TIMES = """
t - u <= INTERVAL 1 HOUR;t - u <= INTERVAL 5 MINUTES;t - u = INTERVAL 2 HOURS;t - u = INTERVAL 1 DAY
t + INTERVAL 1 DAY >= u;t + INTERVAL 1 DAY = u;t + INTERVAL 24 HOURS = u;t - INTERVAL 1 DAY = u
t + INTERVAL '1 01' DAY TO HOUR = u;t + INTERVAL '0 23:00:00' DAY TO SECOND = u
t + INTERVAL 1 MICROSECOND = u;t - INTERVAL 30 MINUTES >= u;INTERVAL 1 DAY + t = u
ABS(t - u) <= INTERVAL 1 HOUR;-(t - u) > INTERVAL 1 DAY;t + INTERVAL 1 DAY - INTERVAL 1 DAY = t
t + (u - t) = u;(t - u) + (u - t) = INTERVAL 0 SECONDS
t > '2024-03-31 02:30:00';t >= TIMESTAMP '2024-03-31 02:30:00';t = TIMESTAMP '2024-03-31 02:30:00'
t = '2024-10-27 02:30:00';t = TIMESTAMP '2024-10-27 02:30:00+01:00'
t < TIMESTAMP '2024-03-31 01:00:00Z'
t = TIMESTAMP_LTZ '2024-10-27 02:30:00';t IN ('2024-10-27 02:30:00', '2024-03-31 02:30:00')
t BETWEEN '2024-03-31' AND '2024-04-01';t > '2024-10-27';t > DATE '2024-03-31'
t > CAST('1900-01-01 00:00:00' AS TIMESTAMP);CAST('2024-03-31 02:30:00' AS TIMESTAMP) = t
CAST(DATE '2024-03-31' AS TIMESTAMP) <= t;CAST(t AS DATE) = DATE '2024-03-31'
CAST(t AS STRING) = '2024-03-31 01:30:00';CAST(t AS STRING) = '2024-10-27 02:30:00'
COALESCE(t, u) = t;COALESCE(t, '2024-10-27 02:30:00') = u
w = '2024-03-31 02:30:00';w >= TIMESTAMP_NTZ '2024-03-31 01:30:00'
w > TIMESTAMP '2024-03-31 01:30:00';w = t;w < t;w - t < INTERVAL 1 HOUR;t - w > INTERVAL 1 HOUR
w + INTERVAL 1 DAY = v;w - v <= INTERVAL 1 DAY
CAST(w AS TIMESTAMP) = u;CAST(t AS TIMESTAMP_NTZ) = w;w = CAST(t AS DATE);COALESCE(w, t) = u
CAST(w AS STRING) = CAST(t AS STRING)
""".strip().replace("\n", ";").split(";")  # fmt: skip


@pytest.fixture(scope="module")
def moments(written):
    pairs = list(product(INSTANTS, repeat=2))
    kinds = [pa.timestamp("us", "UTC")] * 2 + [pa.timestamp("us")] * 2
    columns = [[p[0] for p in pairs], [p[1] for p in pairs]]
    columns += [[x and x.replace(tzinfo=None) for x in column] for column in columns]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    table = pa.table([pa.array(range(len(pairs))), *arrays], names=["n", "t", "u", "w", "v"])
    return table, written("moments", table)


@pytest.mark.parametrize("zone", ZONES)
def test_times_in_the_sessions_zone(spark, settings, moments, zone):
    settings.set("spark.sql.session.timeZone", zone)
    table, path = moments
    assert agree(spark, path, table, TIMES) > 1_000


def test_a_timestamp_may_be_without_a_zone_by_setting(spark, settings, moments):
    settings.set("spark.sql.session.timeZone", "Europe/Berlin")
    settings.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    table, path = moments
    texts = [
        "t >= TIMESTAMP '2024-03-31 01:30:00'",
        "w >= TIMESTAMP '2024-03-31 01:30:00'",
        "w - TIMESTAMP '2024-03-31 00:00:00' < INTERVAL 2 HOURS",
        "t - TIMESTAMP '2024-03-31 00:00:00' < INTERVAL 2 HOURS",
        "t >= TIMESTAMP '2024-03-31 01:00:00Z'",
        "w >= TIMESTAMP '2024-03-31 01:00:00+02:00'",
        "w >= CAST('2024-03-31 01:00:00Z' AS TIMESTAMP)",
        "CAST(t AS TIMESTAMP) = w",
        "t = TIMESTAMP_LTZ '2024-10-27 02:30:00'",
    ]
    assert agree(spark, path, table, texts) > 100


def test_a_zone_that_this_machine_does_not_know_is_refused_before_any_row(moments):
    dialect = words.SparkDialect("Mars/Olympus")
    with pytest.raises(wr.WindrowError, match=r"zone 'Mars/Olympus'.* set spark\.sql\.session"):
        predicate("t - u < INTERVAL 1 HOUR", "imp", moments[0].schema, dialect)


# -- text and numbers ----------------------------------------------------------------------------

WORDS = [
    "", "a", "ab", "aB", "AB", "a%", "a_b", "a\\b", "5%", "50", "é", "É", "straße", "ΟΔΟΣ",
    "ΟΔΟΣ ΟΔΟΣ", "a\nb", "İ", "ı", "𝄞", "ŉ", "ǆ", "a'b", 'a"b', "a.b", "\\", "\\%", "ﬁ", "ß",
    "x#y", None, "ΑΣ.", "σΣ",
]  # fmt: skip
TEXTS = [
    "s LIKE 'a%'", r"s LIKE 'a\\%'", r"s LIKE 'a\%'", "s LIKE 'a_'", r"s LIKE '%\\_%'",
    r"s LIKE '%\\\\%'", "s LIKE '_'", "s LIKE '__'", "s NOT LIKE '%a%'", "s LIKE ''", "s LIKE '%'",
    "s LIKE 'A%'", "s LIKE '5#%' ESCAPE '#'", "s LIKE 'x##y' ESCAPE '#'", "s LIKE NULL",
    r"s LIKE r'a\%'", "s LIKE 'a/%' ESCAPE '/'", "s LIKE 'a\nb'", r"s LIKE 'a\nb'",
    r"s LIKE 'a\'b'", r's LIKE "a\"b"', "s LIKE 'a.b'", "UPPER(s) LIKE 'A%'", "NOT s LIKE 'a%'",
    "(s LIKE 'a%') IS NULL", "UPPER(s) = s", "LOWER(s) = s", "UPPER(s) = 'STRASSE'",
    "UPPER(s) = UPPER(r)", "LOWER(s) = LOWER(r)", "LOWER(s) = 'οδος'", "LOWER(s) = 'οδος οδος'",
    "LOWER(s) = 'i̇'", "UPPER(s) = 'ʼN'", "UPPER(s) = 'FI'", "UPPER(s) IS NULL", "ucase(s) = 'A'",
    "lcase(s) = 'a'", "LOWER(s) = 'ας.'", "LOWER(s) = 'σς'", "s < r", "s IN ('a', 'AB')",
]  # fmt: skip
NUMBERS = [
    "COALESCE(s, r) = s", "COALESCE(s, 'none') = 'none'", "COALESCE(i, l) = i",
    "COALESCE(i, 5) = 5", "COALESCE(i, 2.5) = 2.5", "COALESCE(i, x) = x", "COALESCE(p, i) = i",
    "COALESCE(p, 0) = 0", "COALESCE(f, x) = x", "COALESCE(f, i, 1.5) = 1.5", "COALESCE(b, TRUE)",
    "COALESCE(NULL, b, false)", "ifnull(i, 3) = 3", "nvl(i, 3) = 3", "COALESCE(f, 0.1) = 0.1",
    "COALESCE(x, 0.1) = 0.1", "COALESCE(i, l, NULL) IS NULL", "COALESCE(b, i > 0)",
    "ABS(i) = 7", "ABS(l) = l", "ABS(x) = 2.5", "ABS(x) = x", "ABS(f) > 1", "ABS(p) = p",
    "ABS(p) < 0.05", "ABS(i - l) > 3", "ABS(NULL) IS NULL", "ABS(x) = 0", "ABS(-i) = ABS(i)",
    "f = 0.1", "f = x", "f < x", "i = l", "i < f", "p = x", "p < f", "p < i", "-i = l", "f <=> x",
    "i IN (1, 2.5, NULL)", "i BETWEEN -1 AND 1.5", "CAST(i AS STRING) LIKE '-%'",
]  # fmt: skip


@pytest.fixture(scope="module")
def values(written):
    count = len(WORDS)
    ints = [0, 1, -1, -7, 2**31 - 1, None]
    floats = [0.1, -0.0, float("nan"), float("-inf")]

    def some(kind, value, missing):
        return pa.array([None if k % missing == 0 else value(k) for k in range(count)], kind)

    table = pa.table(
        {
            "n": range(count),
            "s": WORDS,
            "r": WORDS[::-1],
            "i": pa.array([ints[k % 6] for k in range(count)], pa.int32()),
            "l": pa.array([ints[k // 2 % 6] for k in range(count)], pa.int64()),
            "f": some(pa.float32(), lambda k: floats[k % 4], 5),
            "x": some(pa.float64(), lambda k: [0.1, -0.0, float("nan"), -2.5][k % 4], 7),
            "p": some(pa.decimal128(8, 2), lambda k: Decimal(k - 10) / 100, 6),
            "b": some(pa.bool_(), lambda k: k % 2 == 0, 6),
        }
    )
    return table, written("values", table)


@pytest.mark.parametrize("texts", [TEXTS, NUMBERS], ids=["texts", "numbers"])
def test_functions(spark, values, texts):
    table, path = values
    assert agree(spark, path, table, texts) > 150


# -- Columns -------------------------------------------------------------------------------------

ROWS = """
SELECT * FROM VALUES
  (1, TIMESTAMP'2024-10-27 00:30:00Z', 1.5D, 'aB', CAST(1.25 AS DECIMAL(8, 2)), 1.5F, DATE'2024-10-27'),
  (2, TIMESTAMP'2024-10-27 01:30:00Z', 2.5D, 'ab', CAST(NULL AS DECIMAL(8, 2)), 0.1F, DATE'2024-10-28'),
  (3, TIMESTAMP'2024-03-31 01:00:00Z', NULL, 'it\\'s \\\\ "x"\\n', 9.99, NULL, NULL),
  (NULL, NULL, DOUBLE('NaN'), NULL, 0.01, FLOAT('-Infinity'), DATE'1969-12-31')
AS rows(k, t, Price, s, cents, f, `day.of`)
"""  # noqa: E501


def col(path):
    return F.col(path)


#: As a Column over the structs a and b; a has a struct `geo` as well.
COLUMNS = {
    "case": lambda: col("A.PRICE") < col("b.price"),
    "backticks": lambda: col("a.`day.of`") == dt.date(2024, 10, 27),
    "a field": lambda: (col("a.geo.x") == 1) | (col("a.geo.`y z`") == "it's \\ \"x\"\n"),
    "like": lambda: col("a.s").like("%b") & ~col("b.s").like(r"a\_"),
    "upper": lambda: F.upper("a.s") == F.upper("b.s"),
    "coalesce": lambda: F.coalesce("a.s", "b.s", F.lit("?")) == F.lower("b.s"),
    "abs": lambda: F.abs(col("a.price") - col("b.price")) <= 1,
    "interval": lambda: col("b.t") - col("a.t") <= F.expr("INTERVAL 60 MINUTES"),
    "timedelta": lambda: col("b.t") - col("a.t") < dt.timedelta(hours=1, microseconds=1),
    "later": lambda: col("b.t") <= col("a.t") + F.expr("INTERVAL '0 01:00:00' DAY TO SECOND"),
    # Clocks in Berlin show 02:30 at both.
    "first 02:30": lambda: col("a.t") > F.lit(utc(2024, 10, 27, 0, 30)),
    "second 02:30": lambda: col("a.t") >= F.lit(utc(2024, 10, 27, 1, 30)),
    "a date": lambda: col("a.t") >= F.lit("2024-10-27").cast("timestamp"),
    "isin": lambda: col("a.k").isin(1, 2, 7) & ~col("b.k").isin(2),
    "between": lambda: col("a.price").between(1, 2.5),
    "null tests": lambda: col("a.k").isNull() | col("b.price").isNotNull(),
    "null-safe": lambda: col("a.k").eqNullSafe(col("b.k")),
    "decimals": lambda: col("a.cents") == F.lit(Decimal("1.25")),
    "floats": lambda: (col("a.f") < 1.5) | (col("b.f") == F.lit(0.1).cast("float")),
    "infinite": lambda: (col("a.f") > float("-inf")) & (col("b.price") < float("nan")),
    "arithmetic": lambda: (-col("a.k") % 2 == -1) & (col("b.k") * 2 / 3 > 1),
    "long": lambda: col("a.k") < 2**40,
    "not": lambda: (col("a.k") == 1) != (col("b.k") == 1),
    "renamed": lambda: (col("a.k") == 1).alias("x"),
    "always": lambda: F.lit(True),
}  # fmt: skip


@pytest.mark.versions
@pytest.mark.parametrize("ntz", [False, True], ids=["instants", "ntz"])
def test_columns(spark, settings, ntz):
    settings.set("spark.sql.session.timeZone", "Europe/Berlin")
    rows = spark.sql(ROWS)
    if ntz:
        settings.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    one = rows.withColumn("geo", F.struct(col("k").alias("x"), col("s").alias("y z")))
    pairs = one.select(F.struct("*").alias("a")).crossJoin(rows.select(F.struct("*").alias("b")))
    pairs = pairs.localCheckpoint()
    there = pairs.toArrow()
    frames = {"a": one, "b": rows}
    schemas = {name: pa.schema(list(there.schema.field(name).type)) for name in frames}
    inputs = {name: there[name].combine_chunks().flatten() for name in frames}
    tables = {n: pa.table(inputs[n], schema=schemas[n]) for n in frames}
    asked = [F.coalesce(column(), F.lit(False)).alias(name) for name, column in COLUMNS.items()]
    theirs = pairs.select(*asked).toArrow()
    for name, column in COLUMNS.items():
        said = theirs[name]
        text = words.condition_text(frames, column())
        test = condition(text, schemas, words.dialect(spark))
        ours = test.evaluate({ref: extract(tables[ref[0]], ref[1]) for ref in test.columns}, 16)
        assert ours.to_pylist() == said.to_pylist(), (name, text)
        assert any(said.to_pylist()), name


@pytest.mark.versions
def test_a_column_and_its_text_join_the_same_rows(spark, settings, files):
    settings.set("spark.sql.session.timeZone", "Europe/Berlin")
    at = [utc(2024, 10, 27, 0, minute) for minute in (0, 20, 40, 59)]
    one = {"id": [1, 1, 2, 2], "at": pa.array(at, pa.timestamp("us", "UTC")), "name": list("xyXz")}
    files.write("a", pa.table(one), 2)
    files.write("b", pa.table(one | {"name": ["X", "Y", "Z", None]}), 2)

    def run(asked, out):
        a, b = (
            wr.stream(files.stream(name), name=name, key="ID", time="AT", window="1h")
            for name in "ab"
        )
        joined = wr.join(a, b, condition=asked)
        return files.run(joined, out=out, checkpoint=f"checkpoint {out}")

    column = (F.upper("a.name") == col("b.name")) & (col("a.at") < F.lit(at[2]))
    text = "UPPER(A.Name) = b.`name` AND a.at < TIMESTAMP '2024-10-27 02:40:00'"
    found = [run(asked, out) for asked, out in ((column, "column"), (text, "text"))]
    rows = [sorted(zip(*t.select(["a", "b"]).to_pydict().values(), strict=True), key=str)
            for t in found]  # fmt: skip
    assert rows[0] == rows[1]
    both = files.batch("a").alias("a").join(files.batch("b").alias("b"), F.expr("a.id = b.id"))
    expected = both.where(column).where("abs(unix_micros(a.at) - unix_micros(b.at)) <= 3600000000")
    assert len(rows[0]) == expected.count() == 2
