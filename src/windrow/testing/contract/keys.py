"""Keys that tempt a structure to mix them up."""

from __future__ import annotations

import numpy as np


def key_pool(rng: np.random.Generator, size: int) -> list[int]:
    """Keys that agree in their lower or in their upper half, and some that agree in nothing."""
    anything: list[int] = rng.integers(-(2**63), 2**63 - 1, size).tolist()
    alike = [anything[0] ^ 1 << 40, anything[0] ^ 1, anything[1] ^ 1 << 63]
    return [0, -1, *anything, *(_signed(key) for key in alike)]


def _signed(key: int) -> int:
    return (key + 2**63) % 2**64 - 2**63
