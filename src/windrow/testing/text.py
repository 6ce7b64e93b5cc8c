"""Tables written as text, so that a case can be read beside its expected answer."""

from __future__ import annotations

import pyarrow as pa


def table(text: str, **types: pa.DataType) -> pa.Table:
    """Read a table: a line of column names, then a line per row, cells apart by spaces.

    `-` is null, and a `|` is only there for the eye. A column is int64, double, bool or string,
    whichever fits first, unless `types` says otherwise; times are counts of their own unit.

    Examples
    --------
    >>> imp = table('''
    ...     ad  t   | price
    ...     x   10  | 1.5
    ...     -   12  | 2
    ... ''', t=pa.timestamp("us"))
    >>> imp.schema.types
    [DataType(string), TimestampType(timestamp[us]), DataType(double)]
    >>> imp.column("ad").to_pylist()
    ['x', None]
    """
    lines = [line.replace("|", " ").split() for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError("an empty text: expected a line of column names first")
    names, *rows = lines
    for row in rows:
        if len(row) != len(names):
            raise ValueError(f"{len(row)} cells in {row}, expected {len(names)}: {names}")
    if unknown := set(types) - set(names):
        raise ValueError(f"types for {sorted(unknown)}, but the columns are {names}")
    cells = {name: [None if r[i] == "-" else r[i] for r in rows] for i, name in enumerate(names)}
    return pa.table({name: _column(texts, types.get(name)) for name, texts in cells.items()})


def _column(texts: list[str | None], kind: pa.DataType | None) -> pa.Array:
    array = pa.array(texts, pa.string())
    if kind is not None:
        return array.cast(pa.int64()).cast(kind) if pa.types.is_temporal(kind) else array.cast(kind)
    for guess in (pa.int64(), pa.float64(), pa.bool_()):
        try:
            return array.cast(guess)
        except pa.ArrowInvalid:
            continue
    return array
