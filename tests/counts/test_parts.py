"""What count windows are made of: input that waits, and numbers of keys."""

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.api import local_join
from windrow.operators.arrivals import Arrivals
from windrow.operators.gate.waiting import Waiting
from windrow.state.numbers import ABSENT, KeyNumbers
from windrow.state.room import HEAP
from windrow.testing.contract import handover


def arrivals(ts):
    ts = np.array(ts, np.int64)
    return Arrivals(ts, ts * 0, np.arange(len(ts)))


def test_input_waits_until_every_stream_has_passed_its_time():
    waiting = Waiting(2)
    out = waiting.pass_on([arrivals([3, 1, 2]), arrivals([9])], [2, 2])
    assert [list(side.ts) for side in out] == [[1], []]
    # A tuple at the bound waits: its stream may still send another one of that time.
    out = waiting.pass_on([arrivals([2]), arrivals([4])], [3, 3])
    assert [list(side.ts) for side in out] == [[2, 2], []]
    assert (waiting.held(0), waiting.held(1)) == (1, 2)
    out = waiting.pass_on([arrivals([]), arrivals([])], [100, 100])
    assert [list(side.ts) for side in out] == [[3], [4, 9]]


def test_numbers_tell_colliding_keys_apart():
    names = np.array(["x", "y", "z", "x", "y", "w"])
    hashes = np.zeros(len(names), np.int64)

    def same(rows, streams, standing):
        return names[rows] == names[standing]

    numbered = KeyNumbers()
    rows = np.arange(5)
    numbers = numbered.numbers(0, rows, hashes[rows], same, add=True)
    assert list(numbers) == [numbers[0], numbers[1], numbers[2], numbers[0], numbers[1]]
    assert len(set(numbers)) == 3
    assert numbered.count == 3
    again = KeyNumbers.attach(*handover.elsewhere(numbered.handover()), HEAP)
    for known in (numbered, again):
        looked_up = known.numbers(1, np.array([5, 2]), hashes[:2], same, add=False)
        assert list(looked_up) == [ABSENT, numbers[2]]


def test_numbers_grow_and_number_exact_hashes_once():
    rng = np.random.default_rng(0)
    hashes = rng.integers(-(2**62), 2**62, 5_000)
    numbered = KeyNumbers()
    rows = np.arange(len(hashes))
    first = numbered.numbers(0, rows, hashes, None, add=True)
    assert list(first) == list(range(1, 5_001))
    shuffled = rng.permutation(5_000)
    assert list(numbered.numbers(0, rows, hashes[shuffled], None, add=False)) == list(
        first[shuffled]
    )


@pytest.mark.parametrize("per", ["key", "stream"])
@pytest.mark.parametrize("how", ["inner", "left", "full", "anti"])
def test_a_count_join_goes_on_elsewhere(per, how, elsewhere):
    rng = np.random.default_rng(3)

    def table(keys):
        return pa.table(
            {
                "k": pa.array([str(k) for k in rng.integers(0, keys, 60)]),
                "t": pa.array(np.sort(rng.integers(0, 90, 60)), pa.timestamp("us")),
            }
        )

    a = wr.stream(table(9), name="a", key="k", time="t", window=wr.rows(2, per=per))
    b = wr.stream(table(5), name="b", key="k", time="t", window=wr.rows(3, per=per))
    plan = wr.plan(a, b, how=how)

    def run(stop_at):
        job = local_join(plan)
        out = []
        for start in range(0, 60, 10):
            if start == stop_at:
                job = elsewhere(job)
            for piece in job.batch([(start, start + 10)] * 2):
                out += job.record_batch(piece).to_pylist()
        return sorted(map(str, out))

    whole = run(stop_at=None)
    assert whole
    for stop_at in (10, 30, 50):
        assert run(stop_at) == whole
