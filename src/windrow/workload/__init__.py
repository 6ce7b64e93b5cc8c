"""Seeded streams for tests, experiments and benchmarks: arrivals, keys, disorder.

Everything is drawn with numpy in bulk, and the same seed gives the same rows on every machine
with the same numpy.

>>> from windrow.workload import pair
>>> left, right = pair(100, 1000, 60, selectivity=0.01, seed=1)
>>> left.column_names
['key', 'time', 'v']
"""

from windrow.workload.arrivals import Seed, arrivals
from windrow.workload.auctions import auctions
from windrow.workload.disorder import disorder
from windrow.workload.keys import Keys, Uniform, Zipf, selectivity
from windrow.workload.tables import pair, standard, stream_table

__all__ = [
    "Keys",
    "Seed",
    "Uniform",
    "Zipf",
    "arrivals",
    "auctions",
    "disorder",
    "pair",
    "selectivity",
    "standard",
    "stream_table",
]
