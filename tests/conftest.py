"""Hypothesis profiles; HYPOTHESIS_PROFILE picks one."""

import os

import pytest
from hypothesis import settings

from windrow.api import local_join
from windrow.state.room import HEAP
from windrow.testing.contract import handover

# No deadlines: the first call of a kernel compiles it.
settings.register_profile("default", deadline=None, max_examples=50)
# The same examples in every run, so that a change fails only by its own doing.
settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True, print_blob=True)
settings.register_profile("interpreted", deadline=None, max_examples=15)
settings.register_profile("long", deadline=None, max_examples=1000, print_blob=True)

interpreted = os.environ.get("NUMBA_DISABLE_JIT") == "1"
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "interpreted" if interpreted else "default")
)


@pytest.fixture(scope="session")
def elsewhere():
    """A join of tables that goes on with a copy of its arrays, and nothing else left of it."""

    def move(join):
        fresh = local_join(join.plan)
        fresh.attach(*handover.elsewhere(join.handover()), HEAP)
        fresh.stand(join.standing())
        for mine, its in zip(fresh.progress, join.progress, strict=True):
            mine.now = its.now
        return fresh

    return move
