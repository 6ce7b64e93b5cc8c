"""Streams as tables: shape, size, order, determinism."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.workload import Uniform, pair, standard, stream_table


def test_schema_and_order() -> None:
    table = stream_table(1000, 5, Uniform(7), seed=1, start="2030-05-06", payload="price")
    assert table.schema == pa.schema(
        [("key", pa.int64()), ("time", pa.timestamp("us", tz="UTC")), ("price", pa.float64())]
    )
    micros = table["time"].cast(pa.int64()).to_numpy()
    assert (np.diff(micros) >= 0).all()
    first = pc.min(table["time"]).as_py()
    assert first.isoformat().startswith("2030-05-06T00:00:00")
    assert table.column("key").null_count == 0


def test_same_seed_same_rows() -> None:
    again = [stream_table(200, 5, Uniform(7), seed=2) for _ in range(2)]
    assert again[0].equals(again[1])
    assert not again[0].equals(stream_table(200, 5, Uniform(7), seed=3))


def test_pair_rates_and_independence() -> None:
    a, b = pair(200, 2000, 30, selectivity=0.1, seed=4)
    assert abs(a.num_rows - 6_000) < 5 * np.sqrt(6_000)
    assert abs(b.num_rows - 60_000) < 5 * np.sqrt(60_000)
    assert pc.count_distinct(b["key"]).as_py() == 10
    rows = min(a.num_rows, b.num_rows)
    assert not a["key"].slice(0, rows).equals(b["key"].slice(0, rows))


def results(a: pa.Table, b: pa.Table, window: int) -> int:
    """Pairs of equal keys at most `window` apart, counted with sorted arrays."""
    width = np.int64(10**9)
    start = pc.min(a["time"]).cast(pa.int64()).as_py() - 10**8

    def place(table: pa.Table) -> np.ndarray:
        return table["key"].to_numpy() * width + table["time"].cast(pa.int64()).to_numpy() - start

    ordered = np.sort(place(b))
    first = np.searchsorted(ordered, place(a) - window, side="left")
    last = np.searchsorted(ordered, place(a) + window, side="right")
    return int((last - first).sum())


def test_standard_has_its_size_and_about_1_75_results_a_row() -> None:
    a, b = standard(120_000, seed=5)
    assert a.num_rows == b.num_rows == 120_000
    span = pc.max(a["time"]).as_py() - pc.min(a["time"]).as_py()
    assert 119 < span.total_seconds() < 120
    assert pc.max(a["key"]).as_py() < 30_000
    assert abs(results(a, b, 30_000_000) / 120_000 - 1.75) < 0.03


def test_standard_is_the_same_each_time() -> None:
    first, second = standard(1000), standard(1000)
    assert first[0].equals(second[0])
    assert first[1].equals(second[1])
    assert not first[0].equals(first[1])
