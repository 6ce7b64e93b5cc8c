"""A plan in words: what is asked, what was chosen, and by which numbers."""

from __future__ import annotations

from dataclasses import dataclass

from windrow import duration
from windrow.cost.optimizer import Choice
from windrow.model import CountWindow, JoinPlan, Stream


@dataclass(frozen=True)
class Explanation:
    """What a join will do. Its text is for people; `plan` and `choice` are for programs."""

    plan: JoinPlan
    choice: Choice

    def __str__(self) -> str:
        plan, choice = self.plan, self.choice
        lines = [f"{plan.how} join"]
        lines += [f"  {_stream(stream)}" for stream in plan.streams]
        if plan.between is not None:
            one, two = (stream.name for stream in plan.streams)
            low, high = (duration.show(bound) for bound in plan.between)
            lines.append(f"  {low} <= time of {two} - time of {one} <= {high}")
        elif not plan.closed:
            lines.append("  windows without their far edge")
        if plan.punctuated:
            lines.append(f"  {_punctuations(plan)}")
        if plan.condition is not None:
            lines.append(f"  where {plan.condition}")
        lines.append(f"algorithm: {choice.algorithm}, {choice.reason}")
        lines.append(f"state: {choice.structure}, {choice.parts} parts, "
                     f"about {choice.expected:,} live tuples expected")  # fmt: skip
        return "\n".join(lines)

    __repr__ = __str__


def _stream(stream: Stream) -> str:
    key = "no key" if stream.key is None else "key " + ", ".join(stream.key)
    if stream.window is None:
        window = ""
    elif isinstance(stream.window, CountWindow):
        window = f", window of {stream.window.n} rows per {stream.window.per}"
    else:
        window = f", window {duration.show(stream.window.micros)}"
    late = f", lateness {duration.show(stream.lateness)}" if stream.lateness else ""
    ends = f", ends where {stream.ends}" if stream.ends is not None else ""
    unique = ", each key once" if stream.unique else ""
    return f"{stream.name}: {key}, time {stream.time}{window}{late}{ends}{unique}"


def _punctuations(plan: JoinPlan) -> str:
    """When a key is over, by whose word."""
    said = [(at, stream.name) for at, stream in enumerate(plan.streams) if stream.punctuated]
    early = [name for at, name in said if plan.early(at)]
    ways = [f"when its last tuple of {name} has left, by {name}'s word" for name in early]
    if len(said) == len(plan.streams):
        ways.insert(0, "when both streams have said so")
    return "a key ends " + (", or ".join(ways) if ways else "for neither side: both would have to")
