"""Rows come out as they went in: every type of Spark's, matched and not, in batches and streams."""

import json
from functools import reduce
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.ml.linalg import Vectors
from pyspark.sql import DataFrame, functions, types

import windrow as wr

#: Name -> type and values, in SQL. Every column gets a null as well, and a copy without one.
FLAT = {
    "boolean": ("BOOLEAN", "true", "false"),
    "byte": ("TINYINT", "-128Y", "127Y"),
    "short": ("SMALLINT", "-32768S", "32767S"),
    "int": ("INT", "-2147483648", "2147483647"),
    "long": ("BIGINT", "-9223372036854775807L - 1L", "9007199254740993L"),
    "float": ("FLOAT", "'NaN'", "'-0.0'", "'0.0'", "'-Infinity'", "1.4e-45D"),
    "double": ("DOUBLE", "'NaN'", "'-0.0'", "'0.0'", "'Infinity'", "1.7976931348623157e308D"),
    "digit": ("DECIMAL(1, 0)", "-9", "0"),
    "cents": ("DECIMAL(18, 2)", "-0.01", "9999999999999999.99"),
    "long_decimal": ("DECIMAL(19, 0)", "9999999999999999999", "-1"),
    "whole": ("DECIMAL(38, 0)", "'-99999999999999999999999999999999999999'", "1"),
    "fraction": ("DECIMAL(38, 38)", "'0.00000000000000000000000000000000000001'", "0"),
    "string": ("STRING", "''", "'naïve ☃ 𝄞'", "'a\\0b'", "repeat('x', 70000)"),
    "binary": ("BINARY", "X''", "X'00FF'"),
    "date": ("DATE", "'0001-01-01'", "'1582-10-15'", "'1969-12-31'", "'9999-12-31'"),
    "timestamp": (
        "TIMESTAMP", "'0001-01-01 00:00:00'", "'1582-10-04 12:00:00'",
        "'1969-12-31 23:59:59.999999'", "'9999-12-31 23:59:59.999999'",
        "timestamp_micros(-9223372036854775807L)",
    ),
    "odd name.with dots": ("INT", "1", "2"),
}  # fmt: skip
OTHER = {
    "collated": ("STRING COLLATE UNICODE_CI", "'X'", "'x'"),
    "local": (
        "TIMESTAMP_NTZ", "'0001-01-01 00:00:00'", "'1969-12-31 23:59:59.999999'",
        "'9999-12-31 23:59:59.999999'", "'2026-03-29 02:30:00'",
    ),
    "time": ("TIME", "'00:00:00'", "'23:59:59.999999'"),
    "seconds": ("TIME(0)", "'23:59:59'"),
    "wait": (
        "INTERVAL DAY TO SECOND", "INTERVAL '-106751991 04:00:54.775807' DAY TO SECOND",
        "INTERVAL '0.000001' SECOND",
    ),
    "days": ("INTERVAL DAY", "INTERVAL '-3' DAY"),
    "void": ("VOID", "NULL"),
    "array": ("ARRAY<INT>", "array()", "array(1, NULL, 3)"),
    "arrays": ("ARRAY<ARRAY<STRING>>", "array(array('', NULL), array(), NULL)"),
    "instants": ("ARRAY<TIMESTAMP>", "array(TIMESTAMP'1969-12-31 23:59:59.999999', NULL)"),
    "map": ("MAP<STRING, DOUBLE>", "map()", "map('x', DOUBLE('NaN'), 'y', NULL)"),
    "days_map": ("MAP<DATE, TIMESTAMP>", "map(DATE'1969-12-31', TIMESTAMP'1969-12-31 12:00:00')"),
    "keyed_by_struct": ("MAP<STRUCT<x: INT>, ARRAY<INT>>", "map(named_struct('x', 1), array(2))"),
    "struct": (
        "STRUCT<a: INT, b: STRUCT<c: ARRAY<STRING>, at: TIMESTAMP>>",
        "named_struct('a', 1, 'b', named_struct('c', array('x', NULL), 'at', DATE'2026-01-01'))",
        "named_struct('a', NULL, 'b', NULL)",
    ),
    # A null struct whose fields are never null is null all the same.
    "strict": (
        "STRUCT<a: INT NOT NULL, b: STRUCT<c: STRING NOT NULL> NOT NULL>",
        "named_struct('a', 1, 'b', named_struct('c', 'x'))",
    ),
    "strict_items": ("ARRAY<STRUCT<a: INT NOT NULL>>", "array(named_struct('a', 1), NULL)"),
    "empty": ("STRUCT<>", "struct()"),
    "variant": ("VARIANT", "parse_json('{\"a\": [1, null, 2.5]}')", "parse_json('null')"),
    "variants": ("ARRAY<VARIANT>", "array(parse_json('1'), NULL)"),
    "point": ("GEOMETRY(0)", "ST_GeomFromWKB(X'0101000000000000000000F03F0000000000000040')"),
    "place": ("GEOGRAPHY(4326)", "ST_GeogFromWKB(X'0101000000000000000000F03F0000000000000040')"),
}  # fmt: skip
GROUPS = {"flat": FLAT, "whole": {**FLAT, **OTHER}}
#: Rows of each kind: as many as the longest list of values, and one for the null.
ROWS = max(map(len, GROUPS["whole"].values()))
#: Keys of the rows that meet, and of each stream's rows that do not. A negative key is a heartbeat.
MET, ALONE = range(ROWS), {"a": range(100, 100 + ROWS), "b": range(200, 200 + ROWS)}
#: A group, the column of its event times (a wall-clock time is not flat), and a session time zone:
#: odd offsets of either sign. The other tests run in UTC.
CASES = [("flat", "t", "Asia/Kathmandu"), ("whole", "n", "America/St_Johns")]


