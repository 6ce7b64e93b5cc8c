"""A bucket's ordered join and its log, without Spark: any batches, any loss, always in order."""

import json
import random
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.model import BEGINNING
from windrow.operators.gate.rates import Rates
from windrow.operators.results.trigger import trigger
from windrow.spark.log import renew
from windrow.spark.log.log import Log
from windrow.testing import assert_same_rows, cases, duckdb_join, naive_join
from windrow.testing.punctuated import punctuated_cases

from .buckets import (
    Run,
    arenas,
    assert_attempts_agree,
    assert_attempts_agree_on,
    ends,
    once,
    plan_of,
    run_case,
    stream_table,
)

HOWS = ("inner", "left", "right", "full", "semi", "anti")
ORDERS = ("sync-filter", "filter-order", "adaptive")
KEYED = ("int64", "string", "composite")
#: The adaptive policy as filter-order, mostly so, both, mostly sync-filter.
ALPHAS = (0.0, 0.2, 0.5, 0.8)


@pytest.fixture(autouse=True, scope="module")
def hasty():
    """Logs are merged and written anew at every turn, which else takes thousands of rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renew, "LEAST_RENEWED", 4)
        patch.setattr(Log, "MERGED_AT_ONCE", 2)
        # The adaptive policy changes its mind at any time, not only when it would.
        chance = random.Random(4)
        patch.setattr(Rates, "load", lambda self: chance.random())
        yield


class Watched(Run):
    """A run that checks each bucket's output of each micro-batch against the triggers."""

    def __init__(self, plan, folder=None):
        super().__init__(plan, folder)
        self.triggers = {}

    def one(self, bucket, packed, lose=False, ended=False):
        first = len(self.pieces)
        super().one(bucket, packed, lose, ended)
        ts = [t for part in self.pieces[first:] for t in times(part)]
        assert ts == sorted(ts)
        progress = json.loads(self.stores[bucket].text)["progress"]
        before, after = self.triggers.get(bucket, BEGINNING), trigger(self.plan, progress)
        assert all(before <= t < after for t in ts)
        self.triggers[bucket] = max(before, after)


def times(part):
    """The rows' times, but for those that came late."""
    if "kind" in part.schema.names:
        part = part.filter(pc.field("kind") != "late")
    return part.column("ts").cast(pa.int64()).to_pylist()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=8)
@given(data=st.data())
def test_any_batches_and_any_loss_give_the_oracles_rows_in_order(how, order, data):
    case = data.draw(cases(hows=[how], key_kinds=KEYED))
    rows = data.draw(st.sampled_from([1, 2, 3, 7, 100]))
    losses = data.draw(st.sets(st.integers(0, 9)))
    alpha = data.draw(st.sampled_from(ALPHAS))
    with arenas() as folder:
        run = run_case(case, rows, losses, folder, kind=Watched, order=order, alpha=alpha)
        found = run.finish()
    assert_same_rows(found, duckdb_join(*case.streams, **case.options))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=8)
@given(data=st.data())
def test_with_punctuations(how, order, data):
    case = data.draw(punctuated_cases())
    case = replace(case, how=how)
    can_end = wr.plan(*case.streams, **case.options).can_end
    rows = data.draw(st.sampled_from([1, 2, 3, 100]))
    losses = data.draw(st.sets(st.integers(0, 9)))
    alpha = data.draw(st.sampled_from(ALPHAS))
    with arenas() as folder:
        run = run_case(
            case, rows, losses, folder, kind=Watched,
            order=order, alpha=alpha, punctuate=can_end,
        )  # fmt: skip
        found = run.finish()
    expected = naive_join(*case.streams, **case.options)
    if not can_end:
        assert_same_rows(found, expected)
        return
    results = [row for row in found.to_pylist() if row["kind"] != "end"]
    bare = [{k: v for k, v in row.items() if k != "kind"} for row in results]
    assert sorted(map(repr, bare)) == sorted(map(repr, expected.to_pylist()))
    assert_no_result_after_its_keys_end(found)
    local = wr.join(*case.streams, **case.options, batch_rows=rows, punctuate=True)
    assert once(ends(found), case) == once(ends(local), case)


def assert_no_result_after_its_keys_end(found):
    """An end never overtakes a row of its key's life, which is over by its time."""
    over = {}
    for row in found.to_pylist():
        key = (row.get("left") or row.get("right"))["k"]
        if row["kind"] == "end":
            over[key] = row["ts"]
        else:
            assert key not in over or row["ts"] > over[key]


# -- fixed cases -------------------------------------------------------------------------------


def said(rows, kind=None):
    """Rows (key, time, over)."""
    keys, times, over = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "k": pa.array(keys, kind or pa.int64()),
            "t": pa.array(times, pa.timestamp("us")),
            "over": pa.array(over, pa.bool_()),
        }
    )


def streams_of(kind=None, **of_a):
    common = {"key": "k", "time": "t", "window": "3 microseconds", "ends": "over"}
    empty = said([], kind)
    return wr.stream(empty, name="a", **common, **of_a), wr.stream(empty, name="b", **common)


