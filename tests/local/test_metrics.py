"""The figures of a join, worked out by hand for each strategy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.api import local_join
from windrow.kernels.cells import cell_of
from windrow.operators.keys import hash_keys

BUCKETS = 2


X, Y = 0, 1


def test_the_keys_are_of_two_buckets_and_two_chains():
    """What the figures below rest on."""
    x, y = hash_keys([pa.array([X, Y])], 2).hashes.tolist()
    assert [cell_of(x, BUCKETS), cell_of(y, BUCKETS)] == [0, 1]
    assert (x ^ y) & 63


def stream(name, *rows, **given) -> wr.Stream:
    """Rows of (key, time)."""
    keys, times = zip(*rows, strict=True) if rows else ((), ())
    columns = {"k": pa.array(keys, pa.int64()), "t": pa.array(times, pa.timestamp("us"))}
    window = given.pop("window", "10 microseconds")
    return wr.stream(pa.table(columns), name=name, key="k", time="t", window=window, **given)


#: In time order: a x0, a y1, b x2 (meets x0), b x20, a y21, b y40. Windows of 10.
A = stream("a", (X, 0), (Y, 1), (Y, 21))
B = stream("b", (X, 2), (X, 20), (Y, 40))

#: Comparisons and checks, then invalidated, left and most ever stored, of a and of b.
FIGURES = {
    # b's probes clear their buckets of a; no row of a probes a bucket of b with something old.
    "probe": (1, 4, (3, 0), (0, 3), (3, 3)),
    # x20 drops x2 of its own bucket, and y21 drops y1.
    "probe-insert": (1, 11, (3, 1), (0, 2), (3, 3)),
    # x20 drops y1 too, so a never has two in one bucket; y21 drops x2.
    "probe-all": (1, 7, (3, 1), (0, 2), (2, 3)),
    # As probe-all, and own buckets too; the end of the batch clears what is left.
    "all": (1, 16, (3, 3), (0, 0), (2, 3)),
    # The same with one look at each list's old end; b never has two.
    "time-list": (1, 9, (3, 3), (0, 0), (2, 1)),
}


@pytest.mark.parametrize("invalidation", FIGURES)
def test_strategies(invalidation):
    comparisons, checks, invalidated, left, peak = FIGURES[invalidation]
    buckets = 1 if invalidation == "time-list" else BUCKETS
    result = wr.join(A, B, algorithm="hash", invalidation=invalidation, buckets=buckets)
    found = wr.metrics(result)
    assert result.num_rows == 1
    assert (found.comparisons, found.checks) == (comparisons, checks)
    assert (found.matches, found.candidates, found.unmatched) == (1, 1, 0)
    assert (found.tuples, found.inserted) == ({"a": 3, "b": 3}, {"a": 3, "b": 3})
    assert tuple(found.invalidated.values()) == invalidated
    assert tuple(found.live_rows.values()) == left
    # Both tables have ended, so whatever is left could be gone.
    assert tuple(found.stale.values()) == left
    assert tuple(found.peak_rows.values()) == peak
    assert found.batches == 1


def test_nested_loops():
    """One bucket: x2 looks at x0 and y1, y21 at x20."""
    found = wr.metrics(wr.join(A, B, algorithm="nested-loops"))
    assert (found.comparisons, found.checks, found.matches) == (3, 14, 1)
    assert tuple(found.peak_rows.values()) == (2, 2)
    assert found.invalidated == {"a": 3, "b": 3}


@pytest.mark.parametrize(
    ("how", "matches", "unmatched", "inserted"),
    [
        ("inner", 1, 0, (3, 3)),
        ("left", 1, 2, (3, 3)),
        ("right", 1, 2, (3, 3)),
        ("full", 1, 4, (3, 3)),
        ("semi", 1, 0, (3, 3)),
        ("anti", 0, 2, (3, 3)),
    ],
)
def test_kinds(how, matches, unmatched, inserted):
    found = wr.metrics(wr.join(A, B, how=how, algorithm="hash"))
    assert (found.matches, found.unmatched) == (matches, unmatched)
    assert tuple(found.inserted.values()) == inserted


def test_a_semi_joins_tuple_is_settled_by_its_first_match():
    """It comes after its partner, so it needs no place; and one match is all it gets."""
    first, second = stream("a", (X, 5)), stream("b", (X, 1), (X, 2), (X, 6))
    found = wr.metrics(wr.join(first, second, how="semi", algorithm="hash"))
    assert (found.matches, found.inserted) == (1, {"a": 0, "b": 3})


def test_candidates_are_what_a_condition_is_asked_of():
    found = wr.metrics(wr.join(A, B, condition="a.t = b.t", how="full", algorithm="hash"))
    assert (found.candidates, found.matches, found.unmatched) == (1, 0, 6)


def test_what_does_not_take_part():
    """Batches of two: progress of a is 30 when 20 comes; one has no time, one no key."""
    rows = {
        "k": [X, X, X, X, None, X],
        "t": pa.array([10, 30, 20, None, 40, 50], pa.timestamp("us")),
        "beat": [False, False, False, False, False, True],
    }
    a = wr.stream(
        pa.table(rows), name="a", key="k", time="t", window="10 microseconds", beats="beat"
    )
    b = stream("b", (X, 10))
    found = wr.metrics(wr.join(a, b, how="left", batch_rows=2, algorithm="hash"))
    assert found.batches == 3
    assert found.tuples == {"a": 3, "b": 1}
    assert found.late == {"a": 1, "b": 0}
    assert found.bad == {"a": 1, "b": 0}
    assert found.beats == {"a": 1, "b": 0}
    assert (found.matches, found.unmatched) == (1, 2)
    # 10 and 30. What has no key can meet nothing, so it is never stored.
    assert found.inserted["a"] == 2


def test_the_peak_is_within_a_batch_too():
    """A whole table is one batch, and yet only a window of it is stored at a time."""
    a = stream("a", *((n, 10 * n) for n in range(200)), window="95 microseconds")
    b = stream("b", *((n, 10 * n + 5) for n in range(200)), window="95 microseconds")
    found = wr.metrics(wr.join(a, b, algorithm="hash"))
    assert found.matches == 200
    assert found.peak_rows == {"a": 10, "b": 10}


def test_bytes_are_those_of_the_rows_that_are_left():
    """Nothing probes for a's tuples, so `probe` leaves them all; b has none."""
    a = stream("a", *((n, n) for n in range(1000)))
    found = wr.metrics(wr.join(a, stream("b"), invalidation="probe", algorithm="hash"))
    assert found.live_rows == {"a": 1000, "b": 0}
    assert found.live_bytes == {"a": 32 * 1000, "b": 0}
    assert found.allocated_bytes > 32 * 1000


