"""What scanning, inserting and invalidating a tuple cost on this machine, per access path.

Three steady runs of the real operator and one burst give an access path's constants:

    few comparisons      seconds = tuples (C_insert + C_invalidate) + comparisons C_scan
    many comparisons     the same with more comparisons: the difference is C_scan
    many results         the same with pairs that match: the difference is the result's cost
    a burst              a full state that one step of progress empties: C_invalidate

Every run is repeated and the fastest counts: noise only ever adds.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from windrow.cost.paper1 import Constants
from windrow.cost.spread import spread
from windrow.model import BEGINNING, Invalidation
from windrow.operators.arrivals import Arrivals
from windrow.operators.gate import Passed
from windrow.operators.join.window import JoinConfig, WindowJoin
from windrow.operators.retention import within
from windrow.state.join_state import Layout, Structure
from windrow.workload.arrivals import MICROS, arrivals

__all__ = ["REFERENCE", "AccessPath", "Constants", "calibrate", "constants"]

AccessPath = Literal["nested-loops", "hash", "buckets"]

#: Raised whenever what the file means changes; another version's is measured anew.
FORMAT = 1
#: No constant is free; noise must not make one so.
LEAST = 1e-10


@dataclass(frozen=True)
class Trial:
    """A steady run: both streams alike, `tuples` a second of each, `live` of them in the window.

    A probe meets about `live / values` tuples in its bucket or chain. Their keys differ, so
    there is next to nothing to hand over, unless `matching`.
    """

    tuples: int
    live: int
    values: int = 1
    matching: bool = False


@dataclass(frozen=True)
class Method:
    """How an access path is built and which runs tell its constants."""

    structure: Structure
    parts: int
    invalidation: Invalidation
    few: Trial
    many: Trial

    @property
    def matching(self) -> Trial:
        """The run with many comparisons, now with results, so of a smaller state."""
        return replace(self.many, live=self.many.live // 2, matching=True)


#: The windows keep the state in the cache, as the optimizer's choice of cells does.
METHODS: dict[AccessPath, Method] = {
    "nested-loops": Method(
        "buckets", 1, "time-list",
        few=Trial(20_000, live=4), many=Trial(1_500, live=1_000),
    ),
    "hash": Method(
        "time-list", 8, "time-list",
        few=Trial(20_000, live=8_000, values=8_000), many=Trial(15_000, live=8_000, values=320),
    ),
    "buckets": Method(
        "buckets", 100, "probe-insert",
        few=Trial(20_000, live=400, values=100), many=Trial(20_000, live=4_000, values=100),
    ),
}  # fmt: skip

#: Medians of five runs on an AMD EPYC (2 cores, 512 kB of L2 each), rounded, of
#: python -c "from windrow.cost.calibrate import calibrate; print(calibrate(repeats=15))"
REFERENCE: dict[AccessPath, Constants] = {
    "nested-loops": Constants(scan=2.7e-9, insert=66e-9, invalidate=5.9e-9, result=5.3e-9),
    "hash": Constants(scan=9.7e-9, insert=80e-9, invalidate=5.6e-9, result=5.5e-9),
    "buckets": Constants(scan=3.3e-9, insert=67e-9, invalidate=6.9e-9, result=5.8e-9),
}


def constants() -> dict[AccessPath, Constants]:
    """The constants to decide by: those last saved on this machine, else `REFERENCE`."""
    return _saved() or dict(REFERENCE)


def calibrate(*, save: bool = False, repeats: int = 5) -> dict[AccessPath, Constants]:
    """Measure the constants of every access path; takes well under a second once compiled.

    With `save`, `constants` and so `algorithm="auto"` use them from now on.
    """
    found = {path: _measure(method, repeats) for path, method in METHODS.items()}
    if save:
        _save(found)
    return found


# -- measuring -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timing:
    """What a run took and did."""

    seconds: float
    tuples: int
    comparisons: int
    results: int


def _measure(method: Method, repeats: int) -> Constants:
    few, many, matching = (
        _steady(method, trial, repeats) for trial in (method.few, method.many, method.matching)
    )
    invalidate = max(_burst(method, repeats), LEAST)
    # Two equations, two unknowns: the price of a comparison, and of a tuple that comes and goes.
    prices = np.linalg.solve(
        [[few.tuples, few.comparisons], [many.tuples, many.comparisons]],
        [few.seconds, many.seconds],
    )
    tuple_price, scan = float(prices[0]), max(float(prices[1]), LEAST)
    rest = matching.seconds - matching.tuples * tuple_price - matching.comparisons * scan
    return Constants(
        scan=scan,
        insert=max(tuple_price - invalidate, LEAST),
        invalidate=invalidate,
        result=max(rest / max(matching.results, 1), LEAST),
    )


def _steady(method: Method, trial: Trial, repeats: int) -> Timing:
    """Fill the windows, then time a second of stream."""
    seconds = trial.live / trial.tuples
    window, end = round(seconds * MICROS), round((seconds + 1) * MICROS)
    streams = [_stream(trial, seconds + 1, side) for side in range(2)]
    cut = [int(np.searchsorted(stream.ts, window)) for stream in streams]
    first = [stream.part(0, at) for stream, at in zip(streams, cut, strict=True)]
    rest = [stream.part(at, len(stream.ts)) for stream, at in zip(streams, cut, strict=True)]
    timings = []
    for _ in range(repeats):
        join = _join(method, window, 2 * trial.live)
        _feed(join, first, BEGINNING, window)
        before, matches = join.looked_at()[0], join.matches
        took = _feed(join, rest, window, end)
        tuples = sum(len(part.ts) for part in rest)
        timings.append(Timing(took, tuples, join.looked_at()[0] - before, join.matches - matches))
    return min(timings, key=lambda timing: timing.seconds)


def _burst(method: Method, repeats: int) -> float:
    """Seconds a tuple, when one step of progress empties a full state."""
    trial = replace(method.many, tuples=20_000)
    stream = _stream(trial, seconds=1, side=0)
    nothing = Arrivals.empty()
    took = []
    for _ in range(repeats):
        join = _join(method, MICROS, trial.tuples)
        _feed(join, [stream, nothing], BEGINNING, BEGINNING)
        # Only "all" sweeps buckets that are not probed; the step that drops a tuple is the same.
        join.invalidate("all")
        took.append(_feed(join, [nothing, nothing], BEGINNING, 3 * MICROS) / len(stream.ts))
    return min(took)


def _join(method: Method, reach: int, expected: int) -> WindowJoin:
    config = JoinConfig("inner", within((reach, reach)), (False, False), method.invalidation)
    return WindowJoin(config, Layout(2, method.structure, method.parts, expected)).begin()


def _feed(join: WindowJoin, batch: list[Arrivals], before: int, after: int) -> float:
    """Seconds for a batch, both streams' progress going from `before` to `after`."""
    started = time.perf_counter()
    for _ in join.process(Passed(batch, (before, before), (after, after))):
        pass
    return time.perf_counter() - started


