"""A bucket's join of many streams and its log, without Spark: any batches, any loss."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.operators.join import search
from windrow.operators.results import finals
from windrow.spark.log import finals as partial_rows
from windrow.spark.log import renew
from windrow.spark.log.log import Log
from windrow.testing import (
    assert_same_rows,
    duckdb_join,
    many_cases,
    naive_batches,
    naive_join,
)
from windrow.testing.broken import many_broken_cases
from windrow.testing.punctuated import many_punctuated_cases

from .buckets import BUCKETS, Run, arenas, assert_attempts_agree, ends, once, run_case, stream_table

HOWS = ("inner", "left", "semi", "anti")
ORDERS = ("sync-filter", "filter-order", "adaptive")
COUNTS = (3, 4, 5)
KEYED = ("int64", "string", "composite", "double", "dotted")
few = settings(max_examples=max(settings().max_examples // 2, 5))
fewer = settings(max_examples=max(settings().max_examples // 5, 5))


@pytest.fixture(autouse=True, scope="module")
def hasty():
    """Logs are merged and written anew at every turn, which else takes thousands of rows.

    So do conditions that are asked early under count windows, and a new order of probing.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renew, "LEAST_RENEWED", 4)
        patch.setattr(Log, "MERGED_AT_ONCE", 2)
        patch.setattr(search, "WORTHWHILE", 0)
        patch.setattr(search, "LEAST_PATIENCE", 1)
        patch.setattr(partial_rows, "MOST_PARTIALS", 2)
        patch.setattr(finals, "LEAST_RENEWED", 3)
        patch.setattr(finals, "LEAST_MERGED", 2)
        yield


CONDITION = "a.v <> 2 AND a.v <= b.v AND (a.v + b.v > c.v OR c.v = 3)"


def holding(a, b, c, *_):
    """What it says."""
    return a["v"] != 2 and a["v"] <= b["v"] and (a["v"] + b["v"] > c["v"] or c["v"] == 3)


def drawn(data):
    """Rows of each stream in a micro-batch, and the micro-batches that lose the arena."""
    return data.draw(st.sampled_from([1, 2, 3, 7, 100])), data.draw(st.sets(st.integers(0, 9)))


@pytest.mark.parametrize("how", HOWS)
@few
@given(data=st.data())
def test_any_batches_and_any_loss_give_the_oracles_rows(how, data):
    case = data.draw(many_cases(counts=COUNTS, hows=[how], key_kinds=KEYED))
    rows, losses = drawn(data)
    with arenas() as folder:
        found = run_case(case, rows, losses, folder).finish()
    assert_same_rows(found, duckdb_join(*case.streams, **case.options))


@pytest.mark.parametrize("how", HOWS)
@fewer
@given(data=st.data())
def test_late_rows_are_the_same_after_a_loss(how, data):
    case = data.draw(
        many_cases(counts=[3, 4], hows=[how], key_kinds=["string"], late=True, beats=True)
    )
    rows = data.draw(st.sampled_from([1, 2, 4]))
    run = run_case(case, rows, set(range(10)), None, late="keep")
    expected, _ = naive_batches(*case.streams, **case.options, late="keep", batch_rows=rows)
    assert_same_rows(run.finish(), expected)


@pytest.mark.parametrize("how", HOWS)
@fewer
@given(data=st.data())
def test_count_windows(how, data):
    """In any order of rows, and with conditions of one, two and three streams."""
    case = data.draw(
        many_cases(counts=[3, 4], hows=[how], key_kinds=KEYED, count_windows=True, numbered=True)
    )
    rows, losses = drawn(data)
    condition, holds = data.draw(st.sampled_from([(None, None), (CONDITION, holding)]))
    order = data.draw(st.sampled_from(["none", *ORDERS])) if how == "inner" else "none"
    with arenas() as folder:
        run = run_case(case, rows, losses, folder, condition=condition, order=order)
        found = run.end()
    assert_same_rows(found, naive_join(*case.streams, **case.options, condition=holds))


