"""Punctuated streams: the three arrival patterns of paper 3, sections 5.1 and 6.1.

A stream is a row of segments, and each ends with a punctuation: its key comes no more.

    pattern             a segment              tuples of the ended key in it
    unique-asc          one tuple              that one
    cluster-asc-10      Poisson(10) tuples     all
    punct-asc-100-40    Poisson(100) tuples    Poisson(40) %, the last among them

The other tuples of a segment carry keys that end in later segments, each of them equally often.
Keys are the integers below `values`; the order (asc, desc or random) is that in which they end.
Streams of like settings have the same keys, so they meet.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.model import WindrowError
from windrow.workload.arrivals import Seed, arrivals
from windrow.workload.tables import START, timestamps

Order = Literal["asc", "desc", "random"]
Kind = Literal["unique", "cluster", "punct"]

GAP = 0.01
ALL = 100.0
EXPECTED = "unique-asc, cluster-asc-10 or punct-asc-100-40, with asc, desc or random"

_NUMBER = r"(\d+(?:\.\d+)?)"
_TEXT = re.compile(
    rf"(unique)-([a-z]+)|(cluster)-([a-z]+)-{_NUMBER}|(punct)(?:uation)?-([a-z]+)-{_NUMBER}-{_NUMBER}"
)


@dataclass(frozen=True)
class Pattern:
    """How join values and their punctuations arrive.

    `size` is the mean number of tuples in a segment, `match` the mean percentage of them that
    carry the key that the segment's punctuation ends.
    """

    kind: Kind
    order: Order
    size: float = 1.0
    match: float = ALL

    def __post_init__(self) -> None:
        if self.order not in get_args(Order):
            raise WindrowError(f"order {self.order!r} of punctuations; give asc, desc or random")
        if not (math.isfinite(self.size) and self.size >= 1):
            raise WindrowError(f"segments of {self.size!r} tuples; give a mean of 1 or more")
        if not 0 <= self.match <= ALL:
            raise WindrowError(f"{self.match!r} % of a segment match; give 0 to 100")

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """The pattern in the paper's notation.

        >>> Pattern.parse("punct-random-30-40")
        Pattern(kind='punct', order='random', size=30.0, match=40.0)
        >>> Pattern.parse("cluster-desc-5").match
        100.0
        """
        found = _TEXT.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise WindrowError(f"pattern {text!r}; give one such as {EXPECTED}")
        kind, order, *numbers = (part for part in found.groups() if part is not None)
        try:
            return cls(kind, order, *(float(number) for number in numbers))  # type: ignore[arg-type]
        except WindrowError as error:
            raise WindrowError(f"pattern {text!r}: {error}") from error

    def values(self, tuples: float) -> int:
        """Keys enough for every segment of so many expected tuples, and one that never ends."""
        # Poisson(m), but at least 1.
        mean = 1.0 if self.kind == "unique" else self.size + math.exp(-self.size)
        return math.ceil((tuples + 6 * math.sqrt(2 * tuples)) / mean) + 2

    def sizes(self, tuples: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Sizes of segments that together hold at least so many tuples."""
        if self.kind == "unique":
            return np.ones(tuples, np.int64)
        pieces = [np.empty(0, np.int64)]
        missing = tuples
        while missing > 0:
            drawn = np.maximum(rng.poisson(self.size, self.values(missing)), 1)
            pieces.append(drawn)
            missing -= int(drawn.sum())
        sizes = np.concatenate(pieces)
        return sizes[: np.searchsorted(np.cumsum(sizes), tuples) + 1]

    def matching(
        self, sizes: npt.NDArray[np.int64], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """How many tuples of each segment carry the key that it ends."""
        if self.match == ALL:
            return sizes
        percent = np.minimum(rng.poisson(self.match, len(sizes)), ALL)
        return np.rint(sizes * percent / ALL).astype(np.int64)

    def ended(self, values: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """The keys in the order in which they end."""
        keys = np.arange(values, dtype=np.int64)
        if self.order == "random":
            return rng.permutation(keys)
        return keys if self.order == "asc" else keys[::-1].copy()


def punctuated(
    pattern: str | Pattern,
    seconds: float,
    *,
    seed: Seed = 0,
    gap: float = GAP,
    values: int | None = None,
    marked: bool | None = None,
    irrelevant: bool = False,
    start: str = START,
) -> pa.Table:
    """A punctuated stream over `seconds` seconds.

    Columns: `key` (int64), `time` (timestamp[us, UTC], ascending), `v` (double in [0, 1)) and
    `over` (bool). A row that is over is a punctuation: it has the time of its segment's last tuple
    and no `v`. A segment that the end of the stream cuts off has none.

    Parameters
    ----------
    pattern
        Text in the paper's notation, or a `Pattern`.
    seconds
        Of stream; times lie in `[0, seconds)` after `start`.
    seed
        An integer or a numpy generator.
    gap
        Mean seconds between two tuples; gaps are exponential.
    values
        Distinct keys. By default enough for the segments, from the settings alone.
    marked
        Whether the punctuations are rows. By default they are, unless the pattern is unique,
        where every tuple says as much.
    irrelevant
        Whether punctuations name keys from `values` on, which no tuple has (paper 3, Figure 10).

    Examples
    --------
    >>> table = punctuated("cluster-asc-3", 0.1, seed=4)
    >>> table["key"].to_pylist()
    [0, 0, 0, 0, 0, 0, 1]
    >>> table["over"].to_pylist()
    [False, False, False, False, False, True, False]
    """
    asked = pattern if isinstance(pattern, Pattern) else Pattern.parse(pattern)
    if not (math.isfinite(gap) and gap > 0):
        raise WindrowError(f"gap is {gap!r}; give mean seconds between tuples, above 0")
    for_times, for_sizes, for_keys, for_order, for_payload = np.random.default_rng(seed).spawn(5)
    times = arrivals(1 / gap, seconds, seed=for_times)
    sizes = asked.sizes(len(times), for_sizes)
    known = asked.values(seconds / gap) if values is None else values
    if known <= len(sizes):
        raise WindrowError(
            f"{len(sizes)} segments need more than {known} distinct keys; give more values, larger "
            "segments or fewer seconds"
        )
    ended = asked.ended(known, for_order)
    keys = ended[_ranks(asked, sizes, len(times), known, for_keys)]
    payload = for_payload.random(len(times))

    last = np.cumsum(sizes) - 1
    last = last[last < len(times)]
    if not (asked.kind != "unique" if marked is None else marked):
        last = last[:0]
    names = ended[: len(last)] + (known if irrelevant else 0)
    over = np.insert(np.zeros(len(times), bool), last + 1, True)
    return pa.table(
        {
            "key": pa.array(np.insert(keys, last + 1, names)),
            "time": timestamps(np.insert(times, last + 1, times[last]), start),
            "v": pa.array(np.insert(payload, last + 1, 0.0), mask=over),
            "over": pa.array(over),
        }
    )


def _ranks(
    pattern: Pattern,
    sizes: npt.NDArray[np.int64],
    tuples: int,
    values: int,
    rng: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """By tuple, the segment that ends its key: its own, or one of those to come."""
    total = int(sizes.sum())
    segment = np.repeat(np.arange(len(sizes)), sizes)
    first = np.cumsum(sizes) - sizes
    place = rng.random(total)
    # The last tuple of a segment matches, if any does: its punctuation follows at once.
    place[first + sizes - 1] = -1.0
    position = np.empty(total, np.int64)
    position[np.lexsort((place, segment))] = np.arange(total) - first[segment]
    matches = position < pattern.matching(sizes, rng)[segment]
    later = segment + 1 + (rng.random(total) * (values - segment - 1)).astype(np.int64)
    return np.where(matches, segment, later)[:tuples]
