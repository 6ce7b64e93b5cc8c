"""Punctuations among many streams: the answer is the plain join's, and keys end for good."""

from collections import defaultdict
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.api import local_join
from windrow.kernels.ends import MOST_ENDS, MOST_TOUCHED
from windrow.testing import assert_same_rows, naive_join
from windrow.testing.ends import after_each_batch, naive_ends
from windrow.testing.punctuated import BATCHES, many_punctuated_cases

COUNTS = (3, 4, 5, 6)
HOWS = ("inner", "left", "semi", "anti")
ORDERS = ("none", "sync-filter", "filter-order", "adaptive")
SIZES = (None, 1, 2, 3)
cases = many_punctuated_cases(counts=COUNTS)


def stream(rows, name, window=None, **more):
    """Rows (key, time), or (key, time, 1) for a punctuation."""
    data = pa.table(
        {
            "k": pa.array([row[0] for row in rows], pa.int64()),
            "t": pa.array([row[1] for row in rows], pa.timestamp("us")),
            "over": pa.array([len(row) > 2 for row in rows], pa.bool_()),
        }
    )
    length = None if window is None else f"{window} microseconds"
    return wr.stream(data, name=name, key="k", time="t", ends="over", window=length, **more)


def key_of(row):
    return next(value["k"] for value in row.values() if isinstance(value, dict))


# -- promises that are kept ------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("how", HOWS)
@given(data=st.data(), batch_rows=BATCHES)
def test_the_answer_is_that_of_the_plain_join(how, data, batch_rows):
    case = data.draw(many_punctuated_cases(counts=COUNTS, hows=[how]))
    result = wr.join(*case.streams, **case.options, batch_rows=batch_rows)
    assert_same_rows(result, naive_join(*case.streams, **case.options))
    figures = wr.metrics(result)
    assert set(figures.violations.values()) == {0}
    assert sum(figures.live_rows.values()) == 0


@given(case=many_punctuated_cases(counts=COUNTS, windows=False), batch_rows=BATCHES)
def test_without_windows_too(case, batch_rows):
    result = wr.join(*case.streams, **case.options, batch_rows=batch_rows)
    assert_same_rows(result, naive_join(*case.streams, **case.options))


@pytest.mark.parametrize("order", ORDERS[1:])
@given(case=many_punctuated_cases(counts=[3, 4]), batch_rows=BATCHES)
def test_in_order(order, case, batch_rows):
    result = wr.join(*case.streams, **case.options, batch_rows=batch_rows, order=order)
    assert_same_rows(result, naive_join(*case.streams, **case.options))
    times = result["ts"].cast(pa.int64()).to_pylist()
    assert times == sorted(times)


CONDITIONS = {
    "b.v < 7 AND c.v <> 2": lambda a, b, c, *_: b["v"] < 7 and c["v"] != 2,
    "a.v <> b.v AND c.v >= a.v AND b.v < 7": lambda a, b, c, *_: (
        b["v"] != a["v"] <= c["v"] and b["v"] < 7
    ),
    "c.v >= b.v AND a.v + b.v > c.v": lambda a, b, c, *_: b["v"] <= c["v"] < a["v"] + b["v"],
}


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("condition", CONDITIONS)
@given(data=st.data(), batch_rows=BATCHES, order=st.sampled_from(ORDERS), early=st.booleans())
def test_conditions(how, condition, data, batch_rows, order, early):
    """Of one, two and three streams, asked early or at the end."""
    case = data.draw(many_punctuated_cases(counts=[3, 4], hows=[how]))
    asked = {**case.options, "condition": condition, "order": order}
    join = local_join(wr.plan(*case.streams, **asked, batch_rows=batch_rows))
    if early:
        out = join.join._task.out
        out = out._replace(matches=out.matches[:, :2], partials=out.partials[:, :2])
        join.join._task = join.join._task._replace(out=out)
        join.join.search.worthwhile = 0
    expected = naive_join(*case.streams, **case.options, condition=CONDITIONS[condition])
    assert_same_rows(join.run(), expected)


@given(case=many_punctuated_cases(counts=COUNTS, text_keys=False), batch_rows=BATCHES)
def test_unique_keys_punctuate_themselves(case, batch_rows):
    first, *others = case.streams
    seen = {}
    for at, row in enumerate(first.data.to_pylist()):
        if not row["over"] and row["k"] is not None:
            seen.setdefault(row["k"], at)
    data = first.data.take(pa.array(sorted(seen.values()), pa.int64()))
    sides = (replace(first, data=data, ends=None, unique=True), *others)
    result = wr.join(*sides, **case.options, batch_rows=batch_rows)
    assert_same_rows(result, naive_join(*sides, **case.options))
    assert wr.metrics(result).violations["a"] == 0


