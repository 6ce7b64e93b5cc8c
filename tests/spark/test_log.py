"""The log of a bucket: merged, renewed, under other windows, with silent streams, without keys."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.spark.log import renew
from windrow.spark.log.directory import Directory
from windrow.spark.log.log import Log
from windrow.testing import assert_same_rows, cases, duckdb_join, naive_batches, naive_join

from .buckets import Run, arenas, batches, plan_of, run_case, stream_table

HOWS = ("inner", "left", "right", "full", "semi", "anti")


@pytest.fixture
def eager(monkeypatch):
    """Merge and renew at every opportunity."""
    monkeypatch.setattr(Log, "MERGED_AT_ONCE", 2)
    monkeypatch.setattr(renew, "LEAST_RENEWED", 1)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.usefixtures("eager")
def test_merged_chunks_give_the_oracles_rows(how):
    @settings(max_examples=10)
    @given(data=st.data())
    def check(data):
        case = data.draw(cases(hows=[how], key_kinds=("int64", "string")))
        losses = data.draw(st.sets(st.integers(0, 9)))
        with arenas() as folder:
            run = run_case(case, data.draw(st.sampled_from([1, 2])), losses, folder)
        assert_same_rows(run.finish(), duckdb_join(*case.streams, **case.options))

    check()


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("pace", ["eager", "as it is"])
def test_count_windows_give_the_oracles_rows(how, pace, request):
    if pace == "eager":
        request.getfixturevalue("eager")

    @settings(max_examples=10)
    @given(data=st.data())
    def check(data):
        case = data.draw(
            cases(hows=[how], key_kinds=("int64", "string", "composite"), count_windows=True)
        )
        losses = data.draw(st.sets(st.integers(0, 9)))
        with arenas() as folder:
            run = run_case(case, data.draw(st.sampled_from([1, 2, 100])), losses, folder)
            run.end()
        assert_same_rows(run.results(), naive_join(*case.streams, **case.options))

    check()


def test_small_chunks_do_not_add_up():
    run = Run(plan_of("full", window="1 second"))
    for start in range(0, 400):
        run.batch([stream_table([start]), stream_table([start])], lose=start % 50 == 0)
    for store in run.stores:
        directory = Directory.from_text(store.text)
        if directory.chunks:
            assert sum(entry.rows for entry in directory.of(0)) == 400
            assert len(directory.chunks) < 60
            assert len(directory.deltas) < 60
            assert sorted(store.blobs) == sorted(
                [e.number for e in directory.chunks] + [d.number for d in directory.deltas]
            )
    assert run.finish().num_rows == 400 * 400


def late(start):
    return stream_table([start - 6000], key=start)


def without_key(start):
    return stream_table([start], key=None)


def past_its_window(start):
    """In time, but every later tuple of the other stream is out of its reach."""
    return stream_table([start - 1500], key=start)


@pytest.mark.parametrize("useless", [late, without_key, past_its_window])
def test_chunks_that_are_not_logged_do_not_stop_the_merging(useless):
    """They lie between those that are logged, at every other micro-batch."""
    empty = stream_table([])
    common = {"key": "k", "time": "t"}
    a = wr.stream(empty, name="a", window="1 millisecond", lateness="5 milliseconds", **common)
    b = wr.stream(empty, name="b", window="1 second", **common)
    plan = wr.plan(a, b, how="full")
    chunks, text = [], []
    for disturbed in (False, True):
        with arenas() as folder:
            run = Run(plan, folder)
            for start in range(10_000, 12_000, 4):
                lose = start % 500 == 0
                run.batch([stream_table([start], key=start)] * 2, lose)
                if disturbed:
                    run.batch([useless(start), empty], lose)
        chunks.append(max(len(Directory.from_text(s.text).chunks) for s in run.stores))
        text.append(max(len(store.text) for store in run.stores))
        found = run.finish().to_pylist()
        assert sum(row["a"] is not None and row["b"] is not None for row in found) == 500
        alone = 500 if disturbed and useless is not late else 0
        assert sum(row["b"] is None for row in found) == alone
    assert chunks[1] <= chunks[0] + 2 * Log.MERGED_AT_ONCE
    assert text[1] <= text[0] + 3000


@pytest.mark.parametrize("how", ["inner", "full", "semi"])
@pytest.mark.usefixtures("eager")
def test_merged_chunks_with_late_rows_between_give_the_loops_rows(how):
    @settings(max_examples=20)
    @given(data=st.data())
    def check(data):
        case = data.draw(cases(hows=[how], key_kinds=["string"], late=True, beats=True))
        rows = data.draw(st.sampled_from([1, 2]))
        losses = data.draw(st.sets(st.integers(0, 9)))
        with arenas() as folder:
            run = run_case(case, rows, losses, folder, late="keep")
            found = run.finish()
        expected, _ = naive_batches(*case.streams, **case.options, late="keep", batch_rows=rows)
        assert_same_rows(found, expected)

    check()


def test_a_count_windows_log_does_not_grow(monkeypatch):
    monkeypatch.setattr(renew, "LEAST_RENEWED", 20)
    empty = stream_table([])
    a = wr.stream(empty, name="a", key="k", time="t", window=wr.rows(2))
    b = wr.stream(empty, name="b", key="k", time="t", window=wr.rows(2))
    run = Run(wr.plan(a, b, how="left"))
    # A rare key is stored for ever, and would hold its chunk.
    run.batch([stream_table([0], key=7), stream_table([0], key=7)])
    for start in range(1, 300):
        run.batch([stream_table([start]), stream_table([start])], lose=start % 7 == 0)
    for store in run.stores:
        directory = Directory.from_text(store.text)
        assert sum(entry.rows for entry in directory.chunks) <= 20 + 2
    run.finish()


def test_a_time_window_beside_a_count_window_lets_its_chunks_go():
    """Of the counted stream only the rows that follow tell what is over."""
    tables = [stream_table(list(range(step, 30_000 + step, 100))) for step in (0, 50)]
    a = wr.stream(tables[0], name="a", key="k", time="t", window=wr.rows(2))
    b = wr.stream(tables[1], name="b", key="k", time="t", window="1 millisecond")
    most = 0
    with arenas() as folder:
        run = Run(wr.plan(a, b, how="full"), folder)
        for at, batch in enumerate(batches((a, b), 1)):
            run.batch(batch, lose=at % 7 == 0)
            kept = [Directory.from_text(store.text) for store in run.stores]
            most = max(most, *(sum(entry.rows for entry in each.of(1)) for each in kept))
        run.end()
    # Eleven are within reach, and two wait for the other stream; merged chunks leave together.
    assert 11 <= most <= 13 + 2 * Log.MERGED_AT_ONCE
    assert sum(entry.rows for each in kept for entry in each.of(0)) == 300
    assert_same_rows(run.results(), naive_join(a, b, how="full"))


# -- other windows after a restart -------------------------------------------------------------


def times(run):
    return sorted(
        (row["a"]["t"].microsecond, row["b"] and row["b"]["t"].microsecond)
        for row in run.results().to_pylist()
    )


@pytest.mark.parametrize("lose", [False, True])
def test_a_narrower_window_holds_from_the_next_batch_on(tmp_path, lose):
    run = Run(plan_of("left", window="10 microseconds"), str(tmp_path))
    run.batch([stream_table([100, 104]), stream_table([100])])
    run.ask(plan_of("left", window="3 microseconds"))
    # 100 has met 100 already; 104 is past its new window, so it leaves alone, and only once.
    run.batch([stream_table([110]), stream_table([110])], lose=lose)
    run.batch([stream_table([500]), stream_table([500])], lose=lose)
    assert times(run) == [(100, 100), (104, 100), (110, 110), (500, 500)]


@pytest.mark.parametrize("lose", [False, True])
def test_a_narrower_window_frees_what_it_no_longer_covers(tmp_path, lose):
    run = Run(plan_of("left", window="10 microseconds"), str(tmp_path))
    run.batch([stream_table([100]), stream_table([90])])
    run.batch([stream_table([106]), stream_table([105])])
    run.ask(plan_of("left", window="0 microseconds"))
    run.batch([stream_table([107]), stream_table([107])], lose=lose)
    assert times(run) == [(100, 90), (100, 105), (106, 105), (107, 107)]


@pytest.mark.parametrize("lose", [False, True])
def test_a_wider_window_does_not_bring_back_what_was_dropped(tmp_path, lose):
    run = Run(plan_of("left", window="3 microseconds"), str(tmp_path))
    # One chunk: at 104 the tuple at 100 is dropped, the one at 103 is not.
    run.batch([stream_table([100, 103]), stream_table([104])])
    run.ask(plan_of("left", window="50 microseconds"))
    run.batch([stream_table([]), stream_table([120])], lose=lose)
    run.batch([stream_table([]), stream_table([121])], lose=lose)
    run.batch([stream_table([]), stream_table([500])], lose=lose)
    assert times(run) == [(100, None), (103, 104), (103, 120), (103, 121)]


@settings(max_examples=40)
@given(data=st.data())
def test_other_windows_mean_the_same_with_and_without_a_rebuild(data):
    widths = data.draw(st.lists(st.integers(0, 8), min_size=2, max_size=4))
    how = data.draw(st.sampled_from(HOWS))
    batches = data.draw(
        st.lists(st.tuples(*[st.lists(st.integers(0, 6), max_size=3)] * 2), min_size=2, max_size=8)
    )
    results = []
    for lose in (False, True):
        with arenas() as folder:
            run = Run(plan_of(how, window=f"{widths[0]} microseconds"), folder)
            for number, offsets in enumerate(batches):
                width = widths[number * len(widths) // len(batches)]
                run.ask(plan_of(how, window=f"{width} microseconds"))
                run.batch(
                    [stream_table([number * 4 + off for off in side]) for side in offsets], lose
                )
            results.append(run.finish())
    assert_same_rows(*results)


# -- silence -----------------------------------------------------------------------------------


def idle_plan(idle):
    empty = stream_table([])
    a = wr.stream(empty, name="a", key="k", time="t", window="10 microseconds")
    b = wr.stream(
        empty, name="b", key="k", time="t", window="10 microseconds", idle=f"{idle} seconds"
    )
    return wr.plan(a, b, how="left")


SECOND = 1_000_000


@pytest.mark.parametrize(("silent", "left"), [(59, 0), (60, 1)])
def test_a_stream_is_idle_after_exactly_so_much_silence(silent, left):
    run = Run(idle_plan(60))
    run.batch([stream_table([100]), stream_table([0])], now=1000 * SECOND)
    run.batch([stream_table([1000]), stream_table([])], now=(1000 + silent) * SECOND, lose=True)
    # Once b is idle its progress is that of a, so the tuple at 100 can leave.
    assert run.results().num_rows == left


def test_silence_ends_when_the_stream_is_heard():
    run = Run(idle_plan(60))
    run.batch([stream_table([100]), stream_table([0])], now=1000 * SECOND)
    run.batch([stream_table([101]), stream_table([1])], now=1050 * SECOND)
    run.batch([stream_table([1000]), stream_table([])], now=1100 * SECOND)
    assert run.results().num_rows == 0


def test_down_time_is_no_silence():
    run = Run(idle_plan(60))
    run.batch([stream_table([100]), stream_table([0])], now=1000 * SECOND)
    run.built = 2000 * SECOND
    run.batch([stream_table([1000]), stream_table([])], now=2001 * SECOND)
    assert run.results().num_rows == 0
    run.batch([stream_table([1001]), stream_table([])], now=2060 * SECOND)
    assert run.results().num_rows == 0
    run.batch([stream_table([1002]), stream_table([])], now=2061 * SECOND)
    assert run.results().num_rows == 1


def silent_since(*times, plan_of_b=60):
    """a sends in each of these micro-batches, b in the first only; has a's first tuple left?"""
    run = Run(idle_plan(plan_of_b))
    run.batch([stream_table([100]), stream_table([0])], now=times[0] * SECOND)
    for number, now in enumerate(times[1:]):
        run.batch([stream_table([1000 + number]), stream_table([])], now=now * SECOND, lose=True)
    return run.results().num_rows == 1


