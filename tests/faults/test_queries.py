"""Continuous queries come and go while their drivers are killed; answers are the oracle's.

Which micro-batch has read what is in Spark's own logs, and what was sent to the join was noted. So
it is known in which micro-batches each query ran, and which rows came in them.
"""

import json
from itertools import accumulate
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow.testing import assert_same_rows
from windrow.testing.queries_oracle import Asked, duckdb_answers

from .harness import ROWS, SECOND, Driver, Query

LONGEST = 8
FILTER = " AND A.v > 99"
#: An aggregate that runs from the first micro-batch to the last.
COUNT = (
    "SELECT COUNT(*) AS a0 FROM a A, b B WHERE A.k = B.k AND A.v > B.v "
    "WINDOW 4 seconds SLIDE 2 seconds"
)
SCRIPT = str(Path(__file__).with_name("queries_job.py"))


def text(window, where=""):
    return f"SELECT A.v AS x, B.v AS y FROM a A, b B WHERE A.k = B.k{where} WINDOW {window} seconds"


class Queries(Query):
    """Queries over two streams of files."""

    def __init__(self, folder, files):
        super().__init__(folder, files)
        self.windows = {}

    def micro_batches(self):
        """By path of what was read, its micro-batch."""
        checkpoint = self.folder / "checkpoint" / "join-0" / "checkpoint"
        found = {}
        for number, source in enumerate(sorted(checkpoint.glob("sources/*"))):
            offsets = {}
            for path in checkpoint.glob("offsets/[0-9]*"):
                said = path.read_text().splitlines()[2 + number]
                offsets[int(path.name)] = json.loads(said)["logOffset"] if said != "-" else -1
            for path in source.glob("[0-9]*"):
                for line in path.read_text().splitlines()[1:]:
                    entry = json.loads(line)
                    batch = min(b for b, upto in offsets.items() if upto >= entry["batchId"])
                    found[Path(urlsplit(entry["path"]).path)] = batch
        return found

    def lives(self, batches):
        """By query's name, the micro-batches that it ran in."""
        sent = {int(p.stem): json.loads(p.read_text()) for p in (self.folder / "sent").glob("*")}
        read = {}
        for path, batch in batches.items():
            if path.parent.name == "control" and not path.name.startswith("tick"):
                version = int(path.name.partition("-")[0])
                read[batch] = max(read.get(batch, 0), version)
        last = max(batches.values())
        newest = accumulate((read.get(batch, 0) for batch in range(last + 1)), max)
        lives = {}
        for batch, version in enumerate(newest):
            for _, name, _ in sent[version]["queries"] if version else ():
                first, _ = lives.get(name, (batch, batch))
                lives[name] = first, batch
        return lives

    def expected(self, name, batches, life):
        """The results within the window whose last row came in these micro-batches."""
        window, where = self.windows[name]
        tables = []
        for side, whole in zip("ab", self.tables, strict=True):
            numbers = [batches[(self.folder / side / f"{n:03}.parquet")] for n in range(self.files)]
            rows = [number for number in numbers for _ in range(ROWS)]
            tables.append(whole.append_column("batch", pa.array(rows)))
        with duckdb.connect() as connection:
            for side, rows in zip("ab", tables, strict=True):
                connection.register(side, rows)
            return self._joined(connection, window, where, life)

    def _joined(self, connection, window, where, life):
        return connection.sql(
            f"SELECT A.v AS x, B.v AS y FROM a A JOIN b B ON A.k = B.k{where} "
            f"AND abs(epoch_us(A.t) - epoch_us(B.t)) <= {window * SECOND} "
            f"WHERE greatest(A.batch, B.batch) BETWEEN {life[0]} AND {life[1]}"
        ).to_arrow_table()

    def check(self, driver):
        """Every query that ever ran has its own answers, each once."""
        batches = self.micro_batches()
        lives = self.lives(batches)
        assert lives.keys() >= {"wide", "filtered", "count"}
        for name, life in lives.items():
            driver.send(answers=name)
            got = pq.read_table(driver.answer(60))
            if name == "count":
                assert life == (0, max(batches.values()))
                self.check_counts(got)
            else:
                assert_same_rows(got, self.expected(name, batches, life))
        return lives

    def check_counts(self, got):
        """The aggregate's answers, each once. The last heartbeat is after all of their times."""
        streams = tuple(
            wr.stream(whole, name=name, key="k", time="t", lateness="1 second")
            for name, whole in zip("ab", self.tables, strict=True)
        )
        asked = Asked(
            streams, ("A", "B"), 4 * SECOND, 2 * SECOND,
            where="A.v > B.v", aggregates=(("count", None, False),),
        )  # fmt: skip
        wanted = [(row["t"], row["a0"]) for row in duckdb_answers(asked).to_pylist()]
        assert len(wanted) > 20
        times = got["ts"].cast(pa.int64()).to_pylist()
        assert sorted(zip(times, got["a0"].to_pylist(), strict=True)) == sorted(wanted)


class Hand:
    """Adds and drops queries without waiting, and offers files in between."""

    def __init__(self, queries, chance):
        self.queries, self.chance = queries, chance
        self.running = []

    def act(self, driver):
        """One thing more."""
        what = self.chance.random()
        if what < 0.4 or not self.running:
            name = f"query {len(self.queries.windows)}"
            window, where = (
                self.chance.randint(0, LONGEST),
                self.chance.choice(["", " AND A.v > 99"]),
            )
            self.queries.windows[name] = window, where
            driver.send(add=name, sql=text(window, where))
            self.running.append(name)
        elif what < 0.7:
            name = self.chance.choice(self.running)
            self.running.remove(name)
            driver.send(drop=name)
        else:
            self.queries.offer(1)


@pytest.mark.faults
def test_queries_come_and_go_while_drivers_are_killed(processes, tmp_path, chance):
    job = Queries(tmp_path / "job", files=24)
    job.windows = {"wide": (LONGEST, ""), "filtered": (2, " AND A.v > B.v")}
    job.offer(2)
    hand = Hand(job, chance)
    for round in range(4):
        driver = Driver(tmp_path / f"log-{round}", script=SCRIPT)
        processes.append(driver)
        first = {name: text(*job.windows[name]) for name in ("wide", "filtered")}
        first["count"] = COUNT
        driver.send(open=str(job.folder), budget=chance.choice([None, 30]), first=first)
        names = driver.answer(120)
        # What the last driver was asked before it was killed it may have done or not.
        hand.running = [name for name in names if name in hand.running]
        if round == 3:
            break
        for _ in range(chance.randint(4, 8)):
            hand.act(driver)
            assert driver.quiet(chance.uniform(0, 0.5)) or driver.answer(60) is None
        driver.kill()
    job.offer()
    driver.send(finish=True)
    while driver.waiting:
        driver.answer(120)
    lives = job.check(driver)
    assert len(lives) > 4
