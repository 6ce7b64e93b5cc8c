"""Late rows, rows far ahead of the clock and rows without a time, on real Spark."""

import datetime as dt
import warnings

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

import windrow as wr

SECOND = 1_000_000
MINUTE = 60 * SECOND
NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
BEGIN = int(NOW.timestamp()) * SECOND
YEAR_9999 = int(dt.datetime(9999, 1, 1, tzinfo=dt.UTC).timestamp()) * SECOND


def table(*times, first=0):
    """Rows of one key at these minutes, numbered."""
    micros = [time if time is None or time > BEGIN else BEGIN + time * MINUTE for time in times]
    numbers = range(first, first + len(times))
    return pa.table(
        {
            "k": [1] * len(times),
            "t": pa.array(micros, pa.timestamp("us", "UTC")),
            "v": pa.array(numbers, pa.int64()),
        }
    )


def stream(frame, name, time="t", **given):
    return wr.stream(frame, name=name, key="k", time=time, window="1 hour", **given)


def query(files, frame, folder="0"):
    """Run to the end; the rows, the query, and what was warned of."""
    out = str(files.folder / f"out-{folder}")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        started = (
            frame.writeStream.format("parquet")
            .option("checkpointLocation", str(files.folder / f"checkpoint-{folder}"))
            .trigger(availableNow=True)
            .start(out)
        )
        assert started.awaitTermination(180), "the query did not end in time"
        # The last figures may reach the driver a moment after the query has ended.
        wr.metrics(started)
    rows = files.spark.read.parquet(out).toArrow().to_pylist()
    said = [str(each.message) for each in told if each.category is RuntimeWarning]
    return rows, started, [text for text in said if " join of " in text]


def total(started, what):
    counted = [getattr(batch, what) for batch in wr.metrics(started)]
    return {name: sum(each[name] for each in counted) for name in counted[0]}


# -- far ahead -----------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [{}, {"max_ahead": None}], ids=["a year", "none"])
def test_one_row_of_the_year_9999_makes_no_other_late(files, limit):
    files.write("a", table(0, YEAR_9999, 1, 2, YEAR_9999 + 1, 3), 2)
    files.write("b", table(0, 1, 2), 1)
    a, b = stream(files.stream("a"), "a", **limit), stream(files.stream("b"), "b", lateness="1 day")
    rows, started, said = query(files, wr.join(a, b))
    if limit:
        assert total(started, "late") == {"a": 3, "b": 0}
        assert total(started, "bad") == {"a": 0, "b": 0}
        assert not any("ahead" in text for text in said)
        return
    assert total(started, "late") == {"a": 0, "b": 0}
    assert total(started, "bad") == {"a": 2, "b": 0}
    assert len(rows) == 4 * 3
    assert wr.metrics(started)[-1].progress["a"] == NOW + dt.timedelta(minutes=3)
    (text,) = said
    assert "stream 'a' has a row at 9999-01-01T00:00:00.000000 UTC" in text
    assert "more than max_ahead='1 year' ahead of the clock" in text
    assert "pass a larger max_ahead" in text


def test_bad_rows_that_are_kept_leave_once_through_a_restart(files):
    def joined():
        a, b = stream(files.stream("a"), "a"), stream(files.stream("b"), "b")
        return wr.join(a, b, how="left", bad="keep")

    def shown(rows):
        found = [
            (row["kind"], row["a"] and row["a"]["v"], row["b"] and row["b"]["v"]) for row in rows
        ]
        assert all((row["ts"] is None) == (row["kind"] == "bad") for row in rows)
        return sorted(found, key=str)

    files.write("a", table(0, YEAR_9999, None, 1), 2)
    files.write("b", table(0, None), 2)
    first = [("bad", 1, None), ("bad", 2, None), ("bad", None, 1), ("match", 0, 0), ("match", 3, 0)]
    rows, started, _ = query(files, joined())
    assert shown(rows) == first
    assert total(started, "bad") == {"a": 2, "b": 1}
    files.write("a", table(None, 2, YEAR_9999, first=4), 1)
    files.write("b", table(None, first=2), 1)
    second = [("bad", 4, None), ("bad", 6, None), ("bad", None, 2), ("match", 5, 0)]
    rows, _, _ = query(files, joined())
    assert shown(rows) == sorted([*first, *second], key=str)
    kept = {row["a"]["v"]: row["a"]["t"] for row in rows if row["kind"] == "bad" and row["a"]}
    assert kept[2] is None
    assert kept[1].year == 9999


