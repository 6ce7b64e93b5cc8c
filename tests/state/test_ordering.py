"""What is found out about streams while they come, against paper 5's definitions with hindsight."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.kernels import ordering as kernel
from windrow.state import ordering as module
from windrow.state.ordering import ENOUGH, Ordering, Pair
from windrow.state.room import HEAP
from windrow.testing.ordering import (
    arrival_of,
    arrived,
    keys_of,
    lag,
    matches,
    multiplicity,
    scrambled,
    scrambling_factor,
)
from windrow.workload import query_1

pytestmark = [
    pytest.mark.kernel,
    # Interpreted, numpy warns of the overflow that hashing is made of.
    pytest.mark.filterwarnings("ignore:overflow encountered"),
]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Rings and tables that must grow for a few tuples already."""
    monkeypatch.setattr(module, "LEAST_POSITIONS", 2)
    monkeypatch.setattr(module, "LEAST_PLACES", 4)


def observe(ordering, arrivals):
    """Feed arrivals, and go on with what was handed over."""
    streams, keys = np.array(arrivals, np.int64).reshape(-1, 2).T
    ordering.observe(np.ascontiguousarray(streams), np.ascontiguousarray(keys))
    return Ordering.attach(ordering.handover(), HEAP)


def watched(keys, **options):
    return observe(Ordering(1, **options), [(0, key) for key in keys])


def factors(arrivals, streams=2):
    return [scrambling_factor(keys_of(arrivals, stream)) for stream in range(streams)]


# -- a stream ----------------------------------------------------------------------------------


@given(scrambled(streams=2, most=14), st.integers(1, 5))
def test_k_and_multiplicity_are_those_of_what_has_come(arrivals, batch):
    """k is exact unless a tuple is astray, which the smallest rings make likely. A multiplicity is
    as far as k is known when a key is forgotten. Neither is ever too large."""
    found, known = Ordering(2, counted=True), Ordering(2, factors(arrivals), counted=True)
    for begin in range(0, len(arrivals), batch):
        found = observe(found, arrivals[begin : begin + batch])
        known = observe(known, arrivals[begin : begin + batch])
        for stream in (0, 1):
            keys = keys_of(arrivals[: begin + batch], stream)
            assert found.arrived(stream) == len(keys)
            assert known.scrambling(stream) == scrambling_factor(keys_of(arrivals, stream))
            assert found.scrambling(stream) <= scrambling_factor(keys)
            if not found.astray(stream):
                assert found.scrambling(stream) == scrambling_factor(keys)
            assert known.multiplicity(stream) == multiplicity(keys)
            assert found.multiplicity(stream) <= multiplicity(keys)


def test_a_multiplicity_converges_once_k_has_been_seen():
    """The first pair is further apart than k so far, and its first tuple is forgotten by then."""
    ordering = watched(range(1, 8), counted=True)
    found = []
    for key in (6, 9, 10, 8, 8, 9):
        ordering = observe(ordering, [(0, key)])
        found.append(ordering.multiplicity(0))
    assert found == [1, 1, 1, 1, 2, 2]


@given(st.lists(st.integers(0, 30), max_size=40))
def test_k_of_any_keys(keys):
    assert watched(keys).scrambling(0) == scrambling_factor(keys)


@given(st.lists(st.sampled_from([-(2**63), -(2**63) + 1, 0, 2**63 - 2, 2**63 - 1])))
def test_the_largest_and_smallest_keys(keys):
    """And footnote 2: of streams that descend, ~key ascends."""
    assert watched(keys).scrambling(0) == scrambling_factor(keys)
    turned = watched([~key for key in keys])
    assert turned.scrambling(0) == scrambling_factor([-key for key in keys])


