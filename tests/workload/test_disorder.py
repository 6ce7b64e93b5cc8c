"""Disorder is bounded and loses nothing."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.model import WindrowError
from windrow.workload import Uniform, disorder, stream_table


@settings(deadline=None)
@given(
    times=st.lists(st.integers(-1000, 1000), max_size=60),
    lateness=st.integers(0, 500),
    seed=st.integers(0, 2**32),
)
def test_no_row_is_further_behind_than_the_lateness(
    times: list[int], lateness: int, seed: int
) -> None:
    table = pa.table({"time": pa.array(times, pa.timestamp("us")), "row": range(len(times))})
    shuffled = disorder(table, lateness, seed)
    micros = shuffled["time"].cast(pa.int64()).to_numpy()
    behind = np.maximum.accumulate(micros) - micros if len(micros) else micros
    assert (behind <= lateness).all()
    assert shuffled.sort_by("row").equals(table)


def test_the_bound_is_nearly_used_up() -> None:
    table = stream_table(10_000, 5, Uniform(5), seed=1)
    micros = disorder(table, 100_000, seed=1)["time"].cast(pa.int64()).to_numpy()
    behind = np.maximum.accumulate(micros) - micros
    assert 90_000 < behind.max() <= 100_000


def test_no_lateness_keeps_the_order_and_seeds_repeat() -> None:
    table = stream_table(100, 5, Uniform(5), seed=1)
    assert disorder(table, 0).equals(table)
    assert disorder(table, 10**6, seed=3).equals(disorder(table, 10**6, seed=3))


def test_other_units_and_names() -> None:
    table = pa.table({"at": pa.array([0, 5, 9], pa.timestamp("s", tz="UTC"))})
    assert disorder(table, 1_000_000, time="at").equals(table)


def test_refusals() -> None:
    table = pa.table({"time": pa.array([1, None], pa.timestamp("us")), "n": [1, 2]})
    with pytest.raises(WindrowError, match=r"'time' is timestamp.* with 1 nulls"):
        disorder(table, 5)
    with pytest.raises(WindrowError, match="'n' is int64"):
        disorder(table, 5, time="n")
    with pytest.raises(WindrowError, match="lateness is -1"):
        disorder(table, -1)
