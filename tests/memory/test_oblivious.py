"""Joins whose memory follows the data: complete where bounds are given, never a wrong row."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.state import memory, ordering
from windrow.testing.ordering import arrivals_over, scrambled

from .streams import NAMES, as_fed, expected, results, streams_of, tables, truth


@pytest.fixture(autouse=True)
def _eager(monkeypatch):
    """Rings that must grow for a few tuples; a manager that looks at every arrival."""
    monkeypatch.setattr(ordering, "LEAST_POSITIONS", 2)
    monkeypatch.setattr(memory, "SAMPLE_PLACES", 8)
    monkeypatch.setattr(memory, "LEAST_DUE", 1)
    monkeypatch.setattr(memory, "STEPS_A_TUPLE", 1 << 20)


@given(st.data(), st.integers(2, 4), st.sampled_from([None, 1, 2, 5]), st.booleans())
def test_results_are_complete_with_true_scrambling_factors(data, streams, batch_rows, falling):
    """Also of keys that descend: a key of one is the negative of the other's."""
    arrivals = data.draw(scrambled(streams=streams, most=25))
    known = truth(arrivals, streams)
    if falling:
        arrivals = [(stream, -key) for stream, key in arrivals]
    joined = wr.join(
        *streams_of(tables(arrivals, streams)),
        memory=wr.data(k=known["k"]),
        batch_rows=batch_rows,
    )
    assert results(joined, streams) == expected(arrivals, streams)


def everything(arrivals, streams):
    """Bounds of all: k, lags, and rates."""
    known = truth(arrivals, streams)
    # With equal rates `over` is k_j, so k is raised until no more of the others arrive over it.
    k = {}
    for j, (name, least) in enumerate(known["k"].items()):
        others = [i for i in range(streams) if i != j]
        k[name] = next(
            most
            for most in count(least)
            if all(arrivals_over(arrivals, i, j, most) <= most for i in others)
        )
    return {"k": k, "lag": known["lag"], "rate": known["rate"]}


def outer(arrivals, streams, how):
    """The rows of a left, semi or anti join, from the combinations."""
    found = expected(arrivals, streams)
    met = {rows[0] for rows in found}
    firsts = range(sum(stream == 0 for stream, _ in arrivals))
    alone = [n for n in firsts if n not in met]
    if how == "left":
        return found + type(found)((n, *[None] * (streams - 1)) for n in alone)
    return type(found)((n,) for n in (sorted(met) if how == "semi" else alone))


@given(
    st.data(),
    st.integers(2, 3),
    st.sampled_from([None, 1, 3]),
    st.sampled_from(["inner", "left", "anti", "semi"]),
)
def test_with_all_bounds_given_unmatched_rows_leave_once(data, streams, batch_rows, how):
    arrivals = data.draw(scrambled(streams=streams, most=25))
    joined = wr.join(
        *streams_of(tables(arrivals, streams)),
        how=how,
        memory=wr.data(**everything(as_fed(arrivals, batch_rows), streams)),
        batch_rows=batch_rows,
    )
    found = expected(arrivals, streams) if how == "inner" else outer(arrivals, streams, how)
    assert results(joined, streams) == found
    assert wr.metrics(joined).broken == dict.fromkeys(NAMES[:streams], 0)


def test_a_key_that_is_not_ordered_is_warned_of_once(recwarn):
    """However many batches say so, of the stream that it is."""
    keys = [at + 30_000 * (at % 2) for at in range(12_000)]
    arrivals = [each for at, key in enumerate(keys) for each in ((0, key), (1, at))]
    wr.join(*streams_of(tables(arrivals, 2)), memory="data", batch_rows=1000)
    assert [str(each.message).partition(":")[0] for each in recwarn] == ["stream 'a'"]
