"""What a restart may change of a join's question, and what it may not: buckets without Spark."""

from dataclasses import replace
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.dialect import SparkDialect
from windrow.spark.log import renew
from windrow.spark.log.directory import Directory
from windrow.spark.log.log import Log
from windrow.spark.log.question import question, refusals

from .buckets import FLUSH, Run, arenas

WIDTH, OVER = 6, 99
ABOVE, BELOW = "a.v > b.v", "a.v < b.v"


@pytest.fixture
def eager(monkeypatch):
    """Merge and renew at every opportunity."""
    monkeypatch.setattr(Log, "MERGED_AT_ONCE", 2)
    monkeypatch.setattr(renew, "LEAST_RENEWED", 1)


def table(rows, **more):
    """Rows (k, t, v), and columns of more values by name. A punctuation has v OVER."""
    columns = {
        "k": pa.array([row[0] for row in rows], pa.int64()),
        "t": pa.array([row[1] for row in rows], pa.timestamp("us")),
        "v": pa.array([row[2] for row in rows], pa.int64()),
        "over": pa.array([row[2] == OVER for row in rows], pa.bool_()),
    }
    return pa.table({**columns, **more})


def plan(schemas=None, window=f"{WIDTH} microseconds", ends=None, **choices):
    """A join of tables with these schemas."""
    nothing = [schema.empty_table() for schema in schemas or [table([]).schema] * 2]
    streams = [
        wr.stream(data, name=name, key="k", time="t", window=window, ends=ends)
        for data, name in zip(nothing, "ab", strict=True)
    ]
    return wr.plan(*streams, **choices)


def refusal(before, after):
    """What a restart says that asks for another plan."""
    run = Run(before)
    run.batch([table([(1, 100, 5)]), table([(1, 101, 4)])])
    run.ask(after)
    with pytest.raises(wr.WindrowError) as refused:
        run.batch([table([(1, 102, 5)]), table([(1, 103, 4)])])
    return str(refused.value)


# -- the condition -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        ({"how": "left"}, "which rows have met a partner (how='left')"),
        ({"how": "full"}, "which rows have met a partner (how='full')"),
        ({"how": "semi"}, "which rows have met a partner (how='semi')"),
        ({"how": "anti"}, "which rows have met a partner (how='anti')"),
        ({"window": wr.rows(3)}, "what count windows hold"),
        ({"order": "sync-filter"}, "results that are held for their order"),
        ({"order": "filter-order"}, "results that are held for their order"),
        ({"finals": {"n": "count(*)"}, "ends": "over"}, "finals"),
    ],
)
@pytest.mark.parametrize(("before", "after"), [(ABOVE, BELOW), (None, ABOVE), (ABOVE, None)])
def test_another_condition_is_refused_where_something_stored_rests_on_it(
    choices, why, before, after
):
    said = refusal(plan(condition=before, **choices), plan(condition=after, **choices))
    assert f"written with condition {before!r}, but the join has {after!r}; the" in said
    assert f"rests on the old one: {why};" in said


def test_the_same_condition_in_other_words_is_no_change():
    run = Run(plan(how="full", condition="a.v>b.v AND (a.t <= b.t)"))
    run.batch([table([(1, 100, 5)]), table([(1, 101, 4)])])
    run.ask(plan(how="full", condition="a.v  > b.v and a.t <= b.t"))
    run.batch([table([(1, 102, 5)]), table([(1, 103, 4)])])
    assert [row["b"] is not None for row in run.results().to_pylist()] == [True] * 3


SPARKS = {zone: SparkDialect(zone) for zone in ("UTC", "Europe/Berlin")}
#: Texts, and whether they mean something else in another zone.
ZONED = {
    "a.t > TIMESTAMP '2024-01-01 00:30:00'": True,
    "a.t > '2024-01-01 00:30:00'": True,
    "a.t - b.t < INTERVAL 5 MINUTES": True,
    "a.t < b.t + INTERVAL 2 DAYS": True,
    "CAST(a.t AS DATE) = DATE '2024-01-01'": True,
    "a.t > TIMESTAMP '2024-01-01 00:30:00Z'": False,
    "a.t < b.t + INTERVAL 5 MINUTES": False,
    "a.t <= b.t AND a.v > 1": False,
}


def in_zone(name, **choices):
    """A plan as a session in that zone makes it."""
    schema = table([]).schema
    schema = schema.set(1, pa.field("t", pa.timestamp("us", "UTC")))
    made = plan([schema, schema], **choices)
    streams = tuple(replace(stream, dialect=SPARKS[name]) for stream in made.streams)
    return replace(made, streams=streams, dialect=SPARKS[name])


