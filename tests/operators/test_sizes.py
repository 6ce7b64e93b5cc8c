"""The bytes of rows, against what Arrow itself says of the rows once they are gathered."""

from datetime import date
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators import sizes
from windrow.operators.arrivals import Mixture, Piece
from windrow.operators.sizes import PIECE_BYTES, Sizes, bounded, cuts

TEXT = ["", "a", None, "word " * 40, "x" * 3000, "yz"]
COLUMNS = {
    "int32": pa.array([1, None, 3, 4, 5, 6], pa.int32()),
    "bool": pa.array([True, None, False, True, True, False]),
    "date": pa.array([date(2020, 1, 1)] * 6),
    "decimal": pa.array([Decimal("1.5")] * 6),
    "string": pa.array(TEXT),
    "large string": pa.array(TEXT, pa.large_string()),
    "binary": pa.array([None if t is None else t.encode() for t in TEXT]),
    "fixed binary": pa.array([b"0123456789"] * 6, pa.binary(10)),
    "list": pa.array([[], [1], None, [1, 2, 3] * 100, [4], [5]], pa.list_(pa.int64())),
    "list of strings": pa.array([[], ["a" * 500], None, TEXT, [None], ["b"]]),
    "large list": pa.array([[], ["a" * 500], None, TEXT, [], ["b"]], pa.large_list(pa.string())),
    "fixed list": pa.array([["a", "b" * 900]] * 5 + [["", ""]], pa.list_(pa.string(), 2)),
    "map": pa.array([[], [("k", "v" * 700)]] * 3, pa.map_(pa.string(), pa.string())),
    "struct": pa.array([{"a": n, "b": t} for n, t in enumerate(TEXT)]),
    "lists of lists": pa.array([[["a"] * 50, []], [], None, [["b" * 2000]], [[]], [["c"], None]]),
    "dictionary": pa.array(["a", "b", "a", None, "b", "a"]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("start", [0, 2])
def test_rows_have_the_bytes_that_arrow_gathers(kind, start):
    column = COLUMNS[kind].slice(start)
    rng = np.random.default_rng(7)
    rows = rng.integers(0, len(column), 4000)
    found = np.broadcast_to(Sizes.of_columns([column], len(column)).of(rows), len(rows)).sum()
    gathered = column.take(pa.array(rows)).nbytes
    if pa.types.is_dictionary(column.type):
        # The dictionary itself is shared, and counted by Arrow once.
        gathered -= column.dictionary.nbytes
    assert found == pytest.approx(gathered, rel=0.05)


def test_one_wide_row_among_narrow_ones_counts_as_itself():
    column = pa.array(["x"] * 9 + ["y" * 100_000])
    found = Sizes.of_columns([column], 10)
    assert found.of(np.arange(10))[:9].max() < 10
    assert found.of(np.array([9]))[0] >= 100_000
    assert found.widest >= 100_000


def test_columns_without_rows_have_no_bytes():
    for column in COLUMNS.values():
        assert Sizes.of_columns([column.slice(0, 0)], 0).widest < 64


@pytest.mark.parametrize("seed", range(20))
def test_cuts_cover_all_rows_in_order_and_keep_to_the_limit(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, PIECE_BYTES // 3, 100).astype(np.float64)
    rows[rng.integers(0, 100, 5)] = 3 * PIECE_BYTES
    stretches = list(cuts(rows, 100))
    assert [at for start, stop in stretches for at in range(start, stop)] == list(range(100))
    for start, stop in stretches:
        assert stop - start == 1 or rows[start:stop].sum() <= PIECE_BYTES
    for (start, stop), _ in pairwise(stretches):
        assert rows[start : stop + 1].sum() > PIECE_BYTES, "a stretch that could be longer"


def test_batches_are_put_together_and_cut(monkeypatch):
    monkeypatch.setattr(sizes, "PIECE_BYTES", 1000)
    batches = [
        pa.record_batch({"n": pa.array(range(at, at + 7)), "text": pa.array(["x" * 90] * 7)})
        for at in range(0, 70, 7)
    ]
    found = list(bounded(batches))
    assert [n for batch in found for n in batch.column("n").to_pylist()] == list(range(70))
    assert {batch.num_rows for batch in found[:-1]} == {9}


@pytest.mark.parametrize("seed", range(10))
def test_parts_of_a_mixture_are_its_rows_in_order(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, 3)
    pieces = []
    for kind, length in zip(("match", "unmatched", "end"), lengths, strict=True):
        ids = rng.integers(0, 1000, length)
        pieces.append(Piece(kind, (ids, None if kind != "match" else ids + 1), ids * 10))
    whole = Mixture(tuple(pieces), rng.permutation(lengths.sum()))
    step = int(rng.integers(1, 6))
    parts = [whole.part(at, min(at + step, len(whole))) for at in range(0, len(whole), step)]
    assert [row for part in parts for row in _rows(part)] == _rows(whole)


def _rows(mixture):
    """Each row as (kind, ids, time)."""
    flat = [
        (piece.kind, [None if ids is None else int(ids[at]) for ids in piece.rows], int(ts))
        for piece in mixture.pieces
        for at, ts in enumerate(piece.ts)
    ]
    return [flat[place] for place in mixture.places]