def test_memory_without_live_rows_is_allocated_but_not_live():
    """The last rows let all others go, and have no partner; what was allocated stays."""
    rows = [(n, n) for n in range(1000)]
    a, b = stream("a", *rows, (X, 10**6)), stream("b", *rows, (X, 2 * 10**6))
    found = wr.metrics(wr.join(a, b, algorithm="hash"))
    assert found.live_rows == found.live_bytes == {"a": 0, "b": 0}
    assert found.allocated_bytes > 0


def test_figures_are_plain_numbers_in_the_schema():
    result = wr.join(A, B)
    assert list(result.schema.metadata) == [b"windrow.metrics"]
    found = wr.metrics(result.slice(0, 0))
    assert found == wr.metrics(result)
    for value in vars(found).values():
        for number in value.values() if isinstance(value, dict) else [value]:
            assert type(number) is int


def test_checks_count_every_look_at_an_old_end_with_punctuations_too():
    """One of a key that nothing else has: the tuples are stored and dropped as without it."""
    rng = np.random.default_rng(7)
    rows = [
        [(int(k), int(t)) for k, t in zip(rng.integers(0, 5, 200), range(200), strict=True)]
    ] * 2

    def checks(ending):
        data = [
            pa.table(
                {
                    "k": pa.array([k for k, _ in side], pa.int64()),
                    "t": pa.array([t for _, t in side], pa.timestamp("us")),
                    "over": pa.array([k == 99 for k, _ in side]),
                }
            )
            for side in ([(99, 0)] * ending + rows[0], rows[1])
        ]
        made = [
            wr.stream(d, name=n, key="k", time="t", window="20 microseconds", ends="over")
            for d, n in zip(data, "ab", strict=True)
        ]
        figures = wr.metrics(wr.join(*made, algorithm="hash", buckets=3))
        assert figures.punctuations["a"] == ending
        return figures.checks

    assert checks(ending=True) == checks(ending=False)


def test_what_waiting_input_needs_is_not_stale():
    """b runs ahead: its tuple at 8 waits for a, and will meet a's tuple at 0."""
    a = stream("a", (X, 0), (X, 1), (X, 100))
    b = stream("b", (X, 8), (X, 90), (X, 100))
    plan = replace(wr.plan(a, b, order="sync-filter"), batch_rows=1)
    run, stale = local_join(plan), []
    for start in range(3):
        for _ in run.batch([(start, start + 1)] * 2):
            pass
        stale.append(run.figures().stale["a"])
    assert stale == [0, 0, 0]
    assert run.figures().matches == 4
