"""Libraries that only some of the package needs; each comes with an extra of `pip install`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from windrow.model import WindrowError

#: Which extra brings a library. The same as in pyproject.toml, which a test compares.
EXTRAS = {
    "typer": "cli",
    "rich": "cli",
    "matplotlib": "experiments",
    "duckdb": "testing",
    "hypothesis": "testing",
}


class MissingExtraError(WindrowError, ImportError):
    """A library is not installed; says which, and what brings it."""


@contextmanager
def needed(by: str) -> Iterator[None]:
    """Name the extra if an import in the block does not find one of these libraries.

    >>> with needed("The demo"):
    ...     raise ModuleNotFoundError("No module named 'rich'", name="rich")
    Traceback (most recent call last):
    windrow.extras.MissingExtraError: The demo needs rich, which is not installed; run: pip install
    windrow[cli]
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRAS:
            raise
        raise MissingExtraError(
            f"{by} needs {library}, which is not installed; run: "
            f"pip install windrow[{EXTRAS[library]}]"
        ) from error
