"""Every option of a stream and of a join, changed at a restart: buckets without Spark.

What is accepted holds from the next micro-batch on, and is compared with rows that are written out
here; what is refused is refused by name.
"""

import inspect

import pyarrow as pa
import pytest

import windrow as wr

from .buckets import Run, arenas

STREAM = {"key": "k", "time": "t", "window": "10 microseconds"}
DAY = 86_400_000_000


def table(*rows):
    """Rows (k, t) or (k, t, mark); `t2` is the same time again."""
    times = pa.array([row[1] for row in rows], pa.timestamp("us", "UTC"))
    keys = pa.array([row[0] for row in rows], pa.int64())
    marks = pa.array([(*row, None)[2] for row in rows], pa.string())
    return pa.table({"k": keys, "k2": keys, "t": times, "t2": times, "mark": marks})


def plan(asked, names="ab", of=("a", "b")):
    """A join of streams with these options; those of `wr.join` are told by their names."""
    joined = {name: value for name, value in asked.items() if name in JOIN}
    stream = {name: value for name, value in asked.items() if name not in JOIN}
    more = [{**STREAM, **stream} if name in of else STREAM for name in names]
    streams = [wr.stream(table(), name=n, **m) for n, m in zip(names, more, strict=True)]
    return wr.plan(*streams, **joined)


