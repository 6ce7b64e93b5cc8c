"""Punctuations: with promises that hold the answer is the plain join's, and keys end for good."""

import datetime as dt
from collections import Counter, defaultdict
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.kernels.ends import MOST_ENDS, MOST_TOUCHED
from windrow.testing import assert_same_rows, duckdb_join, naive_join
from windrow.testing.ends import naive_ends
from windrow.testing.punctuated import BATCHES, many_punctuated_cases, punctuated_cases

HOWS = ("inner", "left", "right", "full", "semi", "anti")


# -- against oracles -----------------------------------------------------------------------------


@pytest.mark.kernel
@given(case=punctuated_cases(), batch_rows=BATCHES)
def test_the_answer_is_that_of_the_plain_join(case, batch_rows):
    result = wr.join(*case.streams, **case.options, batch_rows=batch_rows)
    assert_same_rows(result, duckdb_join(*case.streams, **case.options))
    figures = wr.metrics(result)
    assert set(figures.violations.values()) == {0}
    assert sum(figures.live_rows.values()) == 0


@given(case=punctuated_cases(windows=False), batch_rows=BATCHES)
def test_without_windows_too(case, batch_rows):
    """PJoin."""
    result = wr.join(*case.streams, **case.options, batch_rows=batch_rows)
    assert_same_rows(result, naive_join(*case.streams, **case.options))


@given(case=punctuated_cases(), batch_rows=BATCHES)
def test_ignored_punctuations_are_no_tuples(case, batch_rows):
    """WJoin."""
    plan = replace(wr.plan(*case.streams, **case.options, batch_rows=batch_rows), heeding=False)
    result = local_join(plan).run()
    assert_same_rows(result, naive_join(*case.streams, **case.options))


@given(case=punctuated_cases(text_keys=False), batch_rows=BATCHES)
def test_unique_keys_punctuate_themselves(case, batch_rows):
    left, right = case.streams
    first = {}
    for at, row in enumerate(left.data.to_pylist()):
        if not row["over"] and row["k"] is not None:
            first.setdefault(row["k"], at)
    data = left.data.take(pa.array(sorted(first.values()), pa.int64()))
    left = replace(left, data=data, ends=None, unique=True)
    result = wr.join(left, right, **case.options, batch_rows=batch_rows)
    assert_same_rows(result, naive_join(left, right, **case.options))
    assert wr.metrics(result).violations["left"] == 0


# -- ends ----------------------------------------------------------------------------------------


def key_of(row):
    found = [row[name] for name in ("left", "right") if row.get(name) is not None]
    return found[0]["k"]


def with_ends(case, batch_rows):
    return wr.join(*case.streams, **case.options, batch_rows=batch_rows, punctuate=True)


@given(case=punctuated_cases(), batch_rows=BATCHES)
def test_after_a_key_has_ended_nothing_has_it(case, batch_rows):
    """Theorems 3.1 and 4.1; and no result of the key is later than its end says."""
    result = with_ends(case, batch_rows).to_pylist()
    ended, latest = {}, {}
    for row in result:
        key = key_of(row)
        if row["kind"] == "end":
            assert row["ts"] >= latest.get(key, row["ts"])
            ended[key] = row["ts"]
        elif key is not None:
            assert key not in ended, row
            latest[key] = max(row["ts"], latest.get(key, row["ts"]))
    rest = [row for row in result if row["kind"] != "end"]
    assert len(rest) == naive_join(*case.streams, **case.options).num_rows


@given(case=punctuated_cases(), batch_rows=BATCHES)
def test_every_key_that_can_end_ends_once_in_each_life(case, batch_rows):
    """Both sides' punctuations at most a span apart are one life; else each is one of its own."""
    plan = wr.plan(*case.streams, **case.options)
    said = [punctuations(stream) for stream in case.streams]
    # Said again after both sides had ended it, a key ends once more: a life of nothing.
    twice = {key for side in said for key, times in side.items() if len(times) > 1}
    said = [{key: times[0] for key, times in side.items()} for side in said]
    wanted = Counter()
    for key in {*said[0], *said[1]}:
        both = key in said[0] and key in said[1]
        if both and abs(said[0][key] - said[1][key]) <= plan.span:
            wanted[key] = 1
        else:
            wanted[key] = sum(key in said[s] and plan.early(s) for s in range(2))
    result = with_ends(case, batch_rows).to_pylist()
    found = Counter(key_of(row) for row in result if row["kind"] == "end")
    assert {k: n for k, n in found.items() if k not in twice} == {
        k: n for k, n in wanted.items() if n and k not in twice
    }


