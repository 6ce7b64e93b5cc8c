"""Long runs of shared joins at a constant pace: nothing that they keep or write down grows.

The streams are those of `tests/spark/flat.py`, with late, null-key and silent stretches. Queries
come and go, and of windows of time a budget is at times too small, so that work is suspended.
"""

import json

import pytest

import windrow as wr
from tests.spark.buckets import arenas
from tests.spark.flat import PERIOD, growth, kept_by, kept_in_log, stream_rows, table
from windrow.local.rows import LocalRows
from windrow.local.shared import LocalShared

from .runs import SharedRun
from .test_rows_bucket import RowsRun

#: In process, and in a bucket, where a batch costs ten times as much.
BATCHES, LOGGED = 5_000, 2_000
LATENESS = 1_000
#: Of a query that stays, by kind of window: in µs, or in rows.
STAYS = {"time": 20_000, "rows": 20, "rows per key": 3}
#: When in a period the arena is lost: in the midst of a silent stretch, and between two.
LOST = (45, 95)
SCHEDULES = ("lwo", "swf", "mqt")
CASES = [("time", schedule, streams) for schedule in SCHEDULES for streams in (2, 3)]
CASES += [(kind, "mqt", streams) for kind in ("rows", "rows per key") for streams in (2, 3)]


def rows_of(streams, batches):
    """All rows (key, time, ...) of each stream, and of each batch the rows [start, stop)."""
    made = [stream_rows(number, batches, ending=False) for number in range(streams)]
    stops = [[0, *ends] for _, ends in made]
    ranges = [[(mine[at], mine[at + 1]) for mine in stops] for at in range(batches)]
    return [rows for rows, _ in made], ranges


def budget(kind, batch):
    """How many tuples may be scanned: for a tenth of a period too few."""
    return 3 if kind == "time" and 0 < batch % PERIOD <= PERIOD // 10 else None


def passing(kind, batch):
    """The window of a query that comes with a batch and goes with the next such one, or None."""
    return None if batch % 20 else STAYS[kind] // 2 + (batch // 20) % (STAYS[kind] // 2 + 3)


def reach(kind, window):
    """The largest age, or rank, of a window's results."""
    return window if kind == "time" else window - 1


@pytest.mark.long
@pytest.mark.parametrize(("kind", "schedule", "streams"), CASES)
def test_nothing_grows_in_process(kind, schedule, streams):
    rows, ranges = rows_of(streams, BATCHES)
    sides = [
        wr.stream(table(mine), name=f"s{n}", key="k", time="t", lateness=f"{LATENESS} microseconds")
        for n, mine in enumerate(rows)
    ]
    if kind == "time":
        run = LocalShared(sides, schedule)
        join = run.shared
    else:
        run = LocalRows(sides, "stream" if kind == "rows" else "key", schedule)
        join = run.ranked
    join.add(reach(kind, STAYS[kind]))
    kept, found, suspended, last = [], 0, 0, None
    for batch, part in enumerate(ranges):
        window = passing(kind, batch)
        if window is not None:
            join.add(reach(kind, window))
            if last is not None:
                join.drop(last)
            last = reach(kind, window)
        join.budget = budget(kind, batch)
        found += sum(len(piece) for piece in run.batch(part))
        suspended += join.suspended() > 0
        standing = json.dumps(run.standing())
        kept.append({**kept_by(run), "standing": len(standing), "held": len(run.results)})
    assert found > BATCHES
    assert (suspended > BATCHES // 20) == (kind == "time")
    assert growth(kept) == []


@pytest.mark.long
@pytest.mark.parametrize(("kind", "schedule", "streams"), CASES)
def test_no_log_grows(kind, schedule, streams):
    rows, ranges = rows_of(streams, LOGGED)
    with arenas() as folder:
        options = {"lateness": LATENESS, "folder": folder}
        if kind == "time":
            run = SharedRun(streams, schedule, **options)
        else:
            run = RowsRun(streams, kind, **options)
        run.add("stays", STAYS[kind])
        kept, found, last = [], 0, None
        for batch, part in enumerate(ranges):
            window = passing(kind, batch)
            if window is not None:
                run.add(f"passing {batch}", window)
                if last is not None:
                    run.drop(last)
                last = f"passing {batch}"
            run.limit(budget(kind, batch))
            sliced = [
                [row[:2] for row in mine[a:b]] for mine, (a, b) in zip(rows, part, strict=True)
            ]
            run.batch(sliced, lose=batch % PERIOD in LOST)
            found += sum(len(lines) for lines in run.out)
            run.got.clear()
            run.complete_from.clear()
            deltas = len(run.join.log.directory.deltas)
            kept.append({**kept_by(run.join.pipeline), **kept_in_log(run), "deltas": deltas})
    assert found > LOGGED
    assert growth(kept) == []
