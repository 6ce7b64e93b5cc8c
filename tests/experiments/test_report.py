"""The page: complete, escaped, self-contained."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from windrow.bar import Progress
from windrow.experiments import report, store
from windrow.experiments.frame import Experiment
from windrow.model import WindrowError


class Elements(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [
            value for name, value in attrs if name in ("href", "src", "xlink:href") and value
        ]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def html(squares: Experiment, early: Experiment, tmp_path: Path) -> str:
    for experiment in (squares, early):
        store.run(experiment, tmp_path, Progress())
    return report.write(tmp_path).read_text(encoding="utf-8")


def test_claims_held_and_not(html: str) -> None:
    page = Elements(html)
    assert "2 of 4 claims held" in page.text
    # Once in the summary and once in the figure's own section, for two figures.
    assert page.text.count("✓ held") == 4
    assert page.text.count("✗ did not hold") == 4
    assert page.text.count("Work is constant") == 4
    assert page.text.count("4 < 64") == 4


def test_text_is_escaped(html: str) -> None:
    page = Elements(html)
    assert "b" not in page.tags
    assert "of" not in page.tags
    assert "The model <b>fits</b>" in page.text
    assert "<30 s> & on" in page.text
    assert "comparisons & more" in page.text


def test_figures_come_in_numeric_order_with_their_parameters(html: str) -> None:
    page = Elements(html)
    assert page.text.index("9.4 · An earlier") < page.text.index("9.10 · Squares <of> n")
    assert "Nobody & Noone, Figure 10" in page.text
    assert "2, 4, 8" in page.text


def test_the_page_needs_no_network(html: str) -> None:
    page = Elements(html)
    assert page.tags.count("svg") == 2
    assert not {"script", "link", "iframe", "img"} & set(page.tags)
    assert all(link.startswith("#") for link in page.links)
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)


def test_every_id_is_unique_and_every_reference_leads_somewhere(html: str) -> None:
    page = Elements(html)
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert set(re.findall(r"url\(#([^)]*)\)", html)) <= set(page.ids)


def test_a_missing_plot_is_said(squares: Experiment, tmp_path: Path) -> None:
    store.run(squares, tmp_path, Progress())
    (tmp_path / "9.10.svg").unlink()
    html = report.write(tmp_path).read_text(encoding="utf-8")
    assert "plot of this figure is missing" in html
    assert "<svg" not in html


def test_no_results_no_report(tmp_path: Path) -> None:
    with pytest.raises(WindrowError, match="no results"):
        report.write(tmp_path)
    assert not (tmp_path / report.FILE).exists()