@pytest.mark.parametrize("lose", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_a_punctuation_that_comes_late_ends_its_key_after_what_has_left(order, lose):
    """It is never late, so its end takes the time of the last trigger, and waits for the next."""
    with arenas() as folder:
        run = Watched(wr.plan(*streams_of(), order=order, punctuate=True), folder)
        rows = [(1, 0, False), (2, 100, False)]
        run.batch([said(rows), said(rows)])
        run.batch([said([(1, 5, True)])] * 2, lose=lose)
        run.batch([said([(3, 200, False)])] * 2, lose=lose)
        found = run.finish().to_pylist()
    ended = [row["a"]["k"] for row in found if row["kind"] == "end"]
    assert ended == [1]


@pytest.mark.parametrize("how", ["inner", "right", "full"])
@pytest.mark.parametrize("order", ORDERS)
def test_a_row_behind_a_later_one_in_its_list_keeps_its_chunk(order, how):
    """a is late by up to 100: the row at 10 sits behind the one at 100, and b then ends its key."""
    text = pa.string()
    a, b = streams_of(text, lateness="100 microseconds")
    plan = wr.plan(a, b, how=how, order=order, alpha=0.0)
    with arenas() as folder:
        run = Watched(plan, folder)
        run.batch([said([("x", 100, False)], text), said([("x", 0, False)], text)])
        run.batch([said([("x", 10, False)], text), said([], text)])
        run.batch([said([("y", 160, False)], text), said([("z", 60, False)], text)])
        run.batch([said([], text), said([("x", 98, True)], text)])
        found = run.finish().to_pylist()
    assert sum(row["a"] is not None and row["b"] is not None for row in found) == 0


@pytest.mark.parametrize("order", ["sync-filter", "filter-order"])
@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=6)
@given(data=st.data())
def test_an_attempt_that_rebuilds_writes_the_same_log(how, order, data):
    """Two attempts at a micro-batch may both reach the state store, one with the arena."""
    case = replace(data.draw(punctuated_cases()), how=how)
    rows = data.draw(st.sampled_from([1, 2, 3]))
    plan = wr.plan(*case.streams, **case.options, order=order)
    assert_attempts_agree(plan, rows)


def test_a_log_that_is_written_anew_while_rows_wait_out_of_order_is_the_same_in_both():
    """With b's last row its log is sparse, while the rows of a at 228 and 227 wait for b."""
    text = pa.string()
    rows = [("1", t, False) for t in (0, 0, 0, 0, 75, 228, 227)]
    over = [("-7", 83, False), ("-7", 83, True), ("2", 85, False), ("2", 85, True), ("2", 85, True)]
    others = over + [("1", t, False) for t in (93, 128, 137, 162, 178)] + [("3", 214, False)]
    common = {"key": "k", "time": "t", "ends": "over"}
    a = wr.stream(
        said(rows, text), name="a", window="0 microseconds", lateness="5 microseconds", **common
    )
    b = wr.stream(said(others, text), name="b", window="100 microseconds", **common)
    assert_attempts_agree(wr.plan(a, b, how="left", order="sync-filter"), 1)


def test_results_that_are_held_are_the_same_in_both_when_a_log_is_written_anew():
    """Held at 50 and then at 40, in two runs that are one after a rebuild; then dead rows."""
    text = pa.string()
    common = {"key": "k", "time": "t", "ends": "over", "window": "100 microseconds"}
    a = wr.stream(said([], text), name="a", lateness="20 microseconds", **common)
    b = wr.stream(said([], text), name="b", **common)
    batches = [
        ([], [("x", 0, False), ("y", 0, True)]),
        ([], [("x", 1, False)]),
        ([("x", 50, False)], []),
        ([("x", 40, False)], []),
        ([("y", 45, False)] * 40, []),
    ]
    tables = [[said(rows, text) for rows in batch] for batch in batches]
    assert_attempts_agree_on(wr.plan(a, b, order="filter-order"), tables)


@pytest.mark.parametrize(("limit", "merged"), [(Log.SMALL_BYTES, True), (40, False)])
def test_large_deltas_of_held_results_stay_as_they_are(limit, merged, monkeypatch):
    """b is silent after 0: each row of a adds a result that is held."""
    monkeypatch.setattr(Log, "SMALL_BYTES", limit)
    run = Watched(replace(plan_of("inner"), order="filter-order"))
    run.batch([stream_table([]), stream_table([0, 0])])
    for time in range(1, 8):
        run.batch([stream_table([time]), stream_table([])])
    deltas = [d for store in run.stores if store.text for d in json.loads(store.text)["deltas"]]
    assert deltas
    assert (len(deltas) < 7) is merged


@pytest.mark.parametrize(("silent", "left"), [(59, []), (60, [105])])
@pytest.mark.parametrize("order", ORDERS)
def test_a_silent_stream_holds_nobody_back_once_it_is_idle(order, silent, left):
    """b is silent: the match at 105 leaves when b's progress follows a's."""
    empty = stream_table([])
    a = wr.stream(empty, name="a", key="k", time="t", window="10 microseconds")
    b = wr.stream(empty, name="b", key="k", time="t", window="10 microseconds", idle="60 seconds")
    run = Watched(wr.plan(a, b, order=order))
    second = 1_000_000
    run.batch([stream_table([100]), stream_table([105])], now=1000 * second)
    run.batch([stream_table([1000]), stream_table([])], now=(1000 + silent) * second, lose=True)
    assert [t for part in run.pieces for t in times(part)] == left


def test_the_log_of_a_lag_goes_when_the_lag_does():
    """b stands still for a while: what waits or is held is logged, and forgotten afterwards."""
    for order in ORDERS:
        run = Watched(replace(plan_of("full"), order=order))
        for start in range(0, 300, 10):
            run.batch([stream_table([start, start + 1]), stream_table([] if start else [0])])
        grown = max(len(store.blobs) for store in run.stores)
        run.batch([stream_table([1000]), stream_table([1000])])
        run.batch([stream_table([2000]), stream_table([2000])])
        assert max(len(store.blobs) for store in run.stores) <= 8
        assert grown <= 40
