"""Block lists, several on one pool, with blocks so small that every path is taken."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.kernels import lists as ls
from windrow.state.lists import Lists
from windrow.state.room import HEAP, allocated
from windrow.testing.contract.handover import elsewhere

pytestmark = pytest.mark.kernel

#: (append, how many) or (drop, how many), of one of three lists
steps = st.lists(
    st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 70)), min_size=1, max_size=12
)


def records(start: int, count: int, keys: int = 5) -> np.ndarray:
    """Times that count up, keys that come round, row ids beside them, and a link to overwrite."""
    n = np.arange(start, start + count)
    return np.column_stack([n, n % keys, n + 1000, np.full(count, 77)])


@given(steps, st.sampled_from([1, 2, 4]), st.sampled_from([0, 2, 3]))
def test_lists_on_one_pool_do_not_disturb_each_other(drawn, bits, chained):
    """Appends that grow segments, heads and pool, and drops that give blocks back."""
    lists = Lists(3, bits=bits, chained=chained)
    model = [deque() for _ in range(3)]
    following = 0
    for lst, adds, count in drawn:
        if adds:
            new = records(following, count)
            lists.append(lst, new)
            model[lst] += new[:, :3].tolist()
            following += count
        else:
            cut = list(model[lst])[:count][-1][0] + 1 if model[lst] and count else 0
            gone = [model[lst].popleft()[2] for _ in range(min(count, len(model[lst])))]
            assert lists.drop_expired(lst, 0, cut).tolist() == gone
        for number, held in enumerate(model):
            assert lists.live_records(number)[:, :3].tolist() == list(held)
            for key in range(5):
                found = lists.probe(number, key).tolist()
                assert found == [row for _, k, row in reversed(held) if k == key]
    moved, _ = elsewhere((lists.handover(), {}))
    again = Lists.attach(moved, chained, HEAP)
    assert [again.live_records(n)[:, :3].tolist() for n in range(3)] == list(map(list, model))


def test_a_list_moves_on_for_ever_in_a_few_blocks():
    """Sequence numbers grow without end; blocks and segments come round."""
    lists = Lists(1, bits=2, chained=1)
    sizes = set()
    for turn in range(500):
        lists.append(0, records(3 * turn, 3))
        lists.drop_expired(0, 10, 3 * turn)
        assert lists.live_records(0)[:, ls.TS].tolist() == list(
            range(max(3 * turn - 10, 0), 3 * turn + 3)
        )
        if turn > 20:
            sizes.add(allocated(lists.handover()))
    assert lists.meta[0, ls.NEXT] == 1500
    assert lists.meta[0, ls.LOW] == 1500 - 13
    assert len(sizes) == 1


def test_growth_moves_a_few_blocks_at_a_time():
    """No append pays for the whole state: that is what keeps a batch from stalling."""
    lists = Lists(1, bits=1, chained=1)
    most = moves = 0
    for n in range(3000):
        before = int(lists.pool[ls.MOVED])
        lists.append(0, records(n, 1))
        if lists.pool[ls.SPLIT]:
            moved = int(lists.pool[ls.MOVED]) - before
            most, moves = max(most, moved), moves + (moved > 0)
    assert moves > 20
    assert most <= ls.MOVES
    assert lists.live_records(0)[:, ls.ROW].tolist() == list(range(1000, 4000))


def test_heads_keep_up_with_the_live_records():
    """Chains stay short: a list has as many heads as live records, or more."""
    lists = Lists(2, bits=4, chained=2)
    lists.append(1, records(0, 1000, keys=997))
    assert lists.meta[1, ls.HEADS] >= 1000
    assert lists.meta[0, ls.HEADS] == 64
    assert lists.probe(1, 2).tolist() == [1999, 1002]


def test_expected_records_are_made_room_for_at_once():
    lists = Lists(4, bits=4, chained=4, expected=4000)
    before = allocated(lists.handover())
    for lst in range(4):
        lists.append(lst, records(0, 950))
    assert allocated(lists.handover()) == before


def test_lists_can_be_added():
    lists = Lists(2, bits=2, chained=2)
    lists.append(0, records(0, 9))
    for count in (1, 3, 40):
        lists.add(count)
    assert lists.live().tolist() == [9, *[0] * 45]
    for lst in (2, 3, 45):
        lists.append(lst, records(lst, 30))
        assert lists.live_records(lst)[:, :3].tolist() == records(lst, 30)[:, :3].tolist()
        assert lists.probe(lst, 4).tolist() == [
            row for _, key, row, _ in records(lst, 30)[::-1].tolist() if key == 4
        ]
    assert lists.probe(0, 4).tolist() == [1004]
