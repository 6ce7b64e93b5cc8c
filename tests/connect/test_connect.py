"""What a client of Spark Connect has of a join, and what it has not."""

import pytest

from .client import MINUTE

pytestmark = pytest.mark.versions


@pytest.mark.parametrize(
    "shape", ["itself", "renamed", "in a struct", "out of a struct", "in a union"]
)
def test_a_watermark_is_the_lateness(told, shape):
    assert told[f"lateness: {shape}"] == 10 * MINUTE


def test_a_watermark_that_the_time_does_not_carry_is_refused_if_its_column_is_there(told):
    refused = told["lateness: moved"]
    assert "WindrowError: stream 'a' has a watermark on 't', which the time column 'at'" in refused
    # The plan would tell, but a client does not see it.
    assert told["lateness: moved and dropped"] == 0


def test_a_row_behind_within_the_watermark_counts(told):
    assert told["watermark"]["rows"] == [[0, 0], [1, 0], [2, 0]]


def test_a_row_behind_is_late_without(told):
    """Rows 0 and 1 have met b's; a's last row is six minutes behind, and dropped."""
    assert told["default"]["rows"] == [[0, 0], [1, 0]]


def test_workers_cannot_report(told):
    for query in ("watermark", "default"):
        assert told[query]["figures"] == []
        assert told[query]["warned"] == []


def test_a_batch_join(told):
    assert told["batch"] == [[0, 0], [1, 0], [2, None]]


def test_a_restart_goes_on(told):
    assert told["restart"]["rows"] == [[0, 0], [0, 0], [1, 0], [2, 0]]


def test_a_restart_that_is_refused_says_why(told):
    assert (
        "this checkpoint was written with kind 'left', but the join has 'inner'"
        in (told["other kind"])
    )


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("a Column", "condition is a Column, which has no SQL text here (on Spark Connect none"),
        ("check", "this DataFrame is of Spark Connect, which does not show its plan; call"),
    ],
)
def test_what_needs_the_drivers_process_is_refused(told, what, message):
    assert told[what].startswith(f"WindrowError: {message}")


def test_arenas_are_not_the_clients(told):
    """A query goes on without the client that started it, and so must its arenas."""
    assert told["owners"]
    assert set(told["owners"]) == {""}
