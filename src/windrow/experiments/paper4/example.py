"""The worked example of Figure 1(C): a8 of S comes three time units late.

S: d2 c4 b6 .. a8 (at 11) a12        a window of 6 time units, a second each here;
T: a1 a5 b9 c10                      a constant time tp to process a tuple
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from windrow import api, planning
from windrow.experiments.frame import Panel, measured, modelled
from windrow.experiments.paper4.common import FAST, NAMES, ORDERS, SLOW, Approach
from windrow.experiments.paper4.driver import ROW_S, ROW_T, Trace, trace
from windrow.experiments.paper4.server import WorkClock, finished
from windrow.model import TimeWindow
from windrow.workload.arrivals import MICROS
from windrow.workload.tables import START, timestamps

#: The tuples of S and of T by name: key and time.
STREAMS = (("d2", "c4", "b6", "a8", "a12"), ("a1", "a5", "b9", "c10"))
LATE = {"a8": 11}
WINDOW = 6
#: The first arrival, from which a trace counts.
FIRST = 1
#: The tuples of the example: name, stream and place in it.
SHOWN = {"a8": (SLOW, 3), "b9": (FAST, 2), "c10": (FAST, 3)}
#: The results, in order.
RESULTS = ("<a8, a5>", "<b6, b9>", "<c4, c10>")
#: A quarter of a time unit.
TP = 0.25


def traced(approach: Approach) -> Trace:
    """Run the example."""
    times = [np.array([int(name[1:]) for name in names]) for names in STREAMS]
    came = [
        np.array([LATE.get(name, int(name[1:])) for name in names]) * MICROS for names in STREAMS
    ]
    origin = int(np.datetime64(START, "us").astype(np.int64))
    streams = [
        api.stream(
            pa.table({"key": [name[0] for name in names], "time": timestamps(ts * MICROS)}),
            name=label,
            key="key",
            time="time",
            window=TimeWindow(WINDOW * MICROS),
        )
        for label, names, ts in zip(NAMES, STREAMS, times, strict=True)
    ]
    plan = planning.plan(*streams, order=ORDERS[approach], algorithm="nested-loops")
    return trace(plan, WorkClock(), [at + origin for at in came])


def delays(steps: Trace, tp: float = TP) -> dict[str, float]:
    """Each tuple's response time, from its arrival."""
    found = steps.responses(WorkClock(tp=tp))
    return {name: round(float(found[side][row]), 9) for name, (side, row) in SHOWN.items()}


def released(steps: Trace, tp: float = TP) -> list[tuple[str, float]]:
    """The results in the order in which they leave, with the times at which they do."""
    over = finished(steps.at, WorkClock(tp=tp).service(steps.work)) + FIRST
    return [
        (f"<{STREAMS[SLOW][row[ROW_S]]}, {STREAMS[FAST][row[ROW_T]]}>", float(over[row[0]]))
        for row in steps.results
    ]


def said(found: dict[str, float]) -> str:
    """Delays in words."""
    return ", ".join(f"{name} {delay:g}" for name, delay in found.items())


def expected(approach: Approach, tp: float = TP) -> dict[str, float]:
    """The rightmost columns of Figures 3 and 4."""
    if approach == "Sync-Filter":
        return {"a8": tp, "b9": 3 + tp, "c10": 2 + 2 * tp}
    return {"a8": tp, "b9": 3.0, "c10": 2.0}


def parameters(tp: float) -> dict[str, Any]:
    """What a result says about the example."""
    return {
        "stream S": list(STREAMS[SLOW]),
        "stream T": list(STREAMS[FAST]),
        "arrival": "at their times, but a8 at 11",
        "window of both streams": WINDOW,
        "tp": tp,
    }


def panel(runs: Mapping[Approach, Trace], tp: float) -> Panel:
    """The delay of each tuple, beside what the paper's table has."""
    times = [int(name[1:]) for name in SHOWN]
    series = [measured(name, times, [*delays(steps, tp).values()]) for name, steps in runs.items()]
    series += [modelled(name, times, [*expected(name, tp).values()]) for name in runs]
    return Panel(
        "counted",
        "time of the tuple (a8, b9, c10)",
        "time units from arrival until done",
        tuple(series),
        f"Work clock, tp = {tp:g} for each tuple",
    )
