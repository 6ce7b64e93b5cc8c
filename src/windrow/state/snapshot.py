"""Snapshots as bytes: numpy's own archive for the arrays, JSON for the rest. No pickle."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from windrow.model import WindrowError
from windrow.state.lists import Snapshot

_ARRAY = "$array"


def dump(snapshot: Snapshot) -> bytes:
    """A snapshot of plain data and arrays, as bytes.

    >>> load(dump({"format": 1, "parts": [np.arange(3), 2.5]}))
    {'format': 1, 'parts': [array([0, 1, 2]), 2.5]}
    """
    arrays: list[NDArray[Any]] = []

    def strip(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return {_ARRAY: len(arrays) - 1}
        if isinstance(value, dict):
            return {str(name): strip(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [strip(item) for item in value]
        return value

    text = json.dumps(strip(snapshot)).encode()
    out = io.BytesIO()
    named = {f"a{number}": array for number, array in enumerate(arrays)}
    np.savez(out, allow_pickle=False, skeleton=np.frombuffer(text, np.uint8), **named)
    return out.getvalue()


def load(data: bytes) -> Snapshot:
    """The snapshot that was dumped."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        skeleton = json.loads(arrays.pop("skeleton").tobytes())
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise WindrowError(f"these {len(data)} bytes are not a snapshot of windrow's") from error

    def fill(value: Any) -> Any:
        if isinstance(value, dict):
            if _ARRAY in value:
                return arrays[f"a{value[_ARRAY]}"]
            return {name: fill(item) for name, item in value.items()}
        if isinstance(value, list):
            return [fill(item) for item in value]
        return value

    filled: Snapshot = fill(skeleton)
    return filled
