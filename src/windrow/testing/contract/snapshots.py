"""Snapshots as a contract sees them: plain data, refused when of another version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from windrow.model import WindrowError

Snapshot = dict[str, Any]


def plain_copy(value: Any) -> Any:
    """A deep copy of plain data: text, numbers, None, lists, dicts and arrays of numbers.

    >>> plain_copy({"format": 1, "rows": [np.arange(2)]})
    {'format': 1, 'rows': [array([0, 1])]}
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray):
        assert not value.dtype.hasobject, f"a snapshot holds an array of objects: {value!r}"
        return value.copy()
    if isinstance(value, list | tuple):
        return [plain_copy(item) for item in value]
    assert isinstance(value, dict), f"a snapshot holds a {type(value).__name__}: {value!r}"
    return {name: plain_copy(item) for name, item in value.items()}


def assert_refused(taken: Snapshot, restore: Callable[[Snapshot], object]) -> None:
    """Fail unless `restore` takes a snapshot, and refuses it once its format is another."""
    restore(plain_copy(taken))
    known = taken["format"]
    for foreign in (known + 1, known - 1, None):
        try:
            restore({**plain_copy(taken), "format": foreign})
        except WindrowError as error:
            message = str(error)
        else:
            raise AssertionError(f"a snapshot of format {foreign!r} was restored")
        for named in (foreign, known):
            assert repr(named) in message, f"{message}: does not say {named!r}"