@given(scrambled(streams=1, most=14), st.integers(0, 2))
def test_a_stream_sends_nothing_that_it_is_past(arrivals, more):
    """With the true k, or any larger one."""
    keys = keys_of(arrivals, 0)
    k = scrambling_factor(keys) + more
    for count in range(len(keys) + 1):
        past = watched(keys[:count], k=[k]).past(0)
        assert (past is None) == (count <= k)
        if past is not None:
            assert past == max(keys[: count - k])
            assert all(key > past for key in keys[count:])


def test_k_that_is_given_is_the_least():
    assert [watched([3, 2, 1], k=[k]).scrambling(0) for k in (0, 1, 2, 3, 50)] == [2, 2, 2, 3, 50]


# -- two streams -------------------------------------------------------------------------------


@given(scrambled(most=12), st.integers(1, 6))
def test_lag_is_that_of_the_last_final_place(arrivals, batch):
    """With k as it turns out to be. The lag is never too small, and right once it says so."""
    k = factors(arrivals)
    ordering = Ordering(2, k)
    for begin in range(0, len(arrivals), batch):
        now = min(begin + batch, len(arrivals))
        ordering = observe(ordering, arrivals[begin:now])
        for i, j in ((0, 1), (1, 0)):
            pair, place = ordering.pair(i, j), arrived(arrivals, j, now) - k[j]
            if place < 1:
                assert pair is None
                continue
            key = sorted(keys_of(arrivals, j))[place - 1]
            came = keys_of(arrivals[:now], i)
            assert (pair is None) == all(other > key for other in came)
            if pair is None:
                continue
            moment = arrival_of(arrivals, j, place)
            right = lag(arrivals, i, j, moment)
            assert pair.lag == right if pair.settled else pair.lag >= right
            assert pair.over == len(came) - arrived(arrivals, i, moment)
            assert pair.memory == k[i] + pair.over + pair.lag + 1
            # A tuple of S_i further than k_i is above: its place must be settled.
            above = [at for at, other in enumerate(came, start=1) if other > key]
            assert pair.settled == (bool(above) and len(came) >= above[0] + k[i])


@given(scrambled(most=12), st.integers(1, 6))
def test_no_tuple_is_let_go_that_a_later_one_matches(arrivals, batch):
    """The memory that is asked for after each batch, in a buffer that is first in, first out."""
    ordering, low = Ordering(2, factors(arrivals)), [1, 1]
    needed = {i: list(matches(arrivals, i, 1 - i)) for i in (0, 1)}
    for begin in range(0, len(arrivals), batch):
        now = begin + batch
        ordering = observe(ordering, arrivals[begin:now])
        for i in (0, 1):
            memory = ordering.memory(i)
            if memory is not None:
                low[i] = max(low[i], arrived(arrivals, i, now) - memory + 1)
            assert all(match.i >= low[i] for match in needed[i] if match.after > now)


@given(scrambled(streams=3, most=8))
def test_memory_is_the_most_for_any_partner(arrivals):
    """Equation (8)."""
    ordering = observe(Ordering(3, factors(arrivals, 3)), arrivals)
    for i in range(3):
        pairs = [ordering.pair(i, j) for j in range(3) if j != i]
        if None in pairs:
            assert ordering.memory(i) is None
        else:
            assert ordering.memory(i) == max(pair.memory for pair in pairs)


