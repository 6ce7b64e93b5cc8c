"""The setting that sets progress back: what is refused, how times are written, what is advised."""

import pytest

import windrow as wr
from windrow.spark.log import repair
from windrow.spark.log.directory import Directory

from .buckets import Run
from .test_question import OVER, plan
from .test_repair import FAR, directories, feed, progress


def refused(run, back_to):
    before = [(store.text, dict(store.blobs)) for store in run.stores]
    run.back_to = back_to
    with pytest.raises(wr.WindrowError) as said:
        feed(run, [(1, 400, 0)], [(1, 400, 0)])
    assert [(store.text, store.blobs) for store in run.stores] == before
    return str(said.value)


def test_what_punctuations_have_ended_stays_ended():
    run = Run(plan(ends="over"))
    feed(run, [(1, 100, 0)], [(1, FAR, OVER)])
    said = refused(run, (None, 200))
    assert said.startswith("spark.windrow.progress.repair.b asks to set its progress back from ")
    assert "to 1970-01-01 00:00:00.000 (UTC), but the join has punctuations" in said


@pytest.mark.parametrize(
    ("choices", "how"),
    [
        ({"window": wr.rows(2)}, "count windows have counted up to"),
        ({"order": "sync-filter"}, "ordered results have left up to"),
        ({"order": "filter-order"}, "ordered results have left up to"),
        ({"order": "adaptive"}, "ordered results have left up to"),
    ],
)
def test_what_is_passed_is_passed(choices, how):
    run = Run(plan(**choices))
    feed(run, [(1, 100, 0)], [(1, FAR, 0)])
    assert how in refused(run, (None, 99))
    run.back_to = (None, 100)
    feed(run, [(1, 101, 0)])
    assert progress(run) == {(101, 100)}
    both = Run(plan(**choices))
    feed(both, [(1, FAR, 0)], [(1, FAR, 0)])
    assert len(refused(both, (200, 200)).splitlines()) == 2


def test_an_adaptive_join_that_has_joined_at_once():
    run = Run(plan(order="adaptive"))
    feed(run, [(1, 100, 0)], [(1, FAR, 0)])
    for store in run.stores:
        directory = Directory.from_text(store.text)
        directory.standing["gate"]["joined"] = list(directory.progress)
        store.text = directory.to_text()
    assert "ordered results have left up to" in refused(run, (None, 200))


# -- the setting -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "zone", "zoned", "micros"),
    [
        ("1970-01-01 00:00:01", "UTC", True, 1_000_000),
        ("1970-01-01", "UTC", False, 0),
        ("1970-01-01 00:00:00.000001", "UTC", False, 1),
        ("1970-01-01 00:00:00", "+02:00", True, -7_200_000_000),
        ("1970-01-01 00:00:00", "+02:00", False, 0),
        ("1970-01-01T00:00:00Z", "+02:00", True, 0),
        ("1970-01-01T00:00:00Z", "+02:00", False, 7_200_000_000),
        (" 1970-01-01T00:00:00+01:00 ", "Europe/Berlin", True, -3_600_000_000),
    ],
)
def test_times(text, zone, zoned, micros):
    assert repair.parse(text, "it", zone, zoned) == micros


@pytest.mark.parametrize("text", ["", "now", "12", "2026-13-01"])
def test_what_is_no_time(text):
    with pytest.raises(
        wr.WindrowError, match=r"repair\.b is '.*', which is not a time; write it as"
    ):
        repair.parse(text, "spark.windrow.progress.repair.b", "UTC", True)


# -- what `windrow inspect` says of it ---------------------------------------------------------

CLOCK = 10 * repair.YEAR


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (CLOCK, CLOCK + repair.DAY, None),
        (
            CLOCK,
            CLOCK + repair.DAY + 1,
            "'b', 1979-12-31 00:00:00.000, is 1 days ahead of the clock",
        ),
        (0, repair.YEAR, None),
        (0, repair.YEAR + 1, "is 365 days ahead of stream 'a', and its rows before that are late."),
        (None, CLOCK, None),
        (None, CLOCK + 2 * repair.DAY, "is 2 days ahead of the clock"),
    ],
)
def test_progress_that_is_far_ahead_is_pointed_out(a, b, said):
    run = Run(plan())
    feed(run, [] if a is None else [(1, a, 0)], [(1, b, 0)])
    found = repair.advice(directories(run)[0], CLOCK)
    assert len(found) == (said is not None)
    if said is not None:
        assert said in found[0]
        text = found[0].partition("spark.windrow.progress.repair.b=")[2]
        assert repair.parse(text, "it", "UTC", False) == (a if b <= CLOCK else CLOCK)


def test_where_it_cannot_be_set_back_that_is_said():
    run = Run(plan(ends="over"))
    feed(run, [(1, 0, 0)], [(1, repair.YEAR + 1, 0)])
    [found] = repair.advice(directories(run)[0], CLOCK)
    assert "start from a new checkpoint" in found