def test_nested_rows_travel_as_blobs_with_the_same_result(files):
    nested = table(0, None).append_column("deep", pa.array([{"x": 1}, {"x": 2}]))
    files.write("a", nested, 2)
    files.write("b", table(0), 1)
    a, b = stream(files.stream("a"), "a"), stream(files.stream("b"), "b")
    rows, _, _ = query(files, wr.join(a, b, bad="keep"))
    found = [(row["kind"], row["a"]["deep"]["x"], row["ts"] is None) for row in rows]
    assert sorted(found) == [("bad", 2, True), ("match", 1, False)]


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (None, "1 rows have no time in 't'"),
        (YEAR_9999, "1 rows have a time in 't' that is more than max_ahead='1 year'"),
    ],
)
def test_bad_rows_fail_on_request(files, time, message):
    files.write("a", table(0, time), 2)
    files.write("b", table(0), 1)
    a, b = stream(files.stream("a"), "a"), stream(files.stream("b"), "b")
    with pytest.raises(Exception, match=f"stream 'a': {message}"):
        query(files, wr.join(a, b, bad="fail"))


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "-08:00"])
@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize(
    ("given", "bad"),
    [({}, 0), ({"max_ahead": "1 hour"}, 1), ({"max_ahead": "3 hours"}, 0)],
    ids=str,
)
def test_a_batch_dataframe_has_a_limit_only_if_it_is_given(spark, zone, kind, given, bad):
    """Two hours ahead; times without a zone are on the clocks of the session's."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        ahead = F.expr(f"CAST(current_timestamp() + INTERVAL 2 HOURS AS {kind})")
        frame = spark.range(1).select(F.col("id").alias("k"), ahead.alias("t"))
        a, b = stream(frame, "a", **given), stream(frame, "b")
        found = wr.join(a, b).count()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert found == 1 - bad


# -- late ----------------------------------------------------------------------------------------

#: Six minutes behind, in a micro-batch of its own.
LATE = table(0, 10, 4)


@pytest.fixture
def fed(files):
    files.write("a", LATE, 1)
    files.write("b", table(0), 1)
    return files


@pytest.mark.versions
def test_a_watermark_is_the_lateness(fed):
    frame = fed.stream("a").withWatermark("t", "10 minutes")
    a, b = stream(frame, "a"), stream(fed.stream("b"), "b")
    assert (a.lateness, a.lateness_from) == (10 * MINUTE, "watermark")
    text = str(wr.explain(a, b))
    assert "lateness 10 minutes by its watermark, at most 1 year ahead" in text
    assert "lateness 0 seconds by default" in text
    rows, started, said = query(fed, wr.join(a, b))
    assert total(started, "late") == {"a": 0, "b": 0}
    assert len(rows) == 3
    assert said == []


@pytest.mark.parametrize(
    ("given", "choices", "warned"),
    [
        ({}, {}, True),
        ({}, {"late": "keep"}, False),
        ({"lateness": "0 seconds"}, {}, False),
        ({"lateness": "5 minutes"}, {}, False),
    ],
    ids=str,
)
def test_late_rows_are_warned_of_once_if_nothing_is_said_of_them(fed, given, choices, warned):
    fed.write("a", table(5, 6), 1)
    a, b = stream(fed.stream("a"), "a", **given), stream(fed.stream("b"), "b")
    _, started, said = query(fed, wr.join(a, b, **choices))
    assert total(started, "late")["a"] == (1 if given.get("lateness") == "5 minutes" else 3)
    assert len(said) == int(warned)
    for text in said:
        assert "join of a and b: rows of stream 'a' came late and were dropped" in text
        assert "pass lateness= to wr.stream" in text


def test_late_rows_of_a_stream_that_is_not_shown_are_dropped_even_if_late_ones_are_kept(fed):
    a, b = stream(fed.stream("b"), "a"), stream(fed.stream("a"), "b")
    _, started, said = query(fed, wr.join(a, b, how="semi", late="keep"))
    assert total(started, "late") == {"a": 0, "b": 1}
    assert ["rows of stream 'b' came late" in text for text in said] == [True]


def as_time(frame):
    """The watermarked DataFrame, in shapes that keep what it says."""
    marked = frame.withWatermark("t", "10 minutes")
    return {
        "itself": (marked, "t"),
        "renamed": (marked.withColumnRenamed("t", "at"), "at"),
        "selected": (marked.select(F.col("t").alias("at"), "k").filter("k > 0").alias("q"), "at"),
        "in a struct": (marked.select("k", F.struct("t", "v").alias("s")), "s.t"),
        "out of a struct": (marked.select("k", F.struct("t").alias("s")).select("k", "s.t"), "t"),
        "in a union": (marked.union(marked), "t"),
        "of another case": (marked, "T"),
    }


SHAPES = ("itself", "renamed", "selected", "in a struct", "out of a struct", "in a union")


@pytest.mark.parametrize("shape", [*SHAPES, "of another case"])
def test_a_watermark_is_found_in_this_shape(fed, shape):
    frame, time = as_time(fed.stream("a"))[shape]
    found = stream(frame, "a", time)
    assert (found.lateness, found.lateness_from) == (10 * MINUTE, "watermark")
    given = stream(frame, "a", time, lateness="1 minute")
    assert (given.lateness, given.lateness_from) == (MINUTE, "given")


@pytest.mark.parametrize("gone", [False, True], ids=["kept", "dropped"])
def test_a_watermark_that_the_time_does_not_carry_is_refused(fed, gone):
    marked = fed.stream("a").withWatermark("t", "10 minutes")
    frame = marked.withColumn("at", F.expr("t + INTERVAL 1 MINUTE"))
    frame = frame.drop("t") if gone else frame
    message = (
        "stream 'a' has a watermark on 't', which the time column 'at' does not carry.*lateness="
    )
    with pytest.raises(wr.WindrowError, match=message):
        stream(frame, "a", "at")
    assert stream(frame, "a", "at", lateness="1 hour").lateness == 60 * MINUTE
    again = frame.withWatermark("at", "2 minutes")
    assert stream(again, "a", "at").lateness == 2 * MINUTE


def test_a_batch_dataframe_has_no_watermark(fed):
    found = stream(fed.batch("a").withWatermark("t", "10 minutes"), "a")
    assert (found.lateness, found.lateness_from) == (0, "default")


def test_a_joins_result_does_not_carry_its_inputs_watermarks(fed):
    """Its rows are older than they say by up to a window."""
    frames = [fed.stream(name).withWatermark("t", "10 minutes") for name in "ab"]
    joined = wr.join(*(stream(frame, name) for frame, name in zip(frames, "ab", strict=True)))
    with pytest.warns(UserWarning, match="order='none'"):
        found = wr.stream(joined, name="ab", key="a.k", time="ts", window="1 hour")
    assert (found.lateness, found.lateness_from) == (0, "default")
    nested = wr.stream(joined, name="ab", key="a.k", time="a.t", window="1 hour")
    assert (nested.lateness, nested.lateness_from) == (0, "default")
    out = wr.stream(
        joined.withWatermark("ts", "1 hour"), name="ab", key="a.k", time="ts", window="1 hour"
    )
    assert (out.lateness, out.lateness_from) == (60 * MINUTE, "watermark")