@pytest.mark.parametrize("least", [2, 16])
@given(scrambled(most=12))
def test_what_is_found_out_is_what_would_have_been_given(least, arrivals):
    """When k has been seen, it makes no difference that it was not known before; but where less is
    remembered than such a k asks for, what is known must come anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LEAST_POSITIONS", least)
        found, known = Ordering(2), Ordering(2, factors(arrivals))
    found, known = observe(found, arrivals), observe(known, arrivals)
    if least == 2 and (found.astray(0) or found.astray(1)):
        return
    for i, j in ((0, 1), (1, 0)):
        not_yet = [None] if least == 2 else []
        assert found.pair(i, j) in [known.pair(i, j), *not_yet]
        assert found.past(i) in [known.past(i), *not_yet]


def test_k_converges_when_tuples_are_astray():
    """Rings begin with 2 positions here. Each tuple astray doubles them, until they are enough."""
    ordering, found = Ordering(2), []
    for begin in range(0, 20 * 40, 40):
        # The first of 20 comes last, and both streams are alike, so nothing else needs room.
        keys = [*range(begin + 1, begin + 20), begin, *range(begin + 20, begin + 40)]
        ordering = observe(ordering, [(stream, key) for key in keys for stream in (0, 1)])
        found.append((ordering.scrambling(0), ordering.astray(0)))
    assert found[0][0] < 19
    assert found == sorted(found)
    assert found[-1][0] == 19
    assert found[-1] == found[-10]


def test_a_silent_partner_lets_nothing_go():
    ordering = observe(Ordering(2), [(0, key) for key in range(100)])
    assert (ordering.pair(0, 1), ordering.memory(0)) == (None, None)
    # Its first tuple is below all: no next-of-kin. From its second on there is one.
    ordering = observe(ordering, [(1, -1)])
    assert ordering.pair(0, 1) is None
    ordering = observe(ordering, [(1, 0)])
    assert ordering.memory(0) == 100
    assert ordering.memory(1) == 1


@pytest.mark.parametrize("key", [-(2**63), 2**63 - 1])
def test_no_key_is_above_the_largest(key):
    ordering = observe(Ordering(2), [(0, key), (1, key)])
    assert ordering.pair(0, 1) == Pair(lag=0, over=0, memory=1, settled=False)
    assert ordering.past(0) == key


def test_a_lag_follows_both_streams():
    """S_0 runs ahead by 50, then stands still until the other has caught up."""
    ordering = observe(Ordering(2), [(0, key) for key in range(50)])
    found = []
    for key in range(50):
        ordering = observe(ordering, [(1, key)])
        found.append(ordering.pair(0, 1).lag)
    assert found == list(range(49, -1, -1))
    assert ordering.pair(1, 0) == Pair(lag=-50, over=50, memory=1, settled=False)


# -- memory ------------------------------------------------------------------------------------


def test_memory_follows_the_lag_and_k():
    """Streams side by side need no more room however long they are; one that is ahead does."""
    ordering = Ordering(2)
    for begin in range(0, 2000, 100):
        together = [(stream, key) for key in range(begin, begin + 100) for stream in (0, 1)]
        ordering = observe(ordering, together)
    assert ordering.track.rings.shape[1] <= 8
    ordering = observe(ordering, [(0, key) for key in range(2000, 2500)])
    assert 500 <= ordering.track.rings.shape[1] <= 1024
    assert ordering.memory(0) == 501


def test_what_is_further_ahead_than_is_remembered_is_not_known():
    ordering = Ordering(2, most=16)
    ordering = observe(ordering, [(0, key) for key in range(40)])
    assert ordering.track.rings.shape[1] == 16
    for key in range(40):
        ordering = observe(ordering, [(1, key)])
        pair = ordering.pair(0, 1)
        # Positions 25 to 40, of keys 24 to 39, are remembered: 24 must be below as well.
        assert pair is None if key < 24 else (pair.lag, pair.memory) == (39 - key, 40 - key)


def test_a_tuple_from_before_what_is_remembered():
    """It is counted, and k is as much as is remembered; later ones are measured again."""
    keys = [*range(40), 0, *range(41, 60)]
    ordering = watched(keys, most=16)
    assert ordering.astray(0) == 1
    assert ordering.scrambling(0) == 15
    assert ordering.ordered(0)
    assert watched([*keys[:40], 30], most=16).scrambling(0) == 10


def test_a_table_forgets_keys_that_cannot_come_again():
    keys = [key // 3 for key in range(3000)]
    ordering = watched(keys, counted=True)
    assert ordering.multiplicity(0) == 3
    assert len(ordering.tables[0]) <= 2 * 16


# -- keys that are not ordered in the long run -------------------------------------------------


def test_random_keys_are_not_ordered():
    keys = np.random.default_rng(1).integers(0, 10**6, 2 * ENOUGH)
    assert watched(keys[: ENOUGH - 1]).ordered(0)
    assert not watched(keys[:ENOUGH]).ordered(0)
    assert not watched(keys).ordered(0)


@pytest.mark.parametrize("far", [ENOUGH // 4 - 1, ENOUGH // 4])
def test_k_of_a_quarter_of_the_stream_is_no_order(far):
    """Both sides of the edge; and it is one again, once the stream is long for its k."""
    keys = np.arange(ENOUGH)
    keys[far] = 0
    assert watched(keys).scrambling(0) == far
    assert watched(keys).ordered(0) == (far < ENOUGH // 4)
    assert watched([*keys, ENOUGH]).ordered(0)
    # What the user has said is not held against the stream.
    assert watched(keys, k=[far]).ordered(0)


def test_a_stream_that_descends_is_not_ordered_unless_turned_round():
    keys = np.arange(ENOUGH)[::-1]
    assert not watched(keys).ordered(0)
    assert watched(~keys).ordered(0)


def test_a_stream_that_loses_its_order_late_is_noticed():
    """Of what comes, ever more is from before what is remembered."""
    rng = np.random.default_rng(2)
    before, lost = np.arange(20_000), rng.integers(0, 20_000, 3 * ENOUGH)
    ordering = watched([*before, *lost[: ENOUGH // 2]], most=64)
    assert ordering.ordered(0)
    assert not observe(ordering, [(0, int(key)) for key in lost[ENOUGH // 2 :]]).ordered(0)


# -- the paper's streams -----------------------------------------------------------------------


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=60), st.data())
def test_quickselect(keys, data):
    rank = data.draw(st.integers(0, len(keys) - 1))
    beyond = np.array([*keys, -100, 100], np.int64)
    assert kernel.smallest(beyond, len(keys), rank) == sorted(keys)[rank]
    assert beyond[len(keys) :].tolist() == [-100, 100]


def test_the_paper_s_streams():
    """Query 1 with congestion and burst: every lag is that of the definition, in numpy."""
    tables = query_1(100, scrambling=(50, 20, 90), seed=3)
    keys = [table["epoch"].to_numpy() for table in tables]
    times = np.concatenate([table["time"].to_numpy() for table in tables]).astype(np.int64)
    streams = np.repeat(range(3), [len(each) for each in keys])
    order = np.lexsort((streams, times))
    arrivals = streams[order], np.concatenate(keys)[order]
    ordering = Ordering(3, [50, 20, 90], counted=True)
    asked = 0
    for begin in range(0, len(order), 1500):
        ordering.observe(*(each[begin : begin + 1500] for each in arrivals))
        for i, j in ((0, 1), (1, 0), (2, 1), (0, 2), (1, 2)):
            place = ordering.arrived(j) - ordering.scrambling(j)
            if not (pair := ordering.pair(i, j)) or not pair.settled:
                continue
            moment = np.flatnonzero(arrivals[0] == j)[place - 1]
            kin = (keys[i] <= np.sort(keys[j])[place - 1]).sum()
            assert pair.lag == (arrivals[0][:moment] == i).sum() - kin
            asked += 1
    assert asked > 20
    # S_2 is behind by what the congestion held up, and S_3 ahead by what the burst brought.
    assert ordering.pair(0, 1).lag == pytest.approx(30 * 50 * 7 / 8, abs=250)
    assert ordering.pair(2, 0).lag == pytest.approx(10 * 50 * 7, abs=350)
    assert [ordering.multiplicity(stream) for stream in range(3)] == [2, 2, 2]
    assert all(ordering.ordered(stream) for stream in range(3))
