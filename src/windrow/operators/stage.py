"""What every stage of a pipeline has, so that an engine can keep it without knowing what it is.

    admitted --> gate --> join --> results

A stage begins with nothing, or goes on with arrays that an earlier one left. Its arrays may outlive
a process as they are; its facts and its standing are plain data. What arrays do not have, because
they are gone, an engine's log brings back, which is the engine's business.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from windrow.state.room import Room

#: Figures with a number for each stream, and figures of the whole join.
Figures = tuple[dict[str, list[int]], dict[str, int]]
#: Arrays by name, and plain data beside them.
Handover = tuple[dict[str, NDArray[Any]], dict[str, Any]]


class Stage(Protocol):
    """A part of a pipeline."""

    def begin(self, room: Room) -> object:
        """Start with nothing, and arrays made in that room. What has been counted stays."""

    def handover(self) -> Handover:
        """The arrays between two batches, as they are, and what else must be known with them."""

    def attach(self, arrays: dict[str, NDArray[Any]], facts: dict[str, Any], room: Room) -> None:
        """Go on with the arrays of `handover`, in place."""

    def figures(self) -> Figures:
        """What `Metrics` says of it: by name, a number for each stream, or one for the join."""

    def forget_peaks(self) -> None:
        """Let high-water marks begin anew."""

    def standing(self) -> dict[str, Any]:
        """What neither the arrays nor the input tell: small, and written down after each batch."""

    def stand(self, standing: dict[str, Any]) -> None:
        """Take a standing over."""
