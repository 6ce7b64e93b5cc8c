"""Input that is sorted or spilled before a join whose memory follows the data."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.model import BEGINNING, END
from windrow.operators.arrivals import Arrivals
from windrow.operators.gate import direction, gate_of, spill, spilling
from windrow.state import memory, ordering
from windrow.testing.ordering import keys_of, multiplicity, scrambled, scrambling_factor

from .streams import NAMES, expected, results, streams_of, tables, truth

STRATEGIES = ["msf", "dbf", "hybrid"]


@pytest.fixture(autouse=True)
def _eager(monkeypatch, tmp_path):
    """Rings that grow for a few tuples, blocks of two on disk, and a disk that is worth it."""
    monkeypatch.setattr(ordering, "LEAST_POSITIONS", 2)
    monkeypatch.setattr(memory, "LEAST_DUE", 1)
    monkeypatch.setattr(memory, "STEPS_A_TUPLE", 1 << 20)
    monkeypatch.setattr(direction, "LEAST", 2)
    monkeypatch.setattr(spill, "BLOCK", 2)
    monkeypatch.setattr(spilling, "WORTH", 0)
    monkeypatch.setattr(spill, "AHEAD", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def turned(arrivals, falling):
    return [(stream, -key) for stream, key in arrivals] if falling else arrivals


def asked(arrivals, streams, strategy, *, counted=False):
    """Memory of which the true scrambling factors are given, and how often keys come."""
    times = {name: max(1, multiplicity(keys_of(arrivals, s))) for s, name in by_name(streams)}
    k = truth(arrivals, streams)["k"]
    return wr.data(k=k, multiplicity=times if counted else None, strategy=strategy)


def by_name(streams):
    return list(enumerate(NAMES[:streams]))


# -- joins -----------------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("strategy", STRATEGIES)
@given(
    data=st.data(),
    streams=st.integers(2, 4),
    batch_rows=st.sampled_from([None, 1, 2, 5]),
    falling=st.booleans(),
    counted=st.booleans(),
)
def test_results_are_complete_with_true_scrambling_factors(
    strategy, data, streams, batch_rows, falling, counted
):
    arrivals = data.draw(scrambled(streams=streams, most=25))
    joined = wr.join(
        *streams_of(tables(turned(arrivals, falling), streams)),
        memory=asked(arrivals, streams, strategy, counted=counted),
        batch_rows=batch_rows,
    )
    assert results(joined, streams) == expected(arrivals, streams)
    found = wr.metrics(joined)
    assert found.waiting == found.spilled == dict.fromkeys(NAMES[:streams], 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(data=st.data(), streams=st.integers(2, 3), batch_rows=st.sampled_from([None, 1, 3]))
def test_without_bounds_no_row_is_wrong_and_all_are_accounted_for(
    strategy, data, streams, batch_rows
):
    arrivals = data.draw(scrambled(streams=streams, most=25))
    joined = wr.join(*streams_of(tables(arrivals, streams)), memory=strategy, batch_rows=batch_rows)
    found, whole, figures = (
        results(joined, streams),
        expected(arrivals, streams),
        wr.metrics(joined),
    )
    assert found <= whole
    assert (figures.produced, figures.producible) == (found.total(), whole.total())


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(data=st.data(), batch_rows=st.sampled_from([None, 1, 3]))
def test_a_row_of_a_semi_join_comes_once(strategy, data, batch_rows):
    arrivals = data.draw(scrambled(streams=2, most=25))
    joined = wr.join(
        *streams_of(tables(arrivals, 2)),
        how="semi",
        memory=asked(arrivals, 2, strategy),
        batch_rows=batch_rows,
    )
    firsts = {rows[0] for rows in expected(arrivals, 2)}
    assert results(joined, 2) == dict.fromkeys(((row,) for row in firsts), 1)


@pytest.mark.parametrize("strategy", ["msf", "hybrid"])
@given(
    data=st.data(),
    streams=st.integers(2, 4),
    batch_rows=st.sampled_from([None, 1, 2, 5]),
    falling=st.booleans(),
)
def test_sorted_input_makes_sorted_output(strategy, data, streams, batch_rows, falling):
    arrivals = data.draw(scrambled(streams=streams, most=25))
    joined = wr.join(
        *streams_of(tables(turned(arrivals, falling), streams)),
        memory=asked(arrivals, streams, strategy),
        batch_rows=batch_rows,
    )
    keys = [row["a"]["k"] for row in joined.to_pylist()]
    assert keys in (sorted(keys), sorted(keys, reverse=True))
    assert not falling or len(keys) < 9 or keys == sorted(keys, reverse=True)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(data=st.data(), streams=st.integers(2, 3), size=st.integers(1, 4), given_k=st.booleans())
def test_a_restart_in_the_middle_changes_nothing(strategy, data, streams, size, given_k, elsewhere):
    """After any batch, with tuples that wait in memory, sorted, and on disk."""
    arrivals = data.draw(scrambled(streams=streams, most=25))
    made = tables(arrivals, streams)
    known = asked(arrivals, streams, strategy) if given_k else strategy
    plan = wr.plan(*streams_of(made), memory=known)
    longest = max(1, *(table.num_rows for table in made))
    answers = []
    for restarts in (False, True):
        run, found = local_join(plan, clock=itertools.count().__next__), []
        for start in range(0, longest, size):
            pieces = list(run.batch([(start, start + size)] * streams))
            found += [tuple(row) for piece in pieces for row in zip(*piece.rows, strict=True)]
            if restarts and data.draw(st.booleans()):
                run = elsewhere(run)
        answers.append(sorted(found))
    if given_k:
        assert answers[0] == answers[1] == sorted(expected(arrivals, streams).elements())
    else:
        assert set(answers[1]) <= set(expected(arrivals, streams))


# -- what passes -----------------------------------------------------------------------------


class Fed:
    """A gate, and what it has let through: (turn within all batches, stream, row id)."""

    def __init__(self, arrivals, streams, memory):
        plan = wr.plan(*streams_of(tables(arrivals, streams)), memory=memory)
        self.run = local_join(plan, clock=itertools.count().__next__)
        self.gate = self.run.gate
        self.streams, self.passed, self.batches = streams, [], 0
        self.ids = [0] * streams

    def feed(self, arrivals, over=False):
        """A batch of (stream, key)."""
        sides = []
        for stream in range(self.streams):
            mine = [(at, key) for at, (s, key) in enumerate(arrivals) if s == stream]
            ts = np.array([at for at, _ in mine], np.int64)
            key = np.array([key for _, key in mine], np.int64)
            rows = np.arange(self.ids[stream], self.ids[stream] + len(mine))
            self.ids[stream] += len(mine)
            sides.append(Arrivals(ts, self.hashed(key), rows))
        after = [END if over else BEGINNING + 1] * self.streams
        found = self.gate.pass_on(sides, [Arrivals.empty()] * self.streams, after)
        assert all((np.diff(turns) >= 0).all() for turns in found.turns)
        out = sorted(
            (int(turn), stream, at, int(row))
            for stream, (side, turns) in enumerate(zip(found.tuples, found.turns, strict=True))
            for at, (turn, row) in enumerate(zip(turns, side.row, strict=True))
        )
        self.passed += [(stream, row) for _, stream, _, row in out]
        return found

    def hashed(self, keys):
        from windrow.kernels.hashing import hash_words

        out = np.empty_like(keys)
        hash_words(keys, out)
        return out

    def rows_of(self, stream):
        return [row for s, row in self.passed if s == stream]


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(
    data=st.data(),
    streams=st.integers(2, 3),
    size=st.integers(1, 9),
    given_k=st.booleans(),
)
def test_each_tuple_passes_once_and_no_further_out_of_order(strategy, data, streams, size, given_k):
    arrivals = data.draw(scrambled(streams=streams, most=25))
    fed = Fed(arrivals, streams, asked(arrivals, streams, strategy) if given_k else strategy)
    for start in range(0, max(1, len(arrivals)), size):
        fed.feed(arrivals[start : start + size])
        for stream in range(streams):
            waits = set(fed.gate.rows(stream).tolist())
            assert len(waits) == fed.gate.held(stream)
            assert waits | set(fed.rows_of(stream)) == set(range(fed.ids[stream]))
    fed.feed([], over=True)
    for stream in range(streams):
        keys, rows = keys_of(arrivals, stream), fed.rows_of(stream)
        assert sorted(rows) == list(range(len(keys)))
        passed = [keys[row] for row in rows]
        if strategy == "dbf":
            assert rows == sorted(rows)
        elif given_k:
            assert passed == sorted(keys)
            assert scrambling_factor(passed) == max(1, multiplicity(keys)) - 1
            assert all(a < b for a, b in itertools.pairwise(rows) if keys[a] == keys[b])
        if given_k:
            assert scrambling_factor(passed) <= scrambling_factor(keys)


@given(st.data(), st.integers(1, 5), st.sampled_from([0, 1, 3]))
def test_who_runs_ahead_waits_for_the_others_but_for_c_tuples(data, size, ahead):
    """Once it waits, what has passed and is not met yet is never more than it was, or C."""
    arrivals = data.draw(scrambled(streams=2, most=25))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spill, "AHEAD", ahead)
        fed, most = Fed(arrivals, 2, "dbf"), [0, 0]
        for start in range(0, len(arrivals), size):
            waits = list(fed.gate.delays[0].waits)
            fed.feed(arrivals[start : start + size])
            so_far = arrivals[: start + size]
            if fed.gate.direction.flip != 0:
                return
            for stream in range(2):
                keys = keys_of(so_far, stream)
                met = max(keys_of(so_far, 1 - stream), default=-1)
                tops = list(itertools.accumulate(keys, max))
                beyond = sum(top > met for top in tops[: len(fed.rows_of(stream))])
                if waits[stream]:
                    assert beyond <= most[stream] + ahead
                    # The slowest never waits.
                    assert all(tops[row] > met for row in fed.gate.rows(stream)[ahead:])
                else:
                    most[stream] = beyond


def test_a_key_that_has_been_passed_goes_through_at_once():
    """k = 1 is given, and <61> comes three places late."""
    keys = [60, 62, 63, 64, 61, 65]
    fed = Fed([(0, key) for key in keys], 2, wr.data(k={"a": 1, "b": 1}, strategy="msf"))
    passed = []
    for key in keys:
        fed.feed([(0, key)])
        passed.append([keys[row] for row in fed.rows_of(0)])
    # The third tuple says which way keys go.
    assert passed == [
        [],
        [],
        [60, 62],
        [60, 62, 63],
        [60, 62, 63, 61],
        [60, 62, 63, 61],
    ]


def test_it_takes_a_lag_of_three_times_the_disk(monkeypatch):
    """A tuple a second. The disk takes 4 seconds: a stream that is 12 tuples ahead waits."""
    monkeypatch.setattr(spilling, "WORTH", 3)
    fed = Fed([(0, 1), (1, 1)], 2, "dbf")
    delay = fed.gate.delays[0]
    delay.disk.seconds, delay.disk.settle = 4.0, lambda folder: None
    fed.feed([(0, key) for key in range(4)])
    for key in range(4, 11):
        fed.feed([(0, key)])
        assert delay.waits == [False, False]
    fed.feed([(0, 11)])
    assert delay.waits == [True, False]
    fed.feed([(0, 12), (0, 13), (0, 14), (0, 15)])
    assert fed.rows_of(0) == list(range(13))
    fed.feed([(1, 13)])
    assert fed.rows_of(0) == list(range(15))


# -- disks -----------------------------------------------------------------------------------


def lagged(count):
    """S_1 sends all it has before S_2 begins."""
    return [(0, key) for key in range(count)] + [(1, key) for key in range(count)]


def lagging_join(arrivals, tables_of=tables):
    return wr.plan(*streams_of(tables_of(arrivals, 2)), memory="dbf")


def in_batches(run, length, first):
    """The first stream's rows, then the second's, and what comes of them."""
    found = []
    steps = [(start, start + 5) for start in range(0, length, 5)]
    for span in steps:
        found += list(run.batch([span, (0, 0)]))
        if first is not None:
            first(run)
    for span in steps:
        found += list(run.batch([(length, length), span]))
    return sum(len(piece) for piece in found)


def test_most_of_what_waits_is_on_disk_and_files_go(tmp_path):
    seen = []

    def look(run):
        figures = run.figures()
        files = list(tmp_path.rglob("*.arrow"))
        assert 2 * len(files) == figures.spilled["a"]
        assert figures.waiting["a"] - figures.spilled["a"] <= 2 * spill.BLOCK
        seen.append(figures.spilled["a"])
        for folder in (f for f in tmp_path.rglob("*") if f.is_dir()):
            assert folder.stat().st_mode & 0o777 == 0o700

    run = local_join(lagging_join(lagged(60)))
    assert in_batches(run, 60, look) == 60
    assert max(seen) > 40
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_join_that_is_given_up_leaves_no_files(tmp_path):
    run = local_join(lagging_join(lagged(60)))
    for start in range(0, 60, 5):
        list(run.batch([(start, start + 5), (0, 0)]))
    assert list(tmp_path.rglob("*.arrow"))
    del run
    import gc

    gc.collect()
    assert not list(tmp_path.rglob("*.arrow"))


@pytest.mark.parametrize("room", [0, 3])
def test_what_a_full_disk_does_not_take_waits_in_memory(monkeypatch, room):
    """There is room for a few files; or for none after the first try."""
    import errno

    from windrow.operators.gate.files import Folder

    plain, written = Folder.write, []

    def write(folder, rows):
        if len(written) > room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(rows)
        return plain(folder, rows)

    monkeypatch.setattr(Folder, "write", write)
    seen = []

    def look(run):
        figures = run.figures()
        seen.append((figures.waiting["a"], figures.spilled["a"]))

    run = local_join(lagging_join(lagged(60)))
    assert in_batches(run, 60, look) == 60
    assert max(waiting for waiting, _ in seen) > 40
    assert max(spilled for _, spilled in seen) == room * spill.BLOCK


def test_a_device_that_is_full_leaves_no_torn_file(tmp_path):
    """A real one: a write beyond what a file may have."""
    import resource
    import signal

    from windrow.operators.gate.files import Folder

    folder = Folder(str(tmp_path))
    kept = folder.write(np.zeros((10, 5), np.int64))
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError, match="large"):
            folder.write(np.zeros((10_000, 5), np.int64))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert [path.name for path in kept.parent.glob("*.arrow")] == [kept.name]


ORPHAN = """
import os, sys, numpy as np
from windrow.operators.gate.files import Folder
folder = Folder(sys.argv[1])
print(folder.write(np.zeros((3, 5), np.int64)), flush=True)
os.kill(os.getpid(), 9)
"""


def test_the_next_start_removes_what_a_crash_has_left(tmp_path):
    import subprocess
    import sys
    from pathlib import Path

    from windrow.operators.gate.files import Folder

    owner = Folder(str(tmp_path))
    mine = owner.write(np.zeros((3, 5), np.int64))
    ran = subprocess.run(
        [sys.executable, "-c", ORPHAN, str(tmp_path)], capture_output=True, text=True
    )
    left = Path(ran.stdout.strip())
    assert left.exists()
    another = Folder(str(tmp_path))
    another.write(np.zeros((3, 5), np.int64))
    assert not left.exists()
    assert mine.exists()


def test_gates_of_plans():
    made = tables([(0, 1), (1, 1)], 2)
    names = {
        strategy: [
            each.name for each in gate_of(wr.plan(*streams_of(made), memory=strategy)).delays
        ]
        for strategy in STRATEGIES
    }
    assert names == {"msf": ["sorting"], "dbf": ["spilling"], "hybrid": ["sorting", "spilling"]}
