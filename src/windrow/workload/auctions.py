"""Auctions and their bids: the data of the demo."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.model import WindrowError
from windrow.workload.arrivals import MICROS, Seed
from windrow.workload.keys import Zipf
from windrow.workload.tables import timestamps

SECONDS_BETWEEN_AUCTIONS = 1.0
BIDDING_SECONDS = 600.0
MEAN_BID_DELAY = 150.0
BIDS_PER_AUCTION = 5
SHARE_WITHOUT_BIDS = 0.2
HEAT = 0.9
#: Auctions that close: how far apart they open, how long they are open on average and at most.
SECONDS_BETWEEN_OPENINGS = 5.0
OPEN_SECONDS = 5_400.0
MOST_OPEN_SECONDS = 86_400.0


def auctions(n: int = 10_000, seed: Seed = 0) -> tuple[pa.Table, pa.Table]:
    """`n` auctions, one a second on average, and five times as many bids.

    Tables
    ------
    auctions
        auction_id (int64), seller (string), opened_at, reserve (double).
    bids
        auction_id, bidder (string), price (double), bid_at; in time order.

    Every bid comes within ten minutes after its auction opened. At least a fifth of the auctions
    get none; how many the others get is Zipf, so a few are hot. Prices rise during an auction, most
    often from below the reserve.

    >>> opened, bids = auctions(100, seed=1)
    >>> opened.column_names, bids.column_names
    (['auction_id', 'seller', 'opened_at', 'reserve'],
     ['auction_id', 'bidder', 'price', 'bid_at'])
    >>> bids.num_rows
    500
    """
    if n < 1:
        raise WindrowError(f"{n!r} auctions asked for; give 1 or more")
    rng = np.random.default_rng(seed)
    opened = np.cumsum(rng.exponential(SECONDS_BETWEEN_AUCTIONS * MICROS, n)).astype(np.int64)
    reserve = rng.lognormal(4.0, 0.8, n).round(2)
    auctions_table = pa.table(
        {
            "auction_id": pa.array(np.arange(n, dtype=np.int64)),
            "seller": _names("seller", max(1, n // 20), n, rng),
            "opened_at": timestamps(opened),
            "reserve": pa.array(reserve),
        }
    )
    return auctions_table, _bids(opened, reserve, rng)


def closing_auctions(n: int = 10_000, seed: Seed = 0) -> tuple[pa.Table, pa.Table]:
    """`n` auctions that open and close, and a stream of bids that says when one is over.

    Tables
    ------
    auctions
        auction_id (int64), seller (string), opened_at.
    bids
        auction_id, bidder (string), price (double), bid_at, closed (bool); in time order. A row
        with `closed` is no bid: it says that its auction takes no more.

    An auction opens every five seconds on average and is open for an hour and a half on average, at
    most for a day; bids come at any time while it is. A fifth get none.

    >>> opened, bids = closing_auctions(100, seed=1)
    >>> bids.num_rows, bids.column("closed").to_pylist().count(True)
    (600, 100)
    """
    if n < 1:
        raise WindrowError(f"{n!r} auctions asked for; give 1 or more")
    rng = np.random.default_rng(seed)
    opened = np.cumsum(rng.exponential(SECONDS_BETWEEN_OPENINGS * MICROS, n)).astype(np.int64)
    lasts = np.minimum(rng.exponential(OPEN_SECONDS, n), MOST_OPEN_SECONDS) * MICROS
    closes = opened + np.maximum(lasts.astype(np.int64), 1)
    auctions_table = pa.table(
        {
            "auction_id": pa.array(np.arange(n, dtype=np.int64)),
            "seller": _names("seller", max(1, n // 20), n, rng),
            "opened_at": timestamps(opened),
        }
    )
    count = n * BIDS_PER_AUCTION
    bidding = rng.permutation(n)[: max(1, round(n * (1 - SHARE_WITHOUT_BIDS)))]
    auction = bidding[rng.integers(0, len(bidding), count)]
    at = opened[auction] + (rng.random(count) * (closes - opened)[auction]).astype(np.int64)
    whole = np.concatenate([auction, np.arange(n, dtype=np.int64)])
    times = np.concatenate([at, closes])
    closed = np.arange(len(whole)) >= count
    order = np.argsort(times, kind="stable")
    bidder = _names("bidder", max(2, n // 2), count, rng)
    no_bidder = pa.nulls(n, bidder.type)
    price = np.round(rng.lognormal(4.0, 0.8, count), 2)
    bids_table = pa.table(
        {
            "auction_id": pa.array(whole),
            "bidder": pa.concat_arrays([bidder, no_bidder]),
            "price": pa.concat_arrays([pa.array(price), pa.nulls(n, pa.float64())]),
            "bid_at": timestamps(times),
            "closed": pa.array(closed),
        }
    )
    return auctions_table, bids_table.take(pa.array(order))


def _bids(
    opened: npt.NDArray[np.int64], reserve: npt.NDArray[np.float64], rng: np.random.Generator
) -> pa.Table:
    n = len(opened)
    count = n * BIDS_PER_AUCTION
    bidding = rng.permutation(n)[: max(1, round(n * (1 - SHARE_WITHOUT_BIDS)))]
    auction = bidding[Zipf(len(bidding), HEAT).draw(count, rng)]
    at = opened[auction] + _delays(count, rng)

    by_auction = np.lexsort((at, auction))
    auction, at = auction[by_auction], at[by_auction]
    price = np.round(reserve[auction] * (0.7 + 0.3 * np.log1p(_climb(auction, rng))), 2)

    by_time = np.argsort(at, kind="stable")
    return pa.table(
        {
            "auction_id": pa.array(auction[by_time]),
            "bidder": _names("bidder", max(2, n // 2), count, rng),
            "price": pa.array(price[by_time]),
            "bid_at": timestamps(at[by_time]),
        }
    )


def _delays(count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Exponential delays cut off at the end of the bidding: most bids come early."""
    within = -math.expm1(-BIDDING_SECONDS / MEAN_BID_DELAY)
    seconds = -MEAN_BID_DELAY * np.log1p(-within * rng.random(count))
    return np.asarray(seconds * MICROS, dtype=np.int64)


def _climb(auction: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Running sums of random steps that start again at each auction; `auction` is sorted."""
    steps = np.cumsum(rng.exponential(1.0, len(auction)))
    first = np.searchsorted(auction, auction, side="left")
    before = np.where(first > 0, steps[first - 1], 0.0)
    return steps - before


def _names(kind: str, distinct: int, count: int, rng: np.random.Generator) -> pa.Array:
    names = pa.array([f"{kind}-{i:04d}" for i in range(distinct)])
    return names.take(pa.array(rng.integers(0, distinct, count)))
