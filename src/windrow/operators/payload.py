"""What an operator may ask of the rows it only knows by id. Engines keep the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.sizes import RowBytes

Rows = NDArray[np.int64]


class Payload(Protocol):
    """One stream's rows."""

    @property
    def exact(self) -> bool:
        """Are equal key hashes equal keys?"""

    def null_keys(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of these rows have a null key."""

    def same_keys(self, rows: Rows, other: Any, others: Rows) -> NDArray[np.bool_]:
        """Do these rows' keys equal those rows' keys of another payload, pair by pair?"""

    def column(self, path: str, rows: Rows) -> pa.Array:
        """A possibly dotted column of these rows."""

    def struct(self, rows: Rows | None, length: int, kind: pa.StructType) -> pa.StructArray:
        """These rows as structs of that type; None: as many nulls."""

    def sizes(self, rows: Rows, paths: Sequence[str] | None = None) -> RowBytes:
        """The bytes of these rows, of the columns at these paths or of all."""
