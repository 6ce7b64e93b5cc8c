"""Paper 5's memory model against what matches need, where all parameters are true."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.cost.paper5 import (
    Input,
    memory,
    memory_as_printed,
    memory_of_join,
    memory_over,
    memory_synchronised,
    output,
    slowest,
)
from windrow.model import WindrowError
from windrow.testing.ordering import (
    arrival_of,
    arrivals_over,
    joined,
    keys_of,
    lag,
    matches,
    multiplicity,
    scrambled,
    scrambling_factor,
    virtual_index,
)


def inputs_of(arrivals, streams=2):
    """What a-priori parameters would say of each stream, with rates that are all 1."""
    keys = [keys_of(arrivals, stream) for stream in range(streams)]
    return [Input(scrambling_factor(k), 1, max(1, multiplicity(k))) for k in keys]


def lag_at_the_place_of(arrivals, match):
    """L(τ') of Equation (7): when the tuple came that has the place of the match's in S_1."""
    places = virtual_index(keys_of(arrivals, 1))[match.j - 1]
    place = min(places, key=lambda v: abs(v - match.j))
    return lag(arrivals, 0, 1, arrival_of(arrivals, 1, place))


def shortfalls(arrivals):
    """By match, what it needs less what Equation (7) gives as printed, at its tightest."""
    k = [each.k for each in inputs_of(arrivals)]
    over = arrivals_over(arrivals, 0, 1, k[1])
    ratio = over / k[1] if k[1] else 1
    for match in matches(arrivals, 0, 1):
        L = lag_at_the_place_of(arrivals, match)
        if over:
            printed = memory_as_printed(Input(k[0], ratio), Input(k[1], 1), L)
        else:
            printed = max(1, k[0] + L)
        yield match.needs - round(printed)
        assert match.needs <= memory_over(k[0], over, L)


@given(scrambled())
def test_every_match_is_within_the_corrected_model(arrivals):
    """Each with its own lag; and with the largest lag there is, which a-priori parameters give."""
    assert all(shortfall <= 1 for shortfall in shortfalls(arrivals))
    k = [each.k for each in inputs_of(arrivals)]
    over = arrivals_over(arrivals, 0, 1, k[1])
    lags = [lag(arrivals, 0, 1, after) for after in range(len(arrivals) + 1)]
    for match in matches(arrivals, 0, 1):
        # There is one: the match's own.
        most = max(known for known in lags if known is not None)
        assert match.needs <= memory_over(k[0], over, most)


def test_equation_7_as_printed_is_one_tuple_short():
    """For a good part of all matches, and never by more. How many depends on the streams."""
    rng = random.Random(5)
    found = [short for _ in range(400) for short in shortfalls(random_pair(rng))]
    share = sum(short > 0 for short in found) / len(found)
    assert max(found) == 1
    assert 0.15 < share < 0.25
    # In order, and S_i ahead: every match, as long as it is ahead.
    ahead = [(stream, key) for stream in (0, 1) for key in range(5)]
    assert list(shortfalls(ahead)) == [1, 1, 1, 1, 0]


def random_pair(rng):
    """Two streams of up to 10 tuples in random turns, each moved by up to 4 places."""
    arrivals = []
    turns = [rng.randrange(2) for _ in range(rng.randint(2, 20))]
    for _ in range(2):
        late, steps = rng.choice([0, 0, 1, 4]), rng.choice([[1], [0, 1, 1], [1, 2]])
        keys = [0]
        while len(keys) < len(turns):
            keys.append(keys[-1] + rng.choice(steps))
        keys = [k for _, k in sorted((p + rng.uniform(0, late), k) for p, k in enumerate(keys))]
        arrivals.append(iter(keys))
    return [(stream, next(arrivals[stream])) for stream in turns]


def test_the_least_case():
    """Two streams in order, together: the partner itself is the one tuple to store."""
    arrivals = [(0, 1), (1, 1), (0, 2), (1, 2)]
    assert [match.needs for match in matches(arrivals, 0, 1)] == [1, 1]
    one = Input(0, 1)
    assert memory_synchronised(one, one) == 0
    assert [memory(one, one, L) for L in (-2, -1, 0, 1)] == [1, 1, 1, 2]
    assert [memory_as_printed(one, one, L) for L in (-2, 0, 1, 2)] == [1, 1, 1, 2]


@given(
    st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(0, 9), st.integers(1, 9)),
    st.integers(-30, 30),
)
def test_the_correction_is_the_partner_and_the_rounding(k_and_r, L):
    k_i, r_i, k_j, r_j = k_and_r
    s_i, s_j = Input(k_i, r_i), Input(k_j, r_j)
    exact = k_i + r_i * k_j / r_j + L
    assert memory_as_printed(s_i, s_j, L) == max(1, exact)
    corrected = memory(s_i, s_j, L)
    assert corrected == 1 if exact + 1 <= 1 else exact + 1 <= corrected < exact + 2
    # r_j tuples more of S_j to wait for: r_i more of S_i to store.
    more = memory(s_i, Input(k_j + r_j, r_j), L)
    assert more == max(1, math.ceil(exact) + 1 + r_i)
    assert memory(Input(k_i, 10 * r_i), Input(k_j, 10 * r_j), L) == corrected


@given(scrambled(streams=3, most=5))
def test_a_join_stores_the_most_that_any_partner_needs(arrivals):
    """Equation (8), with parameters that are true of these three streams."""
    inputs = inputs_of(arrivals, 3)
    lags = [[most_lag(arrivals, i, j) for j in range(3)] for i in range(3)]
    # Rates by pairs are no rates of streams: the largest ratio holds for all.
    ratio = max(
        arrivals_over(arrivals, i, j, inputs[j].k) / max(inputs[j].k, 1)
        for i in range(3) for j in range(3) if i != j
    )  # fmt: skip
    for i in range(3):
        given_rates = [
            Input(each.k, max(ratio, 1e-9) if at == i else 1, each.multiplicity)
            for at, each in enumerate(inputs)
        ]
        stored = memory_of_join(given_rates, lags)[i]
        for j in range(3):
            if j != i:
                assert all(match.needs <= stored for match in matches(arrivals, i, j))


def most_lag(arrivals, i, j):
    known = [lag(arrivals, i, j, after) for after in range(len(arrivals) + 1)]
    return max((each for each in known if each is not None), default=0)


@pytest.mark.parametrize("streams", [2, 3])
@given(st.data())
def test_theorem_3_1(streams, data):
    """Equations (9) and (10): the output's rate over any stretch, its k, and its multiplicity."""
    arrivals = data.draw(scrambled(streams=streams, most=9 if streams == 2 else 6))
    inputs = inputs_of(arrivals, streams)
    bound = output(inputs)
    results = joined(arrivals, streams)
    keys = [key for _, key in results]
    assert scrambling_factor(keys) <= bound.k
    assert multiplicity(keys) <= bound.multiplicity
    for begin in range(len(arrivals)):
        for end in range(begin + 1, len(arrivals) + 1):
            came = [sum(s == i for s, _ in arrivals[begin:end]) for i in range(streams)]
            if all(came):
                rates = [Input(e.k, n, e.multiplicity) for e, n in zip(inputs, came, strict=True)]
                produced = sum(begin < at <= end for at, _ in results)
                assert produced <= output(rates).rate


def test_theorem_3_1_is_tight():
    """Two tuples of each key side by side, and one input behind the other."""
    one = [(0, 1), (0, 1), (1, 1), (1, 1)]
    assert scrambling_factor([key for _, key in joined(one, 2)]) == 3
    assert output(inputs_of(one)) == Input(k=4, rate=4, multiplicity=4)
    # One input in order and known: the output is as scrambled as the other.
    known = [(0, 1), (0, 2), (0, 3), (1, 3), (1, 2), (1, 1)]
    assert (
        scrambling_factor([key for _, key in joined(known, 2)]) == output(inputs_of(known)).k == 2
    )


def test_the_lag_of_outputs_is_that_of_the_slowest_inputs():
    """Section 3.2 with streams in order: S_7 of S_1, S_2 and S_8 of S_4, S_5."""
    # By arrival: stream 1 runs behind stream 0 by two tuples, and 3 behind 2 by one.
    order = [0, 0, 0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 1, 1]
    came = [order[:at].count(stream) + 1 for at, stream in enumerate(order)]
    arrivals = list(zip(order, came, strict=True))
    for after in (9, 12, 13):
        lags = [[lag(arrivals, i, j, after) for j in (0, 1)] for i in (0, 1)]
        assert slowest(lags) == 1
        assert slowest([[lag(arrivals, i, j, after) for j in (2, 3)] for i in (2, 3)]) == 1
        # S_7 comes with stream 1, S_8 with stream 3.
        outputs = [(stream, key) for stream, key in arrivals if stream in (1, 3)]
        done = sum(stream in (1, 3) for stream in order[:after])
        assert lag(outputs, 1, 3, done) == lag(arrivals, 1, 3, after)


@pytest.mark.parametrize(
    ("k", "rate", "mul"), [(0, 0, 1), (0, float("nan"), 1), (0, 1, 2), (1, 1, 0)]
)
def test_refusals(k, rate, mul):
    with pytest.raises(WindrowError, match=r"rate is|k is"):
        Input(k, rate, mul)