@pytest.mark.parametrize("text", ZONED)
def test_the_same_condition_in_another_zone_is_another_one_if_it_needs_a_zone(text):
    before, after = (question(in_zone(name, how="left", condition=text)) for name in SPARKS)
    kept = Directory(2, before, [0, 0])
    said = refusals(kept, 2, after)
    assert bool(said) == ZONED[text]
    if said:
        parts = ("(times in UTC)", "(times in Europe/Berlin)", "which rows have met a partner")
        assert all(part in said[0] for part in parts)
    inner = [question(in_zone(name, condition=text)) for name in SPARKS]
    assert refusals(Directory(2, inner[0], [0, 0]), 2, inner[1]) == []


@pytest.mark.parametrize("text", ["t > '2024-01-01 00:30:00'", "over"])
def test_rows_that_end_a_key_by_a_zone_are_others_in_another(text):
    before, after = (question(in_zone(name, ends=text)) for name in SPARKS)
    said = refusals(Directory(2, before, [0, 0]), 2, after)
    assert [("punctuations" in why, "Europe/Berlin" in why) for why in said] == [(True, True)] * (
        text != "over"
    )


ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 5), st.integers(0, 9)), max_size=3, unique=True
)
LOSSES = st.sets(st.integers(0, 7))
#: Never without a row: a micro-batch that does not run leaves no word of what it asked for.
BATCHES = st.lists(st.tuples(ROWS, ROWS).filter(any), min_size=2, max_size=8)


def at(number, rows):
    """Rows of a micro-batch, at times that are never late."""
    return sorted(((k, 6 * number + t, v) for k, t, v in rows), key=lambda row: row[1])


HOLDS = {None: lambda a, b: True, ABOVE: lambda a, b: a > b, BELOW: lambda a, b: a < b}


