"""Keys whose hashes collide: the real columns decide, in every kind of join."""

from __future__ import annotations

from types import SimpleNamespace
from typing import get_args

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from windrow.kernels import hashing
from windrow.model import How
from windrow.operators import keys
from windrow.testing import cases

#: Key kinds that take more than 64 bits: only their hashes may collide.
WIDE = ("string", "composite", "decimal", "binary", "dotted")


@pytest.fixture(params=[0, 1, 3], ids=lambda mask: f"h & {mask}")
def colliding(request, monkeypatch):
    """Hashes of a bit or two, or of none at all."""

    def masked(function):
        def hash_less(*arrays):
            function(*arrays)
            arrays[-1][:] &= request.param

        return hash_less

    fakes = {name: masked(getattr(hashing, name)) for name in ("hash_words", "hash_bytes", "fold")}
    monkeypatch.setattr(keys, "hashing", SimpleNamespace(**fakes))


@pytest.mark.parametrize("how", get_args(How))
@pytest.mark.usefixtures("colliding")
@settings(
    max_examples=max(settings().max_examples // 6, 3),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_collisions_cost_time_but_no_rows(how, same_as_oracle, data):
    case = data.draw(cases(hows=[how], key_kinds=WIDE, numbered=True))
    same_as_oracle(
        case,
        {},
        {"batch_rows": 1},
        {"batch_rows": 3, "invalidation": "probe-insert", "buckets": 2},
        {"batch_rows": 2, "algorithm": "nested-loops"},
    )


@pytest.mark.parametrize("how", get_args(How))
@pytest.mark.usefixtures("colliding")
@settings(
    max_examples=max(settings().max_examples // 12, 3),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_collisions_with_a_condition(how, same_as_oracle, data):
    case = data.draw(cases(hows=[how], key_kinds=WIDE, numbered=True))
    same_as_oracle(case, {}, {"batch_rows": 2}, condition="a.v <= b.v")


@pytest.mark.usefixtures("colliding")
def test_the_hashes_do_collide():
    """Or else the tests above would show nothing."""
    found = keys.hash_keys([pa.array([f"key {n}" for n in range(20)])], 20)
    assert len(set(found.hashes.tolist())) <= 4
    assert not found.exact
