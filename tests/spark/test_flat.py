"""Long runs at a constant pace: nothing that a join keeps, in memory or in its log, grows."""

from datetime import timedelta

import pytest

import windrow as wr

from .buckets import arenas
from .flat import feeds, growth, in_a_bucket, in_process

BATCHES = 5_000
HOWS = ("inner", "left", "right", "full", "semi", "anti")

TIMED = {"window": "20 milliseconds"}
ENDING = {"window": "20 milliseconds", "ends": "over"}
BUCKETED = {"algorithm": "hash", "buckets": 2}
COUNTED = {"finals": {"rows": "count(*)"}}
RANGE = (timedelta(milliseconds=-5), timedelta(milliseconds=20))
APART = (timedelta(milliseconds=5), timedelta(milliseconds=20))
GIVEN = wr.data(k={"a": 20, "b": 20}, rate={"a": 1, "b": 1}, lag={("a", "b"): 200, ("b", "a"): 40})
#: How the streams and the join are put, and for which kinds.
OPERATORS = {
    "time list": (TIMED, {"algorithm": "hash"}, HOWS),
    "nested loops": (TIMED, {"algorithm": "nested-loops"}, HOWS),
    "lazy": (TIMED, {**BUCKETED, "invalidation": "probe"}, HOWS),
    "probe, insert": (TIMED, {**BUCKETED, "invalidation": "probe-insert"}, ("full",)),
    "probe all": (TIMED, {**BUCKETED, "invalidation": "probe-all"}, ("full",)),
    "all": (TIMED, {**BUCKETED, "invalidation": "all"}, ("full",)),
    "between": ({}, {"between": RANGE}, HOWS),
    "between, apart": ({}, {"between": APART}, ("left", "full")),
    "condition": (TIMED, {"condition": "a.n <> b.n"}, HOWS),
    "late rows kept": (TIMED, {"late": "keep"}, ("full",)),
    "rows of a key": ({"window": wr.rows(3)}, {}, HOWS),
    "late rows kept, of a key": ({"window": wr.rows(3)}, {"late": "keep"}, ("full",)),
    "rows of a stream": ({"window": wr.rows(20, per="stream")}, {}, HOWS),
    "sync-filter": (TIMED, {"order": "sync-filter"}, HOWS),
    "filter-order": (TIMED, {"order": "filter-order"}, HOWS),
    "adaptive": (TIMED, {"order": "adaptive"}, HOWS),
    "rows in order": ({"window": wr.rows(3)}, {"order": "sync-filter"}, ("inner",)),
    "punctuations": (ENDING, {}, HOWS),
    "punctuations alone": ({"ends": "over"}, {}, HOWS),
    "ends": (ENDING, {"punctuate": True}, HOWS),
    "ends alone": ({"ends": "over"}, {"punctuate": True}, ("inner", "full")),
    "finals": (ENDING, {"finals": {"rows": "count(*)", "most": "max(b.n)"}}, ("inner", "full")),
    "finals of one stream": (ENDING, COUNTED, ("left", "right", "semi", "anti")),
    "finals alone": ({"ends": "over"}, COUNTED, ("inner", "left", "semi")),
    "ends in order": (ENDING, {"punctuate": True, "order": "filter-order"}, HOWS),
    "ends that wait": (ENDING, {"punctuate": True, "order": "sync-filter"}, HOWS),
    "memory": ({}, {"memory": "data"}, ("inner",)),
    "memory that is given": ({}, {"memory": GIVEN}, ("inner", "left", "semi", "anti")),
    "ends, adaptive": (ENDING, {"punctuate": True, "order": "adaptive"}, ("inner", "left")),
}
#: How more than two streams can be joined.
MANY_HOWS = ("inner", "left", "semi", "anti")
#: The same of three streams, in one operator.
MANY = {
    "many: time list": (TIMED, {"algorithm": "hash"}, MANY_HOWS),
    "many: nested loops": (TIMED, {"algorithm": "nested-loops"}, ("left",)),
    "many: lazy": (TIMED, {**BUCKETED, "invalidation": "probe"}, ("left",)),
    "many: condition": (TIMED, {"condition": "a.n <> b.n AND b.n <= c.n AND c.n > 0"}, MANY_HOWS),
    "many: rows of a key": ({"window": wr.rows(3)}, {}, MANY_HOWS),
    "many: rows of a stream": ({"window": wr.rows(20, per="stream")}, {}, ("left",)),
    "many: sync-filter": (TIMED, {"order": "sync-filter"}, ("left",)),
    "many: filter-order": (TIMED, {"order": "filter-order"}, ("left", "semi")),
    "many: adaptive": (TIMED, {"order": "adaptive"}, ("left",)),
    "many: punctuations": (ENDING, {}, MANY_HOWS),
    "many: punctuations alone": ({"ends": "over"}, {}, ("inner", "left")),
    "many: ends": (ENDING, {"punctuate": True}, ("inner", "left")),
    "many: memory": ({}, {"memory": "data"}, ("inner", "semi")),
    "many: finals": (ENDING, COUNTED, ("inner", "anti")),
}
CASES = [
    (name, how, 3 if name in MANY else 2)
    for name, (*_, hows) in (OPERATORS | MANY).items()
    for how in hows
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "how", "streams"), CASES)
def test_nothing_grows(name, how, streams):
    options, choices, _ = (OPERATORS | MANY)[name]
    plan, ranges = feeds((options, choices), how, BATCHES, streams)
    rows, kept = in_process(plan, ranges)
    assert rows
    assert growth(kept) == []
    with arenas() as folder:
        found, kept = in_a_bucket(plan, ranges, folder)
    assert found == rows
    assert growth(kept) == []
