"""The papers' figures, one module each, with what the papers claim as checks.

A figure module defines `EXPERIMENT`; listing it in its paper's `FIGURES` is all the registration
there is.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.experiments import paper1, paper2, paper3, paper4, paper5
from windrow.experiments.frame import Experiment, id_order
from windrow.model import WindrowError

EXPERIMENTS: tuple[Experiment, ...] = (
    *paper1.FIGURES,
    *paper2.FIGURES,
    *paper3.FIGURES,
    *paper4.FIGURES,
    *paper5.FIGURES,
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
