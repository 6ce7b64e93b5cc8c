"""Spark's words: its rule for names, its types in messages, keys of two widths as it joins them."""

import re

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812

import windrow as wr
from windrow.testing import assert_same_rows, duckdb_join

HOWS = ("inner", "left", "right", "full", "semi", "anti")
ROW = """
SELECT 1 AS Id, TIMESTAMP'2026-01-01 12:00:00' AS At, 'x' AS s, 12345L AS ms, 5 AS `a.b`,
  named_struct('b', 6, 'Seen', TIMESTAMP'2026-01-01 12:30:00', 'x y', 7) AS a, array(1) AS arr,
  map('k', 1) AS m, 1.5F AS f, CAST(1 AS DECIMAL(9, 2)) AS d, DATE'2026-01-01' AS day,
  TIMESTAMP_NTZ'2026-01-01 12:00:00' AS ntz
"""


@pytest.fixture
def frame(spark):
    return spark.sql(ROW)


@pytest.fixture
def sensitive(spark):
    """A session in which case counts, until the test is over."""
    kept = spark.conf.get("spark.sql.caseSensitive")
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield spark
    spark.conf.set("spark.sql.caseSensitive", kept)


def stream(frame, name="imp", **given):
    return wr.stream(frame, **{"name": name, "key": "id", "time": "at", "window": "1h", **given})


def refusal(build):
    with pytest.raises(wr.WindrowError) as refused:
        build()
    return str(refused.value)


# -- names -----------------------------------------------------------------------------------------

#: Names, and the value that Spark's own select finds under them; None: it finds nothing.
NAMES = {"id": 1, "ID": 1, "`id`": 1, "s": "x", "`A.b`": 5, "a.B": 6, "`a`.`b`": 6, "A.`X Y`": 7,
         "`id": None, "a.nope": None, "`a`.`a.b`": None, "nope": None}  # fmt: skip


@pytest.mark.versions
@pytest.mark.parametrize("name", NAMES)
def test_a_name_means_the_column_that_it_means_in_a_select(spark, frame, name):
    value = NAMES[name]
    if value is None:
        with pytest.raises(AnalysisException):
            frame.select(name)
        assert "does not exist; the columns are Id, At, s" in refusal(
            lambda: stream(frame, key=name)
        )
        return
    assert frame.select(name).first()[0] == value
    # What is joined on is that column: the other side has the value under a name of its own.
    kind = "string" if isinstance(value, str) else "int"
    other = spark.createDataFrame([(value,)], f"k {kind}").withColumn(
        "at", F.to_timestamp(F.lit("2026-01-01 12:00:00"))
    )
    joined = wr.join(stream(frame, key=name), stream(other, "clk", key="k"))
    assert joined.selectExpr(f"imp.{name} AS found", "clk.k").toArrow().to_pylist() == [
        {"found": value, "k": value}
    ]
    marked = wr.join(stream(frame, beats=f"{name} IS NOT NULL"), stream(frame, "clk"))
    assert marked.count() == 0


def test_the_time_is_found_by_the_same_rule(frame):
    joined = wr.join(stream(frame, time="A.`seen`"), stream(frame, "clk", time="a.SEEN"))
    assert joined.select(F.date_format("ts", "HH:mm")).first()[0] == "12:30"


def test_text_of_conditions_and_finals_has_the_same_rule(spark, frame):
    asked = "Imp.`a.B` = 5 AND IMP.a.b = 6 AND clk.`A`.`x Y` = 7"
    assert wr.join(stream(frame), stream(frame, "clk"), condition=asked).count() == 1
    rows = frame.unionByName(frame.withColumn("s", F.lit("over")))
    imp, clk = (stream(rows, name, window=None, ends="S = 'over'") for name in ("imp", "clk"))
    finals = wr.join(imp, clk, finals={"dotted": "max(CLK.`A.b`)", "inner": "max(clk.A.B)"})
    assert finals.select("Id", "dotted", "inner").collect() == [(1, 5, 6)]


def test_where_case_counts_it_counts(sensitive, frame):
    missing = refusal(lambda: stream(frame))
    assert "key column 'id' does not exist; the columns are Id, At" in missing
    two = frame.selectExpr("Id", "2 AS ID", "At", "s")
    imp = stream(two, key="ID", time="At")
    clk = stream(two.withColumn("Id", F.lit(2)), "clk", key="Id", time="At")
    assert wr.join(imp, clk, condition="imp.Id = 1 AND clk.ID = 2").count() == 1
    assert wr.join(imp, clk, condition=F.col("imp.Id") == 1).count() == 1
    assert wr.join(imp, clk, condition="imp.ID = 1").count() == 0
    assert "names column id" in refusal(lambda: wr.join(imp, clk, condition="imp.id = 1"))
    assert "names stream IMP" in refusal(lambda: wr.join(imp, clk, condition="IMP.Id = 1"))


