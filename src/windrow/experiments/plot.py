"""Panels as a picture. The only place that knows matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

from windrow.experiments.frame import Basis, Kind, Panel
from windrow.extras import needed

with needed("Running experiments"):
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.colors import to_rgba
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter

# Okabe and Ito's palette without its yellow, told apart with every kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
BASIS: dict[Basis, str] = {
    "counted": "counted: the same on every machine",
    "wall time": "wall time: of this machine",
    "thread time": "thread time: processor seconds of this machine",
}
INK = "#1f2933"
FAINT = "#6b7785"
PANEL_INCHES = (5.4, 3.9)
PANELS_A_ROW = 2

# Any: matplotlib types the keys as one long literal.
RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.labelsize": 10,
    "axes.edgecolor": "#9aa5b1",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "grid.color": "#e4e7eb",
    "grid.linewidth": 0.8,
    "legend.fontsize": 9,
    "svg.fonttype": "path",
}

Styles = dict[str, tuple[str, str]]


def svg(title: str, panels: Sequence[Panel], *, salt: str = "windrow") -> str:
    """The picture as SVG text; the same panels and salt give the same text."""
    with matplotlib.rc_context({**RC, "svg.hashsalt": salt}):
        text = io.StringIO()
        draw(title, panels).savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        return text.getvalue()


def draw(title: str, panels: Sequence[Panel]) -> Figure:
    """The picture as a matplotlib figure: panels two in a row, one legend below them."""
    columns = min(len(panels), PANELS_A_ROW) or 1
    rows = math.ceil(len(panels) / columns) or 1
    legend = _legend_entries(panels)
    width = PANEL_INCHES[0] * columns
    a_line = max(1, int(width / 1.7))
    height = PANEL_INCHES[1] * rows + 0.35 + 0.25 * math.ceil(len(legend) / a_line)
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    figure.suptitle(title, x=0.012, ha="left", fontsize=13, fontweight="bold")
    styles = _styles(panels)
    for position, panel in enumerate(panels, start=1):
        _draw_panel(figure.add_subplot(rows, columns, position), panel, styles)
    if legend:
        figure.legend(
            handles=legend,
            loc="outside lower center",
            ncols=min(len(legend), a_line),
            frameon=False,
            handlelength=2.6,
        )
    return figure


def _draw_panel(axes: Axes, panel: Panel, styles: Styles) -> None:
    for series in panel.series:
        colour, marker = styles[series.name]
        axes.plot(
            series.x,
            series.y,
            **_line(series.kind, colour, marker, len(series.x)),
            # The model lies on top, so that it stays visible where it is right.
            zorder=3 if series.kind == "modelled" else 2,
        )
    _scale(axes, panel)
    axes.grid(True)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    heading = f"{panel.title}\n" if panel.title else ""
    axes.set_title(heading + " ", loc="left", pad=4)
    axes.annotate(
        BASIS[panel.basis],
        (0, 1),
        xytext=(0, 5),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=8.5,
        fontstyle="italic",
        color=FAINT,
    )
    for mark in panel.marks:
        axes.axvline(mark.x, color=FAINT, linewidth=1, linestyle=":", zorder=1)
        axes.annotate(
            mark.label,
            (mark.x, 1),
            xytext=(3, -3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            va="top",
            fontsize=8.5,
            color=FAINT,
        )


def _scale(axes: Axes, panel: Panel) -> None:
    if panel.x_log:
        axes.set_xscale("log")
    if panel.y_log:
        axes.set_yscale("log")
    elif not any(y < 0 for series in panel.series for y in series.y):
        axes.set_ylim(bottom=0.0)
    low, high = axes.get_ylim()
    if panel.marks:
        # Room above the curves for the marks' labels.
        axes.set_ylim(top=high * (high / low) ** 0.1 if panel.y_log else high + (high - low) * 0.1)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        first, last = axis.get_view_interval()
        # On a log axis within a decade the powers of ten alone say too little.
        labelled = axis.get_scale() == "log" and last < 10 * first
        axis.set_minor_formatter(FuncFormatter(lambda v, _, on=labelled: short(v) if on else ""))


def short(value: float) -> str:
    """A tick label.

    >>> [short(v) for v in (0, 0.25, 1500, 20_000, 3_000_000, 1e-5)]
    ['0', '0.25', '1.5k', '20k', '3M', '1e-05']
    """
    for step, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= step:
            return f"{value / step:g}{letter}"
    return f"{value:g}"


def _line(kind: Kind, colour: str, marker: str, points: int = 1) -> dict[str, Any]:
    if kind == "modelled":
        return {"color": colour, "linestyle": (0, (4, 2)), "linewidth": 1.4}
    return {
        "color": to_rgba(colour, 0.55),
        "linewidth": 2.2,
        "marker": marker,
        "markersize": 5 if points <= 20 else 4,
        "markerfacecolor": colour,
        "markeredgecolor": "white",
        "markeredgewidth": 0.4,
    }


def _styles(panels: Sequence[Panel]) -> Styles:
    """A colour and a marker for each name, the same in every panel."""
    names = dict.fromkeys(s.name for panel in panels for s in panel.series)
    return {
        name: (COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i, name in enumerate(names)
    }


def _legend_entries(panels: Sequence[Panel]) -> list[Line2D]:
    """A curve for each name, and, where both kinds occur, what solid and dashed mean."""
    series = [s for panel in panels for s in panel.series]
    measured_names = {s.name for s in series if s.kind == "measured"}
    entries = [
        Line2D(
            [],
            [],
            label=name,
            **_line("measured" if name in measured_names else "modelled", colour, marker),
        )
        for name, (colour, marker) in _styles(panels).items()
    ]
    if {s.kind for s in series} == {"measured", "modelled"}:
        entries += [
            Line2D([], [], label="measured", **_line("measured", FAINT, "")),
            Line2D([], [], label="modelled", **_line("modelled", FAINT, "")),
        ]
    return entries
