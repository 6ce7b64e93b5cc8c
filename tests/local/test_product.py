"""Kinds x closed x algorithm x invalidation x batch_rows x buckets: always the oracle's rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.model import Algorithm, How, Invalidation
from windrow.testing import KEY_KINDS, Case, cases

HOWS: tuple[How, ...] = get_args(How)
ALGORITHMS = get_args(Algorithm)
INVALIDATIONS = get_args(Invalidation)
BATCH_ROWS = (None, 1, 3, 7)
BUCKETS = (None, 1, 2, 5)
#: A hash join without a key is refused.
KEYED = tuple(kind for kind in KEY_KINDS if kind != "none")


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "open"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=max(settings().max_examples // 10, 2))
@given(data=st.data())
def test_every_way_to_every_answer(how, closed, algorithm, same_as_oracle, data):
    """Every case drawn is joined with every strategy in every batch size."""
    kinds = KEYED if algorithm == "hash" else tuple(KEY_KINDS)
    case = replace(data.draw(cases(hows=[how], key_kinds=kinds)), closed=closed)
    loops = algorithm == "nested-loops" or case.left.key is None
    buckets = data.draw(st.sampled_from((None, 1) if loops else BUCKETS))
    ways = [
        {
            "algorithm": algorithm,
            "invalidation": invalidation,
            "batch_rows": batch_rows,
            "buckets": buckets,
        }
        for invalidation, batch_rows in product(INVALIDATIONS, BATCH_ROWS)
    ]
    same_as_oracle(case, *ways)


@settings(max_examples=3 * settings().max_examples)
@given(
    case=cases(max_rows=25) | cases(beats=True),
    algorithm=st.sampled_from(ALGORITHMS),
    invalidation=st.sampled_from(INVALIDATIONS),
    batch_rows=st.none() | st.integers(1, 30),
    buckets=st.none() | st.integers(1, 130),
)
def test_any_way_to_any_answer(same_as_oracle, case, **way):
    right_or_refused(same_as_oracle, case, way)


def right_or_refused(same_as_oracle, case, way):
    if way["algorithm"] == "hash" and case.streams[0].key is None:
        with pytest.raises(wr.WindrowError, match="algorithm='hash' needs a key"):
            same_as_oracle(case, way)
    elif way["buckets"] not in (None, 1) and (
        way["algorithm"] == "nested-loops" or case.streams[0].key is None
    ):
        with pytest.raises(wr.WindrowError, match=r"buckets=.* has no effect"):
            same_as_oracle(case, way)
    else:
        same_as_oracle(case, way)


@pytest.mark.parametrize("kind", KEY_KINDS)
@settings(max_examples=max(settings().max_examples // 5, 3))
@given(data=st.data())
def test_every_key_type(kind, same_as_oracle, data):
    case = data.draw(cases(key_kinds=[kind], max_rows=15))
    buckets = {} if case.left.key is None else {"buckets": 3}
    same_as_oracle(
        case,
        {},
        {"batch_rows": 2, **buckets},
        {"algorithm": "nested-loops", "batch_rows": 4},
        {"invalidation": "probe", "batch_rows": 1, **buckets},
    )


def crowd(name, seed, window) -> wr.Stream:
    """Thousands of rows, a few keys with most of them, arrivals out of order within lateness."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 60_000_000, 1500))
    arrival = np.argsort(times + rng.integers(0, 2_000_000, 1500), kind="stable")
    data = pa.table(
        {
            "k": pa.array([f"key {n}" for n in rng.zipf(1.4, 1500) % 300]),
            "t": pa.array(times[arrival], pa.timestamp("us")),
            "n": np.arange(1500),
        }
    )
    return wr.stream(data, name=name, key="k", time="t", window=window, lateness="2 seconds")


@pytest.mark.parametrize("how", HOWS)
def test_thousands_of_rows(how, same_as_oracle):
    """States that grow and shrink, flags that move on, keys whose hashes are verified."""
    case = Case(crowd("a", 1, "400 milliseconds"), crowd("b", 2, "150 milliseconds"), how=how)
    same_as_oracle(
        case,
        {"algorithm": "hash"},
        {"algorithm": "hash", "batch_rows": 137, "buckets": 8},
        {"batch_rows": 500, "invalidation": "probe", "buckets": 50},
        {"batch_rows": 41, "invalidation": "all", "buckets": 5},
        {"batch_rows": 700, "algorithm": "nested-loops"},
    )


@pytest.mark.long
@given(
    case=cases(max_rows=60) | cases(beats=True, max_rows=60),
    algorithm=st.sampled_from(ALGORITHMS),
    invalidation=st.sampled_from(INVALIDATIONS),
    batch_rows=st.none() | st.integers(1, 60),
    buckets=st.none() | st.integers(1, 300),
)
def test_any_way_to_any_answer_at_length(same_as_oracle, case, **way):
    right_or_refused(same_as_oracle, case, way)