@pytest.mark.parametrize("how", HOWS)
@fewer
@given(data=st.data())
def test_without_a_key(how, data):
    case = data.draw(many_cases(counts=[3, 4], hows=[how], key_kinds=["none"]))
    rows, losses = drawn(data)
    with arenas() as folder:
        run = run_case(case, rows, losses, folder)
        assert run.buckets == 1
        found = run.finish()
    assert_same_rows(found, naive_join(*case.streams, **case.options))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("how", HOWS)
@fewer
@given(data=st.data())
def test_in_order(how, order, data):
    case = data.draw(many_cases(counts=[3, 4], hows=[how], key_kinds=["int64", "string"]))
    rows, losses = drawn(data)
    alpha = data.draw(st.sampled_from([0.0, 0.3, 0.8]))
    with arenas() as folder:
        run = run_case(case, rows, losses, folder, order=order, alpha=alpha)
        found = run.finish()
    assert_same_rows(found, duckdb_join(*case.streams, **case.options))


@pytest.mark.parametrize("how", HOWS)
@fewer
@given(data=st.data())
def test_conditions(how, data):
    """Of one stream, of two, and of three."""
    case = data.draw(many_cases(counts=[3, 4], hows=[how], key_kinds=KEYED, numbered=True))
    rows, losses = drawn(data)
    with arenas() as folder:
        found = run_case(case, rows, losses, folder, condition=CONDITION).finish()
    assert_same_rows(found, naive_join(*case.streams, **case.options, condition=holding))


# -- punctuations ----------------------------------------------------------------------------


def results(table):
    return table.filter(pc.field("kind") != "end").drop_columns("kind")


@pytest.mark.parametrize("order", ["none", "filter-order"])
@pytest.mark.parametrize("how", HOWS)
@few
@given(data=st.data())
def test_punctuations(how, order, data):
    case = data.draw(many_punctuated_cases(counts=COUNTS, hows=[how], text_keys=False))
    rows, losses = drawn(data)
    can_end = wr.plan(*case.streams, **case.options).can_end
    with arenas() as folder:
        run = run_case(case, rows, losses, folder, punctuate=can_end, order=order)
        found = run.finish()
    expected = naive_join(*case.streams, **case.options)
    assert_same_rows(results(found) if can_end else found, expected)
    if can_end:
        local = wr.join(*case.streams, **case.options, batch_rows=rows, punctuate=True)
        assert once(ends(found), case) == once(ends(local), case)


@few
@given(data=st.data())
def test_punctuations_without_windows(data):
    case = data.draw(many_punctuated_cases(counts=COUNTS, windows=False))
    rows, losses = drawn(data)
    with arenas() as folder:
        found = run_case(case, rows, losses, folder).end()
    assert_same_rows(found, naive_join(*case.streams, **case.options))


@few
@given(data=st.data())
def test_finals(data):
    case = data.draw(many_punctuated_cases(counts=[3, 4], text_keys=False))
    rows, losses = drawn(data)
    asked = {"n": "count(*)", "most": "max(a.v)"}
    if not wr.plan(*case.streams, **case.options).can_end:
        return
    with arenas() as folder:
        found = run_case(case, rows, losses, folder, finals=asked).finish()
    local = wr.join(*case.streams, **case.options, batch_rows=rows, finals=asked)
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, local.to_pylist()))


# -- attempts --------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["none", "sync-filter", "filter-order"])
@pytest.mark.parametrize("how", HOWS)
@fewer
@given(data=st.data())
def test_an_attempt_that_rebuilds_writes_the_same_log(how, order, data):
    """Two attempts at a micro-batch may both reach the state store, one with the arena."""
    case = data.draw(many_cases(counts=[3, 4], hows=[how], key_kinds=["int64", "string"]))
    rows = data.draw(st.sampled_from([1, 2, 4]))
    condition = data.draw(st.sampled_from([None, "a.v <= b.v AND b.v <> c.v"]))
    assert_attempts_agree(
        wr.plan(*case.streams, **case.options, order=order, condition=condition), rows
    )


