"""Every path after a few tuples."""

import pytest

from windrow.operators.gate import direction, spill, spilling
from windrow.state import memory, ordering


@pytest.fixture
def eager(monkeypatch, tmp_path):
    """Rings that grow for a few tuples, blocks of two on disk, and a disk that is worth it."""
    monkeypatch.setattr(ordering, "LEAST_POSITIONS", 2)
    monkeypatch.setattr(memory, "LEAST_DUE", 1)
    monkeypatch.setattr(memory, "STEPS_A_TUPLE", 1 << 20)
    monkeypatch.setattr(direction, "LEAST", 2)
    monkeypatch.setattr(spill, "BLOCK", 2)
    monkeypatch.setattr(spilling, "WORTH", 0)
    monkeypatch.setattr(spill, "AHEAD", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
