"""Answers of aggregates: over the results whose rows all lie in an interval before the answer.

    results of the query --> Aggregation.add --> slots, heaps by time
    progress -------------> Aggregation.advance --> a row for each time and group that is due

What is answered for is `kernels/answers`; here its numbers get their types.
"""

from __future__ import annotations

from windrow.cql.answers.aggregation import Aggregation

__all__ = ["Aggregation"]
