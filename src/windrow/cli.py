"""The command `windrow`. Each command imports what it needs, so that `--help` is quick."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from windrow.extras import needed

with needed("The command windrow"):
    import rich as _rich  # noqa: F401
    import typer

if TYPE_CHECKING:
    from windrow.experiments.store import Result

app = typer.Typer(
    name="windrow",
    help="Window joins of data streams, exact and fast.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
experiments_app = typer.Typer(
    help="Run the papers' figures and check what the papers claim.", no_args_is_help=True
)
app.add_typer(experiments_app, name="experiments")


@app.callback()
def main() -> None:
    """Window joins of data streams, exact and fast."""


Out = Annotated[
    Path, typer.Option(metavar="DIR", file_okay=False, help="Where the results are kept.")
]
OUT = Path("out/experiments")


@experiments_app.command("list")
def list_experiments() -> None:
    """List the experiments."""
    from rich.table import Table
    from rich.text import Text

    from windrow.experiments import catalogue

    table = Table(box=None, pad_edge=False)
    for heading in ("id", "title", "paper"):
        table.add_column(heading, no_wrap=heading == "id")
    for experiment in catalogue().values():
        table.add_row(experiment.id, Text(experiment.title), Text(experiment.paper))
    _print(table)


@experiments_app.command("run")
def run_experiments(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Such as 1.4; none means all.")
    ] = None,
    out: Out = OUT,
) -> None:
    """Run experiments: a JSON file and a plot each, and a table of the claims."""
    from windrow.bar import progress_bar

    with _refusals():
        from windrow.experiments import select, store

        chosen = select(ids or [])
    results = []
    for experiment in chosen:
        with progress_bar(f"{experiment.id} {experiment.title}") as progress:
            results.append(store.run(experiment, out, progress))
    _print_claims(results)
    typer.echo(f"Results are in {out}")


@experiments_app.command("report")
def report_experiments(out: Out = OUT) -> None:
    """Write one HTML page of all results, and print its path."""
    with _refusals():
        from windrow.experiments import report

        typer.echo(report.write(out))


@app.command()
def demo(
    in_process: Annotated[
        bool, typer.Option("--in-process", help="On Arrow tables, without Spark and Java.")
    ] = False,
    auctions: Annotated[
        int, typer.Option(metavar="N", min=100, help="How many; five times as many bids.")
    ] = 20_000,
) -> None:
    """Join auctions with their bids on Spark, show it at work, and check the result."""
    from windrow.demo import in_process as on_tables
    from windrow.demo import on_spark

    with _refusals():
        right = (on_tables if in_process else on_spark).run(auctions)
    if not right:
        raise typer.Exit(1)


@app.command()
def inspect(
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT", help="The query's checkpointLocation.")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="JSON; times are microseconds since 1970.")
    ] = False,
) -> None:
    """Show the join state in a Spark checkpoint, by bucket and stream; times are in UTC.

    It only reads, so the query may be running.
    """
    from windrow.inspect_command import show
    from windrow.spark.tools.inspection import look

    with _refusals():
        found = look(checkpoint)
    show(found, as_json)


@app.command()
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Which; none means all.")
    ] = None,
) -> None:
    """Run the benchmarks of a source tree, as ratios to their peers."""
    import subprocess
    import sys

    if not Path("benchmarks/__main__.py").is_file():
        typer.echo("windrow: no benchmarks here; run this in windrow's source tree", err=True)
        raise typer.Exit(2)
    done = subprocess.run([sys.executable, "-m", "benchmarks", *(names or [])], check=False)
    raise typer.Exit(done.returncode)


def _print_claims(results: list[Result]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("", "id", "claim", "measured"):
        table.add_column(heading, no_wrap=heading in ("", "id"))
    for result in results:
        for claim in result.claims:
            mark = Text("✓", "green") if claim.held else Text("✗", "bold red")
            table.add_row(mark, result.id, Text(claim.text), Text(claim.measured))
    _print(table)


def _print(table: object) -> None:
    from rich.console import Console

    Console().print(table)


@contextmanager
def _refusals() -> Iterator[None]:
    """A request that cannot be carried out ends with its message and exit code 2."""
    from windrow.model import WindrowError

    try:
        yield
    except WindrowError as error:
        typer.echo(f"windrow: {error}", err=True)
        raise typer.Exit(2) from error
