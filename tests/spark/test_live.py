"""The live view: what it shows of a query, and the demo that runs under it."""

import datetime as dt
import io
from dataclasses import replace

import pytest
from rich.console import Console

from windrow.demo import on_spark
from windrow.model import BatchMetrics
from windrow.spark.tools import live

START = dt.datetime(2026, 1, 1, 23, 30, tzinfo=dt.UTC)
PAIR = {"auc": 1234, "bid": 5678}
BATCH = BatchMetrics(
    batch=3,
    streams=("auc", "bid"),
    rows=PAIR,
    tuples=PAIR,
    late=PAIR,
    bad=PAIR,
    beats=PAIR,
    punctuations=PAIR,
    violations=PAIR,
    matches=77_000,
    unmatched=555,
    ended=5,
    finals=5,
    partials=2,
    live_rows={"auc": 10, "bid": 2_000},
    live_bytes=PAIR,
    allocated_bytes=64_000,
    flags=PAIR,
    probes=PAIR,
    found=PAIR,
    progress={"auc": START, "bid": START + dt.timedelta(minutes=6)},
    lag={"auc": dt.timedelta(minutes=6, microseconds=5), "bid": dt.timedelta()},
    trigger=None,
    waiting=PAIR,
    waiting_bytes=PAIR,
    peak_waiting=PAIR,
    held=0,
    held_bytes=0,
    peak_held=0,
    switches=0,
    suspended=0,
    memory=PAIR,
    forced=PAIR,
    broken=PAIR,
    produced=3,
    producible=4,
    arena_hits=3,
    arena_rebuilds=1,
    pack_seconds=1.0,
    join_seconds=1.0,
    unpack_seconds=1.0,
)


def shown(*found, took=None, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(live.view(found, took or {}))
    return console.file.getvalue().splitlines()


def test_a_micro_batch_is_a_line_of_80_characters():
    heading, below, line = shown(BATCH, took={3: 1.25})
    assert heading.split() == [
        *("rows", "in", "matches", "unmatched", "live", "rows", "progress", "lag", "arena", "time")
    ]
    assert below.split() == ["batch", "auc/bid", "auc/bid", "slowest", "hits"]
    assert line.split() == [
        *("3", "1,234/5,678", "77,000", "555", "10/2,000", "23:30:00", "0:06:00"),
        *("3", "of", "4", "1.2", "s"),
    ]


def test_what_is_not_known_yet():
    begun = {"auc": START, "bid": None}
    behind = {"auc": dt.timedelta(), "bid": None}
    first = replace(BATCH, progress=begun, lag=behind, arena_hits=0, arena_rebuilds=0)
    assert shown(first)[-1].split()[-4:] == ["-", "-", "new", "..."]
    assert len(shown()) == 2


def test_several_joins_are_named_and_days_told_apart():
    later = {name: START + dt.timedelta(days=2) for name in PAIR}
    other = replace(BATCH, streams=("[bold]", "c"), progress=later)
    lines = shown(BATCH, other, width=120)
    assert lines[1].split()[:2] == ["batch", "join"]
    assert [line.split()[1] for line in lines[2:]] == ["auc/bid", "[bold]/c"]
    assert ["01-01 23:30:00" in lines[2], "01-03 23:30:00" in lines[3]] == [True, True]


def test_only_the_last_micro_batches_are_shown():
    lines = shown(*(replace(BATCH, batch=n) for n in range(50)))
    assert [int(line.split()[0]) for line in lines[2:]] == list(range(50 - live.SHOWN, 50))


def test_the_summary_adds_up():
    assert live.summary([BATCH, replace(BATCH, batch=4)]) == (
        "2 micro-batches: 13,824 rows in, 154,000 matches, 1,110 unmatched; at most 2,010 rows "
        "kept from one to the next."
    )
    assert live.summary([]) == "No figures of a join."


def test_the_demo_in_a_terminal(spark):
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    assert on_spark.run(400, batches=2, spark=spark, console=console)
    seen = console.file.getvalue()
    assert "auctions and their bids" in seen, "the query's name"
    assert seen.count("progress") > 2, "one frame after the other"
    last = seen[seen.rindex("progress") :]
    assert last.count("200/1,000") == 2
    assert "..." not in last, "every micro-batch has its time in the end"
    assert "2 micro-batches: " in last
    assert "auctions without a bid" in last
    assert "The same rows as DuckDB's range join." in last


def test_no_terminal_no_view(spark):
    frame = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    query = frame.writeStream.format("noop").trigger(availableNow=True).start()
    console = Console(file=io.StringIO())
    live.watch(query, console)
    assert not query.isActive
    assert console.file.getvalue() == "No figures of a join.\n"


def test_a_query_that_fails_raises(spark):
    failing = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 5)
        .load()
        .selectExpr("raise_error('no such row') AS x")
    )
    query = failing.writeStream.format("noop").start()
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with pytest.raises(Exception, match="no such row"):
        live.watch(query, console)
