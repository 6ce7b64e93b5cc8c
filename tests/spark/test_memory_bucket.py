"""A bucket's join without windows, without Spark: any batches, any loss, and the same log."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests.memory.streams import expected, results, streams_of, tables, truth
from tests.memory.test_oblivious import everything, outer
from windrow.api import local_join
from windrow.spark.log.log import Log
from windrow.state import memory, ordering
from windrow.testing.ordering import scrambled

from .buckets import Run, arenas, as_packed, assert_attempts_agree_on

fewer = settings(max_examples=max(settings().max_examples // 3, 5))
#: What may be given, by what is true.
GIVEN = {
    "nothing": lambda *_: {},
    "k": lambda arrivals, streams: {"k": truth(arrivals, streams)["k"]},
    "k and lag": lambda arrivals, streams: {
        name: truth(arrivals, streams)[name] for name in ("k", "lag")
    },
    "k and rate": lambda arrivals, streams: {
        name: everything(arrivals, streams)[name] for name in ("k", "rate")
    },
    "all": everything,
}


@pytest.fixture(autouse=True, scope="module")
def eager():
    """Rings that must grow for a few tuples; a manager that looks at every arrival; and merging."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "LEAST_POSITIONS", 2)
        patch.setattr(memory, "SAMPLE_PLACES", 8)
        patch.setattr(memory, "LEAST_DUE", 1)
        patch.setattr(memory, "STEPS_A_TUPLE", 1 << 20)
        patch.setattr(Log, "MERGED_AT_ONCE", 2)
        yield


class Halves(Run):
    """Each stream's rows come in two blobs, whose times are mixed."""

    def batch(self, tables, lose=False, now=None):
        packed = [[] for _ in range(self.buckets)]
        for pack, table in zip(self.packs, tables, strict=True):
            for place in range(min(2, table.num_rows)):
                half = table.take(list(range(place, table.num_rows, 2)))
                for row in pack.pack(half.to_batches()).to_pylist():
                    packed[row.pop("bucket")].append(replace(as_packed(row), place=place))
        self.feed(packed, lose)


def cut(made, stops):
    """The tables in micro-batches: those before each number of arrivals."""
    found = []
    for begin, end in zip([0, *stops], [*stops, 1 << 40], strict=True):
        times = [table["t"].cast(pa.int64()).to_numpy() for table in made]
        masks = [(each >= begin) & (each < end) for each in times]
        found.append([t.filter(pa.array(m)) for t, m in zip(made, masks, strict=True)])
    return found


@st.composite
def micro_batches(draw, made, arrivals):
    """Some micro-batches, and which of them lose the arena."""
    stops = sorted(draw(st.sets(st.integers(0, len(arrivals)), max_size=12)))
    return cut(made, stops), draw(st.sets(st.integers(0, 12)))


def fed(plan, batches, losses, folder):
    """A run that has ended."""
    run = Run(plan, folder)
    for number, batch in enumerate(batches):
        run.batch(batch, lose=number in losses)
    run.end()
    return run


def plan_of(made, how="inner", buckets=2, **more):
    """Without windows; the rest says what is given."""
    options = {name: more.pop(name) for name in ("condition", "late") if name in more}
    return wr.plan(*streams_of(made), how=how, memory=wr.data(**more), buckets=buckets, **options)


@given(st.data(), st.integers(2, 4), st.sampled_from(list(GIVEN)), st.booleans())
def test_results_are_complete_with_true_scrambling_factors(data, streams, what, falling):
    """Of streams that are split by key, and of keys that descend, through any losses."""
    if what == "nothing":
        what = "k"
    arrivals = data.draw(scrambled(streams=streams, most=20))
    known = GIVEN[what](arrivals, streams)
    if falling:
        arrivals = [(stream, -key) for stream, key in arrivals]
    made = tables(arrivals, streams)
    batches, losses = data.draw(micro_batches(made, arrivals))
    with arenas() as folder:
        found = fed(plan_of(made, **known), batches, losses, folder).results()
    assert results(found, streams) == expected(arrivals, streams)


@given(st.data(), st.integers(2, 3), st.sampled_from(["left", "anti", "semi"]))
def test_with_all_bounds_given_unmatched_rows_leave_once(data, streams, how):
    arrivals = data.draw(scrambled(streams=streams, most=20))
    made = tables(arrivals, streams)
    batches, losses = data.draw(micro_batches(made, arrivals))
    plan = plan_of(made, how, **everything(arrivals, streams))
    with arenas() as folder:
        run = fed(plan, batches, losses, folder)
    assert results(run.results(), streams) == outer(arrivals, streams, how)


def in_process(plan, batches):
    """The same micro-batches in process: the results, and what the manager knows then."""
    run, at, found = local_join(plan), [0] * len(plan.streams), []
    for batch in batches:
        if any(table.num_rows for table in batch):
            ranges = [(a, a + table.num_rows) for a, table in zip(at, batch, strict=True)]
            found += run.record_batches(run.batch(ranges))
            at = [stop for _, stop in ranges]
    return pa.Table.from_batches(found, run.schema), run.join.memory.told()


