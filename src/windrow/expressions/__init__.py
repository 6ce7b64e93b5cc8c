"""SQL text over streams as vectorised Arrow compute: join conditions, `beats`, `ends`.

    text -> sqlglot tree -> terms (typed closures over pyarrow.compute) -> one boolean array

What the text means is Spark's SQL, with these rules where engines differ:

- A null verdict counts as False, after three-valued (Kleene) logic.
- Division and modulo by zero give null. Integers divide as doubles, decimals as decimals (cut
  off at Arrow's scale), and `%` has the sign of its left side.
- Integer arithmetic is 64-bit; overflow, like a CAST that does not fit, raises `WindrowError`.
  Both sides of AND and OR are always computed, so neither guards the other against that.
- NaN equals NaN and is larger than every other number.
- In process every time is UTC: naive timestamps, TIMESTAMP literals, dates, and the day of
  CAST(.. AS DATE). On Spark they are on the clocks of the session's zone.
- A text literal next to a time is read as a time. Other mixed types are refused, not guessed.
"""

from __future__ import annotations

from windrow.expressions.aggregates import aggregate
from windrow.expressions.compiled import Expression, compile_node, condition, predicate
from windrow.expressions.conjuncts import Conjunct, conjuncts, parts
from windrow.expressions.normal import normal
from windrow.expressions.paths import extract, resolve, trail
from windrow.expressions.qualifiers import plainly
from windrow.expressions.scope import Scope
from windrow.expressions.terms import ColumnRef
from windrow.expressions.types import common as exact_type

__all__ = [
    "ColumnRef",
    "Conjunct",
    "Expression",
    "Scope",
    "aggregate",
    "compile_node",
    "condition",
    "conjuncts",
    "exact_type",
    "extract",
    "normal",
    "parts",
    "plainly",
    "predicate",
    "resolve",
    "trail",
]
