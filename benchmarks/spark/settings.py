"""What is measured: the workloads, by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

#: Micro-batches that warm up the JVM, the workers and the kernels, and fill the standard windows.
WARM = 3


@dataclass(frozen=True)
class Setting:
    """A workload of like streams, cut into micro-batches.

    `rows` are those of one stream in one micro-batch, `rate` its rows per second of event time.
    Keys are uniform; `hot` of all rows have key 0 instead. Micro-batches count after the first
    `warm`. The last one has `burst` times the rows, in the same time.
    """

    name: str
    rows: int
    batches: int
    rate: int
    keys: int
    window_seconds: int
    warm: int = WARM
    hot: float = 0.0
    limit_seconds: int = 300
    streams: int = 2
    burst: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The streams' names."""
        return tuple("abcdef"[: self.streams])

    @property
    def micros_a_batch(self) -> int:
        """Event time that a micro-batch covers."""
        return self.rows * 1_000_000 // self.rate


def _growth(window_seconds: int) -> Setting:
    """100,000 rows a micro-batch at windows of any length, with two results a row.

    The rate is the same at every window, so the stored rows grow with the window, and keys grow
    with it, so that the results do not. All micro-batches are alike and there are enough to fill
    ten minutes: filling with larger ones would be quicker, but it would leave fewer and larger
    chunks behind than a real job has. Only micro-batches after the longest window is full count.
    """
    rate, rows = 5_000, 50_000
    longest = 600 * rate // rows
    return Setting(
        f"window-{window_seconds}s",
        rows=rows,
        batches=longest + 12,
        rate=rate,
        keys=window_seconds * rate,
        window_seconds=window_seconds,
        warm=longest + 1,
        limit_seconds=600,
    )


def _many(streams: int) -> Setting:
    """One match for each row that arrives and other stream, and windows of three micro-batches."""
    return Setting(
        f"{streams}-streams",
        rows=100_000,
        batches=8,
        rate=10_000,
        keys=300_000,
        window_seconds=30,
        warm=4,
        limit_seconds=200,
        streams=streams,
    )


def _skew(name: str, hot: float) -> Setting:
    """Few rows a window, because the hot key's results grow with their square."""
    return Setting(name, rows=20_000, batches=8, rate=10, keys=300, window_seconds=30, hot=hot)


SETTINGS = {
    setting.name: setting
    for setting in (
        # Long enough that the JVM has compiled most of what it runs: after a dozen micro-batches
        # the times still fall.
        Setting("standard-200k", 100_000, 36, 10_000, 300_000, 30, limit_seconds=600),
        Setting("standard-1200k", 600_000, 7, 10_000, 300_000, 30, limit_seconds=600),
        _growth(10),
        _growth(600),
        _skew("even", 0.0),
        _skew("skewed", 0.3),
        _many(3),
        _many(4),
        # Eight matches in place of one. Results grow with their square, so rows are fewer.
        replace(_many(3), name="3-streams-eight", rows=4_000, rate=400, keys=1_500),
    )
}
