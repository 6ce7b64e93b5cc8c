"""Runs every benchmark, each in a process of its own with a time limit."""

from __future__ import annotations

import subprocess
import sys

#: Module and its limit in seconds.
BENCHMARKS = {
    "standard_join": 240,
    "where_time_goes": 120,
    "state_size": 120,
    "state_growth": 240,
    "punctuations": 240,
    "in_order": 300,
    "many_streams": 240,
    "windowless": 240,
}


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
        return 2
    failed = 0
    for name, limit in BENCHMARKS.items():
        if names and name not in names:
            continue
        try:
            done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], timeout=limit)
            failed += done.returncode != 0
        except subprocess.TimeoutExpired:
            print(f"{name}: stopped after its limit of {limit} s")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
