"""Joins of drawn cases, and the oracle beside them."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import Case, assert_same_rows, duckdb_join


def join(case: Case, **ways) -> pa.Table:
    """Join a drawn case in this way."""
    bounds = case.between and tuple(timedelta(microseconds=bound) for bound in case.between)
    return wr.join(*case.streams, **{**case.options, "between": bounds, **ways})


def same_as_oracle(case: Case, *ways: dict, condition: str | None = None) -> None:
    """Each of these ways gives the rows of DuckDB's range join."""
    expected = duckdb_join(*case.streams, **case.options, condition=condition)
    for way in ways or ({},):
        try:
            result = join(case, condition=condition, **way)
            result.validate(full=True)
            assert_same_rows(result, expected)
        except Exception as error:
            error.add_note(f"joined with {way}, condition {condition!r}")
            raise


# Not one for each test: hypothesis runs a test many times within one of its fixtures.
@pytest.fixture(scope="package", name="join")
def _join():
    return join


@pytest.fixture(scope="package", name="same_as_oracle")
def _same_as_oracle():
    return same_as_oracle
