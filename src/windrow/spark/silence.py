"""How long each stream has been silent, by a clock that may step.

Silence adds up between micro-batches, by the times that Spark logged for them, so a micro-batch
that runs again finds the same. A clock that steps back by a minute and is corrected later:

    the micro-batch's time   10:00:00   10:00:05   09:59:07   09:59:10   10:00:13
    counts                              5          0          3          5

A time before the last one counts nothing. While the clock is behind the largest time that it has
shown (10:00:05), what it moves on by counts. Once it has passed that, what has been counted since
is what lies beyond: 8 seconds after 10:00:05, of which 3 had been counted. So neither the step
nor its correction counts.

A clock that stays where it stepped to passes its largest time by itself some day. Then silence may
be counted too short, once, by at most the step. A step ahead looks like a pause, and counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.spark.log import Directory


def listen(directory: Directory, now: int, built: int, heard: Sequence[bool]) -> None:
    """Note a micro-batch of that time, and which streams have sent something in it.

    Time before the join was built is down-time, unless this micro-batch itself is from before: then
    an earlier run had begun it.
    """
    before = now if directory.now is None else directory.now
    passed = _passed(directory, before, now)
    if before < built <= now:
        passed = 0
    directory.silence = [
        0 if sent else silence + passed
        for sent, silence in zip(heard, directory.silence, strict=True)
    ]


def _passed(directory: Directory, before: int, now: int) -> int:
    """The time since the last micro-batch; the clock moves on."""
    largest = before + directory.ahead
    directory.now, directory.ahead = now, max(largest - now, 0)
    if now < largest:
        passed = max(now - before, 0)
        directory.counted += passed
    else:
        passed = max(now - largest - directory.counted, 0)
        directory.counted = 0
    return passed