@given(st.data(), st.integers(2, 3), st.sampled_from(list(GIVEN)), st.booleans())
def test_one_bucket_does_what_a_join_in_process_does(data, streams, what, falling):
    """What is lost because it was not foreseen is lost there, too; and it knows the same."""
    arrivals = data.draw(scrambled(streams=streams, most=20))
    known = GIVEN[what](arrivals, streams)
    if falling:
        arrivals = [(stream, -key) for stream, key in arrivals]
    made = tables(arrivals, streams)
    batches, losses = data.draw(micro_batches(made, arrivals))
    plan = plan_of(made, buckets=1, **known)
    with arenas() as folder:
        run = data.draw(st.sampled_from([Run, Halves]))(plan, folder)
        for number, batch in enumerate(batches):
            run.batch(batch, lose=number in losses)
    joined, told = in_process(plan, batches)
    assert results(run.results(), streams) == results(joined, streams)
    assert run.join is None or run.join.pipeline.join.memory.told() == told


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@fewer
@given(data=st.data())
def test_an_attempt_that_rebuilds_writes_the_same_log(how, data):
    """Two attempts at a micro-batch may both reach the state store, one with the arena."""
    streams = data.draw(st.integers(2, 3))
    arrivals = data.draw(scrambled(streams=streams, most=25))
    outer_join = how in ("left", "anti")
    what = "all" if outer_join else data.draw(st.sampled_from(list(GIVEN)))
    known = GIVEN[what](arrivals, streams)
    if data.draw(st.booleans()):
        arrivals = [(stream, -key) for stream, key in arrivals]
    made = tables(arrivals, streams)
    batches, _ = data.draw(micro_batches(made, arrivals))
    condition = data.draw(st.sampled_from([None, "a.n <= b.n"]))
    if condition and streams > 2:
        condition += " AND (b.n <> c.n OR a.n > 3)"
    buckets = data.draw(st.sampled_from([1, 2]))
    plan = plan_of(made, how, buckets, condition=condition, **known)
    assert_attempts_agree_on(plan, batches)


KINDS = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()),
    *(pa.date32(), pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.timestamp("s")),
    *(pa.decimal128(18, 2), pa.decimal128(5, 2), pa.decimal64(12, 1), pa.decimal256(10, 3)),
]


def keys_as(kind, keys):
    """Keys of a type, in the order of these numbers."""
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(key) / 10 for key in keys], kind)
    if pa.types.is_date(kind):
        return pa.array([date.fromordinal(719_163 + key) for key in keys], kind)
    return pa.array(keys, pa.int64()).cast(kind)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_keys_of_all_types_in_whose_order_a_stream_comes(kind):
    """a is two tuples ahead of b; both have a pair out of order. Few tuples need stay."""
    signed = pa.types.is_decimal(kind) or pa.types.is_signed_integer(kind)
    keys = [at ^ (at % 8 == 3) for at in range(100)]
    keys = [key - 50 for key in keys] if signed else keys
    arrivals = [(0, key) for key in keys[:2]]
    for ahead, key in zip([*keys[2:], None, None], keys, strict=True):
        arrivals += [(1, key)] if ahead is None else [(0, ahead), (1, key)]
    made = [
        table.set_column(0, "k", keys_as(kind, table["k"].to_pylist()))
        for table in tables(arrivals, 2)
    ]
    joined = wr.join(*streams_of(made), memory="data", batch_rows=10)
    assert results(joined, 2) == expected(arrivals, 2)
    assert max(wr.metrics(joined).scrambling.values()) <= 2
    assert max(wr.metrics(joined).memory.values()) <= 10
    run = Run(plan_of(made, buckets=1))
    for batch in cut(made, range(20, 200, 20)):
        run.batch(batch)
    assert results(run.results(), 2) == expected(arrivals, 2)
    assert sum(store_live(run)) <= 20


def store_live(run):
    return run.join.log.directory.live


def arrivals_in_step(count, streams=2, lead=3):
    """Streams in order, the first one ahead by some keys."""
    found = [(0, key) for key in range(lead)]
    for key in range(count):
        found += [(0, key + lead), *((stream, key) for stream in range(1, streams))]
    return found


@pytest.mark.parametrize("lose", [False, True])
def test_null_keys_match_nothing(lose):
    made = tables(arrivals_in_step(12), 2)
    keys = [None if key % 3 == 0 else key for key in made[0]["k"].to_pylist()]
    made[0] = made[0].set_column(0, "k", pa.array(keys, pa.int64()))
    with arenas() as folder:
        run = Run(plan_of(made, "left", **everything(arrivals_in_step(12), 2)), folder)
        for batch in cut(made, range(4, 27, 4)):
            run.batch(batch, lose=lose)
        run.end()
    found = run.results().to_pylist()
    assert len(found) == 15
    alone = [row["a"]["k"] for row in found if row["b"] is None]
    assert sorted(key for key in alone if key is not None) == [13, 14]
    assert alone.count(None) == 5


