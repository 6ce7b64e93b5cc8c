"""What a run leaves on disk: `1.4.json` and `1.4.svg` in the directory of the results."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from windrow.bar import Progress
from windrow.experiments import plot
from windrow.experiments.frame import Claim, Experiment, Outcome, id_order
from windrow.model import WindrowError


@dataclass(frozen=True)
class Result:
    """A run as it was kept."""

    id: str
    title: str
    paper: str
    parameters: dict[str, Any]
    series: list[dict[str, Any]]
    claims: tuple[Claim, ...]
    environment: dict[str, Any]
    svg: str | None = None


def run(experiment: Experiment, directory: Path, progress: Progress) -> Result:
    """Run `experiment` and keep what it found in `directory`, which is made if need be."""
    directory.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    outcome = experiment.run(progress)
    seconds = time.perf_counter() - started
    result = describe(experiment, outcome, seconds)
    keep(result, directory)
    return result


def describe(experiment: Experiment, outcome: Outcome, seconds: float) -> Result:
    """The outcome of a run that took `seconds`, ready to be kept."""
    title = f"{experiment.id}  {experiment.title}"
    return Result(
        id=experiment.id,
        title=experiment.title,
        paper=experiment.paper,
        parameters=dict(outcome.parameters),
        series=[
            {
                "name": series.name,
                "kind": series.kind,
                "basis": panel.basis,
                "panel": panel.title,
                "x_label": panel.x_label,
                "y_label": panel.y_label,
                "x": _finite(series.x),
                "y": _finite(series.y),
            }
            for panel in outcome.panels
            for series in panel.series
        ],
        claims=tuple(outcome.claims),
        environment=environment(seconds),
        svg=plot.svg(title, outcome.panels, salt=experiment.id),
    )


def keep(result: Result, directory: Path) -> Path:
    """Write the result; the JSON comes last, so where it is, the rest is complete."""
    fields = asdict(result)
    svg = fields.pop("svg")
    text = json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False, default=_plain)
    if svg is not None:
        (directory / f"{result.id}.svg").write_text(svg, encoding="utf-8")
    path = directory / f"{result.id}.json"
    unfinished = path.with_suffix(".json.part")
    unfinished.write_text(text + "\n", encoding="utf-8")
    os.replace(unfinished, path)
    return path


def load(directory: Path) -> list[Result]:
    """All results in `directory`, in numeric order. Other JSON files are left alone."""
    paths = {}
    for path in directory.glob("*.json"):
        try:
            paths[id_order(path.stem)] = path
        except WindrowError:
            continue
    if not paths:
        raise WindrowError(
            f"no results in {directory}; run `windrow experiments run --out {directory}` first"
        )
    return [_read(paths[order]) for order in sorted(paths)]


def environment(seconds: float) -> dict[str, Any]:
    """What the run ran on, and for how long."""
    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "cpu": cpu_model(),
        "duration_seconds": round(seconds, 3),
    }


def cpu_model() -> str:
    """The processor's name as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            label, _, value = line.partition(":")
            if label.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _read(path: Path) -> Result:
    drawing = path.with_suffix(".svg")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        claims = tuple(Claim(**claim) for claim in fields.pop("claims"))
        svg = drawing.read_text(encoding="utf-8") if drawing.exists() else None
        return Result(**fields, claims=claims, svg=svg)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise WindrowError(
            f"{path} is no result of an experiment ({error}); "
            f"run `windrow experiments run {path.stem} --out {path.parent}` again"
        ) from error


def _finite(values: tuple[float, ...]) -> list[float | None]:
    """JSON has no NaN: a value that is missing is null."""
    return [v if math.isfinite(v) else None for v in values]


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} in the parameters has no JSON form; give numbers and text")
