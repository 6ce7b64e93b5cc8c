"""Streams whose key is ordered in the long run, as in paper 5, section 5.

A stream counts epochs up: each is sent `multiplicity` times, then the next. On its way the order is
scrambled, and the whole stream may be late (a lag), slow for a while (congestion) or fast (a
burst). Whatever happens to the times, the same seed sends the same tuples in the same order.

    sent            0 0 1 1 2 2 3 3 4 4 ..
    scrambled, 4    0 1 0 1 3 2 3 2 4 5 ..     blocks of whole epochs, each of 4 tuples here
    congestion      . . .     .     .     . . .     gaps are 8 times as long for 30 seconds

A stream that falls behind while it is slow stays behind, and one that runs ahead in a burst stays
ahead: nothing makes up for it but another `Change`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.model import WindrowError
from windrow.workload.arrivals import MICROS, Seed, arrivals
from windrow.workload.tables import START, timestamps

#: Mean seconds between two tuples, and how often an epoch is sent.
MEAN_GAP, MULTIPLICITY = 0.02, 2
#: The largest scrambling factor of the paper's streams.
MOST_SCRAMBLED = 500


@dataclass(frozen=True)
class Change:
    """A stream has `factor` times its rate for `seconds` seconds from second `start` on."""

    factor: float
    start: float
    seconds: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.factor) and self.factor >= 0):
            raise WindrowError(f"a rate changes by {self.factor!r}; give a factor of 0 or more")
        if not (self.start >= 0 and self.seconds >= 0):
            raise WindrowError(
                f"a rate changes from {self.start!r} on for {self.seconds!r} seconds; both are 0 "
                "or more"
            )


#: What happens to S_2 and to S_3 of the paper's Query 1.
CONGESTION = Change(1 / 8, start=10, seconds=30)
BURST = Change(8, start=80, seconds=10)


def epochs(
    seconds: float,
    *,
    scrambling: int = 0,
    multiplicity: int = MULTIPLICITY,
    lag: float = 0.0,
    changes: Sequence[Change] = (),
    gap: float = MEAN_GAP,
    seed: Seed = 0,
    start: str = START,
) -> pa.Table:
    """A stream of epochs, in order of arrival.

    Columns, 24 bytes a tuple: `epoch` (int64), ascending in the long run; `time`
    (timestamp[us, UTC]), when the tuple arrives, ascending; `val` (double in [0, 1)).

    Parameters
    ----------
    seconds
        Of stream; times lie in `[lag, seconds)` after `start`.
    scrambling
        The scrambling factor, 0 or more, comes close to this and never above it. Equal epochs make
        one of `multiplicity - 1` by themselves, so less than that leaves the stream in order.
    multiplicity
        How often each epoch is sent.
    lag
        Seconds by which everything arrives later.
    changes
        When the rate is another one. They count from `start`, and those that overlap multiply.
    gap
        Mean seconds between two tuples, without changes; gaps are exponential.
    seed
        An integer or a numpy generator.

    Examples
    --------
    >>> epochs(0.2, seed=0)["epoch"].to_pylist()
    [0, 0, 1, 1, 2, 2, 3, 3, 4]
    >>> epochs(0.2, scrambling=4, seed=0)["epoch"].to_pylist()
    [0, 1, 0, 1, 3, 2, 3, 2, 4]
    """
    _check(scrambling, multiplicity, lag, gap)
    for_times, for_order, for_payload = np.random.default_rng(seed).spawn(3)
    times = _times(seconds - lag, 1 / gap, [_earlier(change, lag) for change in changes], for_times)
    order = _scrambled(len(times), scrambling, multiplicity, for_order)
    return pa.table(
        {
            "epoch": pa.array(order // multiplicity),
            "time": timestamps(times + round(lag * MICROS), start),
            "val": pa.array(for_payload.random(len(times))),
        }
    )


def query_1(
    seconds: float = 120.0,
    *,
    scrambling: Sequence[int] = (MOST_SCRAMBLED,) * 3,
    changes: Sequence[Sequence[Change]] = ((), (CONGESTION,), (BURST,)),
    seed: Seed = 0,
) -> tuple[pa.Table, ...]:
    """The streams of the paper's Query 1: S_2 is congested for a while, and S_3 has a burst.

    Without `changes`, or with others, the same tuples come at other times.

    >>> s1, s2, s3 = query_1(100)
    >>> calm = query_1(100, changes=[(), (), ()])
    >>> s1.equals(calm[0]), s2.num_rows < calm[1].num_rows < s3.num_rows
    (True, True)
    """
    if len(scrambling) != len(changes):
        raise WindrowError(
            f"{len(scrambling)} scrambling factors and changes of {len(changes)} streams; give one "
            "of each for each stream"
        )
    rngs = np.random.default_rng(seed).spawn(len(changes))
    return tuple(
        epochs(seconds, scrambling=factor, changes=what, seed=rng)
        for factor, what, rng in zip(scrambling, changes, rngs, strict=True)
    )


def _check(scrambling: int, multiplicity: int, lag: float, gap: float) -> None:
    if scrambling < 0:
        raise WindrowError(f"scrambling is {scrambling!r}; give a scrambling factor, 0 or more")
    if multiplicity < 1:
        raise WindrowError(f"multiplicity is {multiplicity!r}; give 1 or more")
    if not (math.isfinite(lag) and lag >= 0):
        raise WindrowError(f"lag is {lag!r}; give seconds, 0 or more")
    if not (math.isfinite(gap) and gap > 0):
        raise WindrowError(f"gap is {gap!r}; give mean seconds between tuples, above 0")


def _earlier(change: Change, lag: float) -> Change:
    """The change by the clock of a stream that is late."""
    begin, end = (max(0.0, at - lag) for at in (change.start, change.start + change.seconds))
    return Change(change.factor, begin, end - begin)


def _times(
    seconds: float, rate: float, changes: Sequence[Change], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Arrivals of a Poisson process whose rate changes, in microseconds.

    They are those of a steady process whose clock runs `factor` times as fast, so that the draws
    do not depend on the changes.
    """
    marks = {at for each in changes for at in (each.start, each.start + each.seconds)}
    clock = np.array(sorted({0.0, max(seconds, 0.0)} | {at for at in marks if at < seconds}))
    begins = clock[:-1]
    factor = np.ones(len(begins))
    for each in changes:
        factor[(begins >= each.start) & (begins < each.start + each.seconds)] *= each.factor
    steady = np.concatenate([[0.0], np.cumsum(np.diff(clock) * factor)])
    drawn = arrivals(rate, float(steady[-1]), seed=rng) / MICROS
    piece = np.searchsorted(steady, drawn, side="right") - 1
    times = clock[piece] + (drawn - steady[piece]) / factor[piece]
    return np.asarray(np.floor(times * MICROS), dtype=np.int64)


def _scrambled(
    n: int, scrambling: int, multiplicity: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """The order in which tuples 0, 1, 2, ... arrive: blocks, each shuffled.

    A block is as long as the factor allows, and has whole epochs, because of equal epochs the last
    one must not be further from the first than the factor either.
    """
    size = (scrambling + 1) // multiplicity * multiplicity
    places = np.arange(n)
    if size <= multiplicity:
        return places
    # The first block may be shorter, so that streams of one factor have not the same blocks.
    first = int(rng.integers(1, size // multiplicity, endpoint=True)) * multiplicity
    block = (places + size - first) // size
    return np.lexsort((rng.random(n), block))
