"""Two heaps: of times, in an array; and of values, whose nodes are the results' slots.

The heap of values is a pairing heap. A node knows its first child, its next sibling, and what
points at it, so that the result that dies can be taken out wherever it is:

    root 3 --child--> 7 --next--> 5 --next--> 9      out with 5:  7 --next--> 9, and 5's children
                                  |                               are paired and put under the root
                                  +--child--> 8
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.answers.numbers import NONE, Results
from windrow.kernels.jit import inlined, kernel

Ints = NDArray[np.int64]

CHILD, NEXT, BACK = range(3)
#: Columns of a node.
NODE = 3


@inlined
def push(heap: Ints, count: int, time: int, slot: int) -> None:
    """Put a slot under its time into a heap of `count`."""
    at = count
    while at > 0 and heap[(at - 1) // 2, 0] > time:
        above = (at - 1) // 2
        heap[at, 0], heap[at, 1] = heap[above, 0], heap[above, 1]
        at = above
    heap[at, 0], heap[at, 1] = time, slot


@inlined
def pop(heap: Ints, count: int) -> int:
    """Take the earliest slot out of a heap of `count`."""
    slot = heap[0, 1]
    last = count - 1
    time, moved = heap[last, 0], heap[last, 1]
    at = 0
    child = 1
    while child < last:
        if child + 1 < last and heap[child + 1, 0] < heap[child, 0]:
            child += 1
        if heap[child, 0] >= time:
            child = last
        else:
            heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
            at = child
            child = 2 * at + 1
    heap[at, 0], heap[at, 1] = time, moved
    return slot


@kernel
def push_all(heap: Ints, count: int, times: Ints, slots: Ints) -> int:
    """Put slots under their times into the heap; returns how many are in it."""
    for k in range(slots.shape[0]):
        push(heap, count, times[k], slots[k])
        count += 1
    return count


@inlined
def smaller(words: Ints, a: int, b: int, column: int, second: int) -> bool:
    """Is the value of slot a below that of slot b?"""
    one, two = words[a, column], words[b, column]
    if one == two:
        one, two = words[a, second], words[b, second]
    result: bool = one < two
    return result


@inlined
def meld(results: Results, heap: int, column: int, second: int, a: int, b: int) -> int:
    """One heap of two (either may be none); returns its root."""
    nodes = results.nodes
    base = heap * NODE
    root = a
    if a == NONE:
        root = b
    elif b != NONE:
        under = b
        if smaller(results.words, b, a, column, second):
            root, under = b, a
        first = nodes[root, base + CHILD]
        nodes[under, base + NEXT] = first
        if first != NONE:
            nodes[first, base + BACK] = under
        nodes[under, base + BACK] = root
        nodes[root, base + CHILD] = under
        nodes[root, base + NEXT] = NONE
        nodes[root, base + BACK] = NONE
    return root


@kernel
def pair_up(results: Results, heap: int, column: int, second: int, first: int) -> int:
    """One heap of siblings: in pairs from the left, then all pairs from the right."""
    nodes = results.nodes
    base = heap * NODE
    # What has been paired, linked by NEXT, the last pair first.
    pairs = NONE
    while first != NONE:
        other = nodes[first, base + NEXT]
        rest = NONE
        if other != NONE:
            rest = nodes[other, base + NEXT]
            nodes[other, base + NEXT] = NONE
            nodes[other, base + BACK] = NONE
        nodes[first, base + NEXT] = NONE
        nodes[first, base + BACK] = NONE
        pair = meld(results, heap, column, second, first, other)
        nodes[pair, base + NEXT] = pairs
        pairs = pair
        first = rest
    root = NONE
    while pairs != NONE:
        following = nodes[pairs, base + NEXT]
        nodes[pairs, base + NEXT] = NONE
        root = meld(results, heap, column, second, root, pairs)
        pairs = following
    return root


@kernel
def insert(results: Results, heap: int, column: int, second: int, root: int, slot: int) -> int:
    """Put a slot in; returns the root."""
    for each in range(NODE):
        results.nodes[slot, heap * NODE + each] = NONE
    return meld(results, heap, column, second, root, slot)


@kernel
def remove(results: Results, heap: int, column: int, second: int, root: int, slot: int) -> int:
    """Take a slot out; returns the root."""
    nodes = results.nodes
    base = heap * NODE
    below = pair_up(results, heap, column, second, nodes[slot, base + CHILD])
    if slot == root:
        return below
    back, following = nodes[slot, base + BACK], nodes[slot, base + NEXT]
    if nodes[back, base + CHILD] == slot:
        nodes[back, base + CHILD] = following
    else:
        nodes[back, base + NEXT] = following
    if following != NONE:
        nodes[following, base + BACK] = back
    return meld(results, heap, column, second, root, below)