@given(case=cases, batch_rows=BATCHES)
def test_ignored_punctuations_are_no_tuples(case, batch_rows):
    plan = replace(wr.plan(*case.streams, **case.options, batch_rows=batch_rows), heeding=False)
    assert_same_rows(local_join(plan).run(), naive_join(*case.streams, **case.options))


# -- ends ------------------------------------------------------------------------------------


def with_ends(case, batch_rows):
    """The result with its ends, or None where no key can end."""
    if not wr.plan(*case.streams, **case.options).can_end:
        return None
    return wr.join(*case.streams, **case.options, batch_rows=batch_rows, punctuate=True)


@given(case=cases, batch_rows=BATCHES)
def test_after_a_key_has_ended_nothing_of_its_life_comes(case, batch_rows):
    """Theorems 3.1 and 4.1; and no result of the life is later than its end says."""
    result = with_ends(case, batch_rows)
    if result is None:
        return
    span = wr.plan(*case.streams, **case.options).span
    over = {}
    micros = result.set_column(
        result.column_names.index("ts"), "ts", result["ts"].cast(pa.int64())
    ).to_pylist()
    for row in micros:
        if key_of(row) is None:
            continue
        if row["kind"] == "end":
            over[key_of(row)] = row["ts"]
        else:
            # A later one is of the key's next life.
            assert row["ts"] > over.get(key_of(row), row["ts"] - 1), (span, row)
    rest = [row for row in micros if row["kind"] != "end"]
    assert len(rest) == naive_join(*case.streams, **case.options).num_rows


def moments(case, batch_rows):
    """By key, the batches in which it ended."""
    plan = replace(wr.plan(*case.streams, **case.options), punctuate=True, batch_rows=batch_rows)
    run, found = local_join(plan), defaultdict(list)
    longest = max(1, *(len(table) for table in run.tables))
    for number, start in enumerate(range(0, longest, batch_rows)):
        for piece in run.batch([(start, start + batch_rows)] * len(run.tables)):
            if piece.kind == "end":
                for row in run.record_batch(piece).to_pylist():
                    found[row["a"]["k"]].append(number)
    return found


@pytest.mark.parametrize("how", HOWS)
@given(data=st.data(), batch_rows=st.integers(1, 3))
def test_a_key_ends_in_the_batch_that_the_definition_says(how, data, batch_rows):
    """Rows of the first stream that are alone, or have met, may leave it before: then not later."""
    drawn = many_punctuated_cases(counts=COUNTS, hows=[how], text_keys=False, late=False)
    case = data.draw(drawn)
    expected, found = naive_ends(case, batch_rows), moments(case, batch_rows)
    found = {key: batches for key, batches in found.items() if key not in expected.unclear}
    if how == "inner":
        assert found == expected.batches
        return
    assert {key: len(batches) for key, batches in found.items()} == {
        key: len(batches) for key, batches in expected.batches.items()
    }
    for key, batches in found.items():
        assert all(one <= other for one, other in zip(batches, expected.batches[key], strict=True))


@given(case=many_punctuated_cases(counts=[3, 4], text_keys=False))
def test_early_propagation_is_never_later(case):
    """Theorem 4.1 against Theorem 3.1, batch by batch."""
    plan = replace(wr.plan(*case.streams, **case.options), punctuate=True, batch_rows=1)
    seen = []
    for early in (True, False):
        run = local_join(plan)
        if not early:
            run.join._task.asked.early = 0
        ended = {}
        for start in range(max(len(table) for table in run.tables) or 1):
            for piece in run.batch([(start, start + 1)] * len(run.tables)):
                if piece.kind == "end":
                    for row in run.record_batch(piece).to_pylist():
                        ended.setdefault(key_of(row), start)
        seen.append(ended)
    for key, moment in seen[1].items():
        assert seen[0][key] <= moment


