"""What joins hand on to the join that takes their outputs (paper 5, section 3.2)."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.operators.build import bounds
from windrow.state.memory import Bounds, MemoryManager
from windrow.testing.ordering import joined, keys_of, multiplicity, scrambled, scrambling_factor
from windrow.upstream import Upstream

from .streams import NAMES, expected, results, streams_of, tables


def watched(arrivals, joins, cuts=(), **options):
    """The inputs of joins, seen in one piece or in several."""
    upstream = Upstream(joins, **options)
    streams, keys = (np.array([each[at] for each in arrivals], np.int64) for at in (0, 1))
    for begin, end in zip([0, *cuts], [*cuts, len(arrivals)], strict=True):
        upstream.observe(streams[begin:end], keys[begin:end])
    return upstream


def outputs(arrivals):
    """J1 of streams 0 and 1, J2 of 2 and 3: (join, key) as results are found."""
    found = []
    for join in range(2):
        mine = [(at, s - 2 * join, key) for at, (s, key) in enumerate(arrivals) if s // 2 == join]
        results = joined([(s, key) for _, s, key in mine], 2)
        found += [(mine[at - 1][0], join, key) for at, key in results]
    return [(join, key) for _, join, key in sorted(found, key=lambda each: each[0])]


@given(scrambled(streams=4, most=9), st.data())
def test_outputs_are_within_what_is_handed_on(arrivals, data):
    """Equations (9) and (10), by what has been seen of the inputs."""
    cut = data.draw(st.integers(0, len(arrivals)))
    upstream = watched(arrivals, [2, 2], [cut])
    found = outputs(arrivals)
    for join in range(2):
        known, keys = upstream.output(join), keys_of(found, join)
        assert scrambling_factor(keys) <= known.k
        assert multiplicity(keys) <= known.multiplicity
        assert len(keys) <= known.rate


@given(scrambled(streams=4, most=9), st.sampled_from([None, 1, 3]))
def test_a_chain_of_joins_loses_nothing(arrivals, batch_rows):
    """J3 takes what J1 and J2 find, and is told k of both by what is known of their inputs."""
    made = streams_of(tables(arrivals, 4))
    known = watched(arrivals, [2, 2])
    factors = [known.ordering.scrambling(stream) for stream in range(4)]
    found = []
    for join in range(2):
        k = dict(zip(NAMES[2 * join :], factors[2 * join : 2 * join + 2], strict=False))
        pair = wr.join(*made[2 * join : 2 * join + 2], memory=wr.data(k=k), batch_rows=batch_rows)
        key = f"{NAMES[2 * join]}.k"
        found.append(wr.stream(pair, name=f"j{join + 1}", key=key, time="ts"))
    told = known.memory(["j1", "j2"])
    last = wr.join(*found, memory=wr.data(k=told.k), batch_rows=batch_rows)
    rows = [
        tuple(row[f"j{1 + at // 2}"][NAMES[at]]["n"] for at in range(4)) for row in last.to_pylist()
    ]
    assert type(expected(arrivals, 4))(rows) == expected(arrivals, 4)


def test_the_slowest_inputs_tell_the_lag():
    """1 runs behind 0, and 3 behind 2; two tuples of 0 make two results of each tuple of 1."""
    keys = {0: range(12), 1: range(9), 2: range(8), 3: range(5)}
    arrivals = [(stream, key) for key in range(12) for stream in keys if key in keys[stream]]
    arrivals = [(0, 0), *arrivals]
    upstream = watched(arrivals, [2, 2], k=[1, 0, 0, 0])
    assert upstream.lag(0, 1) == 2 * (9 - 5)
    assert upstream.lag(1, 0) == 0
    assert upstream.memory(["s7", "s8"]).lag == {
        ("s7", "s8"): upstream.lag(0, 1),
        ("s8", "s7"): 0,
    }


def test_nothing_is_known_of_silent_streams():
    upstream = watched([(0, 1), (1, 1), (2, 1)], [2, 2])
    assert upstream.lag(0, 1) is None
    assert upstream.memory(["a", "b"]).lag == {}


def test_joins_that_sort_leave_only_equal_keys_out_of_order():
    arrivals = [(s, key) for key in (3, 1, 2, 2, 5, 4) for s in range(4)]
    plain, sorts = (watched(arrivals, [2, 2], sorts=each) for each in (False, True))
    assert [each.k for each in plain.inputs(0)] == [3, 3]
    assert [each.k for each in sorts.inputs(0)] == [1, 1]
    assert sorts.output(0).k == 4
    # A sorted tuple is joined k tuples later than it came.
    assert sorts.lag(0, 1) >= plain.lag(0, 1)


def test_rates_are_those_of_the_latest_arrivals(monkeypatch):
    monkeypatch.setattr("windrow.upstream.LEAST_ARRIVALS", 10)
    arrivals = [(stream, key) for key in range(50) for stream in range(4)]
    arrivals += [(0, 50 + key) for key in range(20)]
    upstream = watched(arrivals, [2, 2], range(1, len(arrivals)))
    assert [each.rate for each in upstream.inputs(0)] == [10, 1]


# -- the manager that is told ------------------------------------------------------------------


def test_what_is_told_later_is_heeded():
    """A scrambling factor never falls, and is counted as broken from then on."""
    manager = MemoryManager(Bounds(2))
    manager.observe(np.array([0, 0, 0, 1]), np.array([3, 2, 1, 1]))
    assert manager.scrambling(0) == 2
    manager.take(Bounds(2, {0: 1, 1: 4}, {(0, 1): 8}, {(0, 1): 5}))
    assert [manager.scrambling(each) for each in range(2)] == [2, 4]
    assert manager.keep == [2 + 8 + 5 + 1, None]


@pytest.mark.parametrize("k", [0, 1, 5])
def test_a_join_heeds_what_it_is_told_between_batches(k):
    """Of streams in order, with no lag, so many stay as k says, and the partner."""
    arrivals = [(stream, key) for key in range(40) for stream in (0, 1)]
    made = streams_of(tables(arrivals, 2))
    join = local_join(wr.plan(*made, memory=wr.data(k={"a": 0, "b": 0})))
    for start in range(0, 40, 10):
        told = wr.data(
            k={"a": k, "b": k}, rate={"a": 1, "b": 1}, lag={("a", "b"): 0, ("b", "a"): 0}
        )
        join.join.memory.take(bounds(told, ["a", "b"]))
        for _ in join.batch([(start, start + 10)] * 2):
            pass
        if start < 30:
            assert join.join.live() == [min(start + 10, 2 * k + 1)] * 2
    assert join.figures().matches == 40


def test_tables_of_results_are_streams():
    """The outputs of joins keep the order in which they were found."""
    arrivals = [(stream, key) for key in (1, 3, 2) for stream in (0, 1)]
    made = streams_of(tables(arrivals, 2))
    found = wr.join(*made, memory=wr.data(k={"a": 1, "b": 1}), batch_rows=1)
    assert [row["a"]["k"] for row in found.to_pylist()] == [1, 3, 2]
    assert results(found, 2) == expected(arrivals, 2)
    assert found.schema.field("ts").type == pa.timestamp("us")
