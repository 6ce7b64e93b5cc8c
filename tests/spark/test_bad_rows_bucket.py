"""Bad rows through buckets and their logs: delivered once, stored never."""

import datetime as dt
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.spark.log import renew
from windrow.spark.log.directory import Directory
from windrow.spark.log.log import Log
from windrow.testing import assert_same_rows, cases, naive_batches
from windrow.testing._inputs import read

from .buckets import Run, arenas, assert_attempts_agree, run_case, stream_table

HOWS = ("inner", "left", "full", "semi", "anti")
KEYED = ("int64", "string", "composite", "dotted")
EMPTY = stream_table([])


@pytest.fixture
def eager(monkeypatch):
    """Everything is merged and renewed as soon as it can be."""
    monkeypatch.setattr(Log, "MERGED_AT_ONCE", 2)
    monkeypatch.setattr(renew, "LEAST_RENEWED", 1)


def limited(data, case):
    """The case under limits that lie within its times, and a clock."""
    known = [0, *(int(t) for s in case.streams for t in read(s).times)]
    now = data.draw(st.sampled_from(known)) - data.draw(st.sampled_from([0, 5]))
    limits = st.sampled_from([None, 0, 4, 5, 6])
    one, two = (replace(stream, max_ahead=data.draw(limits)) for stream in case.streams)
    return replace(case, left=one, right=two), now


def at(now):
    """Runs whose micro-batches all have this clock."""

    class Timed(Run):
        def batch(self, tables, lose=False):
            super().batch(tables, lose, now)

    return Timed


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("order", ["none", "sync-filter", "filter-order", "adaptive"])
def test_the_loops_rows_whatever_is_lost_merged_or_held(how, order):
    @settings(max_examples=15)
    @given(data=st.data())
    def check(data):
        drawn = data.draw(cases(hows=[how], key_kinds=KEYED, late=True, beats=True))
        case, now = limited(data, drawn)
        kept = {what: data.draw(st.sampled_from(["drop", "keep"])) for what in ("late", "bad")}
        rows = data.draw(st.sampled_from([1, 2, 4, 100]))
        losses = data.draw(st.sets(st.integers(0, 9)))
        with arenas() as folder:
            run = run_case(case, rows, losses, folder, at(now), order=order, **kept)
            found = run.finish()
        options = {**case.options, **kept, "batch_rows": rows}
        assert_same_rows(found, naive_batches(*case.streams, **options, now=now)[0])

    check()


@pytest.mark.usefixtures("eager")
@settings(max_examples=25)
@given(data=st.data())
def test_count_windows_do_not_count_them(data):
    drawn = data.draw(cases(hows=["inner", "left"], key_kinds=["string"], count_windows=True))
    case, now = limited(data, drawn)
    with arenas() as folder:
        losses = data.draw(st.sets(st.integers(0, 9)))
        run = run_case(case, 3, losses, folder, at(now), bad="keep")
        found = run.end()
    options = {**case.options, "bad": "keep", "batch_rows": 3}
    assert_same_rows(found, naive_batches(*case.streams, **options, now=now)[0])


@settings(max_examples=15)
@given(data=st.data())
def test_attempts_agree(data):
    common = {"hows": ["full"], "key_kinds": ["string"], "between": False}
    case = data.draw(cases(late=True, beats=True, **common))
    assert_attempts_agree(wr.plan(*case.streams, how="full", bad="keep"), 2)


def with_bad(ts):
    """A row at that time, and one without a time."""
    return stream_table([ts, None])


