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
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile a bare loop over arrays: no allocation, no Python objects, no GIL."""
    compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)(function)
    return compiled


def inlined(function: F) -> F:
    """A step of a kernel, compiled into each caller: a call with this many arrays is slow."""
    compiled: F = numba.njit(inline="always", error_model="numpy", _nrt=False)(function)
    return compiled


if getattr(numba.config, "DISABLE_JIT", False):

    def prefetch(array: NDArray[np.int64], at: int) -> None:
        """Interpreted, there is nothing to hide."""

else:

    @intrinsic
    def prefetch(typing: Any, array: Any, at: Any) -> Any:
        """Ask for array[at] (its first element) to be in the cache soon."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = signature.args[0]
            made = context.make_array(kind)(context, builder, args[0])
            index = [args[1]] + [context.get_constant(types.intp, 0)] * (kind.ndim - 1)
            pointer = cgutils.get_item_pointer(context, builder, kind, made, index)
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            function = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0i8")
            # To read, to keep in every level of the cache, data.
            builder.call(
                function, [builder.bitcast(pointer, byte), number(0), number(3), number(1)]
            )
            return context.get_dummy_value()

        return types.void(array, types.intp), generate
