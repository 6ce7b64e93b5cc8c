"""The papers' figures, one module each, with what the papers claim as checks.

A figure module defines `EXPERIMENT`; listing it in `EXPERIMENTS` is all the registration there is.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.experiments.frame import Experiment, id_order
from windrow.experiments.paper1 import figure_4, figure_5, figure_6, figure_7, figure_8
from windrow.model import WindrowError

EXPERIMENTS: tuple[Experiment, ...] = (
    figure_4.EXPERIMENT,
    figure_5.EXPERIMENT,
    figure_6.EXPERIMENT,
    figure_7.EXPERIMENT,
    figure_8.EXPERIMENT,
)


def catalogue(experiments: Sequence[Experiment] | None = None) -> dict[str, Experiment]:
    """All experiments by id, in numeric order: 1.4 before 1.10."""
    listed = EXPERIMENTS if experiments is None else experiments
    ordered = {e.id: e for e in sorted(listed, key=lambda e: id_order(e.id))}
    if len(ordered) != len(listed):
        raise WindrowError("two experiments have the same id; give each figure its own")
    return ordered


def select(ids: Sequence[str], experiments: Sequence[Experiment] | None = None) -> list[Experiment]:
    """The experiments asked for, in numeric order and once each; without ids, all of them."""
    known = catalogue(experiments)
    unknown = [i for i in ids if i not in known]
    if unknown:
        raise WindrowError(
            f"unknown experiment {', '.join(unknown)}; there are: {', '.join(known) or 'none yet'}"
        )
    return [e for e in known.values() if not ids or e.id in ids]
