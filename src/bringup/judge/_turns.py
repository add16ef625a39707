"""Taking times in turns, and what many times of one thing come to. Pure: the clock is whoever is called.

The interval of a median comes from order statistics (binomial, no assumption on the distribution): of n sorted times
those of ranks (n - 1.96 sqrt n) / 2 and 1 + (n + 1.96 sqrt n) / 2 enclose the true median with 95 %.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bringup.judge.measuring import Times, Timing

NOT_RESOLVED = "the clock gives no time above zero"
DRIFT = 0.05  # by which the medians of the two halves may differ, relative, before it is said
LONGEST = 10  # times `Timing.seconds` for the least number of repeats; who takes longer is told so
WIDENED = 3  # times `Timing.seconds` for a median that is not known narrowly enough
PAUSE = 2  # times `Timing.seconds` that a device rests which was slowed down, before times are taken once more


@dataclass
class Side:
    """One of those that take turns: `run(n)` is one repeat with the n-th copy of the inputs, and returns seconds."""

    name: str
    run: Callable[[int], float]
    required: bool = False
    """Whether the measurement has no sense without it."""
    samples: list[float] = field(default_factory=list)
    error: str = ""

    def repeat(self, number: int, keeps: bool) -> None:
        """Run once more; an error ends this side, and the measurement where the side is required."""
        if self.error:
            return
        try:
            seconds = self.run(number)
        except Exception as error:
            if self.required:
                raise
            self.error = f"{type(error).__name__}: {error}"[:500]
            self.samples.clear()
            return
        if keeps:
            self.samples.append(seconds)


def take_turns(sides: Sequence[Side], timing: Timing, now: Callable[[], float] = time.monotonic) -> None:
    """Repeat all sides in turns: warm-up, then until each median is known narrowly enough, or the time is up.

    That time is three times `timing.seconds`. Each side is repeated `timing.repeats` times at least, and three times
    whatever that takes.
    """
    began, warmed = now(), 0
    while warmed < 2 or now() - began < timing.warm_up_seconds:
        for side in sides:
            side.repeat(warmed % timing.rotate, keeps=False)
        warmed += 1
    began, turn = now(), 0
    while True:
        for side in sides:
            side.repeat(turn % timing.rotate, keeps=True)
        turn += 1
        alive, spent = [side for side in sides if not side.error], now() - began
        if turn >= timing.repeats:
            narrow = all(half_width(side.samples) <= timing.width for side in alive)
            if narrow or spent >= WIDENED * timing.seconds:
                return
        elif turn >= 3 and spent >= LONGEST * timing.seconds:
            return


def take_turns_cool(
    sides: Sequence[Side],
    timing: Timing,
    health: Callable[[], dict[str, Any]],
    now: Callable[[], float] = time.monotonic,
    rest: Callable[[float], None] = time.sleep,
) -> list[dict[str, Any]]:
    """Take turns; once more, after a pause, where the device was slowed down meanwhile. Times are those of the last.

    Returns the states of the device before and after these, as `health` (`Stopwatch.health`) tells them.
    """
    states = _watched(sides, timing, health, now)
    if any(state.get("throttled") for state in states):
        rest(PAUSE * timing.seconds)
        for side in sides:
            side.samples.clear()
        states = _watched(sides, timing, health, now)
    return states


def _watched(
    sides: Sequence[Side], timing: Timing, health: Callable[[], dict[str, Any]], now: Callable[[], float]
) -> list[dict[str, Any]]:
    before = health()
    take_turns(sides, timing, now)
    return [before, health()]


def longest(timing: Timing) -> float:
    """Seconds that the turns of one side may take at most, both times, beside its last repeat of each."""
    once = 2 * timing.warm_up_seconds + max(LONGEST, WIDENED) * timing.seconds
    return 2 * once + PAUSE * timing.seconds


def half_width(samples: Sequence[float]) -> float:
    """Half of the 95 % interval of the median, relative to it; infinite for fewer than eight samples."""
    n = len(samples)
    low, high = math.floor((n - 1.96 * math.sqrt(n)) / 2), math.ceil(1 + (n + 1.96 * math.sqrt(n)) / 2)
    middle = statistics.median(samples) if samples else 0.0
    if low < 1 or high > n or middle <= 0:
        return math.inf
    ordered = sorted(samples)
    return (ordered[high - 1] - ordered[low - 1]) / 2 / middle


def times_of(samples: Sequence[float]) -> Times | None:
    """Median, 10th and 90th percentile of the samples above zero; None where there is none."""
    known = sorted(one for one in samples if one > 0 and math.isfinite(one))
    if not known:
        return None
    last = len(known) - 1
    return Times(
        median=statistics.median(known),
        low=known[round(0.1 * last)],
        high=known[round(0.9 * last)],
        repeats=len(known),
        width=min(half_width(known), 1.0),
    )


def doubts(side: Side, timing: Timing) -> list[str]:
    """What makes the times of a side doubtful, in words."""
    if side.error:
        return [f"{side.name} failed: {side.error}"]
    found, samples = [], side.samples
    if lost := sum(not (one > 0 and math.isfinite(one)) for one in samples):
        found.append(f"{side.name}: {NOT_RESOLVED} in {lost} of {len(samples)} repeats, which are left out")
    known = [one for one in samples if one > 0 and math.isfinite(one)]
    if len(known) < timing.repeats:
        found.append(f"{side.name}: only {len(known)} repeats, {timing.repeats} were asked for")
    width = half_width(known)
    if width > timing.width:
        text = "unknown" if math.isinf(width) else f"{width:.1%}"
        found.append(f"{side.name}: noisy: half of the median's 95 % interval is {text}, wanted {timing.width:.1%}")
    half = len(known) // 2
    if half >= 5:
        first, second = statistics.median(known[:half]), statistics.median(known[half:])
        if abs(second - first) > DRIFT * first:
            found.append(f"{side.name}: drifts: the second half is {second / first - 1:+.1%} of the first")
    return found
