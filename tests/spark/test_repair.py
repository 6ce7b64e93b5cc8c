"""Progress that has run away and is set back at a restart: buckets without Spark."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.spark.log import renew
from windrow.spark.log.directory import Directory
from windrow.spark.log.log import Log

from .buckets import Packed, Run, arenas, logs
from .test_question import LOSSES, WIDTH, at, plan, table


@pytest.fixture
def eager(monkeypatch):
    """Merge and renew at every opportunity."""
    monkeypatch.setattr(Log, "MERGED_AT_ONCE", 2)
    monkeypatch.setattr(renew, "LEAST_RENEWED", 1)


#: Where a row puts a stream's progress, and everything below must be before it.
FAR = 10**15
KINDS = ["inner", "left", "right", "full", "semi", "anti"]
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(0, 9)), max_size=3, unique=True
)
#: Micro-batches before the far row, until the restart, and after it.
STAGES = st.tuples(
    st.lists(st.tuples(ROWS, ROWS).filter(any), max_size=4),
    st.lists(st.tuples(ROWS, ROWS).filter(any), max_size=3),
    st.lists(st.tuples(ROWS, ROWS).filter(any), min_size=1, max_size=4),
)
BEFORE, AWAY, AFTER = range(3)


def numbered(stages):
    """(stage, number of the micro-batch, rows of a, rows of b), with the far row in between."""
    number, found = 0, []
    for stage, batches in enumerate(stages):
        if stage == AWAY:
            found.append((AWAY, None, [], [(1, FAR, 0)]))
        for one, two in batches:
            found.append((stage, number, at(number, one), at(number, two)))
            number += 1
    return found


def restart_time(steps):
    """When the first micro-batch after the restart begins: no row of it is late to that."""
    return 6 * next(number for stage, number, *_ in steps if stage == AFTER)


class Watched(Run):
    """A run that keeps the times of what leaves each bucket."""

    def __init__(self, plan, folder=None):
        super().__init__(plan, folder)
        self.times = [[] for _ in range(self.buckets)]

    def one(self, bucket, *given, **more):
        first = len(self.pieces)
        super().one(bucket, *given, **more)
        self.times[bucket] += [row["ts"] for p in self.pieces[first:] for row in p.to_pylist()]


def run_through(steps, asked, losses, folder, back_to, clean=False):
    """Feed a join; `clean`: without the far row, and without those that are late to it."""
    run = Watched(asked, folder)
    for place, (stage, _, one, two) in enumerate(steps):
        if clean and stage == AWAY:
            two = []
        if stage == AFTER and not clean:
            run.back_to = (None, back_to)
        if one or two:
            run.batch([table(one), table(two)], place in losses)
    return run


def told(rows, how):
    """Rows as (a, b), each (k, t, v)."""
    sides = "a" if how in ("semi", "anti") else "ab"
    return [
        tuple(
            None
            if row[side] is None
            else (row[side]["k"], row[side]["t"].microsecond, row[side]["v"])
            for side in sides
        )
        for row in rows
    ]


def expected(steps, how):
    """By a loop over all rows that were in time."""
    one = [(stage, row) for stage, _, rows, _ in steps for row in rows]
    two = [(stage, row) for stage, _, _, rows in steps if stage != AWAY for row in rows]
    pairs = [
        (a, b)
        for (came, a), (later, b) in product(one, two)
        if a[0] == b[0]
        and abs(a[1] - b[1]) <= WIDTH
        # The far progress has let these rows go.
        and not (came != AFTER and later == AFTER)
    ]
    met = [{a for a, _ in pairs}, {b for _, b in pairs}]
    alone = [
        [row for _, row in rows if row not in met[side]] for side, rows in enumerate((one, two))
    ]
    if how in ("semi", "anti"):
        return [(a,) for a in (met[0] if how == "semi" else alone[0])]
    found = list(pairs)
    if how in ("left", "full"):
        found += [(a, None) for a in alone[0]]
    if how in ("right", "full"):
        found += [(None, b) for b in alone[1]]
    return found


@settings(max_examples=60)
@given(
    stages=STAGES,
    losses=LOSSES,
    how=st.sampled_from(KINDS),
    order=st.sampled_from(["none", "none", "filter-order"]),
)
@pytest.mark.usefixtures("eager")
def test_rows_that_come_after_the_repair_meet_again(stages, losses, how, order):
    steps = numbered(stages)
    with arenas() as folder:
        asked = plan(how=how, order=order)
        run = run_through(steps, asked, losses, folder, restart_time(steps))
        found = run.finish().to_pylist()
    assert sorted(told(found, how), key=repr) == sorted(expected(steps, how), key=repr)
    if order != "none":
        assert run.times == [sorted(times) for times in run.times]


@settings(max_examples=60)
@given(
    stages=STAGES,
    losses=LOSSES,
    how=st.sampled_from(KINDS),
    choices=st.sampled_from(
        [
            {"order": "sync-filter"},
            {"order": "adaptive"},
            {"window": wr.rows(2)},
            {"window": wr.rows(3, per="stream")},
            {"window": wr.rows(2), "order": "sync-filter", "how": "inner"},
        ]
    ),
)
@pytest.mark.usefixtures("eager")
def test_where_input_waits_it_is_as_if_the_far_row_had_not_come(stages, losses, how, choices):
    """The other stream's progress is what they go by, so nothing else is lost."""
    choices = {"how": how, **choices}
    how = choices["how"]
    steps, asked = numbered(stages), plan(**choices)
    with arenas() as folder:
        run = run_through(steps, asked, losses, folder, restart_time(steps))
        found = run.end().to_pylist()
    clean = run_through(steps, asked, (), None, None, clean=True)
    assert sorted(told(found, how), key=repr) == sorted(
        told(clean.end().to_pylist(), how), key=repr
    )
    if "order" in choices:
        assert run.times == [sorted(times) for times in run.times]


