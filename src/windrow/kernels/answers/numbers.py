"""What the kernels of aggregates work on: arrays by result, by group, by time.

a result's slot: largest time, death (smallest time + window), group | words | nodes of heaps
     |                                                          |
births: heap by largest time  --->  inserted into its group --> limbs, roots, counts, entries
deaths: heap by death         --->  taken out again, exactly
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

#: Columns of `times`: of a result's largest time, when it is in no interval any more, its group.
HI, DEATH, GROUP = range(3)
#: Columns of `counts` before those of the measures: results that are live; the group's place
#: among the live ones; the last time for which it was noted.
LIVE, PLACE, NOTED, FIRST = range(4)
#: Columns of `entries`: a value of a group that live results have, and how many of them.
OWNER, MEASURE, WORD, MORE, TIMES = range(5)
#: Columns of `measures`: what it is; the columns of its words; where its limbs are, how many,
#: and which bit is the lowest (in limbs); which heap is its; its first column of the output.
KIND, COLUMN, SECOND, FLAVOR, LIMB, LIMBS, BASE, HEAP, OUT = range(9)
#: Kinds of measures.
ROWS, COUNT, DISTINCT, SUM, MEAN, LEAST = range(6)
#: Flavors of sums: 64 bits with and without a sign, 128 bits, floating point.
SIGNED, UNSIGNED, WIDE, FLOATING = range(4)
#: Numbers of the whole: births and deaths that wait, live groups, values that live results have,
#: groups noted for this time, slots that are free again, rows of output, this time, the last time
#: answered for, whether an empty answer may follow, and what goes on at this time.
(
    BIRTHS,
    DEATHS,
    GROUPS,
    VALUES,
    NOTES,
    GONE,
    ROW,
    NOW,
    LAST,
    OPEN,
    PHASE,
) = range(11)
SCALARS = 11
#: Phases.
IDLE, FILLING, EMITTING = range(3)
#: Why a kernel returned.
DONE, FULL, CROWDED = range(3)
#: No slot, no group.
NONE = -1
#: Before each floating sum's limbs: how many NaN, plus and minus infinity are in it.
SPECIALS = 3
MASK = 0xFFFFFFFF


class Results(NamedTuple):
    """By slot."""

    times: Ints
    words: Ints
    valid: NDArray[np.bool_]
    #: Three columns for each heap: child, next, and what points here.
    nodes: Ints


class Groups(NamedTuple):
    """By group, and the list of those that are live."""

    counts: Ints
    limbs: Ints
    roots: Ints
    live: Ints


class Queues(NamedTuple):
    """Heaps of (time, slot), and lists."""

    births: Ints
    deaths: Ints
    notes: Ints
    gone: Ints


class Output(NamedTuple):
    """A row for each answer."""

    ts: Ints
    group: Ints
    words: Ints
    floats: NDArray[np.float64]
    valid: NDArray[np.bool_]


class Task(NamedTuple):
    """All that the loop works on."""

    results: Results
    groups: Groups
    queues: Queues
    entries: Ints
    measures: Ints
    meta: Ints
    output: Output
    scratch: Ints
