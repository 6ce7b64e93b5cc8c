"""Cases of joins of many streams, event by event: what each one makes, and when.

They are modelled on what the suites of other engines ask of such joins (ksqlDB's n-way joins,
Flink's streaming multi-join, Spark's queries with several stateful operators, Kafka Streams' chains
of windowed joins); rows and words are our own.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

import windrow as wr
from windrow.api import local_join
from windrow.testing import assert_same_rows, duckdb_join

TYPES = {"k": pa.int64(), "t": pa.timestamp("us"), "v": pa.string(), "beat": pa.bool_()}


def table(rows):
    """Rows (key, time, value); a heartbeat is (time,)."""
    full = [(None, row[0], None, True) if len(row) == 1 else (*row, False) for row in rows]
    return pa.table(
        {
            name: pa.array([row[at] for row in full], kind)
            for at, (name, kind) in enumerate(TYPES.items())
        }
    )


def streams(rows, windows, **more):
    return [
        wr.stream(
            table(rows[name]), name=name, key="k", time="t", beats="beat",
            window=f"{windows[name]} microseconds", **more,
        )
        for name in windows
    ]  # fmt: skip


def values(row, names):
    """The values of a result, a dash where there is none."""
    return "".join(row[name]["v"] if row[name] else "-" for name in names if name in row)


def told(events, windows, **asked):
    """Feed events (stream, row) one at a time: what left after each, and what at the end.

    Until then no stream has ended: each has a heartbeat left to send.
    """
    rows = {name: [row for of, *row in events if of == name] + [(10**6,)] for name in windows}
    more = {"lateness": asked.pop("lateness", "0 seconds")}
    join = local_join(wr.plan(*streams(rows, windows, **more), **asked))
    at, found = dict.fromkeys(windows, 0), []
    for name, *_ in [*events, (None,)]:
        share = [(at[n], at[n] + (n == name) if name else 1000) for n in windows]
        batches = join.record_batches(join.batch(share))
        out = [row for batch in batches for row in batch.to_pylist()]
        found.append(sorted(values(row, windows) for row in out))
        if name:
            at[name] += 1
    return found


def check(script, windows, **asked):
    """A script: events and what leaves at each; the last entry is what is left at the end."""
    events, expected = [event for event, _ in script[:-1]], [out for _, out in script]
    assert told(events, windows, **asked) == expected
    rows = {name: [row for stream, *row in events if stream == name] for name in windows}
    sides = streams(rows, windows)
    if asked.get("lateness") is None and "condition" not in asked:
        whole = duckdb_join(*sides, how=asked.get("how", "inner"))
        names = [values(row, windows) for row in whole.to_pylist()]
        assert sorted(names) == sorted(value for _, out in script for value in out)


ALIKE = {"a": 10, "b": 10, "c": 10}
END = None

SCRIPTS = {
    "nothing leaves until all three have a row, whichever comes last": (
        ALIKE, {},
        [
            (("a", 1, 1, "A"), []),
            (("b", 1, 2, "B"), []),
            (("c", 1, 3, "C"), ["ABC"]),
            (("b", 1, 4, "b"), ["AbC"]),
            (("a", 1, 5, "x"), ["xBC", "xbC"]),
            (END, []),
        ],
    ),
    "rows of one key meet in a product": (
        ALIKE, {},
        [
            (("a", 1, 0, "A"), []),
            (("a", 1, 0, "x"), []),
            (("c", 1, 0, "C"), []),
            (("c", 1, 0, "z"), []),
            (("b", 1, 1, "B"), ["ABC", "ABz", "xBC", "xBz"]),
            (END, []),
        ],
    ),
    "equal rows are rows of their own": (
        ALIKE, {},
        [
            (("a", 1, 0, "A"), []),
            (("a", 1, 0, "A"), []),
            (("b", 1, 0, "B"), []),
            (("c", 1, 0, "C"), ["ABC", "ABC"]),
            (END, []),
        ],
    ),
    "null keys meet nothing": (
        ALIKE, {"how": "left"},
        [
            (("a", None, 0, "A"), ["A--"]),
            (("b", None, 0, "B"), []),
            (("c", None, 0, "C"), []),
            (END, []),
        ],
    ),
    "windows of several lengths: the second is too early for the third": (
        {"a": 10, "b": 2, "c": 10}, {},
        [
            (("a", 1, 0, "A"), []),
            (("b", 1, 1, "B"), []),
            (("c", 1, 3, "C"), ["ABC"]),
            (("c", 1, 4, "z"), []),
            (END, []),
        ],
    ),
    "a row of the first waits for both others": (
        ALIKE, {"how": "left"},
        [
            (("a", 1, 0, "A"), []),
            (("b", 1, 1, "B"), []),
            (("c", 2, 1, "C"), []),
            # c has passed A's reach, and had nothing for it.
            (("c", 2, 11, "z"), ["A--"]),
            (END, []),
        ],
    ),
    "a row of the first that two have met and the third has not": (
        ALIKE, {"how": "left"},
        [
            (("a", 1, 0, "A"), []),
            (("b", 1, 0, "B"), []),
            (("b", 2, 30, "b"), []),
            (("c", 1, 10, "C"), ["ABC"]),
            (("c", 2, 30, "z"), []),
            (("a", 2, 30, "x"), ["xbz"]),
            (END, []),
        ],
    ),
    "two unmatched in a row: each leaves once": (
        ALIKE, {"how": "anti"},
        [
            (("a", 1, 0, "A"), []),
            (("a", 1, 1, "x"), []),
            (("b", 1, 2, "B"), []),
            (("c", 2, 12, "C"), ["A", "x"]),
            (END, []),
        ],
    ),
    "a row of the first is given out once, however many it meets": (
        ALIKE, {"how": "semi"},
        [
            (("a", 1, 0, "A"), []),
            (("b", 1, 0, "B"), []),
            (("c", 1, 0, "C"), ["A"]),
            (("b", 1, 1, "b"), []),
            (("c", 1, 1, "z"), []),
            (("a", 1, 1, "x"), ["x"]),
            (END, []),
        ],
    ),
    "a heartbeat lets go": (
        ALIKE, {"how": "left"},
        [
            (("a", 1, 0, "A"), []),
            (("b", 10), []),
            (("b", 11), ["A--"]),
            (("a", 1, 1, "x"), []),
            (("c", 12), ["x--"]),
            (("c", 1, 12, "C"), []),
            (END, []),
        ],
    ),
    "out of order within the lateness": (
        ALIKE, {"lateness": "5 microseconds"},
        [
            (("a", 1, 10, "A"), []),
            (("b", 1, 12, "B"), []),
            (("c", 1, 11, "C"), ["ABC"]),
            (("a", 1, 6, "x"), ["xBC"]),
            (("c", 1, 7, "z"), ["ABz", "xBz"]),
            # Six behind: it is late.
            (("c", 1, 5, "y"), []),
            (END, []),
        ],
    ),
    "a condition on two of the three": (
        ALIKE, {"condition": "a.v < c.v"},
        [
            (("a", 1, 0, "M"), []),
            (("b", 1, 0, "B"), []),
            (("c", 1, 0, "C"), []),
            (("c", 1, 1, "Z"), ["MBZ"]),
            (END, []),
        ],
    ),
    "four streams, of which the last comes late to all": (
        {"a": 5, "b": 5, "c": 5, "d": 0}, {"how": "left"},
        [
            (("a", 1, 0, "A"), []),
            (("b", 1, 1, "B"), []),
            (("c", 1, 2, "C"), []),
            (("d", 1, 5, "D"), ["ABCD"]),
            (("d", 1, 6, "E"), []),
            (END, []),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_event_by_event(name):
    windows, asked, script = SCRIPTS[name]
    check(script, windows, **asked)


# -- one table several times, and joins of joins -----------------------------------------------


def people(rows):
    return pa.table(
        {
            "id": pa.array([row[0] for row in rows], pa.int64()),
            "team": pa.array([row[1] for row in rows], pa.int64()),
            "t": pa.array([row[2] for row in rows], pa.timestamp("us")),
        }
    )


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_one_table_as_three_streams(how):
    """Three different people of a team within five microseconds of each other."""
    whole = people([(1, 1, 0), (2, 1, 2), (3, 1, 4), (4, 1, 9), (5, 2, 9), (6, 2, 9)])
    sides = [wr.stream(whole, name=n, key="team", time="t", window="5 microseconds") for n in "abc"]
    condition = "a.id < b.id AND b.id < c.id"
    result = wr.join(*sides, how=how, condition=condition)
    assert_same_rows(result, duckdb_join(*sides, how=how, condition=condition))
    assert result.num_rows == {"inner": 1, "left": 6, "semi": 1, "anti": 5}[how]


@pytest.mark.parametrize("order", ["none", "sync-filter"])
def test_a_join_of_two_joins(order):
    """Query 2 of paper 5: J3 over J1 and J2, of three streams each."""
    rows = {
        name: [(key, 3 * at + shift, f"{name}{at}") for at in range(40) for key in (at % 4,)]
        for shift, name in enumerate("abcdef")
    }
    sides = streams(rows, dict.fromkeys("abcdef", 20))

    def joined(join, **more):
        one, two = join(*sides[:3], **more), join(*sides[3:], how="left", **more)
        common = {"time": "ts", "window": "10 microseconds"}
        # In no order, a result may be behind others by what its rows are apart.
        if not more:
            common["lateness"] = "1 second"
        return join(
            wr.stream(one, name="one", key="a.k", **common),
            wr.stream(two, name="two", key="d.k", **common),
            **more,
        )

    more = {} if order == "none" else {"order": order, "batch_rows": 7}
    result = joined(wr.join, **more)
    assert_same_rows(result, joined(duckdb_join))
    assert result.num_rows > 100


def test_a_join_of_many_beside_a_join_of_two():
    """The result of three meets a fourth stream as one of two, of three, and in one operator."""
    rows = {
        name: [(at % 3, 2 * at + shift, str(at)) for at in range(30)]
        for shift, name in enumerate("abcd")
    }
    sides = streams(rows, dict.fromkeys("abcd", 8))
    whole = wr.join(*sides)
    three = wr.stream(
        wr.join(*sides[:3]), name="abc", key="a.k", time="ts", window="8 microseconds",
        lateness="1 second",
    )  # fmt: skip
    within = " AND ".join(f"d.t <= abc.{n}.t + INTERVAL 8 MICROSECONDS" for n in "abc")
    then = wr.join(three, sides[3], condition=within)
    assert then.num_rows == whole.num_rows > 100