@pytest.mark.parametrize(
    ("times", "silence"),
    [
        ((1000, 400), 0),
        ((1000, 400, 1000), 0),
        ((1000, 400, 1003), 3),
        ((1000, 400, 410, 1013), 13),
        ((1000, 400, 410, 1007), 10),
        ((1000, 1020, 400, 410, 300, 330, 1070), 70),
        ((1000, 400, 430, 460), 60),
        ((1000, 1004, 990, 1004, 990, 1004, 1008), 8),
    ],
    ids=[
        "back",
        "and to the same time",
        "and on",
        "some time between",
        "corrected by less",
        "twice",
        "and never corrected",
        "it swings",
    ],
)
def test_a_step_back_and_its_correction_are_no_silence(times, silence):
    assert silent_since(*times, plan_of_b=silence + 1) is False
    assert silence == 0 or silent_since(*times, plan_of_b=silence) is True


def test_a_batch_of_an_earlier_run_finds_the_same_silence_again():
    run = Run(idle_plan(60))
    run.batch([stream_table([100]), stream_table([0])], now=1000 * SECOND)
    # Spark logged this batch's time before the crash; the join was built after it.
    run.built = 2000 * SECOND
    run.batch([stream_table([1000]), stream_table([])], now=1060 * SECOND)
    assert run.results().num_rows == 1


# -- without a key -----------------------------------------------------------------------------


@pytest.mark.parametrize("how", HOWS)
def test_a_join_on_the_condition_alone_survives_losses(how):
    def table(ts):
        return pa.table({"x": pa.array(ts, pa.int64()), "t": pa.array(ts, pa.timestamp("us"))})

    def sides(one, two):
        return [
            wr.stream(data, name=name, key=None, time="t", window="10 microseconds")
            for name, data in (("a", one), ("b", two))
        ]

    batches = [([1, 4, 9], [2, 3]), ([12], [11, 14]), ([20, 21], []), ([40], [30, 41])]
    plan = wr.plan(*sides(table([]), table([])), how=how, condition="a.x < b.x")
    run = Run(plan)
    for number, (one, two) in enumerate(batches):
        run.batch([table(one), table(two)], lose=number % 2 == 1)
    whole = [table([t for batch in batches for t in batch[side]]) for side in (0, 1)]
    assert_same_rows(run.finish(), duckdb_join(*sides(*whole), how=how, condition="a.x < b.x"))