@settings(max_examples=60)
@given(
    stages=STAGES,
    how=st.sampled_from(KINDS),
    choices=st.sampled_from(
        [
            {},
            {"order": "filter-order"},
            {"order": "sync-filter"},
            {"window": wr.rows(2)},
        ]
    ),
)
@pytest.mark.usefixtures("eager")
def test_two_attempts_at_the_repair_write_the_same_log(stages, how, choices):
    steps, asked = numbered(stages), plan(how=how, **choices)
    with arenas() as folder:
        run = Run(asked, folder)
        for stage, _, one, two in steps:
            if not (one or two):
                continue
            other = Run(asked)
            for mine, its in zip(other.stores, run.stores, strict=True):
                mine.blobs, mine.text = dict(its.blobs), its.text
            for each in (run, other):
                each.back_to = (None, restart_time(steps)) if stage == AFTER else (None, None)
                each.batch([table(one), table(two)])
            assert logs(other) == logs(run)


# -- what goes, and when -----------------------------------------------------------------------


def streams(lateness=0, how="full", **choices):
    """A plan whose second stream may be late."""
    nothing = table([])
    common = {"key": "k", "time": "t", "window": f"{WIDTH} microseconds"}
    one = wr.stream(nothing, name="a", **common)
    two = wr.stream(nothing, name="b", lateness=f"{lateness} microseconds", **common)
    return wr.plan(one, two, how=how, **choices)


def directories(run):
    return [Directory.from_text(store.text) for store in run.stores]


def progress(run):
    return {tuple(directory.progress) for directory in directories(run)}


def feed(run, one=(), two=(), lose=False):
    run.batch([table(list(one)), table(list(two))], lose)


@pytest.mark.parametrize("lose", [False, True])
def test_rows_beyond_the_time_and_the_lateness_go_without_a_result(lose):
    with arenas() as folder:
        run = Run(streams(lateness=5), folder)
        feed(run, [(1, 100, 0)], [(1, 105, 1), (1, 106, 2), (2, 400, 3)])
        run.back_to = (None, 100)
        feed(run, [], [(1, 104, 4), (1, 99, 5)], lose)
        feed(run, [(1, 101, 6)], [], lose)
        found = told(run.finish().to_pylist(), "full")
    row = {v: (1, t, v) for v, t in ((0, 100), (1, 105), (2, 106), (4, 104), (6, 101))}
    assert sorted(found, key=repr) == sorted(
        [(row[0], row[1]), (row[0], row[2]), (row[6], row[1]), (row[6], row[4])], key=repr
    )


@pytest.mark.parametrize(("time", "after"), [(199, 199), (200, 200), (201, 200)])
def test_progress_goes_back_and_never_forward(time, after):
    run = Run(streams())
    feed(run, [(1, 50, 0)], [(1, 200, 0)])
    run.back_to = (None, time)
    feed(run, [(1, 51, 0)])
    assert progress(run) == {(51, after)}
    assert all(directory.repaired == [None, time] for directory in directories(run))


