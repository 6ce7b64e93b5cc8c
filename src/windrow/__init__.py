"""Window joins of data streams: exact, fast, with less state.

>>> import windrow as wr
>>> import pyarrow as pa, datetime as dt
>>> at = lambda minute: dt.datetime(2026, 1, 1, 12, minute)
>>> shown = pa.table({"ad": [1, 2], "at": [at(0), at(1)]})
>>> clicks = pa.table({"ad": [1, 1], "at": [at(3), at(9)]})
>>> imp = wr.stream(shown, name="imp", key="ad", time="at", window="5 minutes")
>>> clk = wr.stream(clicks, name="clk", key="ad", time="at", window="0 seconds")
>>> wr.join(imp, clk, how="left").num_rows
2
"""

from windrow.api import check, configure, explain, join, metrics, ordered, rows, stream
from windrow.continuous import ContinuousQueries
from windrow.model import CountWindow, JoinPlan, Metrics, Stream, TimeWindow, WindrowError
from windrow.planning import plan
from windrow.remembering import data

__all__ = [
    "ContinuousQueries",
    "CountWindow",
    "JoinPlan",
    "Metrics",
    "Stream",
    "TimeWindow",
    "WindrowError",
    "check",
    "configure",
    "data",
    "explain",
    "join",
    "metrics",
    "ordered",
    "plan",
    "rows",
    "stream",
]
