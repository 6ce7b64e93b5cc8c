"""Keys fall into the kernel's own buckets as `spread` promises."""

import numpy as np
import pytest

from windrow.cost.spread import spread
from windrow.kernels.cells import count_cells


def counts(keys: np.ndarray, buckets: int) -> list[int]:
    found = np.zeros(buckets, np.int64)
    count_cells(keys, found)
    return found.tolist()


@pytest.mark.parametrize("distinct", [1, 2, 10, 100, 200, 1000])
def test_even_in_any_number_of_buckets(distinct: int) -> None:
    keys = spread(np.arange(distinct), distinct)
    assert len(set(keys.tolist())) == distinct
    for buckets in (1, 2, 3, 10, 50, 64, 100, 200, 999, 1000, 5000):
        found = counts(keys, buckets)
        assert max(found) - min(found) <= 1
        if buckets >= distinct:
            assert max(found) == 1


def test_variants_share_the_bucket_but_not_the_key() -> None:
    values = np.repeat(np.arange(100), 256)
    keys = spread(values, 100, np.tile(np.arange(256), 100))
    assert len(set(keys.tolist())) == len(keys)
    assert counts(keys, 100) == [256] * 100
    assert set((keys & 0xFF).tolist()) == set(range(100))