@pytest.fixture
def zone(spark, request):
    kept = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", kept)


@pytest.fixture(autouse=True)
def time_of_day(spark):
    """Spark 4.3 has the type TIME, but not by default."""
    spark.conf.set("spark.sql.timeType.enabled", "true")
    yield
    spark.conf.unset("spark.sql.timeType.enabled")


def typed(frame, group):
    """Give rows of k and t a column of every type: values by k, and null after the last."""
    columns = ["k", "t"] if group == "flat" else ["k", "t", "CAST(t AS TIMESTAMP_NTZ) AS n"]
    for name, (kind, *values) in GROUPS[group].items():
        cases = " ".join(f"WHEN {i} THEN CAST({v} AS {kind})" for i, v in enumerate(values))
        value = f"CASE k % 100 {cases} END"
        columns.append(f"{value} AS `{name}`")
        if name != "void":
            columns.append(f"coalesce({value}, CAST({values[0]} AS {kind})) AS `{name} there`")
    found = frame.selectExpr(*columns)
    comment = functions.col("boolean").alias("boolean", metadata={"comment": "kept too"})
    return found.withColumn("boolean", comment)


def streams(one, two, time):
    return [
        wr.stream(frame, name=name, key="k", time=time, window="1 minute", beats="k < 0")
        for name, frame in (("a", one), ("b", two))
    ]


#: What Python's own types cannot hold in full is compared as a number.
EXACT = {types.TimestampType: functions.unix_micros, types.DateType: functions.unix_date}


def values(frame):
    """By key, the text of each value: a NaN is itself there, and -0.0 is not 0.0."""
    columns = [
        EXACT.get(type(field.dataType), lambda column: column)(functions.col(f"`{field.name}`"))
        .alias(field.name)
        for field in frame.schema
    ]  # fmt: skip
    rows = frame.select(*columns).where("k >= 0").collect()
    return {
        row["k"]: {n: repr(v) for n, v in zip(row.__fields__, row, strict=True)} for row in rows
    }


def check(joined, frames, time):
    """Every row of each stream is there once, as it was, and half of them with a partner."""
    for name, frame in zip("ab", frames, strict=True):
        there = joined.where(f"{name} IS NOT NULL").select(f"{name}.*")
        expected = values(frame)
        assert sorted(expected) == sorted([*MET, *ALONE[name]])
        assert there.count() == 2 * ROWS
        assert values(there) == expected
        assert loose(joined.schema[name].dataType) == loose(frame.schema)
    assert joined.where("a IS NOT NULL AND b IS NOT NULL").count() == ROWS
    assert (
        joined.where(f"a.k <> b.k OR ts IS DISTINCT FROM greatest(a.{time}, b.{time})").count() == 0
    )


def loose(schema):
    """A schema in which every column may be null, as in the result of an outer join."""
    plain = schema.jsonValue()
    for field in plain["fields"]:
        field["nullable"] = True
    return json.dumps(plain)


@pytest.mark.parametrize(("group", "time", "zone"), CASES, indirect=["zone"])
def test_batches(spark, zone, group, time):
    keyed = "explode(sequence({0.start}, {0.stop} - 1)) AS k"
    frames = [
        typed(
            spark.sql(f"SELECT {keyed.format(MET)} UNION ALL SELECT {keyed.format(ALONE[name])}")
            .selectExpr("CAST(k AS BIGINT) AS k", f"timestamp_seconds({second} + k) AS t"),
            group,
        )
        for name, second in (("a", 0), ("b", 1))
    ]  # fmt: skip
    asked = streams(*frames, time)
    check(wr.join(*asked, how="full").localCheckpoint(), frames, time)
    inner = wr.join(*asked)
    for name, frame in zip("ab", frames, strict=True):
        assert inner.schema[name].dataType == frame.schema