@settings(max_examples=60)
@given(
    batches=BATCHES,
    asked=st.lists(st.sampled_from(list(HOLDS)), min_size=2, max_size=4),
    losses=LOSSES,
)
@pytest.mark.usefixtures("eager")
def test_a_plain_join_judges_by_the_new_condition_what_meets_from_now_on(batches, asked, losses):
    conditions = [asked[number * len(asked) // len(batches)] for number in range(len(batches))]
    with arenas() as folder:
        run = Run(plan(condition=conditions[0]), folder)
        for number, rows in enumerate(batches):
            run.ask(plan(condition=conditions[number]))
            run.batch([table(at(number, side)) for side in rows], number in losses)
        found = sorted(
            tuple((row[side]["k"], row[side]["t"].microsecond, row[side]["v"]) for side in "ab")
            for row in run.finish().to_pylist()
        )
    came = [
        [(number, row) for number, batch in enumerate(batches) for row in at(number, batch[side])]
        for side in (0, 1)
    ]
    expected = sorted(
        (one, two)
        for first, one in came[0]
        for second, two in came[1]
        if one[0] == two[0]
        and abs(one[1] - two[1]) <= WIDTH
        and HOLDS[conditions[max(first, second)]](one[2], two[2])
    )
    assert found == expected


# -- payload columns ---------------------------------------------------------------------------

X, Y, OTHER_X = ("x", pa.int64()), ("y", pa.string()), ("x", pa.string())


def more(columns, rows):
    """Values for further columns, by which a row can be told."""
    return {
        name: pa.array([number(row) for row in rows], pa.int64()).cast(kind)
        for name, kind in columns
    }


def number(row):
    return 1000 * row[0] + 10 * row[1] + row[2]


def schema_of(columns):
    return table([], **more(columns, [])).schema


SETS = st.sampled_from([(), (X,), (Y,), (X, Y), (Y, X), (OTHER_X,)])


def as_shown(row, columns, since):
    """A row as a result shows it: null in a column that has not been there since it came."""
    shown = {"k": row[0], "t": row[1], "v": row[2], "over": False}
    for column in columns:
        there = all(column in each for each in since)
        value = number(row) if column[1] == pa.int64() else str(number(row))
        shown[column[0]] = value if there else None
    return tuple(sorted(shown.items()))


@settings(max_examples=80)
@given(batches=BATCHES, drawn=st.lists(SETS, min_size=2, max_size=4), losses=LOSSES)
@pytest.mark.usefixtures("eager")
def test_columns_come_and_go(batches, drawn, losses):
    columns = [drawn[number * len(drawn) // len(batches)] for number in range(len(batches))]
    # A type may change only if the column was away in between.
    for n in range(1, len(columns)):
        if {X, OTHER_X} <= {*columns[n - 1], *columns[n]}:
            columns[n] = columns[n - 1]
    found = []
    with arenas() as folder:
        run = Run(plan([schema_of(columns[0]), schema_of(())]), folder)
        for n, rows in enumerate(batches):
            run.ask(plan([schema_of(columns[n]), schema_of(())]))
            sides = [at(n, side) for side in rows]
            tables = [table(sides[0], **more(columns[n], sides[0])), table(sides[1])]
            run.batch(tables, n in losses)
            found += [row for piece in run.pieces for row in piece.to_pylist()]
            run.pieces = []
    left = [
        (tuple(sorted({**row["a"], "t": row["a"]["t"].microsecond}.items())), row["b"]["v"])
        for row in found
    ]
    expected = []
    for first, second in product(range(len(batches)), repeat=2):
        since = columns[first : max(first, second) + 1]
        for one, two in product(at(first, batches[first][0]), at(second, batches[second][1])):
            if one[0] == two[0] and abs(one[1] - two[1]) <= WIDTH:
                expected.append((as_shown(one, columns[max(first, second)], since), two[2]))
    assert sorted(left, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize(
    "choices",
    [
        {"how": "full", "window": wr.rows(2)},
        {"how": "full", "order": "sync-filter"},
        {"how": "full", "order": "filter-order"},
        {"how": "full", "ends": "over"},
        {"finals": {"n": "count(*)"}, "ends": "over"},
    ],
    ids=str,
)
@pytest.mark.parametrize("lose", [False, True])
@pytest.mark.usefixtures("eager")
def test_columns_come_and_go_under_every_operator(choices, lose):
    """Rows are those of a join whose columns were there all the time, but for the nulls."""
    sides = [[[(1, 10 * n, n)], [(1, 10 * n + 5, n), (n, 10 * n + 5, n)]] for n in range(12)]
    sides += [[[(1, 130, OVER)], [(1, 130, OVER)]], [[(2, 140, 1)], [(2, 140, 1)]]]
    asked = {"window": "25 microseconds", **choices}
    always, found = [], []
    for changing, out in ((False, always), (True, found)):
        with arenas() as folder:
            run = Run(plan([schema_of((X,)), schema_of(())], **asked), folder)
            for n, (one, two) in enumerate(sides):
                columns = (X,) if n % 4 < 2 or not changing else (Y,)
                run.ask(plan([schema_of(columns), schema_of(())], **asked))
                run.batch([table(one, **more(columns, one)), table(two)], lose)
            for bucket in range(run.buckets):
                run.one(bucket, FLUSH, ended=True)
            out += [row for piece in run.pieces for row in piece.to_pylist()]
    for row in (*always, *found):
        if row.get("a"):
            row["a"] = {name: row["a"][name] for name in ("k", "t", "v")}
    assert sorted(map(repr, found)) == sorted(map(repr, always))
    assert always


def test_a_column_of_another_type_is_refused():
    before, after = (plan([schema_of((column,)), schema_of(())]) for column in (X, OTHER_X))
    run = Run(before)
    rows = [(1, 100, 5)]
    run.batch([table(rows, **more((X,), rows)), table(rows)])
    run.ask(after)
    with pytest.raises(
        wr.WindrowError, match="column 'x' of stream 'a' as int64, but the join has string"
    ):
        run.batch([table(rows, **more((OTHER_X,), rows)), table(rows)])


@pytest.mark.parametrize(
    ("there", "why"), [((), "have no value for it"), ((X,), "may have nulls there")]
)
def test_a_column_that_is_never_null_cannot_be_promised_for_stored_rows(there, why):
    rows = [(1, 100, 5)]
    run = Run(plan([schema_of(there), schema_of(())]))
    run.batch([table(rows, **more(there, rows)), table(rows)])
    promised = table([]).schema.append(pa.field("x", pa.int64(), nullable=False))
    run.ask(plan([promised, schema_of(())]))
    data = table(rows, x=pa.array([1])).cast(promised)
    with pytest.raises(wr.WindrowError, match=f"'x' of stream 'a' is declared never .* {why}"):
        run.batch([data, table(rows)])


def test_what_was_dropped_is_forgotten_with_its_rows():
    run = Run(plan([schema_of((X,)), schema_of(())]))
    rows = [(1, 100, 5)]
    run.batch([table(rows, **more((X,), rows)), table(rows)])
    run.ask(plan())
    run.batch([table([(1, 101, 5)]), table([(1, 101, 5)])])
    assert any(Directory.from_text(store.text).dropped == [{"x": 1}, {}] for store in run.stores)
    run.batch([table([(1, 500, 5)]), table([(1, 500, 5)])])
    assert all(Directory.from_text(store.text).dropped == [{}, {}] for store in run.stores)


# -- all else ----------------------------------------------------------------------------------


def test_every_reason_is_named():
    said = refusal(
        plan(how="full", condition=ABOVE, ends="over"),
        plan(how="left", condition=BELOW, ends="over", order="sync-filter"),
    )
    for name in ("kind 'full'", f"condition {ABOVE!r}", "order None"):
        assert f"written with {name}" in said
    assert len(said.splitlines()) == 5
