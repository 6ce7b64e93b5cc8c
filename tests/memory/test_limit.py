"""Joins whose buffers have a limit: it holds, and what it costs is counted."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.operators.gate import direction, spill, spilling
from windrow.state import memory, ordering
from windrow.testing.ordering import scrambled

from .streams import NAMES, expected, results, streams_of, tables, truth

#: Bytes of a row of these tables, of one that is stored, and of one that waits.
ROW = 24
STORED, WAITS = 32 + ROW, 40 + ROW


@pytest.fixture(autouse=True)
def _eager(monkeypatch, tmp_path):
    """As for the gates: every path after a few tuples."""
    monkeypatch.setattr(ordering, "LEAST_POSITIONS", 2)
    monkeypatch.setattr(memory, "LEAST_DUE", 1)
    monkeypatch.setattr(memory, "STEPS_A_TUPLE", 1 << 20)
    monkeypatch.setattr(direction, "LEAST", 2)
    monkeypatch.setattr(spill, "BLOCK", 2)
    monkeypatch.setattr(spilling, "WORTH", 0)
    monkeypatch.setattr(spill, "AHEAD", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def used(figures, streams):
    """The bytes of what is stored, and of what waits in memory."""
    names = NAMES[:streams]
    stored = sum(figures.live_rows[name] for name in names)
    waits = sum(figures.waiting[name] - figures.spilled[name] for name in names)
    return STORED * stored + WAITS * waits


@pytest.mark.kernel
@given(
    data=st.data(),
    streams=st.integers(2, 3),
    size=st.integers(1, 5),
    limit=st.integers(1, 6000),
    given_k=st.booleans(),
    strategy=st.sampled_from(["data", "data", "msf", "dbf", "hybrid"]),
)
def test_the_limit_holds_and_what_it_costs_is_counted(
    data, streams, size, limit, given_k, strategy
):
    arrivals = data.draw(scrambled(streams=streams, most=25))
    made = tables(arrivals, streams)
    k = truth(arrivals, streams)["k"] if given_k else None
    plan = wr.plan(*streams_of(made), memory=wr.data(k=k, limit=limit, strategy=strategy))
    run, found = local_join(plan, clock=itertools.count().__next__), []
    least = streams * (STORED + 2 * WAITS)
    for start in range(0, max(1, *(table.num_rows for table in made)), size):
        for piece in run.batch([(start, start + size)] * streams):
            found += [tuple(map(int, row)) for row in zip(*piece.rows, strict=True)]
        assert used(run.figures(), streams) <= max(limit, least)
    whole, figures = expected(arrivals, streams), run.figures()
    assert len(set(found)) == len(found)
    assert set(found) <= set(whole)
    assert (figures.produced, figures.producible) == (len(found), whole.total())
    if given_k and len(found) < whole.total():
        assert sum(figures.forced.values()) > 0


@pytest.mark.parametrize("strategy", ["data", "msf", "dbf", "hybrid"])
@given(data=st.data(), streams=st.integers(2, 3), batch_rows=st.sampled_from([None, 1, 3]))
def test_a_limit_that_suffices_costs_nothing(strategy, data, streams, batch_rows):
    arrivals = data.draw(scrambled(streams=streams, most=25))
    joined = wr.join(
        *streams_of(tables(arrivals, streams)),
        memory=wr.data(k=truth(arrivals, streams)["k"], limit="1 MB", strategy=strategy),
        batch_rows=batch_rows,
    )
    assert results(joined, streams) == expected(arrivals, streams)
    figures = wr.metrics(joined)
    assert figures.forced == dict.fromkeys(NAMES[:streams], 0)
    assert figures.strategy == strategy


@given(data=st.data(), size=st.integers(1, 4), limit=st.integers(300, 6000))
def test_a_restart_goes_on_with_what_was_picked(data, size, limit, elsewhere):
    """Without a disk that is worth it: what a clock says differs from run to run."""
    arrivals = data.draw(scrambled(streams=2, most=25))
    made = tables(arrivals, 2)
    plan = wr.plan(*streams_of(made), memory=wr.data(limit=limit))
    spilling.WORTH = float("inf")
    one, two = local_join(plan, clock=lambda: 0.0), local_join(plan, clock=lambda: 0.0)
    for start in range(0, max(1, *(table.num_rows for table in made)), size):
        span = [(start, start + size)] * 2
        rows = [
            [
                tuple(map(int, row))
                for piece in run.batch(span)
                for row in zip(*piece.rows, strict=True)
            ]
            for run in (one, two)
        ]
        assert rows[0] == rows[1]
        figures = [run.figures() for run in (one, two)]
        assert figures[0].strategy == figures[1].strategy
        assert figures[0].live_rows == figures[1].live_rows
        assert figures[0].waiting == figures[1].waiting
        two = elsewhere(two)


def picked(arrivals, limit, **given_bounds):
    """The strategies that were picked, batch by batch of ten rows."""
    made = tables(arrivals, 2)
    plan = wr.plan(*streams_of(made), memory=wr.data(limit=limit, **given_bounds))
    run, found = local_join(plan, clock=itertools.count().__next__), []
    for start in range(0, made[0].num_rows, 10):
        list(run.batch([(start, start + 10)] * 2))
        found.append(run.figures().strategy)
    return found, run.figures()


def test_of_a_scrambled_stream_sorting_is_picked():
    """Blocks of 40 keys, each the wrong way round: k is 39, and keys come once."""
    keys = [40 * (at // 40) + 39 - at % 40 for at in range(200)]
    arrivals = [(stream, key) for key in keys for stream in range(2)]
    k = {"a": 39, "b": 39}
    # As data 2 * (39 + 39 + 1) are stored; sorted, 2 * 39 wait, and next to nothing is stored.
    found, figures = picked(arrivals, 7000, k=k)
    assert found[-1] == "msf"
    assert figures.asked_bytes <= 7000
    assert picked(arrivals, 12000, k=k)[0][-1] == "data"


def test_of_a_stream_far_ahead_the_disk_is_picked():
    """Of a the keys come twice as fast as of b."""
    arrivals = [(stream, key * (2 - stream)) for key in range(200) for stream in range(2)]
    found, figures = picked(arrivals, 3000)
    assert "dbf" in found
    assert sum(figures.forced.values()) == 0 or found.index("dbf") > 0


def test_it_does_not_come_and_go():
    """Where need is close to the limit, the strategy that suffices stays."""
    keys = [40 * (at // 40) + 39 - at % 40 for at in range(400)]
    arrivals = [(stream, key) for key in keys for stream in range(2)]
    found, figures = picked(arrivals, 7000, k={"a": 39, "b": 39})
    assert figures.switches == sum(a != b for a, b in itertools.pairwise(["data", *found]))
    assert figures.switches <= 2


def test_without_room_to_find_out_the_direction_it_is_found_out_later():
    """Twenty tuples of each stream come at first, which is too much; k is 9."""
    keys = [10 * (at // 10) + 9 - at % 10 for at in range(200)]
    arrivals = [(stream, key) for key in keys for stream in range(2)]
    made = tables(arrivals, 2)
    plan = wr.plan(*streams_of(made), memory=wr.data(limit=2000))
    run, seen = local_join(plan, clock=itertools.count().__next__), []
    list(run.batch([(0, 20)] * 2))
    seen.append(run.gate.plain)
    for start in range(20, 200, 10):
        list(run.batch([(start, start + 10)] * 2))
        seen.append(run.gate.plain)
        assert used(run.figures(), 2) <= 2000
    assert seen[0]
    assert not seen[-1]
