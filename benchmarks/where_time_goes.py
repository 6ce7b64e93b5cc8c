"""Shares of the standard workload's time, by what is being done."""

from __future__ import annotations

import cProfile
import pstats
from typing import Any

import windrow as wr
from benchmarks.measure import show
from windrow import workload

RUNS = 5
#: What is shown, and the functions whose own time it is (the longest part of file:function).
PARTS = {
    "join kernel: invalidate, probe, insert": ("time_lists.py:join_time_lists",),
    "gathering result columns (Arrow take)": ("compute.py:take",),
    "splitting the batch by cell": ("cells.py:scatter_cells", "cells.py:count_cells"),
    "hashing keys": ("hashing.py:hash_words",),
}


def main() -> None:
    one, two = workload.standard()
    a = wr.stream(one, name="a", key="key", time="time", window="30 seconds")
    b = wr.stream(two, name="b", key="key", time="time", window="30 seconds")
    for _ in range(3):
        wr.join(a, b)
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(RUNS):
        wr.join(a, b)
    profile.disable()
    found: dict[Any, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    own = {f"{file.split('/')[-1]}:{name}": stat[2] for (file, _, name), stat in found.items()}
    total = sum(stat[2] for stat in found.values())
    shares = {part: sum(own.get(name, 0.0) for name in names) for part, names in PARTS.items()}
    shares["all else"] = total - sum(shares.values())
    show(
        "Where the time of the standard workload goes",
        ["", "share"],
        [[part, f"{share / total:.0%}"] for part, share in shares.items()],
        [],
    )


if __name__ == "__main__":
    main()
