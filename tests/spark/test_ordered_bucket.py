"""A bucket's ordered join and its log, without Spark: any batches, any loss, always in order."""

import json
import random
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.model import BEGINNING
from windrow.operators.in_order import trigger
from windrow.operators.rates import Rates
from windrow.spark import durable, renew
from windrow.testing import assert_same_rows, cases, duckdb_join, naive_join
from windrow.testing.punctuated import punctuated_cases

from .buckets import Run, arenas, run_case

HOWS = ("inner", "left", "right", "full", "semi", "anti")
ORDERS = ("sync-filter", "filter-order", "adaptive")
KEYED = ("int64", "string", "composite")
#: The adaptive policy as filter-order, mostly so, both, mostly sync-filter.
ALPHAS = (0.0, 0.2, 0.5, 0.8)


@pytest.fixture(autouse=True, scope="module")
def hasty():
    """Logs are merged and written anew at every turn, which else takes thousands of rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renew, "LEAST_RENEWED", 4)
        patch.setattr(durable, "MERGED_AT_ONCE", 2)
        # The adaptive policy changes its mind at any time, not only when it would.
        chance = random.Random(4)
        patch.setattr(Rates, "load", lambda self: chance.random())
        yield


class Watched(Run):
    """A run that checks each bucket's output of each micro-batch against the triggers."""

    def __init__(self, plan, folder=None):
        super().__init__(plan, folder)
        self.triggers = {}

    def one(self, bucket, packed, lose=False, ended=False):
        first = len(self.pieces)
        super().one(bucket, packed, lose, ended)
        ts = [t for part in self.pieces[first:] for t in times(part)]
        assert ts == sorted(ts)
        progress = json.loads(self.stores[bucket].text)["progress"]
        before, after = self.triggers.get(bucket, BEGINNING), trigger(self.plan, progress)
        assert all(before <= t < after for t in ts)
        self.triggers[bucket] = max(before, after)


def times(part):
    """The rows' times, but for those that came late."""
    if "kind" in part.schema.names:
        part = part.filter(pc.field("kind") != "late")
    return part.column("ts").cast(pa.int64()).to_pylist()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=250)
@given(data=st.data())
def test_any_batches_and_any_loss_give_the_oracles_rows_in_order(how, order, data):
    case = data.draw(cases(hows=[how], key_kinds=KEYED))
    rows = data.draw(st.sampled_from([1, 2, 3, 7, 100]))
    losses = data.draw(st.sets(st.integers(0, 9)))
    alpha = data.draw(st.sampled_from(ALPHAS))
    with arenas() as folder:
        run = run_case(case, rows, losses, folder, kind=Watched, order=order, alpha=alpha)
        found = run.finish()
    assert_same_rows(found, duckdb_join(*case.streams, **case.options))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=25)
@given(data=st.data())
def test_with_punctuations(how, order, data):
    case = data.draw(punctuated_cases())
    case = replace(case, how=how)
    can_end = wr.plan(*case.streams, **case.options).can_end
    rows = data.draw(st.sampled_from([1, 2, 3, 100]))
    losses = data.draw(st.sets(st.integers(0, 9)))
    alpha = data.draw(st.sampled_from(ALPHAS))
    with arenas() as folder:
        run = run_case(
            case, rows, losses, folder, kind=Watched,
            order=order, alpha=alpha, punctuate=can_end,
        )  # fmt: skip
        found = run.finish()
    expected = naive_join(*case.streams, **case.options)
    if not can_end:
        assert_same_rows(found, expected)
        return
    results = [row for row in found.to_pylist() if row["kind"] != "end"]
    bare = [{k: v for k, v in row.items() if k != "kind"} for row in results]
    assert sorted(map(repr, bare)) == sorted(map(repr, expected.to_pylist()))
    assert_no_result_after_its_keys_end(found)


def assert_no_result_after_its_keys_end(found):
    """An end never overtakes a row of its key's life, which is over by its time."""
    over = {}
    for row in found.to_pylist():
        key = (row.get("left") or row.get("right"))["k"]
        if row["kind"] == "end":
            over[key] = row["ts"]
        else:
            assert key not in over or row["ts"] > over[key]