@pytest.mark.parametrize(("group", "time", "zone"), CASES, indirect=["zone"])
def test_streams(files, zone, group, time):
    # What meets comes in two batches, so one side of it is read from the state.
    order = {"a": [MET, ALONE["a"]], "b": [ALONE["b"], MET]}
    for name, parts in order.items():
        for number, keys in enumerate(parts):
            seconds = [10 * number + k % 100 for k in keys]
            at = pa.array([s * 1_000_000 for s in seconds], pa.timestamp("us", "UTC"))
            files.write(name, pa.table({"k": pa.array(keys, pa.int64()), "t": at}), ROWS)
        beat = {"k": pa.array([-1]), "t": pa.array([10**15], pa.timestamp("us", "UTC"))}
        files.write(name, pa.table(beat), 1)
    frames = [typed(files.stream(name), group) for name in "ab"]
    parts = []
    query = (
        wr.join(*streams(*frames, time), how="full")
        # No sink takes every type, so the rows are kept as Spark has them.
        .writeStream.foreachBatch(lambda frame, number: parts.append(frame.localCheckpoint()))
        .option("checkpointLocation", str(files.folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(180), "the query did not end in time"
    found = reduce(DataFrame.union, parts)
    check(found, [typed(files.batch(name), group) for name in "ab"], time)


def test_text_of_a_fixed_length_and_types_of_ones_own(spark, tmp_path):
    made = f"types_{uuid4().hex}"
    spark.sql(
        f"CREATE TABLE {made} (k BIGINT, t TIMESTAMP, fixed CHAR(5), most VARCHAR(5)) "
        f"USING parquet LOCATION '{tmp_path / made}'"
    )
    spark.sql(f"INSERT INTO {made} VALUES (1, TIMESTAMP'2026-01-01', 'ab', 'ab')")
    texts = spark.table(made)
    vectors = spark.createDataFrame([(1, Vectors.sparse(3, {1: 2.5}))], ["k", "vector"])
    vectors = vectors.selectExpr("k", "TIMESTAMP'2026-01-01' AS t", "vector")
    joined = wr.join(*streams(texts, vectors, "t"))
    assert joined.schema["a"].dataType == texts.schema
    assert joined.schema["b"].dataType == vectors.schema
    assert joined.select("a.*").collect() == texts.collect()
    assert joined.select("b.*").collect() == vectors.collect()


SETTINGS = {
    "spark.sql.session.timeZone": "Asia/Kathmandu",
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_restart_under_another_setting_goes_on_with_the_stored_rows(spark, files, setting):
    def write(name, keys):
        at = pa.array([k * 1_000_000 for k in keys], pa.timestamp("us", "UTC"))
        text = [f"text {k}" for k in keys]
        deep = [{"at": 1_000_000 * k, "text": [f"deep {k}"]} for k in keys]
        kind = pa.struct([("at", pa.timestamp("us", "UTC")), ("text", pa.list_(pa.string()))])
        columns = {"k": keys, "t": at, "text": text, "deep": pa.array(deep, kind)}
        files.write(name, pa.table(columns), len(keys))

    def run():
        frames = [files.stream(name) for name in "ab"]
        return files.run(wr.join(*streams(*frames, "t"), how="left")).to_pylist()

    write("a", [1, 2])
    write("b", [0])
    assert run() == []
    kept = spark.conf.get(setting)
    spark.conf.set(setting, SETTINGS[setting])
    try:
        write("a", [3])
        write("b", [1, 2, 3])
        found = run()
    finally:
        spark.conf.set(setting, kept)
    assert sorted(row["a"]["k"] for row in found) == [1, 2, 3]
    for row in found:
        assert row["a"] == row["b"]
        assert row["a"]["text"] == f"text {row['a']['k']}"
        assert row["a"]["deep"]["text"] == [f"deep {row['a']['k']}"]
        assert row["a"]["deep"]["at"] == row["a"]["t"]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("INTERVAL '3' YEAR", "interval year"),
        ("array(named_struct('deep', INTERVAL '1-2' YEAR TO MONTH))", "array<struct<deep:interval"),
        ("make_interval(1, 2, 3)", "interval"),
        ("array()", "array<void>"),
        ("named_struct('twice', 1, 'twice', 2)", "struct<twice:int,twice:int>"),
    ],
)
def test_what_spark_cannot_hand_to_python_is_refused_by_name(spark, value, kind):
    frame = spark.sql(f"SELECT 1L AS k, TIMESTAMP'2026-01-01' AS t, {value} AS x")
    with pytest.raises(wr.WindrowError, match=f"stream 'a': column 'x' is {kind}") as refused:
        streams(frame, frame, "t")
    assert "cast it" in str(refused.value)


def test_two_columns_of_one_name_are_refused(spark):
    frame = spark.sql("SELECT 1L AS k, TIMESTAMP'2026-01-01' AS t, 1 AS x, 2 AS x")
    with pytest.raises(wr.WindrowError, match="stream 'a': there are two columns 'x'"):
        streams(frame, frame, "t")