@pytest.mark.parametrize("lose", [False, True])
@pytest.mark.parametrize(("given", "late"), [({}, 0), ({"lateness": "2 microseconds"}, 1)])
def test_no_row_is_late_unless_lateness_is_given(given, late, lose):
    """The row of a at 5 comes when a has been at 20; as the last one, it would find b's."""
    made = tables([(0, 0), (1, 0), (0, 1), (1, 1)], 2)
    made[0] = made[0].set_column(1, "t", pa.array([20, 5], pa.timestamp("us")))
    plan = wr.plan(*streams_of(made, **given), memory="data", buckets=1)
    with arenas() as folder:
        run = Run(plan, folder)
        run.batch([made[0].slice(0, 1), made[1]])
        run.batch([made[0].slice(1, 1), made[1].slice(2)], lose=lose)
        assert run.join.pipeline.figures().late == {"a": late, "b": 0}
        assert run.end().num_rows == 2 - late


# -- restarts --------------------------------------------------------------------------------


@pytest.mark.parametrize("lose", [False, True])
def test_other_bounds_hold_from_the_next_micro_batch_on(lose):
    """First 3 + 1 tuples of a stay, then more, then less again: but k does not fall."""
    made = tables(arrivals_in_step(40), 2)
    rate, batches = {"a": 1.0, "b": 1.0}, cut(made, range(10, 83, 10))
    lag = {("a", "b"): 4, ("b", "a"): 0}
    kept = []
    with arenas() as folder:
        run = Run(plan_of(made, "left", 1, k={"a": 0, "b": 0}, rate=rate, lag=lag), folder)
        for number, batch in enumerate(batches):
            if number in (3, 6):
                more = 5 if number == 3 else 0
                k = {"a": more, "b": 0}
                run.ask(plan_of(made, "left", 1, k=k, rate=rate, lag={**lag, ("a", "b"): 4 + more}))
            run.batch(batch, lose=lose)
            kept.append(store_live(run)[0])
        assert run.join.pipeline.figures().scrambling["a"] == 5
        found = run.end()
    assert kept[2] == 5
    assert kept[5] == 15
    assert kept[-1] == 10
    assert results(found, 2) == outer(arrivals_in_step(40), 2, "left")


@pytest.mark.parametrize("begin", [True, False])
def test_windows_and_data_are_not_exchanged(begin):
    made = tables(arrivals_in_step(4), 2)
    ways = [
        plan_of(made, buckets=1),
        wr.plan(*streams_of(made, window="1 second"), buckets=1),
    ]
    first, second = ways if begin else reversed(ways)
    run = Run(first)
    run.batch(made)
    run.ask(second)
    with pytest.raises(wr.WindrowError, match="written with memory"):
        run.batch(made)


@pytest.mark.parametrize("lose", [False, True])
def test_progress_that_has_run_away_is_set_back_and_tuples_stay(lose):
    made = tables(arrivals_in_step(6), 2)
    plan = wr.plan(*streams_of(made, lateness="0 seconds"), memory="data", buckets=1)
    far = made[0].slice(0, 1).set_column(1, "t", pa.array([10**15], pa.timestamp("us")))
    with arenas() as folder:
        run = Run(plan, folder)
        run.batch([far, made[1].slice(0, 0)])
        run.back_to = [0, None]
        run.batch([made[0].slice(1), made[1]], lose=lose)
        assert run.end().num_rows == 6


# -- the log ---------------------------------------------------------------------------------


def test_a_stream_that_waits_for_the_other_is_in_the_log_and_what_is_over_goes():
    """b begins when a is 400 tuples ahead; then both go on in step."""
    made = tables(arrivals_in_step(600, lead=400), 2)
    run, most = Run(plan_of(made, buckets=1)), 0
    for number, batch in enumerate(cut(made, range(10, 1600, 10))):
        run.batch(batch)
        rows = sum(entry.rows for entry in run.join.log.directory.of(0))
        assert rows >= store_live(run)[0]
        if number == 39:
            assert rows == 400
        most = max(most, rows)
    assert most <= 1200
    assert store_live(run)[1] <= 10
    assert sum(entry.rows for entry in run.join.log.directory.of(1)) <= 64


def test_bounds_are_those_of_whole_streams_in_every_bucket():
    """In a bucket a may be ahead by more than its lag: that breaks nothing."""
    arrivals = arrivals_in_step(60)
    made = tables(arrivals, 2)
    run = fed(plan_of(made, **everything(arrivals, 2)), cut(made, [30, 60, 90]), {1}, None)
    assert run.join.pipeline.figures().broken == {"a": 0, "b": 0}
    assert results(run.results(), 2) == expected(arrivals, 2)


def test_a_part_of_the_plan_is_shipped():
    """Without data, as Spark pickles it."""
    plan = plan_of(tables(arrivals_in_step(2), 2), k={"a": 1})
    bare = replace(plan, streams=tuple(replace(s, data=None) for s in plan.streams))
    assert bare.memory == plan.memory