@pytest.mark.parametrize(
    "windows", [{"window": "100 microseconds"}, {"window": wr.rows(2)}], ids=["time", "count"]
)
def test_the_log_is_that_of_a_join_without_them(windows):
    """No row id is used up, no chunk has them, nothing of them is in the directory."""
    logs, bad = [], []
    for feed in (lambda ts: stream_table([ts]), with_bad):
        streams = [wr.stream(EMPTY, name=n, key="k", time="t", **windows) for n in "ab"]
        with arenas() as folder:
            run = Run(wr.plan(*streams, bad="keep"), folder)
            for ts in range(0, 3000, 10):
                run.batch([feed(ts), feed(ts + 5)], lose=ts % 500 == 0)
            assert all(chunk.number >= 0 for side in run.join.log.payloads for chunk in side.chunks)
        kept = [Directory.from_text(store.text) for store in run.stores]
        blobs = [store.blobs for store in run.stores]
        logs.append(([each.next_rows for each in kept], [each.chunks for each in kept], blobs))
        bad.append(sum(row["kind"] == "bad" for row in run.results().to_pylist()))
    assert logs[0] == logs[1]
    assert bad == [0, 600]


def test_a_bad_row_that_comes_alone_is_delivered():
    run = Run(wr.plan(*(wr.stream(EMPTY, name=n, key="k", time="t", window="1 s") for n in "ab"),
                      bad="keep"))  # fmt: skip
    run.batch([stream_table([None]), EMPTY])
    run.batch([EMPTY, stream_table([None])])
    found = [(row["a"], row["b"], row["ts"], row["kind"]) for row in run.results().to_pylist()]
    alone = {"k": 1, "t": None}
    assert found == [(alone, None, None, "bad"), (None, alone, None, "bad")]


@pytest.mark.parametrize(("time", "is_bad"), [(1010, False), (1011, True)])
def test_the_edge_is_the_micro_batchs_own(time, is_bad):
    """What is too far ahead of one micro-batch is not of a later one."""
    limit = {"max_ahead": dt.timedelta(microseconds=10)}
    streams = [
        wr.stream(EMPTY, name=n, key="k", time="t", window="1 second", **limit) for n in "ab"
    ]
    run = Run(wr.plan(*streams, bad="keep"))
    run.batch([stream_table([time]), EMPTY], now=1000)
    assert run.results().column("kind").to_pylist() == (["bad"] if is_bad else [])
    run.batch([stream_table([time]), stream_table([time])], now=1001)
    kinds = run.results().column("kind").to_pylist()
    assert kinds == (["bad", "match"] if is_bad else ["match", "match"])


@pytest.mark.parametrize("what", ["tuple", "beat", "over"])
def test_what_is_too_far_ahead_moves_no_progress(what):
    def rows(time, kind):
        marks = {name: [name == kind] for name in ("beat", "over")}
        return pa.table({"k": [1], "t": pa.array([time], pa.timestamp("us")), **marks})

    late = []
    for limit in (None, 10):
        common = {"key": "k", "time": "t", "window": "1 second", "beats": "beat", "ends": "over"}
        a, b = (wr.stream(rows(0, "").slice(1), name=n, **common) for n in "ab")
        run = Run(wr.plan(replace(a, max_ahead=limit), b, late="keep", bad="keep"))
        run.batch([rows(5000, what), b.data], now=1000)
        run.batch([rows(1000, "tuple"), b.data], now=1000)
        late.append(run.results().column("kind").to_pylist())
    assert late == [["late"], ["bad"]]


def test_a_range_of_keys_that_is_too_far_ahead_ends_none():
    def rows(key, to, time, over):
        times = pa.array([time], pa.timestamp("us"))
        return pa.table({"k": [key], "to": pa.array([to], pa.string()), "t": times, "over": [over]})

    a, b = (
        wr.stream(
            rows("x", None, 0, False).slice(1), name=n, key="k", time="t", window="1 second",
            ends="over", ends_to="to", max_ahead=dt.timedelta(microseconds=10),
        )
        for n in "ab"
    )  # fmt: skip
    run = Run(wr.plan(a, b, bad="keep", punctuate=True))
    run.batch([rows("a", "z", 5000, True), rows("a", "z", 1000, True)], now=1000)
    run.batch([rows("x", None, 1001, False), rows("x", None, 1001, False)], now=1000)
    kinds = run.results().column("kind").to_pylist()
    assert kinds.count("bad") == 1
    # b has said that x is over at 1000, so its own row at 1001 breaks that; a has said nothing.
    assert "match" not in kinds