def test_a_time_is_used_once():
    run = Run(streams())
    feed(run, [(1, 50, 0)], [(1, FAR, 0)])
    run.back_to = (None, 60)
    feed(run, [(1, 51, 0)], [(1, 61, 0)])
    assert progress(run) == {(51, 61)}
    # A restart with the same setting, and one without any; then it runs away once more.
    for back_to in ((None, 60), (None, None), (None, 60)):
        run.back_to = back_to
        feed(run, [], [(1, 70, 0)])
        assert progress(run) == {(51, 70)}
    feed(run, [], [(1, FAR, 0)])
    assert progress(run) == {(51, FAR)}
    run.back_to = (None, 80)
    feed(run, [], [(1, 81, 0)])
    assert progress(run) == {(51, 81)}


def test_a_join_that_begins_with_a_setting_has_used_it():
    run = Run(streams())
    run.back_to = (None, 60)
    feed(run, [(1, 50, 0)], [(1, 200, 0)])
    feed(run, [(1, 51, 0)])
    assert progress(run) == {(51, 200)}


def test_both_streams_go_back_together_where_nothing_waits():
    run = Run(streams())
    feed(run, [(1, FAR, 0)], [(1, FAR + 1, 0)])
    run.back_to = (60, 62)
    feed(run, [(1, 60, 1), (1, 59, 2)], [(1, 62, 3), (1, 61, 4)])
    assert progress(run) == {(60, 62)}
    found = told(run.finish().to_pylist(), "inner")
    # The pair of the far rows had left before.
    assert [(a[1], b[1]) for a, b in found[1:]] == [(60, 62)]


@pytest.mark.parametrize("lose", [False, True])
@pytest.mark.usefixtures("eager")
def test_the_far_rows_chunk_holds_none_after_it(lose):
    with arenas() as folder:
        run = Run(streams(how="left"), folder)
        feed(run, [(1, 50, 0)], [(1, 50, 0), (1, FAR, 1)])
        run.back_to = (None, 60)
        for ts in range(60, 400, 10):
            feed(run, [(1, ts, 0), (2, ts, 0)], [(1, ts, 0), (2, ts, 0)], lose)
        for directory in directories(run):
            assert len(directory.chunks) <= 6
            assert not directory.changes
            assert not directory.deltas_of("removed", 1)


def test_a_heartbeat_may_have_been_the_far_one():
    run = Run(streams())
    feed(run, [(1, 50, 0)], [(1, 50, 1)])
    run.feed([[Packed(1, None, None, FAR, 0, 1)]] * run.buckets)
    run.back_to = (None, 55)
    feed(run, [(1, 55, 2)], [(1, 54, 3), (1, 56, 4)])
    assert progress(run) == {(55, 56)}
    found = told(run.finish().to_pylist(), "full")
    assert sorted((a and a[2], b and b[2]) for a, b in found) == [(0, 1), (2, 1), (2, 4)]


@pytest.mark.parametrize("order", ["sync-filter", "filter-order", "adaptive"])
@pytest.mark.parametrize("lose", [False, True])
@pytest.mark.usefixtures("eager")
def test_a_far_row_that_is_held_alone_goes_too(order, lose):
    """Without a key it is unmatched at once, and waits only for its turn."""
    with arenas() as folder:
        run = Run(streams(order=order), folder)
        feed(run, [(1, 50, 0)], [(1, 50, 1), (None, 58, 2)])
        feed(run, [], [(None, FAR, 3), (None, FAR + 1, 4)], lose)
        run.back_to = (None, 60)
        feed(run, [(1, 61, 5)], [(1, 62, 6)], lose)
        found = told(run.finish().to_pylist(), "full")
    assert sorted((b[2], a and a[2]) for a, b in found) == [(1, 0), (2, None), (6, 5)]


def test_windows_may_change_at_the_same_restart():
    for lose in (False, True):
        with arenas() as folder:
            run = Run(plan(), folder)
            feed(run, [(1, 50, 0)], [(1, 52, 1), (1, FAR, 2)])
            run.ask(plan(window="20 microseconds"))
            run.back_to = (None, 60)
            feed(run, [(1, 61, 3)], [(1, 75, 4)], lose)
            feed(run, [(1, 62, 5)], [], lose)
            found = told(run.finish().to_pylist(), "inner")
        pairs = sorted((a[2], b[2]) for a, b in found)
        assert pairs == [(0, 1), (3, 1), (3, 4), (5, 1), (5, 4)]
