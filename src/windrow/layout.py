"""How a plan will be run: for tables by the cost model, on Spark by the number of partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.cost.optimizer import NESTED_LOOPS, Choice, Statistics, choose
from windrow.local.payload import TablePayload
from windrow.model import JoinPlan


def for_tables(asked: JoinPlan, tables: Sequence[TablePayload]) -> Choice:
    """What the optimizer makes of these tables."""
    return choose(asked, statistics(tables))


def statistics(tables: Sequence[TablePayload]) -> Statistics:
    """What the optimizer asks of tables."""
    columns = [column for table in tables for column in table.columns.tuples()]
    ending = any(
        table.stream.unique or (table.columns.ends is not None and table.columns.ends.any())
        for table in tables
    )
    return replace(Statistics.of(*columns), ending=ending)


def on_spark(asked: JoinPlan) -> Choice:
    """How a join is laid out on Spark. Of the data nothing is known before it runs."""
    from windrow.spark import engine

    layout, buckets = engine.layout(asked)
    return Choice(
        algorithm="nested-loops" if (layout.structure, layout.parts) == NESTED_LOOPS else "hash",
        layout=layout,
        costs={},
        reason=f"in {buckets} buckets; rates and costs are not known before it runs",
    )
