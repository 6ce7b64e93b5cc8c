"""Epochs: their order, how often each comes, and when."""

from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.model import WindrowError
from windrow.testing.ordering import multiplicity as naive_multiplicity
from windrow.testing.ordering import scrambling_factor
from windrow.workload import BURST, CONGESTION, Change, epochs, query_1
from windrow.workload.arrivals import MICROS

CALM = [(), (), ()]


def keys(table):
    return table["epoch"].to_pylist()


def seconds(table):
    times = table["time"].to_numpy().astype(np.int64)
    return (times - np.datetime64("2026-01-01", "us").astype(np.int64)) / MICROS


def factor(table):
    """The scrambling factor by one pass: of the largest key so far, the first tuple."""
    found, tops, firsts = 0, [], []
    for place, key in enumerate(keys(table)):
        if not tops or key > tops[-1]:
            tops.append(key)
            firsts.append(place)
        else:
            found = max(found, place - firsts[bisect_left(tops, key)])
    return found


@given(st.integers(0, 12), st.integers(1, 4), st.integers(0, 99))
def test_the_factor_is_never_above_what_was_asked(scrambling, multiplicity, seed):
    table = epochs(0.6, scrambling=scrambling, multiplicity=multiplicity, seed=seed)
    k = scrambling_factor(keys(table))
    assert k == factor(table)
    assert k <= max(scrambling, multiplicity - 1)
    assert naive_multiplicity(keys(table)) <= multiplicity
    if scrambling < multiplicity:
        assert keys(table) == sorted(keys(table))


@pytest.mark.parametrize("multiplicity", [1, 2])
@pytest.mark.parametrize("scrambling", [0, 1, 2, 10, 100, 499, 500])
def test_the_factor_comes_close(scrambling, multiplicity):
    table = epochs(400, scrambling=scrambling, multiplicity=multiplicity, seed=3)
    least = max(scrambling, multiplicity - 1)
    assert least - multiplicity <= factor(table) <= least
    if multiplicity == 1:
        assert factor(table) >= 0.99 * scrambling


@pytest.mark.parametrize("scrambling", [0, 20])
def test_every_epoch_is_sent_as_often_as_asked(scrambling):
    table = epochs(20, scrambling=scrambling, multiplicity=3, seed=5)
    found, counts = np.unique(table["epoch"].to_numpy(), return_counts=True)
    # The end of the stream cuts off the last block.
    whole = found < table.num_rows // 3 - 20
    assert (counts[whole] == 3).all()
    assert found[whole].tolist() == list(range(whole.sum()))
    assert counts.max() == 3


def test_tuples_are_a_poisson_process_and_24_bytes():
    table = epochs(2000, seed=1)
    gaps = np.diff(seconds(table))
    assert gaps.min() >= 0
    assert gaps.mean() == pytest.approx(0.02, rel=0.02)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.02)
    assert table.nbytes == 24 * table.num_rows


def test_the_same_seed_gives_the_same_draws_whatever_happens():
    calm = epochs(100, scrambling=50, seed=4)
    assert calm.equals(epochs(100, scrambling=50, seed=4))
    assert not calm.equals(epochs(100, scrambling=50, seed=5))
    late = epochs(100, scrambling=50, seed=4, lag=7)
    rows = late.num_rows
    assert np.allclose(seconds(late), seconds(calm)[:rows] + 7, atol=1e-5)
    for table in (late, epochs(100, scrambling=50, seed=4, changes=[CONGESTION])):
        # The last block may be cut off.
        assert keys(table)[: table.num_rows - 50] == keys(calm)[: table.num_rows - 50]


def test_congestion_and_burst():
    calm, s1, s2, s3 = query_1(120, changes=CALM)[1], *query_1(120)
    assert (seconds(s2) < 10).sum() == (seconds(calm) < 10).sum()
    counts = [np.histogram(seconds(table), [0, 10, 40, 80, 90, 120])[0] for table in (s1, s2, s3)]
    expected = np.array([[500, 1500, 2000, 500, 1500], [500, 1500 / 8, 2000, 500, 1500],
                         [500, 1500, 2000, 8 * 500, 1500]])  # fmt: skip
    assert (abs(np.array(counts) - expected) < 5 * np.sqrt(expected)).all()
    # S_2 is behind from then on, and S_3 ahead.
    assert abs(s1.num_rows - s2.num_rows - 1500 * 7 / 8) < 5 * np.sqrt(2 * s1.num_rows)
    assert abs(s3.num_rows - s1.num_rows - 500 * 7) < 5 * np.sqrt(s1.num_rows + s3.num_rows)


def test_changes_multiply_and_count_from_the_start():
    twice = epochs(40, changes=[Change(2, 10, 20), Change(4, 20, 20)], lag=5, seed=6)
    counts = np.histogram(seconds(twice), [0, 5, 10, 20, 30, 40])[0]
    expected = np.array([0, 250, 1000, 4000, 2000])
    assert counts[0] == 0
    assert (abs(counts - expected) <= 5 * np.sqrt(expected)).all()


def test_a_rate_of_nothing():
    silent = epochs(40, changes=[Change(0, 10, 20)], seed=6)
    assert not ((seconds(silent) > 10.001) & (seconds(silent) < 30)).any()
    assert (seconds(silent) >= 30).sum() == pytest.approx(500, rel=0.2)
    assert epochs(5, changes=[Change(0, 0, 9)]).num_rows == 0
    assert epochs(5, lag=5).num_rows == epochs(5, lag=6).num_rows == epochs(0).num_rows == 0


def test_the_last_change_may_outlast_the_stream():
    table = epochs(20, changes=[BURST, Change(0.5, 10, 1000)], seed=1)
    assert (seconds(table) >= 10).sum() == pytest.approx(250, rel=0.3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"scrambling": -1},
        {"multiplicity": 0},
        {"lag": -1},
        {"lag": float("inf")},
        {"gap": 0},
        {"gap": float("nan")},
    ],
)
def test_refusals(wrong):
    (name,) = wrong
    with pytest.raises(WindrowError, match=rf"{name} is .*; give"):
        epochs(1, **wrong)


def test_refused_changes():
    with pytest.raises(WindrowError, match="a factor of 0 or more"):
        Change(-1, 0, 1)
    with pytest.raises(WindrowError, match="for -1 seconds"):
        Change(1, 0, -1)
    with pytest.raises(WindrowError, match="2 scrambling factors and changes of 3 streams"):
        query_1(scrambling=(0, 0))
