"""Buckets of a join that queries share, without Spark: packed by hand, logs in dicts."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

import windrow as wr
from tests.spark.buckets import DictStore, as_packed, logs
from windrow.model import BEGINNING, JoinPlan
from windrow.spark.arena import Arena
from windrow.spark.bucket import Packed
from windrow.spark.pack import Pack
from windrow.spark.queries.bucket import SharedBucket, Sharing
from windrow.spark.queries.catalog import Shape
from windrow.spark.queries.control import CONTROL, Asked, Control

TICK = Packed(CONTROL, None, None, None, 0, 0, place=-1)


def table(rows, first=0):
    """Rows (key, time), numbered."""
    return pa.table(
        {
            "k": pa.array([k for k, _ in rows], pa.int64()),
            "t": pa.array([t for _, t in rows], pa.timestamp("us")),
            "v": pa.array(range(first, first + len(rows)), pa.int64()),
        }
    )


def stream(number, lateness=0, keys="int64"):
    data = table([])
    data = data.set_column(0, "k", data["k"].cast(pa.type_for_alias(keys)))
    return wr.stream(
        data, name=f"s{number}", key="k", time="t", lateness=f"{lateness} microseconds"
    )


def sql(streams, reach, where=""):
    """All numbers of results up to an age."""
    aliases = "ABC"[:streams]
    columns = ", ".join(f"{a}.v AS {a.lower()}" for a in aliases)
    sources = ", ".join(f"s{number} {a}" for number, a in enumerate(aliases))
    keys = " AND ".join(f"A.k = {a}.k" for a in aliases[1:])
    return f"SELECT {columns} FROM {sources} WHERE {keys}{where} WINDOW {reach} microseconds"


class SharedRun:
    """All buckets of one shared join, fed micro-batch by micro-batch, with arenas in a folder."""

    def __init__(self, streams, schedule="mqt", buckets=1, lateness=0, folder=None, keys="int64"):
        self.streams = [stream(number, lateness, keys) for number in range(streams)]
        plan = JoinPlan(streams=tuple(self.streams), schedule=schedule)
        self.plan = replace(plan, streams=tuple(replace(s, data=None) for s in plan.streams))
        self.sharing = Sharing(Shape(self.plan.streams, closed=True), tuple(range(streams)))
        self.keys = pa.type_for_alias(keys)
        self.packs = [
            Pack(s, side, tuple(range(buckets))) for side, s in enumerate(self.plan.streams)
        ]
        self.stores = [DictStore() for _ in range(buckets)]
        self.folder = folder
        self.version = 0
        self.queries = {}
        self.next_id = 0
        self.budget = None
        self.changed = False
        self.rows = [0] * streams
        #: By query's name and bucket: the rows that it got, in order; and since when it has all.
        self.got = {}
        self.complete_from = {}
        #: The bucket that was last fed.
        self.join = None
        self.notes = []
        self.hits = []
        self.suspended = [0] * buckets
        #: What the last micro-batch wrote, and the same as it reaches the aggregates.
        self.out = []
        self.written = []

    # -- what is asked ---------------------------------------------------------------------

    def add(self, name, reach, where=""):
        self.queries[name] = Asked(self.next_id, name, sql(len(self.packs), reach, where))
        self.next_id += 1
        self.changed = True

    def drop(self, name):
        del self.queries[name]
        self.changed = True

    def limit(self, budget):
        self.changed |= budget != self.budget
        self.budget = budget

    def control(self):
        """What is asked now, if it has changed."""
        if not self.changed:
            return []
        self.changed = False
        self.version += 1
        text = Control(self.version, tuple(self.queries.values()), self.budget).to_text()
        return [Packed(CONTROL, text.encode(), None, None, 0, 0, place=self.version)]

    # -- micro-batches ---------------------------------------------------------------------

    def batch(self, rows, lose=False):
        """Rows (key, time) of each stream, and what is asked since the last micro-batch."""
        asked = self.control()
        packed = [list(asked) for _ in self.stores]
        for number, (pack, mine) in enumerate(zip(self.packs, rows, strict=True)):
            if mine:
                found = table(mine, self.rows[number])
                found = found.set_column(0, "k", found["k"].cast(self.keys))
                self.rows[number] += len(mine)
                for row in pack.pack(found.to_batches()).to_pylist():
                    packed[row.pop("bucket")].append(as_packed(row))
        self.feed(packed, lose)

    def feed(self, packed, lose=False):
        self.written = []
        self.out = [self.one(b, packed[b] or [TICK], lose) for b in range(len(self.stores))]

    def one(self, bucket, packed, lose=False):
        arena = Arena.enter(self.folder, str(bucket)) if self.folder and not lose else None
        try:
            join = SharedBucket.open(self.plan, len(self.stores), self.stores[bucket], arena)
            join.share(self.sharing)
            self.join = join
            for query in self.queries.values():
                reach = self.sharing.shape.compiled(query).reach(True)
                since = join.join.complete_from(reach)
                self.complete_from.setdefault((query.name, bucket), since)
            written = [
                (join.pipeline.record_batch(each.piece), each) for each in join.serve(packed)
            ]
            self.hits.append(join.hit)
            self.suspended[bucket] = join.join.suspended()
            note = join.note(bucket)
            if note is not None:
                self.notes.append(note)
                self.written.append(self._reaching([None] * len(self.packs), [note.to_text()]))
        finally:
            if arena is not None:
                arena.leave()
        return [line for batch, each in written for line in self._take(bucket, batch, each)]

    def _take(self, bucket, batch, each):
        """Give queries what was written for them."""
        columns = [batch.column(f"s{s}").field("v").to_pylist() for s in range(len(self.packs))]
        structs = [batch.column(f"s{s}") for s in range(len(self.packs))]
        self.written.append(self._reaching([*structs, batch["ts"], each.age, each.aggregates]))
        ids = each.queries.to_pylist(), each.aggregates.to_pylist()
        lines = list(zip(*columns, each.age.tolist(), *ids, strict=True))
        for *rows, _, plain, aggregated in lines:
            assert plain or aggregated, "a row that no query wants"
            for id in [*(plain or ()), *(aggregated or ())]:
                self.got.setdefault((id, bucket), []).append(tuple(rows))
        return lines

    def _reaching(self, columns, notes=()):
        """A batch as `gathered` gets it."""
        fields = [
            *((f"c_{n}", pa.struct(s.schema)) for n, s in enumerate(self.plan.streams)),
            ("ts", pa.timestamp("us")),
            ("age", pa.int64()),
            ("aggregates", pa.list_(pa.int32())),
            ("note", pa.string()),
        ]
        length = len(notes) or len(columns[-1])
        kinds = [kind for _, kind in fields[:-1]]
        columns = [*columns, *([None] * (len(kinds) - len(columns)))]
        columns = [
            pa.nulls(length, kind) if column is None else pa.array(column, kind)
            for column, kind in zip(columns, kinds, strict=True)
        ]
        said = pa.array(notes, pa.string()) if notes else pa.nulls(length, pa.string())
        return pa.RecordBatch.from_arrays([*columns, said], schema=pa.schema(fields))

    def finish(self):
        """Serve what is suspended."""
        self.limit(None)
        self.batch([[] for _ in self.packs])
        assert not any(self.suspended)

    def attempt(self):
        """Another one at what comes next, from the log alone."""
        other = SharedRun.__new__(SharedRun)
        other.__dict__ |= {
            **self.__dict__,
            "folder": None,
            "stores": [DictStore() for _ in self.stores],
            "got": {},
            "written": [],
            "notes": [],
            "hits": [],
            "rows": list(self.rows),
            "suspended": list(self.suspended),
            "complete_from": dict(self.complete_from),
        }
        for mine, its in zip(other.stores, self.stores, strict=True):
            mine.blobs, mine.text = dict(its.blobs), its.text
        return other


def assert_same(one, two):
    """Two attempts at a micro-batch: they have written the same, and left the same log."""
    assert one.out == two.out
    assert one.notes[-len(two.notes) :] == two.notes if two.notes else True
    assert logs(one) == logs(two)


NEVER = BEGINNING