def _stream(trial: Trial, seconds: float, side: int) -> Arrivals:
    rng = np.random.default_rng(side)
    ts = arrivals(trial.tuples, seconds, seed=rng)
    values = rng.integers(0, trial.values, len(ts), dtype=np.int64)
    # The two streams take their variants from different halves, so that no keys are equal.
    variants = rng.integers(128 * side, 128 * (side + 1), len(ts), dtype=np.int64)
    keys = spread(values, trial.values, None if trial.matching else variants)
    return Arrivals(ts, keys, np.arange(len(ts)))


# -- keeping ---------------------------------------------------------------------------------


def cost_file() -> Path:
    """Where a calibration is kept."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG rules: a relative path there is to be ignored.
    home = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
    return home / "windrow" / "costs.json"


def _save(found: Mapping[AccessPath, Constants]) -> None:
    """Write it beside its place first: a reader sees the old file or the new one."""
    path = cost_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"format": FORMAT, "paths": {name: asdict(c) for name, c in found.items()}}
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2)
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise


def _saved() -> dict[AccessPath, Constants] | None:
    """The saved constants; None if there are none, or if the file is not what we wrote."""
    try:
        content = json.loads(cost_file().read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            return None
        found = {path: Constants(**content["paths"][path]) for path in METHODS}
        sound = all(_sound(price) for c in found.values() for price in asdict(c).values())
    except (OSError, RuntimeError, ValueError, TypeError, KeyError):
        return None
    return found if sound else None


def _sound(price: object) -> bool:
    """A price in seconds: some nanoseconds, surely less than a millisecond."""
    return isinstance(price, float) and math.isfinite(price) and 0 < price < 1e-3
