"""What an experiment is made of: it runs, and hands back curves and checked claims.

A figure module holds no drawing code: it describes its plot by `Panel`s and `windrow` draws them.

>>> def run(progress):
...     rates = [10, 100, 1000]
...     work = [rate * 3 for rate in progress.track(rates)]
...     panel = Panel(
...         "counted",
...         x_label="rate of B (tuples/s)",
...         y_label="comparisons",
...         series=(measured("WNL", rates, work), modelled("WNL", rates, [30, 300, 3000])),
...         x_log=True,
...     )
...     ratio = work[-1] / work[0]
...     return Outcome(
...         parameters={"window": "30 s"},
...         panels=(panel,),
...         claims=(claim("Cost is linear in the rate", ratio == 100, f"{ratio:.0f}x over 100x"),),
...     )
>>> EXPERIMENT = Experiment("1.4", "Nested loops and hash", "Paper 1, Figure 4", run)

A claim is computed from the run and says what was measured, whether it held or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from windrow.bar import Progress
from windrow.model import WindrowError

Kind = Literal["measured", "modelled"]
Basis = Literal["counted", "wall time", "thread time"]
Numbers = Sequence[float] | npt.NDArray[Any]

#: Where words stand among a paper's figures.
LAST = 2**31
_ID = re.compile(r"(\d+)\.(?:(\d+)([a-z]?)|([a-z]+))")


@dataclass(frozen=True)
class Claim:
    """A statement of the paper (or ours), and what the run says about it."""

    text: str
    held: bool
    measured: str


@dataclass(frozen=True)
class Series:
    """One curve. Measured and modelled curves of the same name share a colour."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    kind: Kind = "measured"

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise WindrowError(
                f"series {self.name!r} has {len(self.x)} x and {len(self.y)} y values; "
                "give as many of each"
            )


@dataclass(frozen=True)
class Mark:
    """A vertical line where something should happen, with a word on what."""

    x: float
    label: str


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `basis` says whether y is counted or timed; the plot shows which.

    Thread time is what the processor took for the thread, which others disturb little.
    """

    basis: Basis
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    title: str = ""
    x_log: bool = False
    y_log: bool = False
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a run found: the parameters it ran with, the panels of its plot, its claims."""

    parameters: Mapping[str, Any]
    panels: tuple[Panel, ...]
    claims: tuple[Claim, ...]

    @property
    def series(self) -> tuple[Series, ...]:
        """The curves of all panels."""
        return tuple(s for panel in self.panels for s in panel.series)


@dataclass(frozen=True)
class Experiment:
    """A figure of a paper: `id` is the paper's number, a dot, the figure's number.

    What the paper has no figure of has a word in its place.
    """

    id: str
    title: str
    paper: str
    run: Callable[[Progress], Outcome]

    def __post_init__(self) -> None:
        id_order(self.id)


def measured(name: str, x: Numbers, y: Numbers) -> Series:
    """A curve that was measured: drawn as markers on a line."""
    return Series(name, _numbers(x), _numbers(y), "measured")


def modelled(name: str, x: Numbers, y: Numbers) -> Series:
    """A curve that a cost model predicts: dashed, in the colour of the measured one."""
    return Series(name, _numbers(x), _numbers(y), "modelled")


def claim(text: str, held: bool | np.bool_, measured: str) -> Claim:
    """A checked claim; `held` is the result of a comparison, nothing merely truthy.

    >>> claim("Hash is faster", 3 < 40, "3 against 40 comparisons").held
    True
    """
    if not isinstance(held, bool | np.bool_):
        raise TypeError(f"claim {text!r}: held is {held!r}; give the result of a comparison")
    return Claim(text, bool(held), measured)


def id_order(id: str) -> tuple[int, int, str]:
    """What experiments are sorted by: numbers, not text, and words after a paper's figures.

    >>> sorted(["2.mem", "1.10", "2.3", "1.4"], key=id_order)
    ['1.4', '1.10', '2.3', '2.mem']
    """
    parts = _ID.fullmatch(id)
    if parts is None:
        raise WindrowError(
            f"experiment id {id!r}; give paper and figure, such as '1.4' or '3.10b', or '2.mem'"
        )
    paper, figure, letter, word = parts.groups()
    return int(paper), LAST if figure is None else int(figure), word or letter


def _numbers(values: Numbers) -> tuple[float, ...]:
    return tuple(np.asarray(values).tolist())
