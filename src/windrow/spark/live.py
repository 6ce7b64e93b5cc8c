"""Look at a running query: `watch(query)`."""

from __future__ import annotations

from windrow.spark.tools.live import watch

__all__ = ["watch"]