def punctuations(stream):
    """By key, when it was said to be over."""
    said = defaultdict(list)
    for row in stream.data.filter(stream.data.column("over")).to_pylist():
        said[row["k"]].append((row["t"] - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1))
    return said


@given(case=punctuated_cases())
def test_early_propagation_is_never_later(case):
    """Theorem 4.1 against Theorem 3.1, batch by batch."""
    plan = replace(wr.plan(*case.streams, **case.options), punctuate=True, batch_rows=1)
    seen = []
    for early in (True, False):
        run = local_join(plan)
        if not early:
            run.join.promises = replace(run.join.promises, early=(False, False))
        moments = {}
        for start in range(max(len(table) for table in run.tables) or 1):
            for piece in run.batch([(start, start + 1)] * 2):
                if piece.kind == "end":
                    for row in run.record_batch(piece).to_pylist():
                        moments.setdefault(key_of(row), start)
        seen.append(moments)
    for key, moment in seen[1].items():
        assert seen[0][key] <= moment


two_streams_with_lives = many_punctuated_cases(counts=[2], hows=HOWS, text_keys=False)


@given(case=two_streams_with_lives, batch_rows=BATCHES)
def test_keys_that_come_back_have_the_plain_joins_answer(case, batch_rows):
    result = wr.join(*case.streams, **case.options, batch_rows=batch_rows)
    assert_same_rows(result, naive_join(*case.streams, **case.options))
    assert set(wr.metrics(result).violations.values()) == {0}


def moments(case, batch_rows):
    """By key, the batches in which it ended."""
    plan = replace(wr.plan(*case.streams, **case.options), punctuate=True, batch_rows=batch_rows)
    run, found = local_join(plan), defaultdict(list)
    longest = max(1, *(len(table) for table in run.tables))
    for number, start in enumerate(range(0, longest, batch_rows)):
        for piece in run.batch([(start, start + batch_rows)] * 2):
            if piece.kind == "end":
                for row in run.record_batch(piece).to_pylist():
                    found[row["a"]["k"]].append(number)
    return found


@given(
    case=many_punctuated_cases(counts=[2], hows=HOWS, text_keys=False, late=False),
    batch_rows=st.integers(1, 3),
)
def test_a_key_ends_in_the_batch_that_the_definition_says(case, batch_rows):
    expected, found = naive_ends(case, batch_rows), moments(case, batch_rows)
    found = {key: batches for key, batches in found.items() if key not in expected.unclear}
    if case.how in ("semi", "anti"):
        assert {key: len(batches) for key, batches in found.items()} == {
            key: len(batches) for key, batches in expected.batches.items()
        }
        for key, batches in found.items():
            pairs = zip(batches, expected.batches[key], strict=True)
            assert all(one <= other for one, other in pairs)
    else:
        assert found == expected.batches


# -- restarts ------------------------------------------------------------------------------------


@given(case=punctuated_cases())
def test_a_join_goes_on_elsewhere(elsewhere, case):
    whole = with_ends(case, 2).to_pylist()
    plan = replace(wr.plan(*case.streams, **case.options), punctuate=True, batch_rows=2)
    run, parts = local_join(plan), []
    for start in range(0, max(1, *(len(table) for table in run.tables)), 2):
        pieces = run.batch([(start, start + 2)] * 2)
        parts += [row for batch in run.record_batches(pieces) for row in batch.to_pylist()]
        run = elsewhere(run)
    assert sorted(map(repr, parts)) == sorted(map(repr, whole))


@pytest.mark.kernel
@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=10)
@given(case=punctuated_cases(max_rows=30))
def test_every_kind_in_tiny_buffers(how, case):
    """The kernel stops and goes on wherever a buffer is full."""
    case = replace(case, how=how)
    plan = wr.plan(*case.streams, **case.options)
    run = local_join(plan)
    small = run.join
    out = small._task.out
    out = out._replace(matches=out.matches[:, :1], gone=out.gone[:, :1])
    small._task = small._task._replace(out=out)
    small._ends, small._touched = small._ends[:, :MOST_ENDS], small._touched[:, :MOST_TOUCHED]
    table = pa.Table.from_batches(list(run.record_batches(run.pieces())), run.schema)
    assert_same_rows(table, naive_join(*case.streams, **case.options))
