"""A bucket of a join that windows of rows share, without Spark: any batches, any loss."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests.spark.buckets import arenas
from windrow.spark.log.directory import Directory
from windrow.spark.queries import engine
from windrow.spark.queries.control import Asked
from windrow.testing.queries_oracle import Asked as Question
from windrow.testing.queries_oracle import duckdb_select

from .runs import SharedRun, assert_same, sql, table

#: Times that no drawn row reaches, under keys of their own: they let all that waits pass.
LAST = 1_000_000


class RowsRun(SharedRun):
    """The same with windows of rows."""

    def __init__(self, streams, kind, **options):
        super().__init__(streams, **options)
        self.kind = kind
        self.ids = {}
        self.plan = engine.plan_of(self.plan.streams, range(streams), "mqt", kind)

    def add(self, name, n):
        window = f"WINDOW {n} ROWS" + " PER KEY" * (self.kind != "rows")
        text = sql(len(self.packs), 1).replace("WINDOW 1 microseconds", window)
        self.queries[name] = Asked(self.next_id, name, text)
        self.ids[name] = self.next_id
        self.next_id += 1
        self.changed = True

    def attempt(self):
        other = super().attempt()
        other.__class__ = RowsRun
        return other


@st.composite
def batches(draw, streams):
    """As many rows of each stream in each batch, in the order of time, and what comes and goes."""
    size = draw(st.integers(1, 4))
    at = [0] * streams
    made = []
    for _ in range(draw(st.integers(1, 5))):
        rows = []
        for stream in range(streams):
            mine = []
            for _ in range(size):
                at[stream] += draw(st.sampled_from([0, 0, 1, 3, 9]))
                mine.append((draw(st.sampled_from([1, 1, 1, 2, None])), at[stream]))
            rows.append(mine)
        made.append(rows)
    return size, made


def answers(streams, made, window, **batches):
    """What DuckDB says: the numbers of the rows of each result, in order."""
    rows = [[row for batch in made for row in batch[stream]] for stream in range(streams)]
    given_ = tuple(
        wr.stream(table(mine), name=f"s{n}", key="k", time="t") for n, mine in enumerate(rows)
    )
    names = tuple("ABC"[:streams])
    select = tuple(f"{name}.v" for name in names)
    found = duckdb_select(Question(given_, names, 0, select=select, rows=window, **batches))
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


@pytest.mark.parametrize("kind", ["rows", "rows per key"])
@pytest.mark.parametrize("streams", [2, 3])
@settings(max_examples=25)
@given(data=st.data())
def test_any_loss_gives_each_query_its_own_rows(streams, kind, data):
    size, made = data.draw(batches(streams))
    losses = data.draw(st.sets(st.integers(0, 5)))
    numbers = st.integers(0, len(made) - 1)
    further = st.tuples(st.sampled_from([1, 2, 3]), numbers, numbers)
    others = data.draw(st.lists(further, max_size=3))
    asked = [(5, 0, 2**62), *((n, min(a, b), max(a, b)) for n, a, b in others)]
    with arenas() as folder:
        run = RowsRun(streams, kind, folder=folder)
        for number, rows in enumerate(made):
            for name, (n, added, dropped) in enumerate(asked):
                if added == number:
                    run.add(str(name), n)
                if dropped == number:
                    run.drop(str(name))
            run.batch(rows, lose=number in losses)
        run.batch([[(100 + stream, LAST)] for stream in range(streams)])
    for name, (n, added, dropped) in enumerate(asked):
        window = n, "stream" if kind == "rows" else "key"
        expected = answers(streams, made, window, batch_rows=size, batches=(added, dropped))
        assert run.got.get((run.ids[str(name)], 0), []) == expected


@pytest.mark.parametrize("kind", ["rows", "rows per key"])
@pytest.mark.parametrize("streams", [2, 3])
@settings(max_examples=25)
@given(data=st.data())
def test_two_attempts_write_the_same(streams, kind, data):
    """Also where a window comes that is larger than all before."""
    _, made = data.draw(batches(streams))
    with arenas() as folder:
        run = RowsRun(streams, kind, folder=folder)
        for number, rows in enumerate(made):
            run.add(str(number), data.draw(st.integers(1, 5)))
            if number and data.draw(st.booleans()):
                run.drop(str(number - 1))
            attempt = run.attempt()
            run.batch(rows)
            attempt.batch(rows)
            assert_same(run, attempt)
    assert run.hits == [None] + [True] * (len(run.hits) - 1)


def test_a_log_that_is_written_anew_keeps_what_queries_get():
    """A rare key's row holds its chunk, so the log is written anew, and rows get new ids."""
    made = [[[(7, 0)], []]]
    for number in range(1, 40):
        busy = [(1, 100 * number + i) for i in range(60)]
        made.append([busy, [(1, 100 * number + 99)]])
    made.append([[(1, 5000)], [(7, 5001), (1, 5002)]])
    run = RowsRun(2, "rows per key")
    run.add("all", 3)
    for rows in made[:-1]:
        run.batch(rows)
    run.add("late", 2)
    run.batch(made[-1])
    run.batch([[(100, LAST)], [(101, LAST)]])
    kept = Directory.of_store(run.stores[0])
    assert sum(entry.rows for entry in kept.chunks) < 1200
    assert run.got[run.ids["all"], 0] == answers(2, made, (3, "key"))
    later = [each for each in answers(2, made, (2, "key")) if each[0] > 60 * 39 or each[1] >= 39]
    assert run.got[run.ids["late"], 0] == later
    assert len(later) == 5


def test_a_row_that_stays_does_not_keep_every_change_of_the_queries():
    """Its key comes once, so it is stored for good; queries come and go with each batch."""
    run = RowsRun(2, "rows per key")
    run.add("stays", 2)
    run.batch([[(7, 0)], [(7, 1)]])
    sizes = []
    for number in range(1, 60):
        run.add(f"q{number}", 1 + number % 2)
        if number > 1:
            run.drop(f"q{number - 1}")
        run.batch([[(1, 10 * number)], [(1, 10 * number + 5)]])
        sizes.append(len(Directory.of_store(run.stores[0]).standing["join"]["marks"]))
    assert max(sizes[20:]) <= max(sizes[:20]) <= 5