def test_two_columns_that_differ_in_case_are_one_too_many(sensitive, frame):
    two = frame.selectExpr("Id", "2 AS ID", "At", "s")
    sensitive.conf.set("spark.sql.caseSensitive", "false")
    with pytest.raises(AnalysisException, match="AMBIGUOUS"):
        two.select("id")
    said = refusal(lambda: stream(two))
    assert "key names 'id', which is both Id and ID" in said
    assert "rename one of them, or set spark.sql.caseSensitive to true" in said
    assert stream(two, key="S").key == ("s",)


# -- messages --------------------------------------------------------------------------------------

REFUSED = {
    "text for a time": (
        lambda f: stream(f, time="S"),
        "time column 's' is string, expected a timestamp; convert it, for example with "
        'df.withColumn("s", F.to_timestamp("s"))',
    ),
    "a number for a time": (
        lambda f: stream(f, time="ms"),
        "'ms' is bigint, expected a timestamp; convert it, for example with "
        'df.withColumn("ms", F.timestamp_millis("ms")) (F.timestamp_seconds if it counts seconds)',
    ),
    "a date for a time": (lambda f: stream(f, time="day"), 'F.to_timestamp("day")'),
    "an array for a key": (lambda f: stream(f, key="arr"), "'arr' is array<int>, which cannot be"),
    "a map for a key": (lambda f: stream(f, key="m"), "'m' is map<string,int>, which cannot be"),
    "a Column for a key": (
        lambda f: stream(f, key=F.col("id")),
        "key is Column<'id'>, expected a column name",
    ),
    "a Column for a time": (lambda f: stream(f, time=F.col("at")), "Column<'at'>"),
    "int and text": (
        lambda f: wr.join(stream(f), stream(f, "clk", key="s")),
        "'Id' of stream 'imp' is int but 's' of stream 'clk' is string; cast one of them to the "
        'other\'s type, for example with df.withColumn("Id", F.col("Id").cast("string"))',
    ),
    "int and float": (
        lambda f: wr.join(stream(f), stream(f, "clk", key="f")),
        'is float; cast both, for example with df.withColumn("Id", F.col("Id").cast("double"))',
    ),
    "int and decimal": (
        lambda f: wr.join(stream(f), stream(f, "clk", key="d")),
        'is decimal(9,2); cast both, for example with df.withColumn("Id", F.col("Id").cast("dec',
    ),
    "instants and wall-clock times": (
        lambda f: wr.join(stream(f), stream(f, "clk", time="ntz")),
        "'At' of stream 'imp' is timestamp but 'ntz' of stream 'clk' is timestamp_ntz; cast one of "
        'them, so that both mean instants or both mean wall-clock times, for example with '
        'df.withColumn("ntz", F.col("ntz").cast("timestamp"))',
    ),
    "a comparison": (
        lambda f: wr.join(stream(f), stream(f, "clk"), condition="imp.at < clk.arr"),
        "condition compares timestamp with array<int>",
    ),
    "a final": (
        lambda f: wr.join(*(stream(f, n, ends="s = 'x'") for n in "ab"), finals={"n": "sum(b.m)"}),
        "there is no sum of map<string,int>",
    ),
    "a Column over the DataFrame": (
        lambda f: wr.join(stream(f), stream(f, "clk"), condition=f.s == "x"),
        'does not fit the streams\' structs; use F.col("imp.column") and F.col("clk.column")',
    ),
    "a Column with another function": (
        lambda f: wr.join(stream(f), stream(f, "clk"), condition=F.length("imp.s") == 1),
        "which is the SQL text of the Column; compute what is refused as a column of its own, with "
        "df.withColumn, before wr.stream",
    ),
    "a Column beside tables": (
        lambda f: wr.join(
            *(
                wr.stream(f.select("Id", "At").toArrow(), name=n, key="Id", time="At", window="1h")
                for n in "ab"
            ),
            condition=F.col("a.Id") == 1,
        ),
        "(a Column works with DataFrames only)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_messages_have_sparks_words(frame, case):
    build, part = REFUSED[case]
    said = refusal(lambda: build(frame))
    assert part in said
    assert not re.search(r"pyarrow|int64|timestamp\[|decimal128", said)


@pytest.mark.versions
def test_what_a_message_says_to_write_works(spark, frame):
    made = frame.withColumn("s", F.to_timestamp(F.lit("2026-01-01 12:00:00")))
    assert stream(made.withColumn("s", F.to_timestamp("s")), time="s").time == "s"
    assert stream(frame.withColumn("ms", F.timestamp_millis("ms")), time="ms").time == "ms"
    cast = frame.withColumn("ntz", F.col("ntz").cast("timestamp"))
    assert wr.join(stream(frame), stream(cast, "clk", time="ntz")).count() == 1


# -- keys of two widths ----------------------------------------------------------------------------

SPAN = 60_000_000
#: Types of each stream's key; values that both have, and those that only the wider one has.
WIDTHS = {
    "int and bigint": (pa.int32(), pa.int64(), [0, 1, -1, -(2**31), 2**31 - 1], [2**31, 2**32 + 1]),
    "tinyint and int": (pa.int8(), pa.int32(), [0, -128, 127], [128, 383]),
    "float and double": (pa.float32(), pa.float64(), [0.0, -0.0, 1.5, float("nan")], [0.1, 1e300]),
}


def table(kind, values, seed, rows=200, first=0):
    rng = np.random.default_rng(seed)
    drawn = [[*values, None][at] for at in rng.integers(0, len(values) + 1, rows)]
    return pa.table(
        {
            "k": pa.array(drawn, kind),
            "t": pa.array(first + np.sort(rng.integers(0, SPAN, rows)), pa.timestamp("us", "UTC")),
            "n": np.arange(rows),
            "beat": pa.array([False] * rows),
        }
    )


def beat(like, at):
    row = {"k": [None], "t": [at], "n": [None], "beat": [True]}
    return pa.table(row, schema=like.schema)


def pair(one, two, **more):
    common = {"key": "k", "time": "t", "beats": "beat", "window": "2s", **more}
    return [wr.stream(data, name=name, **common) for data, name in ((one, "a"), (two, "b"))]


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("case", WIDTHS)
def test_widths_meet_as_in_sparks_join_and_in_process(files, case, flip):
    narrow, wide, both, only = WIDTHS[case]
    tables = [table(narrow, both, 1), table(wide, both + only, 2)][:: -1 if flip else 1]
    for name, each in zip("ab", tables, strict=True):
        files.write(name, each, 200)
    frames = [files.batch(name) for name in "ab"]
    for how in HOWS if case == "int and bigint" else ("inner", "full"):
        got = wr.join(*pair(*frames), how=how).toArrow()
        assert_same_rows(got, duckdb_join(*pair(*tables), how=how))
        assert_same_rows(got, wr.join(*pair(*tables), how=how))
    a, b = (frame.alias(name) for frame, name in zip(frames, "ab", strict=True))
    near = "abs(unix_micros(a.t) - unix_micros(b.t)) <= 2000000"
    theirs = a.join(b, F.col("a.k") == F.col("b.k")).where(near).select("a.n", "b.n").collect()
    mine = wr.join(*pair(*frames))
    assert sorted(theirs) == sorted(mine.select("a.n", "b.n").collect())
    assert len(theirs) > 50
    kinds = [frame.schema["k"].dataType for frame in frames]
    assert [mine.schema[name].dataType["k"].dataType for name in "ab"] == kinds


def test_widths_meet_through_a_restart(files):
    narrow, wide, both, only = WIDTHS["int and bigint"]
    whole = []
    for name, kind, values in (("a", narrow, both), ("b", wide, both + only)):
        parts = [table(kind, values, ord(name)), table(kind, values, 1 + ord(name), first=SPAN)]
        whole.append(pa.concat_tables(parts))
        files.write(name, parts[0], 100)
    frames = [files.stream(name) for name in "ab"]
    files.run(wr.join(*pair(*frames), how="full"))
    for name, each in zip("ab", whole, strict=True):
        files.write(name, each.slice(200), 100)
        files.write(name, beat(each, 10 * SPAN), 1)
    got = files.run(wr.join(*pair(*frames), how="full"))
    assert_same_rows(got, duckdb_join(*pair(*whole), how="full"))


@pytest.mark.parametrize("flip", [False, True])
def test_ends_and_finals_of_two_widths_are_those_in_process(files, flip):
    def ended(kind, rows):
        keys, times, over = zip(*rows, strict=True)
        at = pa.array(times, pa.timestamp("us", "UTC"))
        return pa.table({"k": pa.array(keys, kind), "t": at, "over": over})

    tables = [
        ended(pa.int32(), [(1, 1, False), (7, 2, False), (1, 5, True), (7, 8, True)]),
        ended(
            pa.int64(), [(1, 2, False), (7, 3, False), (2**40, 4, True), (1, 6, True), (7, 9, True)]
        ),
    ][:: -1 if flip else 1]
    for name, each in zip("ab", tables, strict=True):
        files.write(name, each, 2)

    def asked(*data):
        common = {"key": "k", "time": "t", "ends": "over"}
        return [wr.stream(d, name=n, **common) for d, n in zip(data, "ab", strict=True)]

    frames = [files.stream(name) for name in "ab"]
    for number, more in enumerate(({"punctuate": True}, {"finals": {"n": "count(*)"}})):
        joined = wr.join(*asked(*frames), **more)
        got = files.run(joined, out=f"out {number}", checkpoint=f"checkpoint {number}")
        expected = wr.join(*asked(*tables), **more)
        assert_same_rows(got, expected)
        assert expected.num_rows > 1
    assert dict(joined.dtypes)["k"] == "bigint"
