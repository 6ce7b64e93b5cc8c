"""Streams that go on for ever at the same pace, and what a join of them keeps.

A period has late, null-key and silent stretches of each stream:

    batch of the period   0 ........ 40 ...... 46 ....... 52 ......... 60 .. 70 76 82 88 .. 100
    the second stream     as ever       silent    late only   null keys
    the first stream      as ever                                        the same in turn
    a third one           the same in turn from 10 on, then as ever
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

import windrow as wr
from windrow.api import local_join

from .buckets import Run

PERIOD, STEP, START = 100, 1000, 10**12
#: By stream, when in a period it is silent, all late or without keys.
STRETCHES = (
    {"silent": range(70, 76), "late": range(76, 82), "null": range(82, 88)},
    {"silent": range(40, 46), "late": range(46, 52), "null": range(52, 60)},
    {"silent": range(10, 16), "late": range(16, 22), "null": range(22, 30)},
)
#: A key that never ends and a row that stays where a window counts rows.
OPEN = 1_000_003
#: A key is over so many batches after it was first there.
LIFE = 5
#: And so many batches ahead is a stream whose keys are in order.
AHEAD = 50


def mood(stream, batch):
    """What a stream does in a batch."""
    found = [name for name, when in STRETCHES[stream].items() if batch % PERIOD in when]
    return found[0] if found else "as ever"


def plain_rows(stream, batch):
    """Keys that come again and again, some from the first stream alone; one key has one row."""
    own = 100 + batch % 5 if stream == 0 else batch % 11
    keys = [(3 * batch) % 11, (7 * batch + 1) % 11, own]
    return [(key, False) for key in ([OPEN] if batch == 0 else []) + keys]


def ending_rows(stream, batch, since, busy):
    """Keys with a short life, said to be over; `since`: the first batch that nothing is said of.

    The open key has a row at the beginning, or in each batch if it is `busy`.
    """
    alive = [(batch, False), (max(batch - 2, 0), False)]
    stays = [(OPEN, False)] if busy or batch == 0 else []
    return (
        alive + stays + [(key, True) for key in range(since - LIFE, batch + 1 - LIFE) if key >= 0]
    )


def stream_rows(stream, batches, ending, busy=False):
    """All rows (key, time, is it a punctuation), and where each batch ends."""
    rows, stops, said = [], [], 0
    for batch in range(batches):
        now, does = START + batch * STEP, mood(stream, batch)
        if does in ("late", "null"):
            at = now - 50 * STEP if does == "late" else now
            key = None if does == "null" else batch % 11
            rows += [(key, at + 10 * place, False) for place in range(3)]
        elif does == "as ever":
            fresh = ending_rows(stream, batch, said, busy) if ending else plain_rows(stream, batch)
            said = batch + 1
            rows += [(key, now + (300, -300)[at % 2], over) for at, (key, over) in enumerate(fresh)]
        stops.append(len(rows))
    # One more, which is never fed: a table that has ended would free everything.
    rows.append((0, START + batches * STEP, False))
    return rows, stops


def ordered_rows(stream, batches):
    """The same with keys in order, more or less; the first stream is ahead of the others."""
    rows, stops = [], []
    for batch in range(batches):
        now, does = START + batch * STEP, mood(stream, batch)
        if does != "silent":
            at = now - 50 * STEP if does == "late" else now
            first = 3 * (batch + AHEAD * (stream == 0))
            keys = [None if does == "null" else first + place for place in (1, 4, 0)]
            rows += [(key, at + 10 * place, False) for place, key in enumerate(keys)]
        stops.append(len(rows))
    rows.append((0, START + batches * STEP, False))
    return rows, stops


def table(rows):
    return pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.int64()),
            "t": pa.array([row[1] for row in rows], pa.timestamp("us")),
            "over": pa.array([row[2] for row in rows], pa.bool_()),
            "n": pa.array(np.arange(len(rows)) % 7),
        }
    )


def feeds(case, how, batches, streams=2):
    """The plan, and for each batch the rows [start, stop) of each stream."""
    options, choices = case
    ending = "ends" in options
    busy = ending and options.get("window") is not None
    made = [
        ordered_rows(side, batches)
        if "memory" in choices
        else stream_rows(side, batches, ending, busy)
        for side in range(streams)
    ]
    options = {"key": "k", "time": "t", "lateness": "1 millisecond", **options}
    sides = [
        wr.stream(table(rows), name=name, **options)
        for name, (rows, _) in zip("abc", made, strict=False)
    ]
    stops = [[0, *ends] for _, ends in made]
    ranges = [
        [(mine[batch], mine[batch + 1]) for mine in stops] for batch in range(len(stops[0]) - 1)
    ]
    return wr.plan(*sides, how=how, **choices), ranges


# -- what is kept ------------------------------------------------------------------------------


def kept_by(pipeline):
    """Everything that a join holds between two batches, by name."""
    arrays, _ = pipeline.handover()
    found = {}
    if pipeline.plan.finals:
        finals = pipeline.results
        found["partial rows"] = finals.held()
        found["partial batches"] = len(finals.store.firsts)
        found["partial numbers"] = finals.next_row
    found |= {f"array {name}": array.nbytes for name, array in arrays.items()}
    state = pipeline.join.state
    for side in range(state.streams):
        found[f"live rows {side}"] = state.live_rows(side)
        if pipeline.plan.punctuated:
            found[f"flags {side}"] = state.live_flags(side)
            found[f"waiting ends {side}"] = pipeline.gate.ends.held(side)
    return found


def kept_in_log(run):
    """What a bucket has in its log, its directory and beside its join."""
    (store,) = run.stores
    directory = run.join.log.directory
    found = {
        "blobs": len(store.blobs),
        "bytes of blobs": sum(map(len, store.blobs.values())),
        "directory text": len(store.text),
        "partial blobs": len(directory.partials),
        "changes": len(directory.changes),
        "payload chunks": sum(len(payload.chunks) for payload in run.join.log.payloads),
    }
    for side in range(len(directory.next_rows)):
        found[f"chunks {side}"] = len(directory.of(side))
        found[f"rows in chunks {side}"] = sum(entry.rows for entry in directory.of(side))
    for kind in ("matched", "removed", "flags", "taken", "held", "seen"):
        found[f"deltas {kind}"] = sum(delta.kind == kind for delta in directory.deltas)
    return found


def in_process(plan, ranges):
    """Feed the batches in process; how many rows leave, and after each batch what is kept."""
    run = local_join(replace(plan, batch_rows=1))
    rows, kept = 0, []
    for part in ranges:
        rows += sum(batch.num_rows for batch in run.record_batches(run.batch(part)))
        kept.append(kept_by(run))
    return rows, kept


def in_a_bucket(plan, ranges, folder):
    """The same in a bucket; now and then its arena is lost."""
    run = Run(replace(plan, buckets=1), folder)
    data = [stream.data for stream in plan.streams]
    rows, kept = 0, []
    for number, part in enumerate(ranges):
        sliced = [whole.slice(a, b - a) for whole, (a, b) in zip(data, part, strict=True)]
        run.batch(sliced, lose=number % 97 == 96)
        rows += sum(piece.num_rows for piece in run.pieces)
        run.pieces.clear()
        kept.append({**kept_by(run.join.pipeline), **kept_in_log(run)})
    return rows, kept


def growth(kept):
    """What has grown from the first half to the second: name, most then, most now."""
    half, begun = len(kept) // 2, len(kept) // 10
    found = []
    for name in kept[-1]:
        then = max(each.get(name, 0) for each in kept[begun:half])
        now = max(each.get(name, 0) for each in kept[half:])
        # What is merged by eights, or doubles, is a little more now and then.
        if now > 1.25 * then + 8:
            found.append((name, then, now))
    return found
