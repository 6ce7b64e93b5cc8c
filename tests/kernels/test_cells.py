"""Splitting a batch by key: every tuple once, in its key's part, in the order it came."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.kernels import cells
from windrow.kernels.hashing import hash_words

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore:overflow encountered"),
]
keys = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, -1, 2**63 - 1, -(2**63)])


@given(keys, st.integers(1, 1000))
def test_a_part_is_one_of_them(key, parts):
    assert 0 <= cells.cell_of(key, parts) < parts


@given(keys)
def test_one_part_has_everything(key):
    assert cells.cell_of(key, 1) == 0


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 100, 256])
def test_hashed_keys_spread_over_any_number_of_parts(parts):
    hashes = np.empty(100 * parts if parts < 50 else 20 * parts, np.int64)
    hash_words(np.arange(len(hashes)), hashes)
    counts = np.zeros(parts, np.int64)
    cells.count_cells(hashes, counts)
    assert counts.sum() == len(hashes)
    share = len(hashes) / parts
    assert counts.min() > share / 5
    assert counts.max() < share * 3


@given(st.lists(keys, max_size=40), st.integers(1, 9))
def test_scattering_is_complete_and_keeps_the_order(drawn, parts):
    hashes = np.array(drawn, np.int64)
    ts = np.arange(len(drawn)) * 10
    rows = np.arange(len(drawn)) + 500
    counts = np.zeros(parts, np.int64)
    cells.count_cells(hashes, counts)
    ends = np.cumsum(counts)
    places = ends - counts
    out = np.full((len(drawn), 3), -7, np.int64)
    cells.scatter_cells(ts, hashes, rows, places, out)
    assert places.tolist() == ends.tolist()
    expected = [
        (t, key, row)
        for part in range(parts)
        for t, key, row in zip(ts.tolist(), drawn, rows.tolist(), strict=True)
        if cells.cell_of(key, parts) == part
    ]
    assert [tuple(record) for record in out.tolist()] == expected
