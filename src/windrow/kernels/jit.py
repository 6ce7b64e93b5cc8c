"""The one place that knows numba's options.

`_nrt=False` leaves out numba's reference counting: a kernel allocates nothing and borrows the
caller's arrays, and counting them at every step cost more than the join itself (2.3x, measured
on the standard workload).

With NUMBA_DISABLE_JIT=1 the kernels run as plain Python, and the tests run them so too.
numba's disk cache looks at a function's own file only: after a change in a function that
kernels of *other* files call, the cached callers are stale. `make` therefore keeps one cache
directory per state of this folder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile a bare loop over arrays: no allocation, no Python objects, no GIL."""
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function)
    return compiled


def inlined(function: F) -> F:
    """A step of a kernel, compiled into each caller: calls with this many arrays are dear."""
    compiled: F = numba.njit(inline="always", error_model="numpy", _nrt=False)(function)
    return compiled