def options(function):
    return {
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


JOIN = options(wr.join)


# -- accepted ------------------------------------------------------------------------------------


def times(run):
    """Each row as (kind, time of a, time of b); the kind only where there are several."""
    found = []
    for row in run.results().to_pylist():
        sides = [row[name] and row[name]["t"] and micros(row[name]["t"]) for name in "ab"]
        found.append((*([row["kind"]] if "kind" in row else []), *sides))
    return sorted(found, key=repr)


def micros(time):
    return pa.scalar(time).cast(pa.timestamp("us", "UTC")).value


#: What changes; micro-batches before and after, of which each has rows of a and of b; what comes
#: out then, without what had come out before. Of 100, 8 is within the windows, 10 on their edge.
ACCEPTED = {
    "window": (
        {"window": "10 microseconds"}, {"window": "20 microseconds"},
        [([(1, 100)], [(1, 100)])], [([(1, 120)], [])],
        [(120, 100)],
    ),
    "between": (
        {"window": None, "between": ("-10 microseconds", "10 microseconds")},
        {"window": None, "between": ("-20 microseconds", "5 microseconds")},
        [([(1, 100)], [(1, 100)])], [([(1, 120)], [(1, 106)])],
        [(120, 100), (120, 106)],
    ),
    "windows to between": (
        {}, {"window": None, "between": ("-20 microseconds", "5 microseconds")},
        [([(1, 100)], [(1, 100)])], [([(1, 120)], [(1, 106)])],
        [(120, 100), (120, 106)],
    ),
    "open windows": (
        {"closed": True}, {"closed": False},
        [([(1, 100)], [])], [([], [(1, 109), (1, 110)])],
        [(100, 109)],
    ),
    "closed windows": (
        {"closed": False}, {"closed": True},
        [([(1, 100)], [])], [([], [(1, 109), (1, 110), (1, 111)])],
        [(100, 109), (100, 110)],
    ),
    "lateness": (
        {"lateness": "0 seconds"}, {"lateness": "5 microseconds"},
        # Progress does not go back, so what is late to it stays late; later it is less strict.
        [([(1, 100)], [(1, 100)])], [([(1, 99), (1, 108)], []), ([(1, 103), (1, 102)], [])],
        [(103, 100), (108, 100)],
    ),
    "idle": (
        {"how": "left"}, {"how": "left", "idle": "1 second"},
        [([(1, 100)], [(1, 80)])], [([(1, 200)], [])],
        # Since b has been silent for a day, a row that it could still meet leaves alone.
        [(100, None)],
    ),
    "beats": (
        {"beats": "mark = 'beat'"}, {"beats": None},
        [([(1, 100), (1, 101, "beat")], [(1, 101)])], [([(1, 102, "beat")], [])],
        [(102, 101)],
    ),
    "other beats": (
        {"beats": "mark = 'beat'"}, {"beats": "mark = 'other'"},
        [([(1, 100)], [(1, 101)])], [([(1, 102, "beat"), (1, 102, "other")], [])],
        [(102, 101)],
    ),
    "max_ahead": (
        {"max_ahead": None}, {"max_ahead": "1 hour"},
        [([(1, 100)], [(1, 100)])], [([(1, 3 * DAY)], []), ([(1, 101)], [])],
        [(101, 100)],
    ),
    "late": (
        {}, {"late": "keep"},
        [([(1, 100)], [(1, 100)])], [([(1, 99), (1, 101)], [])],
        [("late", 99, None), ("match", 101, 100)],
    ),
    "bad": (
        {}, {"bad": "keep"},
        [([(1, 100)], [(1, 100)])], [([(1, None), (1, 101)], [])],
        [("bad", None, None), ("match", 101, 100)],
    ),
    "violations": (
        {"ends": "mark = 'end'"}, {"ends": "mark = 'end'", "violations": "fail"},
        [([(1, 100), (1, 100, "end")], [(1, 99)])], [([(2, 102)], [(1, 101), (2, 102)])],
        [(100, 101), (102, 102)],
    ),
    "punctuate": (
        {"ends": "mark = 'end'"}, {"ends": "mark = 'end'", "punctuate": True},
        [([(1, 100), (1, 100, "end")], [(1, 99)])], [([(2, 102)], [(1, 101), (1, 102, "end")])],
        [("end", None, None), ("match", 100, 101)],
    ),
    "punctuate no more": (
        {"ends": "mark = 'end'", "punctuate": True}, {"ends": "mark = 'end'"},
        [([(1, 100), (1, 100, "end")], [(1, 99)])], [([(2, 102)], [(1, 101), (1, 102, "end")])],
        [(100, 101)],
    ),
    "condition": (
        {}, {"condition": "a.mark = b.mark"},
        [([(1, 100, "x")], [(1, 100, "y")])], [([(1, 101, "y")], [(1, 101, "x")])],
        [(100, 101), (101, 100)],
    ),
    "algorithm": (
        {"algorithm": "hash"}, {"algorithm": "nested-loops"},
        [([(1, 100)], [(1, 100)])], [([(1, 101)], [])],
        [(101, 100)],
    ),
    "alpha": (
        {"order": "adaptive"}, {"order": "adaptive", "alpha": 0.9},
        [([(1, 100)], [(1, 100)])], [([(1, 101), (1, 102)], [(1, 102)])],
        [(100, 100), (101, 100)],
    ),
    "data": (
        {}, {},
        [([(1, 100)], [(1, 100)])], [([(1, 101)], [])],
        [(101, 100)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("lose", [False, True], ids=["with arenas", "without"])
@pytest.mark.parametrize("what", ACCEPTED)
def test_it_holds_from_the_next_micro_batch_on(what, lose):
    before, after, first, second, expected = ACCEPTED[what]
    now = DAY
    with arenas() as folder:
        run = Run(plan(before), folder)
        for sides in first:
            run.batch([table(*rows) for rows in sides], now=now)
        run.pieces.clear()
        run.ask(plan(after))
        for sides in second:
            now += DAY
            run.batch([table(*rows) for rows in sides], lose, now=now)
    assert times(run) == expected


def test_a_violation_that_is_to_fail_the_join_from_now_on_does(tmp_path):
    run = Run(plan({"ends": "mark = 'end'"}), str(tmp_path))
    run.batch([table((1, 100), (1, 100, "end")), table((1, 99))])
    run.ask(plan({"ends": "mark = 'end'", "violations": "fail"}))
    with pytest.raises(wr.WindrowError, match="stream 'a': 1 tuples came after a punctuation"):
        run.batch([table((1, 101)), table()])


# -- refused -------------------------------------------------------------------------------------

ENDS = {"ends": "mark = 'end'"}
ORDERED = {"order": "filter-order"}
#: What changes, from what to what, and how the refusal goes on.
REFUSED = {
    "name": ({}, {"names": "xb"}, "streams ['a', 'b'], but the join has ['x', 'b']"),
    "the streams' order": ({}, {"names": "ba"}, "streams ['a', 'b'], but the join has ['b', 'a']"),
    "another stream": ({}, {"names": "abc"}, "streams ['a', 'b'], but the join has ['a', 'b', "),
    "key": ({}, {"key": "k2"}, "keys [['k'], ['k']], but the join has [['k2'], ['k2']]"),
    "one key more": ({}, {"key": ["k", "k2"]}, "keys [['k'], ['k']], but the join has [['k', 'k2'"),
    "time": ({}, {"time": "t2"}, "times ['t', 't'], but the join has ['t2', 't2']"),
    "how": ({}, {"how": "semi"}, "kind 'inner', but the join has 'semi'"),
    "a count window": ({}, {"window": wr.rows(2)}, "count windows [None, None], but"),
    "rows": ({"window": wr.rows(2)}, {"window": wr.rows(3)}, "count windows [[2, 'key'], [2, "),
    "rows of the stream": (
        {"window": wr.rows(2, per="stream")},
        {"window": wr.rows(2)},
        "count windows [[2, 'stream'], [2, 'stream']], but the join has [[2, 'key'], [2, 'key']]",
    ),
    "window beside a count window": (
        {"window": wr.rows(2), "of": "a"},
        {"window": wr.rows(2), "of": "a", "closed": False},
        "windows beside a count window",
    ),
    "ends": ({}, ENDS, "punctuations None, but the join has"),
    "other ends": (ENDS, {"ends": "mark = 'x'"}, "punctuations [[\"mark = 'end'\", None, False]"),
    "ends_to": (ENDS, {**ENDS, "ends_to": "k2"}, "punctuations [["),
    "unique": (ENDS, {"unique": True}, "punctuations [["),
    "window beside punctuations": (
        ENDS, {**ENDS, "window": "9 microseconds"}, "windows beside punctuations [10, 10]",
    ),
    "closed beside punctuations": (
        ENDS, {**ENDS, "closed": False}, "windows beside punctuations [10, 10]",
    ),
    "order": ({}, ORDERED, "order None, but the join has 'filter-order'"),
    "another order": (ORDERED, {"order": "adaptive"}, "order 'filter-order', but the join has 'a"),
    "window in order": (
        ORDERED, {**ORDERED, "window": "9 microseconds"}, "windows and lateness in order [[10, 10]",
    ),
    "lateness in order": (
        ORDERED, {**ORDERED, "lateness": "1 second"}, "windows and lateness in order [[10, 10], [0",
    ),
    "punctuate in order": (
        {**ENDS, **ORDERED}, {**ENDS, **ORDERED, "punctuate": True}, "punctuate in order False",
    ),
    "finals": (ENDS, {**ENDS, "finals": {"n": "count(*)"}}, "finals None, but the join has"),
    "other finals": (
        {**ENDS, "finals": {"n": "count(*)"}},
        {**ENDS, "finals": {"n": "max(a.k)"}},
        "finals [['count', None, None]], but the join has [['max', 0, 'k']]",
    ),
    "condition": (
        {"how": "left"}, {"how": "left", "condition": "a.mark = b.mark"}, "condition None, but",
    ),
    "buckets": ({"buckets": 2}, {"buckets": 3}, "2 buckets, but the join has 3"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_by_name_and_does_no_harm(what):
    before, after, message = REFUSED[what]
    before, after = dict(before), dict(after)
    of = before.pop("of", "ab")
    after.pop("of", None)
    names = after.pop("names", "ab")
    run = Run(plan(before, of=of))
    run.batch([table((1, 100)), table((1, 100))])
    kept = [(store.text, dict(store.blobs)) for store in run.stores]
    run.buckets = after.get("buckets", run.buckets)
    run.ask(plan(after, names, of))
    with pytest.raises(wr.WindrowError) as refused:
        run.batch([table((1, 101))] + [table((1, 101))] * (len(names) - 1))
    assert f"this checkpoint was written with {message}" in str(refused.value)
    assert [(store.text, store.blobs) for store in run.stores] == kept


#: Options of tables alone, and one that this version takes at its default only.
OF_TABLES = {"batch_rows", "invalidation", "memory"}


def test_every_option_is_among_them():
    """An option that is added says what a restart makes of it."""
    changed = set()
    for before, after, *_ in [*ACCEPTED.values(), *REFUSED.values()]:
        changed |= {n for n in {*before, *after} if before.get(n) != after.get(n)}
    asked = (JOIN | options(wr.stream)) - OF_TABLES
    assert asked - changed == {"name"}, "`name` is there as `names`"
