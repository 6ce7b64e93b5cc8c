"""`windrow.check`: what a checkpoint would refuse of a join, said at the driver before it starts.

    DataFrame --> its plan in the JVM --> the joins' processors, unpickled --> questions --+
                                                                                           |
    checkpoint --> state-metadata, directories ------------------------------> refusals <--+

The plan is what Spark would run, so it does not matter what was done to the result of the join.
Joins meet what is kept of them in the order in which Spark numbers its stateful operators: from
the sink to the sources, first inputs first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.serializers import CPickleSerializer
from pyspark.sql import DataFrame

from windrow.model import WindrowError
from windrow.spark.log import question, repair
from windrow.spark.processor import Job, JoinProcessor
from windrow.spark.tools import inspection
from windrow.spark.tools.inspection import Operators, Reader

#: How the logical node of a stateful Python processor is called, whatever it is fed with.
STATEFUL = "TransformWithStateIn"


def check(joined: DataFrame, checkpoint: str | os.PathLike[str]) -> None:
    """Raise all reasons why a query of this DataFrame could not go on from a checkpoint."""
    jobs = jobs_of(joined)
    with inspection.reader(joined.sparkSession, checkpoint) as kept:
        found = _refusals(jobs, kept) if kept.exists() else []
    if found:
        raise WindrowError("\n".join(found))


def _refusals(jobs: Sequence[Job], kept: Reader) -> list[str]:
    operators = kept.operators()
    if not operators.names or operators.batch < 0:
        # Nothing is stored yet.
        return []
    if len(operators.joins) != len(jobs):
        there = len(operators.joins)
        return [
            f"the checkpoint {kept.name!r} is of a query with {_joins(there)}, but this one has "
            f"{_joins(len(jobs))}; change the query back, or start from a new checkpoint"
        ]
    found = []
    for job, operator in zip(jobs, operators.joins, strict=True):
        of = f"join of {' and '.join(stream.name for stream in job.plan.streams)}: "
        reasons = _reasons(job, operator, operators, kept)
        found += [(of if len(jobs) > 1 else "") + reason for reason in reasons]
    return found


def _reasons(job: Job, operator: int, operators: Operators, kept: Reader) -> list[str]:
    """What the buckets of one join refuse. They agree, but for those that no row has reached."""
    try:
        directories = kept.directories(operator, operators.batch)
    except WindrowError as error:
        return [str(error)]
    buckets = job.buckets or operators.joins[operator]
    asked = question.question(job.plan)
    found: dict[str, None] = {}
    for _, directory in directories:
        found |= dict.fromkeys(question.refusals(directory, buckets, asked))
        # With other streams there is no saying which one's progress is meant.
        if len(directory.progress) == len(job.plan.streams):
            found |= dict.fromkeys(repair.refusals(directory, job.plan, job.back_to))
    return list(found)


def _joins(count: int) -> str:
    return f"{count or 'no'} join{'' if count == 1 else 's'}"


# -- the joins in a plan -----------------------------------------------------------------------


def jobs_of(joined: DataFrame) -> list[Job]:
    """The joins of a streaming DataFrame, as Spark numbers them."""
    if not isinstance(joined, DataFrame):
        raise WindrowError(
            f"check got a {type(joined).__name__}, but expected the DataFrame that windrow.join "
            "returned, and the checkpoint of its query"
        )
    if getattr(joined, "_jdf", None) is None:
        raise WindrowError(
            "this DataFrame is of Spark Connect, which does not show its plan; call windrow.check "
            "where the driver runs, or start the query: it refuses the same"
        )
    if not joined.isStreaming:
        raise WindrowError(
            "this DataFrame is not streaming, so it has no checkpoint; check the join of streams "
            "from spark.readStream"
        )
    found = [job for node in _nodes(joined) if (job := _job(joined, node)) is not None]
    if not found:
        raise WindrowError(
            "there is no join of windrow's in this DataFrame; give the one that windrow.join "
            "returned, or one that was made from it"
        )
    return found


def _nodes(frame: Any) -> Iterator[Any]:
    """The nodes of its logical plan: each before what it reads, from left to right."""
    left = [frame._jdf.queryExecution().analyzed()]
    while left:
        node = left.pop()
        yield node
        children = node.children()
        left += [children.apply(at) for at in reversed(range(children.size()))]


def _job(frame: Any, node: Any) -> Job | None:
    """The join that a node runs, if it is one."""
    if not node.nodeName().startswith(STATEFUL):
        return None
    byte = frame.sparkSession._jvm.scala.reflect.ClassTag.Byte()
    command = bytes(node.functionExpr().func().command().toArray(byte))
    function, *_ = CPickleSerializer().loads(command)  # type: ignore[no-untyped-call]
    processor = getattr(getattr(function, "__self__", None), "_stateful_processor", None)
    return processor.job if isinstance(processor, JoinProcessor) else None
