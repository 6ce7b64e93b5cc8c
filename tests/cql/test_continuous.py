"""What users write: the paper's queries, names, what runs, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

import windrow as wr
from windrow.continuous import _scanned
from windrow.cost import paper2
from windrow.cost.calibrate import constants
from windrow.testing import table

US = pa.timestamp("us")
HEAT = """
    LocationId  Value  TimeStamp
    1           31.0   0
    2           35.0   10000000
    1           20.0   20000000
    2           40.0   70000000
"""
DAMP = """
    LocationId  Value  TimeStamp
    1           61.0   5000000
    2           70.0   15000000
    2           50.0   65000000
    1           90.0   80000000
"""
ON = "FROM Temperature A, Humidity B WHERE A.LocationId = B.LocationId"


def running(**options: object) -> wr.ContinuousQueries:
    return wr.ContinuousQueries(stream("Temperature", HEAT), stream("Humidity", DAMP), **options)


def stream(name: str, text: str, key: str = "LocationId", **options: object) -> wr.Stream:
    data = table(text, TimeStamp=US)
    return wr.stream(data, name=name, key=key, time="TimeStamp", **options)


def rows(found: pa.Table) -> list[tuple[object, ...]]:
    """Rows, with times in whole seconds."""
    columns = [
        [value // 1_000_000 for value in column.cast(pa.int64()).to_pylist()]
        if pa.types.is_timestamp(column.type)
        else column.to_pylist()
        for column in found.columns
    ]
    return list(zip(*columns, strict=True))


def test_the_papers_queries() -> None:
    queries = running()
    queries.add(
        f"""SELECT COUNT(DISTINCT A.LocationId)
        {ON} and
        A.Value > 30 and B.Value > 60
        WINDOW 1 min;""",
        name="Q1",
    )
    queries.add(
        f"""SELECT A.LocationId, MAX(A.Value), MAX(B.Value)
        {ON}
        GROUP BY A.LocationId
        WINDOW 1 hour;""",
        name="Q2",
    )
    found = queries.run()
    # (1 at 0, 1 at 5), (2 at 10, 2 at 15), then (2 at 70, 2 at 15): 15 is in (10, 70], 10 is not.
    assert rows(found["Q1"]) == [(1, 5), (2, 15), (1, 70)]
    assert rows(found["Q2"]) == [
        (1, 31.0, 61.0, 5),
        (2, 35.0, 70.0, 15),
        (1, 31.0, 61.0, 20),
        (2, 35.0, 70.0, 65),
        (2, 40.0, 70.0, 70),
        (1, 31.0, 90.0, 80),
    ]
    assert found["Q1"].column_names == ["COUNT(DISTINCT A.LocationId)", "ts"]
    assert found["Q2"].column_names == ["LocationId", "MAX(A.Value)", "MAX(B.Value)", "ts"]


def test_every_ten_seconds() -> None:
    queries = running()
    queries.add(f"SELECT COUNT(*) AS n {ON} WINDOW 30 s SLIDE 10 s", name="n")
    assert rows(queries.run()["n"]) == [
        # (0, 5) is in (-20, 10], (-10, 20] holds three more, (0, 30] has lost it, (10, 40] has
        # (20, 5)? No: 5 is not above 10. It is empty, and so ends the stretch.
        (1, 10), (3, 20), (2, 30), (0, 40), (1, 70), (1, 80), (1, 90), (0, 100),
    ]  # fmt: skip


def test_answers_to_plain_selects_are_one_row_a_result() -> None:
    queries = running()
    queries.add(f"SELECT A.LocationId, ts, B.Value - A.Value AS gap {ON} WINDOW 5 s", name="near")
    queries.add(f"SELECT A.Value, B.Value AS damp {ON} AND B.Value > 60 WINDOW 5 s", name="damp")
    found = queries.run()
    assert rows(found["near"]) == [(1, 5, 30.0), (2, 15, 35.0), (2, 70, 10.0)]
    assert rows(found["damp"]) == [(31.0, 61.0), (35.0, 70.0)]


@pytest.mark.parametrize(("closed", "expected"), [(True, 3), (False, 0)])
def test_closed_is_about_rows_exactly_a_window_apart(closed: bool, expected: int) -> None:
    queries = running(closed=closed)
    queries.add(f"SELECT A.Value {ON} WINDOW 5 s", name="q")
    assert len(queries.run()["q"]) == expected


def test_queries_of_the_same_streams_share_a_join() -> None:
    noise = stream("Noise", HEAT)
    queries = wr.ContinuousQueries(stream("Temperature", HEAT), stream("Humidity", DAMP), noise)
    queries.add(f"SELECT A.Value {ON} WINDOW 5 s", name="one")
    queries.add(
        "SELECT COUNT(*) FROM humidity h JOIN temperature t ON h.LocationId = t.LocationId "
        "WINDOW 1 min SLIDE 10 s",
        name="two",
    )
    queries.add(
        "SELECT A.Value FROM Temperature A, Noise B WHERE A.LocationId = B.LocationId WINDOW 1 s",
        name="three",
    )
    status = queries.status()
    assert [join.streams for join in status.joins] == [
        ("Temperature", "Humidity"),
        ("Temperature", "Noise"),
    ]
    assert status.shared_with("one") == ("two",)
    assert status.shared_with("three") == ()
    assert str(status).splitlines() == [
        "Temperature and Humidity, windows of time: 0 arrivals suspended, 0 results held",
        "  one: WINDOW 5 seconds, complete from the first row on",
        "  two: WINDOW 1 minute SLIDE 10 seconds, complete from the first row on",
        "Temperature and Noise, windows of time: 0 arrivals suspended, 0 results held",
        "  three: WINDOW 1 second, complete from the first row on",
    ]


def test_a_query_added_later_gets_what_comes_later() -> None:
    queries = running()
    queries.add(f"SELECT ts {ON} WINDOW 1 min", name="first")
    queries.run(2)
    queries.add(f"SELECT ts {ON} WINDOW 1 min", name="second")
    queries.add(f"SELECT ts {ON} WINDOW 2 min", name="longer")
    queries.drop("first")
    # Humidity has come to 15 s, so of Temperature there is what is less than a minute older.
    status = queries.status()
    assert status.query("second").complete_from == datetime(1970, 1, 1, 0, 0, 15, tzinfo=UTC)
    assert status.query("longer").complete_from == datetime(1970, 1, 1, 0, 1, 15, tzinfo=UTC)
    found = queries.run()
    assert [second for (second,) in rows(found["first"])] == [5, 15]
    assert [second for (second,) in rows(found["second"])] == [20, 65, 70, 70, 80]


def test_a_signature_added_later_does_not_know_what_came_before() -> None:
    queries = running()
    queries.run(2)
    queries.add(f"SELECT ts {ON} WINDOW 1 min", name="late")
    # Rows up to 15 s have come: results of a minute are complete once they begin after them.
    since = queries.status().query("late").complete_from
    assert since == datetime(1970, 1, 1, 0, 1, 15, 1, tzinfo=UTC)
    assert rows(queries.run()["late"]) == [(70,), (80,)]


def test_after_the_end_nothing_comes() -> None:
    queries = running()
    queries.add(f"SELECT ts {ON} WINDOW 1 min", name="first")
    queries.run()
    queries.add(f"SELECT ts {ON} WINDOW 1 min", name="second")
    queries.add(f"SELECT COUNT(*) {ON} WINDOW 1 min SLIDE 1 s", name="third")
    assert queries.status().names() == ["first", "second", "third"]
    found = queries.run()
    assert (len(found["first"]), len(found["second"]), len(found["third"])) == (7, 0, 0)


def test_a_budget_leaves_work_to_later_batches() -> None:
    queries = running(budget=1)
    queries.add(f"SELECT ts {ON} WINDOW 1 min", name="q")
    queries.run(3)
    assert queries.status().joins[0].suspended > 0
    found = queries.run()
    assert queries.status().joins[0].suspended == 0
    whole = running()
    whole.add(f"SELECT ts {ON} WINDOW 1 min", name="q")
    assert found["q"] == whole.run()["q"]


def test_keys_of_several_columns_and_struct_fields() -> None:
    data = pa.table(
        {
            "at": pa.array([0, 1], US),
            "place": pa.array([{"site": 1, "rack": "a"}, {"site": 1, "rack": "b"}]),
        }
    )
    two = [wr.stream(data, name=n, key=["place.site", "place.rack"], time="at") for n in "xy"]
    queries = wr.ContinuousQueries(*two)
    queries.add(
        "SELECT x.place.rack FROM x JOIN y ON x.place.site = y.place.site "
        "AND y.place.rack = x.place.rack WINDOW 1 s",
        name="q",
    )
    assert queries.run()["q"].to_pylist() == [{"rack": "a"}, {"rack": "b"}]


def test_times_keep_their_zone() -> None:
    kind = pa.timestamp("us", "Asia/Tokyo")
    data = pa.table({"k": [1], "at": pa.array([5], kind)})
    two = [wr.stream(data, name=n, key="k", time="at") for n in "xy"]
    queries = wr.ContinuousQueries(*two)
    queries.add("SELECT x.at, ts FROM x, y WHERE x.k = y.k WINDOW 1 s", name="plain")
    queries.add("SELECT MAX(x.at) AS at FROM x, y WHERE x.k = y.k WINDOW 1 s", name="most")
    found = queries.run()
    assert found["plain"].schema.types == [kind, kind]
    assert found["most"].schema.types == [pa.timestamp("us", "UTC"), kind]


def test_what_is_refused() -> None:
    heat, damp = stream("Temperature", HEAT), stream("Humidity", DAMP)
    with pytest.raises(wr.WindrowError, match="takes two streams or more, but got 1"):
        wr.ContinuousQueries(heat)
    with pytest.raises(wr.WindrowError, match="takes streams, but got a Table; wrap"):
        wr.ContinuousQueries(heat, heat.data)
    with pytest.raises(wr.WindrowError, match="two streams are called 'Temperature'"):
        wr.ContinuousQueries(heat, stream("temperature", DAMP))
    with pytest.raises(wr.WindrowError, match="'Humidity' has a window, but each continuous query"):
        wr.ContinuousQueries(heat, stream("Humidity", DAMP, window="1 minute"))
    with pytest.raises(wr.WindrowError, match="'Humidity' has no key, but continuous queries"):
        wr.ContinuousQueries(heat, stream("Humidity", DAMP, key=None))
    with pytest.raises(wr.WindrowError, match="'Humidity' says where keys end"):
        wr.ContinuousQueries(heat, stream("Humidity", DAMP, unique=True))
    with pytest.raises(wr.WindrowError, match="schedule is 'fifo', expected one of 'lwo', 'swf'"):
        wr.ContinuousQueries(heat, damp, schedule="fifo")
    with pytest.raises(wr.WindrowError, match="budget is 0, expected a whole number"):
        wr.ContinuousQueries(heat, damp, budget=0)
    with pytest.raises(wr.WindrowError, match="checkpoint is '/tmp/x', but queries over tables"):
        wr.ContinuousQueries(heat, damp, checkpoint="/tmp/x")
    queries = running()
    for asked in ("start", "stop", "process_all_available"):
        with pytest.raises(
            wr.WindrowError, match=rf"{asked}\(\) is for Spark; over tables use run"
        ):
            getattr(queries, asked)()
    for asked in ("answers", "follow"):
        with pytest.raises(
            wr.WindrowError, match=rf"{asked}\(\) is for Spark; over tables use run"
        ):
            getattr(queries, asked)("q")


def test_names_of_queries() -> None:
    queries = running()
    text = f"SELECT ts {ON} WINDOW 1 min"
    queries.add(text, name="q")
    with pytest.raises(wr.WindrowError, match="there is a query 'q' already; its answers are"):
        queries.add(text, name="q")
    with pytest.raises(wr.WindrowError, match="no query 'p' to drop; those that run: 'q'"):
        queries.drop("p")
    queries.drop("q")
    with pytest.raises(wr.WindrowError, match="no query 'q' to drop; those that run: none"):
        queries.drop("q")
    with pytest.raises(wr.WindrowError, match="there is a query 'q' already and was dropped"):
        queries.add(text, name="q")
    with pytest.raises(wr.WindrowError, match="name is ' ', expected text that names the query"):
        queries.add(text, name=" ")
    with pytest.raises(wr.WindrowError, match="there is no query 'p'; there are: "):
        queries.status().query("p")


@pytest.mark.parametrize(("one", "two"), [("1 second", "2 seconds"), ("500ms", "1 s")])
def test_a_budget_of_time_becomes_a_number_of_scanned_tuples(one: str, two: str) -> None:
    fewer, more = _scanned(one), _scanned(two)
    assert fewer is not None
    assert more in range(2 * fewer - 1, 2 * fewer + 2)
    assert fewer > 100_000


def test_a_budget_that_is_no_budget_is_refused() -> None:
    assert _scanned(None) is None
    assert _scanned(7) == 7
    for wrong in ("soon", -1, True):
        with pytest.raises(wr.WindrowError, match="budget"):
            running(budget=wrong)


@pytest.mark.parametrize("per", ["", " PER KEY"])
def test_a_window_of_rows_that_came_later_has_nothing_from_before(per: str) -> None:
    """a's row at 12 is late, but in time; that of 20, which the new join never saw, is after it."""
    us, second = pa.timestamp("us"), 1_000_000
    streams = []
    for name, times in {"a": [5, 20, 12, 20, 21], "b": [6, 19, 22, 23, 24]}.items():
        ts = pa.array([t * second for t in times], us)
        data = pa.table({"k": [1] * 5, "at": ts, "t": times})
        streams.append(wr.stream(data, name=name, key="k", time="at", lateness="10 seconds"))
    queries = wr.ContinuousQueries(*streams)
    select = "SELECT A.t AS x, B.t AS y FROM a A, b B WHERE A.k = B.k WINDOW"
    queries.add(f"{select} 1 hour", name="all")
    queries.run(2)
    queries.add(f"{select} 1 ROWS{per}", name="one")
    queries.add(f"{select} 3 ROWS{per}", name="three")
    since = queries.status().query("one").complete_from
    assert since == datetime(1970, 1, 1, 0, 0, 20, 1, tzinfo=UTC)
    found = queries.run()
    assert sorted(rows(found["one"])) == [(21, 22), (21, 23), (21, 24)]
    assert sorted(rows(found["three"])) == [(21, 22), (21, 23), (21, 24)]
    assert len(found["all"]) == 25


