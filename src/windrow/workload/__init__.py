"""Seeded streams for tests, experiments and benchmarks: arrivals, keys, punctuations, disorder,
and keys that are ordered in the long run.

Everything is drawn with numpy in bulk, and the same seed gives the same rows on every machine
with the same numpy.

>>> from windrow.workload import pair
>>> left, right = pair(100, 1000, 60, selectivity=0.01, seed=1)
>>> left.column_names
['key', 'time', 'v']
"""

from windrow.workload.arrivals import Seed, arrivals
from windrow.workload.auctions import auctions, closing_auctions
from windrow.workload.bursts import bursts
from windrow.workload.disorder import disorder
from windrow.workload.epochs import BURST, CONGESTION, Change, epochs, query_1
from windrow.workload.keys import Keys, Uniform, Zipf, selectivity
from windrow.workload.punctuations import Pattern, punctuated
from windrow.workload.tables import pair, standard, stream_table

__all__ = [
    "BURST",
    "CONGESTION",
    "Change",
    "Keys",
    "Pattern",
    "Seed",
    "Uniform",
    "Zipf",
    "arrivals",
    "auctions",
    "bursts",
    "closing_auctions",
    "disorder",
    "epochs",
    "pair",
    "punctuated",
    "query_1",
    "selectivity",
    "standard",
    "stream_table",
]
