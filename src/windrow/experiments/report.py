"""One HTML page of all results: opens without a network, plots inside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from windrow.experiments.frame import Claim
from windrow.experiments.store import Result, load

FILE = "report.html"

#: The HTML of a table cell, escaped, and the cell's class.
Cell = tuple[str, str]

CSS = """
:root { color-scheme: light dark; --ink: #1f2933; --faint: #616e7c; --page: #f5f7fa;
  --card: #ffffff; --line: #e4e7eb; --good: #0b6e4f; --bad: #b3261e; --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --faint: #9aa5b1;
  --page: #14181d; --card: #1e242b; --line: #323c47; --good: #5fd3a6; --bad: #ff9a8f;
  --link: #8fc1f7; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.8rem; margin: 0 0 .25rem; }
h2 { font-size: 1.25rem; margin: 0; }
h3 { font-size: .95rem; margin: 1.25rem 0 .4rem; color: var(--faint); font-weight: 600; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
.faint { color: var(--faint); margin: .1rem 0; font-size: .92rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 1.25rem 1.5rem; margin-top: 1.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0;
  border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: 600; }
tr:last-child td { border-bottom: 0; }
td.verdict, td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.held { color: var(--good); font-weight: 600; } .failed { color: var(--bad); font-weight: 600; }
figure { margin: 1rem 0 0; background: #ffffff; border-radius: 8px; padding: .75rem;
  border: 1px solid var(--line); }
figure svg { display: block; margin: 0 auto; max-width: 100%; height: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.25rem; margin: 0;
  font-size: .93rem; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--link); font-size: .93rem; margin-top: 1rem; }
"""


def write(directory: Path) -> Path:
    """Write the report of all results in `directory`, and say where it is."""
    path = directory / FILE
    path.write_text(page(load(directory)), encoding="utf-8")
    return path


def page(results: Sequence[Result]) -> str:
    """The report as HTML text."""
    claims = [claim for result in results for claim in result.claims]
    held = sum(claim.held for claim in claims)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Windrow: experiments</title><style>{CSS}</style></head><body><main>",
            "<h1>Windrow: the papers' figures, run again</h1>",
            f'<p class="faint">{held} of {len(claims)} claims held. '
            "Each claim is computed from the run.</p>",
            _summary(results),
            *(_section(result) for result in results),
            "</main></body></html>\n",
        ]
    )


def _summary(results: Sequence[Result]) -> str:
    rows = [
        [(f'<a href="#figure-{escape(r.id)}">{escape(r.id)}</a>', "number"), *_claim_cells(c)]
        for r in results
        for c in r.claims
    ]
    table = _table(["Figure", "Claim", "Verdict", "Measured"], rows)
    return f"<section><h2>Claims</h2>{table}</section>"


def _section(result: Result) -> str:
    parts = [
        f'<section id="figure-{escape(result.id)}">',
        f"<h2>{escape(result.id)} · {escape(result.title)}</h2>",
        f'<p class="faint">{escape(result.paper)}</p>',
    ]
    if result.svg is None:
        parts.append('<p class="faint">The plot of this figure is missing.</p>')
    else:
        parts.append(
            f'<figure role="img" aria-label="Plot of {escape(result.title)}">'
            f"{_inline(result.svg, f'f{result.id}-')}</figure>"
        )
    parts += [
        "<h3>Claims</h3>",
        _table(["Claim", "Verdict", "Measured"], [_claim_cells(c) for c in result.claims]),
        "<h3>Parameters</h3>",
        _definitions(result.parameters),
        "<h3>Run on</h3>",
        _definitions(result.environment),
        "<details><summary>Data of the plot</summary>",
        *(_data(series) for series in result.series),
        "</details></section>",
    ]
    return "\n".join(parts)


def _claim_cells(claim: Claim) -> list[Cell]:
    verdict = (
        '<span class="held">✓ held</span>'
        if claim.held
        else '<span class="failed">✗ did not hold</span>'
    )
    return [(escape(claim.text), "claim"), (verdict, "verdict"), (escape(claim.measured), "claim")]


def _table(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    heading = "".join(f"<th>{escape(h)}</th>" for h in head)
    body = "\n".join(
        "<tr>" + "".join(f'<td class="{css}">{html}</td>' for html, css in row) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr>{heading}</tr>\n{body}</table></div>'


def _definitions(entries: dict[str, Any]) -> str:
    return (
        "<dl>"
        + "".join(
            f"<dt>{escape(str(k))}</dt><dd>{escape(_say(v))}</dd>" for k, v in entries.items()
        )
        + "</dl>"
    )


def _data(series: dict[str, Any]) -> str:
    heading = " · ".join(
        str(part)
        for part in (series["name"], series["kind"], series["basis"], series["panel"])
        if part
    )
    values = [
        [(escape(_say(x)), "number"), (escape(_say(y)), "number")]
        for x, y in zip(series["x"], series["y"], strict=True)
    ]
    return f"<h3>{escape(heading)}</h3>" + _table([series["x_label"], series["y_label"]], values)


def _say(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, list):
        return ", ".join(_say(v) for v in value)
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _inline(svg: str, prefix: str) -> str:
    """The svg element alone, its ids made unique on the page."""
    drawing = svg[svg.index("<svg") :]
    drawing = re.sub(r'\bid="', f'id="{prefix}', drawing)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}", drawing)
