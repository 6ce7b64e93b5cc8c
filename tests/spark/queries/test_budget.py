"""Budgets on Spark: what is left is finished, whoever waits, and whichever driver goes on."""

import time

import pytest

import windrow as wr
from windrow.continuous import _scanned
from windrow.spark.queries import control
from windrow.testing import assert_same_rows
from windrow.testing.queries_oracle import duckdb_select

from .streams import SECOND, Fed

PAIRS = "SELECT A.v AS c0, B.v AS c1 FROM a A, b B WHERE A.k = B.k"
SELECT = ("A.v", "B.v")
FILES = 3


@pytest.fixture
def fed(tmp_path):
    made = Fed(tmp_path, FILES)
    made.write(FILES)
    return made


def queries(fed, spark, **more):
    checkpoint = str(fed.folder / "checkpoint")
    return wr.ContinuousQueries(*fed.streams(spark), checkpoint=checkpoint, **more)


def until(said, seconds=120):
    """Wait until something is so, and do nothing about it."""
    end = time.monotonic() + seconds
    while not said():
        assert time.monotonic() < end
        time.sleep(0.1)


def sent(monkeypatch):
    """What is sent to joins from now on."""
    noted, send = [], control.send
    monkeypatch.setattr(
        control, "send", lambda place, asked: (noted.append(asked), send(place, asked))
    )
    return noted


def test_the_listener_alone_finishes_what_is_left(fed, spark):
    """The sources are silent, and nobody waits for anything but to see it done."""
    asked = queries(fed, spark, budget=150)
    asked.add(f"{PAIRS} WINDOW 1 second", name="small")
    asked.add(f"{PAIRS} WINDOW 3 seconds", name="large")
    asked.start()
    try:
        until(lambda: asked.status().joins[0].suspended > 0)
        until(lambda: asked.status().joins[0].suspended == 0)
        assert asked.status().joins[0].held == 0
    finally:
        asked.stop()
    assert_same_rows(asked.answers("large").toArrow(), fed.plain(SELECT, 3 * SECOND))
    assert_same_rows(asked.answers("small").toArrow(), fed.plain(SELECT, SECOND))


def test_another_budget_goes_on_with_what_was_left(fed, spark, monkeypatch):
    """The first one leaves almost all. The next is in seconds, which are counted once, here."""
    noted = sent(monkeypatch)
    first = queries(fed, spark, budget=1, closed=False)
    first.add(f"{PAIRS} WINDOW 3 seconds", name="large")
    first.start()
    try:
        until(lambda: first.status().joins[0].suspended > 0)
    finally:
        first.stop()
    assert first.answers("large").count() < 10
    budget = "20 microseconds"
    second = queries(fed, spark, budget=budget, closed=False)
    second.start()
    try:
        # The control stream has the count; more for the rest, or it would take very long.
        assert [each.budget for each in noted] == [1, _scanned(budget)]
        assert 1 < noted[-1].budget < 10_000
    finally:
        second.stop()
    third = queries(fed, spark, closed=False)
    third.start()
    try:
        third.process_all_available()
    finally:
        third.stop()
    assert noted[-1].budget is None
    open_ended = fed.asked(3 * SECOND, select=SELECT, closed=False)
    assert_same_rows(third.answers("large").toArrow(), duckdb_select(open_ended))


def test_windows_without_their_far_edge(fed, spark):
    """Two rows exactly a window apart: of all that there are, some are."""
    apart = fed.apart()
    with_edge = fed.plain(SELECT, apart)
    without = duckdb_select(fed.asked(apart, select=SELECT, closed=False))
    assert 0 < without.num_rows < with_edge.num_rows
    asked = queries(fed, spark, closed=False)
    asked.add(f"{PAIRS} WINDOW {apart} microseconds", name="open")
    asked.start()
    try:
        asked.process_all_available()
    finally:
        asked.stop()
    assert_same_rows(asked.answers("open").toArrow(), without)
