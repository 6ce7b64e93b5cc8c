"""Which state a plan gets, and that both access paths win where the model says so."""

import time

import numpy as np
import pyarrow as pa
import pytest

from windrow.cost.calibrate import REFERENCE, calibrate
from windrow.cost.optimizer import MOST_EXPECTED, Choice, Statistics, cells, choose
from windrow.model import BEGINNING, CountWindow, JoinPlan, Stream, TimeWindow
from windrow.operators.arrivals import Arrivals
from windrow.operators.gate import Passed
from windrow.operators.join.window import JoinConfig, WindowJoin
from windrow.operators.retention import within
from windrow.workload import Uniform, Zipf, arrivals

SECOND = 1_000_000
HALF_A_MINUTE = TimeWindow(30 * SECOND)
#: The standard workload: 10,000 tuples a second, 300,000 keys.
STANDARD = Statistics((10_000, 10_000), 300_000, (1_200_000, 1_200_000))


def plan(key=("k",), window=HALF_A_MINUTE, **choices) -> JoinPlan:
    streams = tuple(
        Stream(None, pa.schema([]), name, key, "t", window=window) for name in ("a", "b")
    )
    return JoinPlan(streams, **choices)


def chosen(asked: JoinPlan, statistics: Statistics = STANDARD) -> Choice:
    return choose(asked, statistics, REFERENCE)


@pytest.mark.parametrize(
    ("asked", "algorithm", "structure", "parts"),
    [
        (plan(), "hash", "time-list", 128),
        (plan(algorithm="hash"), "hash", "time-list", 128),
        (plan(buckets=7), "hash", "time-list", 7),
        (plan(key=None), "nested-loops", "buckets", 1),
        (plan(key=None, invalidation="probe", buckets=9), "nested-loops", "buckets", 1),
        (plan(algorithm="nested-loops"), "nested-loops", "buckets", 1),
        (plan(algorithm="nested-loops", buckets=9), "nested-loops", "buckets", 1),
        (plan(invalidation="probe"), "hash", "buckets", 100),
        (plan(invalidation="all", buckets=12), "hash", "buckets", 12),
        (plan(invalidation="all", buckets=1), "hash", "buckets", 1),
        (plan(algorithm="hash", invalidation="probe-insert"), "hash", "buckets", 100),
        (plan(window=CountWindow(5)), "hash", "counted", 1),
        (plan(key=None, window=CountWindow(5, "stream")), "hash", "counted", 1),
    ],
)
def test_what_is_asked_is_honoured(asked, algorithm, structure, parts) -> None:
    choice = chosen(asked)
    layout = choice.layout
    assert (choice.algorithm, layout.structure, layout.parts) == (algorithm, structure, parts)


@pytest.mark.parametrize(
    ("why", "window", "statistics"),
    [
        ("a handful of rows", 10, Statistics((10_000, 10_000), 300_000, rows=(20, 30))),
        ("all keys are the same", 30 * SECOND, Statistics((100, 100), 1)),
    ],
)
def test_nested_loops_win(why, window, statistics) -> None:
    choice = chosen(plan(window=TimeWindow(window)), statistics)
    assert choice.algorithm == "nested-loops", why
    assert choice.costs["nested-loops"] < choice.costs["hash"]
    assert choice.reason.startswith("nested loops, cheaper by")


def test_a_low_mean_rate_is_no_reason_for_nested_loops() -> None:
    """Two bursts a year apart have a mean rate of next to nothing, and thousands of live tuples."""
    ts = np.concatenate([np.arange(20_000), 365 * 86_400 * SECOND + np.arange(20_000)])
    hashes = np.arange(len(ts)) % 5_000
    choice = chosen(plan(), Statistics.of(ts, hashes, ts, hashes))
    assert choice.algorithm == "hash"


def test_hash_wins() -> None:
    choice = chosen(plan())
    assert choice.costs["hash"] < choice.costs["buckets"] < choice.costs["nested-loops"]
    assert choice.reason.startswith("hash in 128 cells, cheaper by")
    for number in ("10,000", "30", "300,000", f"{choice.costs['hash']:.3g}"):
        assert number in choice.reason


def test_no_tuples_at_all() -> None:
    none = np.empty(0, np.int64)
    choice = chosen(plan(), Statistics.of(none, none, none, none))
    layout = choice.layout
    assert (choice.algorithm, layout.expected, layout.parts) == ("hash", 0, 1)


