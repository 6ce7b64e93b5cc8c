"""The demo's data keeps its promises."""

import numpy as np
import pyarrow as pa
import pytest

from windrow.model import WindrowError
from windrow.workload import auctions

TIME = pa.timestamp("us", tz="UTC")


def micros(table: pa.Table, column: str) -> np.ndarray:
    return table[column].cast(pa.int64()).to_numpy()


def test_schemas() -> None:
    opened, bids = auctions(50, seed=1)
    assert opened.schema == pa.schema(
        [
            ("auction_id", pa.int64()),
            ("seller", pa.string()),
            ("opened_at", TIME),
            ("reserve", pa.float64()),
        ]
    )
    assert bids.schema == pa.schema(
        [
            ("auction_id", pa.int64()),
            ("bidder", pa.string()),
            ("price", pa.float64()),
            ("bid_at", TIME),
        ]
    )


def test_bids_follow_the_opening_within_ten_minutes() -> None:
    opened, bids = auctions(2000, seed=2)
    after = micros(bids, "bid_at") - micros(opened, "opened_at")[bids["auction_id"].to_numpy()]
    assert (after >= 0).all()
    assert (after <= 600_000_000).all()
    assert (np.diff(micros(bids, "bid_at")) >= 0).all()


def test_some_auctions_are_hot_and_some_get_no_bid() -> None:
    _, bids = auctions(2000, seed=3)
    bids_of = np.sort(np.bincount(bids["auction_id"].to_numpy(), minlength=2000))
    assert (bids_of == 0).mean() >= 0.2
    assert bids_of[-20:].sum() > 0.2 * bids_of.sum()


def test_prices_rise_during_an_auction() -> None:
    opened, bids = auctions(500, seed=4)
    ids, prices = bids["auction_id"].to_numpy(), bids["price"].to_numpy()
    by_auction = np.argsort(ids, kind="stable")
    same = np.diff(ids[by_auction]) == 0
    assert (np.diff(prices[by_auction])[same] >= 0).all()
    above = prices >= opened["reserve"].to_numpy()[ids]
    assert 0.1 < above.mean() < 0.95


@pytest.mark.parametrize("n", [1, 2, 7])
def test_small_ones(n: int) -> None:
    opened, bids = auctions(n)
    assert opened.num_rows == n
    assert bids.num_rows == 5 * n


def test_same_seed_same_auctions() -> None:
    assert all(x.equals(y) for x, y in zip(auctions(100, 9), auctions(100, 9), strict=True))
    with pytest.raises(WindrowError, match="0 auctions"):
        auctions(0)