def test_explain_predicts_responses_by_window_and_schedule() -> None:
    queries = running(schedule="swf")
    assert str(wr.explain(queries)) == "schedule: swf\nno queries"
    queries.add(f"SELECT A.Value {ON} WINDOW 10 s", name="one")
    queries.add(f"SELECT B.Value {ON} WINDOW 10 s", name="two")
    queries.add(f"SELECT A.Value {ON} WINDOW 1 min", name="three")
    queries.add(f"SELECT A.Value {ON} WINDOW 3 ROWS", name="rows")
    found = wr.explain(queries)
    shared, rows_join = found.joins
    assert (shared.streams, shared.kind) == (("Temperature", "Humidity"), "time")
    assert shared.windows == {10_000_000: 2, 60_000_000: 1}
    sizes = shared.sizes()
    assert sizes[60_000_000] == pytest.approx(6 * sizes[10_000_000])
    asked = {sizes[10_000_000]: 2, sizes[60_000_000]: 1}
    for schedule in ("isolated", "lwo", "swf", "mqt"):
        predicted = paper2.responses(schedule, asked, t_p=constants()["hash"].scan)
        assert shared.seconds(schedule) == {
            window: predicted[size] for window, size in sizes.items()
        }
    assert shared.seconds("swf")[10_000_000] < shared.seconds("lwo")[10_000_000]
    lines = str(found).splitlines()
    assert lines[:2] == [
        "schedule: swf",
        "Temperature and Humidity, windows of time: 3 queries share one join",
    ]
    assert lines[3].startswith("  10 seconds, 2 queries: isolated ")
    assert lines[4].startswith("  1 minute, 1 query: isolated ")
    assert rows_join.seconds("mqt") == {}
    assert lines[5:] == [
        "Temperature and Humidity, windows of rows: 1 query",
        "  each tuple is served at once, so no window waits for another",
    ]


def test_explain_knows_nothing_of_a_stream_without_tuples() -> None:
    empty = wr.stream(table(HEAT, TimeStamp=US).slice(0, 0), name="Temperature",
                      key="LocationId", time="TimeStamp")  # fmt: skip
    queries = wr.ContinuousQueries(empty, stream("Humidity", DAMP))
    queries.add(f"SELECT A.Value {ON} WINDOW 10 s", name="one")
    assert wr.explain(queries).joins[0].seconds("lwo") == {}
    assert "a stream has no tuples to go by" in str(wr.explain(queries))
