"""Looking into lists, and filling them, outside a join: copies, restores, counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels import lists as ls
from windrow.kernels.jit import kernel
from windrow.kernels.task import NEVER


@kernel
def copy_live(state: ls.ListArrays, first: int, step: int, out: NDArray[np.int64]) -> None:
    """Copy the live records of lists first, first + step, ..., each oldest first."""
    k = 0
    for lst in range(first, state.meta.shape[0], step):
        for seq in range(state.meta[lst, ls.LOW], state.meta[lst, ls.NEXT]):
            i = ls.place(state, lst, seq)
            source = state.old if ls.in_old(state, i) else state.records
            for column in range(ls.COLUMNS):
                out[k, column] = source[i, column]
            k += 1


@kernel
def copy_before(
    state: ls.ListArrays, first: int, step: int, bound: int, out: NDArray[np.int64]
) -> int:
    """Copy the records before a time, of lists first, first + step, ..., without emptied ones.

    A list in order is read up to the first that is not before it. Returns how many there are.
    """
    k = 0
    for lst in range(first, state.meta.shape[0], step):
        ordered = state.meta[lst, ls.LOW] >= state.meta[lst, ls.DISORDER]
        for seq in range(state.meta[lst, ls.LOW], state.meta[lst, ls.NEXT]):
            ts, key, row, link = ls.read(state, lst, seq)
            if ts < bound and row != ls.EMPTY:
                out[k, ls.TS], out[k, ls.KEY], out[k, ls.ROW], out[k, ls.LINK] = ts, key, row, link
                k += 1
            elif ts >= bound and ordered:
                break
    return k


@kernel
def append_all(state: ls.ListArrays, lst: int, records: NDArray[np.int64], start: int) -> int:
    """Append records from `start` on; returns how many are in now. Fewer: make room, call again."""
    for k in range(start, records.shape[0]):
        if not ls.append(
            state,
            lst,
            records[k, ls.TS],
            records[k, ls.KEY],
            records[k, ls.ROW],
            records[k, ls.LINK],
        ):
            return k
    return records.shape[0]


@kernel
def drop(state: ls.ListArrays, lst: int, count: int) -> None:
    """Drop so many records from a list's old end."""
    for _ in range(count):
        ls.drop_oldest(state, lst)


@kernel
def rows_of_key(state: ls.ListArrays, lst: int, key: int, rows: NDArray[np.int64]) -> int:
    """The live rows of a key, newest first; returns how many."""
    count = 0
    seq = ls.newest(state, lst, key)
    while seq >= 0:
        seq, _, row, link, _ = ls.probe(state, lst, key, -NEVER, NEVER, seq)
        if seq >= 0:
            rows[count] = row
            count += 1
            seq = link
    return count


@kernel
def finish_move(state: ls.ListArrays) -> None:
    """Move what is left in the old records."""
    ls.move_old(state, state.pool[ls.SPLIT])


@kernel
def move_regions(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    starts: NDArray[np.int64],
    targets: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    """Copy each region of `source` to its new start in `target`."""
    for region in range(sizes.shape[0]):
        for i in range(sizes[region]):
            target[targets[region] + i] = source[starts[region] + i]


@kernel
def find_all(
    state: ls.ListArrays,
    lst: int,
    keys: NDArray[np.int64],
    start: int,
    following: int,
    found: NDArray[np.int64],
) -> tuple[int, int]:
    """Look each key up in a chained list of (key, row id) pairs, from `start` on.

    Unknown keys get row ids from `following` on and are appended, unless it is negative: then
    they get -1. Returns how far it came (less than all: make room, call again) and the next
    row id.
    """
    for k in range(start, keys.shape[0]):
        key = keys[k]
        seq, _, row, _, _ = ls.probe(state, lst, key, -NEVER, NEVER, ls.newest(state, lst, key))
        result = row if seq >= 0 else -1
        if result < 0 and following >= 0:
            if not ls.append(state, lst, 0, key, following, 0):
                return k, following
            result = following
            following += 1
        found[k] = result
    return keys.shape[0], following


@kernel
def take_up_to(
    state: ls.ListArrays,
    lst: int,
    keys: NDArray[np.int64],
    until: NDArray[np.int64],
    owners: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> int:
    """Take each key's records that are not later than its time out of a chained list.

    Their row ids go to `rows`, and which of the keys took them to `owners`; returns how many. A
    record taken is emptied, and dropped once it is the oldest.
    """
    count = 0
    for k in range(keys.shape[0]):
        seq = ls.newest(state, lst, keys[k])
        while seq >= 0:
            seq, _, row, link, _ = ls.probe(state, lst, keys[k], -NEVER, until[k], seq)
            if seq >= 0:
                owners[count], rows[count] = k, row
                count += 1
                ls.empty(state, lst, seq)
                seq = link
    while state.meta[lst, ls.LOW] < state.meta[lst, ls.NEXT]:
        _, _, row, _ = ls.read(state, lst, state.meta[lst, ls.LOW])
        if row != ls.EMPTY:
            break
        ls.drop_oldest(state, lst)
        state.meta[lst, ls.DEAD] -= 1
    return count


@kernel
def oldest_row(state: ls.ListArrays, lst: int) -> int:
    """The row id of a list's oldest record."""
    _, _, row, _ = ls.read(state, lst, state.meta[lst, ls.LOW])
    return row
