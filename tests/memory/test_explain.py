"""What is said of joins whose memory follows the data, before they run; and what is refused."""

import pytest

import windrow as wr

from .streams import streams_of, tables

BOUNDS = {
    "k": {"a": 4, "b": 3},
    "lag": {("a", "b"): 5, ("b", "a"): -2},
    "rate": {"a": 1, "b": 2.5},
}


def two():
    return streams_of(tables([(stream, key) for key in range(50) for stream in (0, 1)], 2))


def said(memory):
    lines = str(wr.explain(*two(), memory=memory)).split("\n")
    return lines[[line[:7] for line in lines].index("memory:") :]


def test_what_is_found_out_is_named():
    assert said("data") == [
        "memory: follows the data; data, the join stores what partners still to come may need",
        "  found out while rows come: k, lag, rate",
    ]
    assert said(wr.data(k={"a": 3}, strategy="dbf")) == [
        "memory: follows the data; dbf, streams that are ahead by 3 times the disk's time wait on "
        "disk",
        "  given: k of a 3",
        "  found out while rows come: the rest of k, lag, rate",
    ]


def test_with_all_bounds_there_is_a_number_of_tuples_for_each_stream():
    """a: 4 + ceil(3 / 2.5) + 5 + 1. b: 3 + ceil(2.5 * 4) - 2 + 1."""
    assert said(wr.data(**BOUNDS)) == [
        "memory: follows the data; data, the join stores what partners still to come may need",
        "  given: k of a 4, b 3; lag of a to b 5, b to a -2; rate of a 1, b 2.5",
        "  M, by Equation (8): 12 of a, 12 of b",
    ]
    joined = wr.join(*two(), memory=wr.data(**BOUNDS))
    assert wr.metrics(joined).memory == {"a": 12, "b": 12}


def test_bounds_that_do_not_hold_behind_a_gate_are_named():
    assert said(wr.data(**BOUNDS, strategy="msf"))[-1] == (
        "  lag and rate do not hold behind rows that wait, so they are found out, too"
    )


def test_a_limit_says_what_it_begins_with_and_why():
    """A tuple has 32 bytes in the join and 40 before it, and its row 24.

    data: 24 tuples. msf: 0 + 0 + 5 + 1 and 1 stored, 7 sorted.
    """
    times = {"a": 1, "b": 1}
    assert said(wr.data(**BOUNDS, multiplicity=times, limit=1000)) == [
        "memory: follows the data; the strategy is picked anew after each batch",
        "  given: k of a 4, b 3; lag of a to b 5, b to a -2; rate of a 1, b 2.5; "
        "multiplicity of a 1, b 1",
        "  M, by Equation (8): 12 of a, 12 of b",
        "  limit: 1,000 bytes, at which the oldest rows leave, counted",
        "  by what is given, bytes: data 1,344, dbf 1,344, msf 840, hybrid 840; so it begins with "
        "msf",
    ]
    joined = wr.join(*two(), memory=wr.data(**BOUNDS, multiplicity=times, limit=1000), batch_rows=5)
    assert wr.metrics(joined).matches == 50


@pytest.mark.parametrize("how", ["left", "right", "full", "anti"])
@pytest.mark.parametrize("strategy", ["msf", "dbf", "hybrid"])
def test_rows_alone_take_bounds_that_hold(how, strategy):
    with pytest.raises(wr.WindrowError, match=rf"how='{how}'.*strategy='{strategy}'.*inner"):
        wr.plan(*two(), how=how, memory=wr.data(**BOUNDS, strategy=strategy))