def test_expected_is_what_the_windows_hold() -> None:
    assert chosen(plan()).layout.expected == 600_000
    assert chosen(plan(window=TimeWindow(3600 * SECOND))).layout.expected == 2_400_000, (
        "all there is"
    )
    assert chosen(plan(window=CountWindow(5))).layout.expected == 2_400_000
    endless = Statistics((1e6, 1e6), 1000)
    assert chosen(plan(), endless).layout.expected == MOST_EXPECTED
    beyond_zero = plan(between=(-20 * SECOND, -10 * SECOND), window=None)
    assert chosen(beyond_zero).layout.expected == 200_000, "only the second stream is stored"


@pytest.mark.parametrize("live", [4_801, 10_000, 123_456, 600_000, 1_200_000])
def test_a_list_holds_1200_to_2400(live: int) -> None:
    assert 1_200 <= live / (2 * cells(live, 2)) <= 2_400


# -- statistics ------------------------------------------------------------------------------


def stream(rate: float, keys, seed: int, seconds: float = 60):
    rng = np.random.default_rng(seed)
    ts = arrivals(rate, seconds, seed=rng)
    # A hash of the key, as the engine has: distinct numbers for distinct keys.
    return ts, keys.draw(len(ts), rng) * 0x1E3779B97F4A7C15


@pytest.mark.parametrize("values", [1, 100, 3_000, 300_000])
def test_rates_and_distinct_keys(values: int) -> None:
    found = Statistics.of(*stream(5_000, Uniform(values), 1), *stream(1_000, Uniform(values), 2))
    assert found.rates == pytest.approx((5_000, 1_000), rel=0.05)
    assert found.distinct == pytest.approx(values, rel=0.2)


def test_a_skewed_key_counts_as_fewer() -> None:
    zipf = Zipf(1000, 1.0)
    shares = np.arange(1, 1001.0) ** -1
    behaves_like = 1 / ((shares / shares.sum()) ** 2).sum()
    found = Statistics.of(*stream(1_000, zipf, 1), *stream(1_000, zipf, 2))
    assert found.distinct == pytest.approx(behaves_like, rel=0.1)


def test_keys_in_cycles_do_not_fool_the_sample() -> None:
    ts = np.arange(1_200_000) * 100
    assert Statistics.of(ts, ts % 1000, ts, ts % 1000).distinct == pytest.approx(10, rel=0.1)
    row = np.arange(1_200_000)
    assert Statistics.of(ts, row % 960, ts, row % 960).distinct == pytest.approx(960, rel=0.1)


def test_a_few_odd_times_do_not_stretch_the_span() -> None:
    ts, keys = stream(1_000, Uniform(10), 1)
    ts = ts + 1_700_000_000 * SECOND
    ts[::500] = 0
    assert Statistics.of(ts, keys, ts, keys).rates[0] == pytest.approx(1_000, rel=0.05)


def test_few_rows() -> None:
    one, two = np.array([5]), np.array([3, 9])
    found = Statistics.of(one, one, two, two)
    assert found.rows == (1, 2)
    assert found.distinct == 3, "no keys agree: at most as many as there are rows"
    assert chosen(plan(), found).layout.expected == 3


@pytest.mark.long
def test_statistics_are_cheap() -> None:
    one = stream(10_000, Uniform(300_000), 1, 120)
    two = stream(10_000, Uniform(300_000), 2, 120)
    took = []
    for _ in range(5):
        started = time.perf_counter()
        Statistics.of(*one, *two)
        took.append(time.perf_counter() - started)
    assert min(took) < 0.005


# -- measured --------------------------------------------------------------------------------


def seconds(choice: Choice, window: int, sides) -> float:
    best = float("inf")
    for _ in range(5):
        config = JoinConfig("inner", within((window, window)), (False, False))
        join = WindowJoin(config, choice.layout).begin()
        started = time.perf_counter()
        end = 60 * SECOND
        for _ in join.process(Passed(sides, (BEGINNING, BEGINNING), (end, end))):
            pass
        best = min(best, time.perf_counter() - started)
    return best


@pytest.mark.long
@pytest.mark.parametrize(("values", "winner"), [(1, "nested-loops"), (10_000, "hash")])
def test_the_clock_agrees(values: int, winner: str) -> None:
    window = 5 * SECOND
    rows = [stream(100, Uniform(values), seed) for seed in range(2)]
    sides = [Arrivals(ts, keys, np.arange(len(ts))) for ts, keys in rows]
    statistics = Statistics.of(*rows[0], *rows[1])
    choice = choose(plan(window=TimeWindow(window)), statistics, calibrate())
    assert choice.algorithm == winner
    took = {
        name: seconds(choose(plan(algorithm=name), statistics), window, sides)
        for name in ("hash", "nested-loops")
    }
    assert min(took, key=took.__getitem__) == winner