@pytest.mark.parametrize("order", ["none", "sync-filter", "filter-order"])
@pytest.mark.parametrize("how", HOWS)
@fewer
@given(data=st.data())
def test_and_with_punctuations_kept_and_broken(how, order, data):
    drawn_from = data.draw(st.sampled_from([many_punctuated_cases, many_broken_cases]))
    case = data.draw(drawn_from(counts=[3, 4], hows=[how]))
    rows = data.draw(st.sampled_from([1, 2, 4]))
    condition = data.draw(st.sampled_from([None, "a.v <= b.v AND b.v <> c.v"]))
    plan = wr.plan(*case.streams, **case.options, order=order, condition=condition)
    if plan.can_end and data.draw(st.booleans()):
        plan = wr.plan(*case.streams, **case.options, finals={"n": "count(*)"})
    assert_attempts_agree(plan, rows)


@fewer
@given(data=st.data())
def test_and_with_count_windows(data):
    case = data.draw(
        many_cases(counts=[3], key_kinds=["int64", "string"], count_windows=True, numbered=True)
    )
    condition = data.draw(st.sampled_from([None, CONDITION]))
    plan = wr.plan(*case.streams, **case.options, condition=condition)
    assert_attempts_agree(plan, data.draw(st.integers(1, 4)))


# -- fixed cases -----------------------------------------------------------------------------


def plan_of(names="abc", how="left", window="10 microseconds", **more):
    empty = stream_table([])
    sides = [wr.stream(empty, name=n, key="k", time="t", window=window, **more) for n in names]
    return wr.plan(*sides, how=how)


def test_the_log_shrinks_as_the_window_moves():
    run = Run(plan_of())
    for start in range(0, 1000, 10):
        run.batch([stream_table([start]), stream_table([start + 5]), stream_table([start + 2])])
    assert max(len(store.blobs) for store in run.stores) <= 12


def test_the_arena_is_found_again(tmp_path):
    run = Run(plan_of(), str(tmp_path))
    for start in range(0, 1000, 10):
        run.batch([stream_table([start + at]) for at in range(3)])
    assert run.hits == [None] * BUCKETS + [True] * (99 * BUCKETS)


@pytest.mark.parametrize("lose", [False, True])
def test_a_row_that_has_left_before_its_time_does_not_come_back(lose):
    """b has passed a's row with nothing for it, and c is slow: the row leaves once."""
    with arenas() as folder:
        run = Run(plan_of(), folder)
        run.batch([stream_table([0, 1]), stream_table([20], 2), stream_table([0], 2)])
        assert sum(piece.num_rows for piece in run.pieces) == 2
        run.batch([stream_table([]), stream_table([21], 2), stream_table([1])], lose=lose)
        run.batch([stream_table([]), stream_table([22], 2), stream_table([2])], lose=lose)
        assert run.finish().num_rows == 2


@pytest.mark.parametrize("names", ["ab", "abcd", "acb"])
def test_other_streams_are_refused_by_name(names):
    """A restart with another number of streams, or in another order."""
    run = Run(plan_of())
    run.batch([stream_table([100])] * 3)
    run.ask(plan_of(names))
    with pytest.raises(
        wr.WindrowError, match=r"written with streams \['a', 'b', 'c'\], but the join has"
    ):
        run.batch([stream_table([101])] * len(names))


@pytest.mark.parametrize("lose", [False, True])
@pytest.mark.parametrize(("silent", "left"), [(59, []), (60, [100])])
def test_a_silent_stream_holds_nobody_back_once_it_is_idle(silent, left, lose):
    """c is silent: the row of a leaves when c's progress follows the others'."""
    plan = plan_of(how="left")
    third = replace(plan.streams[2], idle=60_000_000)
    plan = replace(plan, streams=(*plan.streams[:2], third))
    second = 1_000_000
    with arenas() as folder:
        run = Run(plan, folder)
        parts = [stream_table([100]), stream_table([100]), stream_table([0])]
        run.batch(parts, now=1000 * second)
        parts = [stream_table([1000], 2), stream_table([1000], 3), stream_table([])]
        run.batch(parts, now=(1000 + silent) * second, lose=lose)
    times = [t for part in run.pieces for t in part.column("ts").cast(pa.int64()).to_pylist()]
    assert [t for t in times if t < 1000] == left
