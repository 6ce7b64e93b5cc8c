"""Drawn cases keep their promises, reach the edges, and can be read."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.vendor.pretty import pretty

from windrow.model import CountWindow, Stream, TimeWindow
from windrow.testing import KEY_KINDS, Case, cases, many_cases, naive_join, streams, table
from windrow.testing._inputs import read

# The first example found will do; to make it small takes long.
first_found = settings(max_examples=2000, phases=[Phase.generate], database=None)


@given(cases(beats=True) | cases(count_windows=True) | many_cases(beats=True))
def test_no_row_comes_later_than_its_lateness(case):
    for stream in case.streams:
        rows = read(stream)
        seen: list[int] = []
        for row in rows.tuples:
            time = int(rows.times[row])
            assert time >= max(seen, default=time) - stream.lateness
            seen.append(time)


@given(streams(beats=True))
def test_heartbeats_keep_their_word(stream):
    rows = read(stream)
    for beat in rows.beats.nonzero()[0]:
        later = [int(rows.times[row]) for row in rows.tuples if row > beat]
        assert all(time >= rows.times[beat] for time in later)


@pytest.mark.parametrize("kind", KEY_KINDS)
def test_keys_of_each_kind_can_match(kind):
    drawn = cases(key_kinds=[kind], hows=["inner"])
    case = find(drawn, lambda c: _matches(c) > 1, settings=first_found)
    assert case.left.key == KEY_KINDS[kind].key


@pytest.mark.parametrize(
    "wanted",
    [
        lambda c: c.between and c.between[0] > 0 and _matches(c),
        lambda c: c.between and c.between[1] < 0 and _matches(c),
        lambda c: _matches(c) != _matches(Case(c.left, c.right, c.between, not c.closed)),
        lambda c: c.left.data.num_rows == 0 and c.right.data.num_rows > 1,
        lambda c: c.left.data.column("t").null_count and _matches(c),
        lambda c: _repeated(c.left.data),
    ],
    ids=["after", "before", "on the edge", "empty side", "null time", "repeated rows"],
)
def test_edges_are_reached(wanted):
    drawn = cases(hows=["inner"], numbered=False)
    assert wanted(find(drawn, lambda c: bool(wanted(c)), settings=first_found))


@given(cases(count_windows=True))
def test_count_windows_on_request(case):
    assert any(isinstance(stream.window, CountWindow) for stream in case.streams)
    assert case.between is None


@pytest.mark.parametrize(
    "wanted",
    [
        lambda c: len(c.streams) == 6 and _matches(c) > 1,
        lambda c: len(c.streams) == 4 and len({s.window for s in c.streams}) == 4 and _matches(c),
        lambda c: _on_the_edge(c) and len(c.streams) == 3,
        lambda c: not c.more[0].data.num_rows and _matches(Case(*c.streams[:2], closed=c.closed)),
        lambda c: any(s.data.column("t").null_count for s in c.streams[2:]) and _matches(c),
        lambda c: c.left.key is None and _matches(c),
    ],
    ids=["six", "four windows", "on the edge", "empty", "null time", "no key"],
)
def test_edges_of_many_are_reached(wanted):
    drawn = many_cases(counts=[3, 4, 6])
    assert wanted(find(drawn, lambda c: bool(wanted(c)), settings=first_found))


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
def test_any_two_of_three_streams_may_be_what_does_not_fit(pair):
    drawn = many_cases(counts=[3], key_kinds=["int64"])
    find(drawn, lambda c: _pair_is_all_that_fails(c, *pair), settings=first_found)


@given(many_cases(late=True, beats=True) | many_cases(count_windows=True))
def test_many_streams_have_few_combinations(case):
    assert 2 <= len(case.streams) <= 6
    assert [stream.name for stream in case.streams] == list("abcdef"[: len(case.streams)])
    sizes = [len(read(stream).tuples) for stream in case.streams]
    assert math.prod(sizes) <= 20_000
    assert max(sizes) <= 10
    assert case.how in ("inner", "left", "semi", "anti")


@given(many_cases(count_windows=True, counts=[3]))
def test_count_windows_of_many_on_request(case):
    assert any(isinstance(stream.window, CountWindow) for stream in case.streams)


@given(st.data())
def test_flags(data):
    numbered = data.draw(streams(numbered=True)).data.column("v").to_pylist()
    assert numbered == list(range(len(numbered)))
    assert set(data.draw(streams(numbered=False)).data.column("v").to_pylist()) <= {0}
    assert data.draw(cases(between=True, hows=["left"])).between is not None
    assert data.draw(cases(max_rows=3)).left.data.num_rows <= 3


def test_a_case_can_be_read():
    data = table("k  t  v\n a  5  0\n -  -  1", t=pa.timestamp("us"))
    left = Stream(data, data.schema, "a", ("k",), "t", TimeWindow(7), lateness=3)
    right = Stream(data.slice(0, 0), data.schema, "b", None, "t", CountWindow(2))
    expected = """\
Case(how='left', between=None, closed=False)
  a: key=('k',), window=TimeWindow(micros=7), lateness=3, beats=None
    (k: string, t: timestamp[us], v: int64)
    k     t     v
    'a'   5     0
    null  null  1
  b: key=None, window=CountWindow(n=2, per='key'), lateness=0, beats=None
    (k: string, t: timestamp[us], v: int64)
    k  t  v"""
    case = Case(left, right, how="left", closed=False)
    assert repr(case) == expected
    # What a failing property test prints.
    assert pretty(case) == expected


def test_text_tables():
    read_back = table("k | t  ok\n a | 5  true\n - | -  -", t=pa.timestamp("ms"))
    assert read_back.schema.types == [pa.string(), pa.timestamp("ms"), pa.bool_()]
    assert read_back.column("k").to_pylist() == ["a", None]
    assert table("v\n").num_rows == 0
    with pytest.raises(ValueError, match="3 cells"):
        table("a b\n 1 2 3")
    with pytest.raises(ValueError, match="types for"):
        table("a b\n 1 2", c=pa.int8())
    with pytest.raises(ValueError, match="column names first"):
        table(" ")


@pytest.mark.parametrize("missing", ["duckdb", "hypothesis"])
def test_what_to_install_is_said(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; import windrow.testing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"MissingExtraError: windrow.testing needs {missing}" in done.stderr
    assert "pip install windrow[testing]" in done.stderr


def _matches(case: Case) -> int:
    return naive_join(*case.streams, between=case.between, closed=case.closed).num_rows


def _on_the_edge(case: Case) -> bool:
    return _matches(case) != _matches(replace(case, closed=not case.closed))


def _pair_is_all_that_fails(case: Case, i: int, j: int) -> bool:
    """Is there a result if only two streams' windows are taken away?"""
    free = [replace(s, window=None) if at in (i, j) else s for at, s in enumerate(case.streams)]
    others = [k for k in range(len(case.streams)) if k not in (i, j)]
    if _matches(case):
        return False
    fits = [
        naive_join(*(case.streams[at] for at in sorted((x, k))), closed=case.closed).num_rows
        for k in others
        for x in (i, j)
    ]
    return all(fits) and naive_join(*free, closed=case.closed).num_rows > 0


def _repeated(data: pa.Table) -> bool:
    rows = [str(row) for row in data.to_pylist()]
    return len(set(rows)) < len(rows)