def gone_by(heard, matched):
    """Of one key, the rows of s1 that can be in no result any more, by the definition."""
    held, span = heard.held(), max(heard.reaches)

    def fits(x, y):
        return -heard.reaches[y.stream] <= y.ts - x.ts <= heard.reaches[0]

    def silent(x, other):
        ended = [said for said in heard.acted if said.stream == other]
        passed = heard.progress[other] > x.ts + heard.reaches[0]
        return passed or any(x.ts <= said.ts + span for said in ended)

    def alone(x):
        others = range(1, len(heard.reaches))
        return x not in held or any(
            silent(x, other) and not any(y.stream == other and fits(x, y) for y in held)
            for other in others
        )

    return {x.ts for x in heard.tuples if x.stream == 0 and x.ts not in matched and alone(x)}


@pytest.mark.parametrize("how", ["left", "anti"])
@given(data=st.data(), batch_rows=st.integers(1, 3))
def test_a_row_leaves_alone_as_soon_as_it_can(how, data, batch_rows):
    """In the batch in which it is known, whether by progress or by an end of its key."""
    drawn = many_punctuated_cases(counts=[3, 4], hows=[how], text_keys=False, late=False)
    case = data.draw(drawn)
    run = local_join(wr.plan(*case.streams, **case.options, batch_rows=batch_rows))
    micros = lambda row: row["t"].microsecond  # noqa: E731
    met = naive_join(*case.streams, how="semi", closed=case.closed).to_pylist()
    matched = {(row["a"]["k"], micros(row["a"])) for row in met}
    left = set()
    for number, heard in enumerate(after_each_batch(case, batch_rows, run.plan.reaches)):
        start = number * batch_rows
        share = [(start, start + batch_rows)] * len(run.tables)
        for batch in run.record_batches(run.batch(share)):
            for row in batch.to_pylist():
                if row["a"]["k"] is not None and (how == "anti" or row["b"] is None):
                    left.add((row["a"]["k"], micros(row["a"])))
        expected = set()
        for key, of in heard.items():
            if key is not None:
                its = {at for k, at in matched if k == key}
                expected |= {(key, at) for at in gone_by(of, its)}
        assert left == expected


@given(case=many_punctuated_cases(counts=COUNTS, lives=1), batch_rows=BATCHES)
def test_finals_are_those_of_the_keys_that_end(case, batch_rows):
    rows = with_ends(case, batch_rows)
    if rows is None:
        return
    asked = {"n": "count(*)", "most": "max(a.v)"}
    result = wr.join(*case.streams, **case.options, batch_rows=batch_rows, finals=asked)
    ended = {key_of(row) for row in rows.to_pylist() if row["kind"] == "end"}
    expected, found = defaultdict(list), defaultdict(list)
    for row in naive_join(*case.streams, **case.options).to_pylist():
        if row["a"]["k"] in ended:
            expected[row["a"]["k"]].append(row["a"]["v"])
    for row in result.to_pylist():
        found[row["k"]].append((row["n"], row["most"]))
    assert {
        key: (sum(n for n, _ in of), max(most for _, most in of)) for key, of in found.items()
    } == {key: (len(of), max(of)) for key, of in expected.items()}


# -- where the kernel stops ------------------------------------------------------------------


@given(case=cases)
def test_a_join_goes_on_elsewhere(elsewhere, case):
    plan = replace(wr.plan(*case.streams, **case.options), batch_rows=2)
    plan = replace(plan, punctuate=plan.can_end)
    whole = local_join(plan).run().to_pylist()
    run, parts = local_join(plan), []
    for start in range(0, max(1, *(len(table) for table in run.tables)), 2):
        pieces = run.batch([(start, start + 2)] * len(run.tables))
        parts += [row for batch in run.record_batches(pieces) for row in batch.to_pylist()]
        run = elsewhere(run)
    assert sorted(map(repr, parts)) == sorted(map(repr, whole))


@pytest.mark.kernel
@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=max(settings().max_examples // 2, 5))
@given(data=st.data())
def test_every_kind_in_tiny_buffers(how, data):
    """The kernel stops and goes on wherever a buffer is full."""
    case = data.draw(many_punctuated_cases(counts=[3, 4], hows=[how]))
    run = local_join(wr.plan(*case.streams, **case.options))
    small = run.join
    out = small._task.out
    out = out._replace(matches=out.matches[:, :1], gone=out.gone[:, :1])
    small._task = small._task._replace(out=out)
    small._ends, small._touched = small._ends[:, :MOST_ENDS], small._touched[:, :MOST_TOUCHED]
    table = pa.Table.from_batches(list(run.record_batches(run.pieces())), run.schema)
    assert_same_rows(table, naive_join(*case.streams, **case.options))
