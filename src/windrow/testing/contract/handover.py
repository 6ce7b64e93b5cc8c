"""What outlives a process, as a contract sees it: arrays by name, and plain data beside them."""

from __future__ import annotations

import json
from typing import Any

from numpy.typing import NDArray

Handover = tuple[dict[str, NDArray[Any]], dict[str, Any]]


def elsewhere(handed: Handover) -> Handover:
    """The same arrays in other memory, and the facts after a trip through JSON.

    >>> import numpy as np
    >>> elsewhere(({"rows": np.arange(2)}, {"size": [2]}))
    ({'rows': array([0, 1])}, {'size': [2]})
    """
    arrays, facts = handed
    for name, array in arrays.items():
        assert not array.dtype.hasobject, f"{name} is an array of objects: {array!r}"
    return {name: array.copy() for name, array in arrays.items()}, json.loads(json.dumps(facts))
