"""Turn-taking and statistics by a clock of the test's own: what is repeated, when it ends, what is said of times."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from bringup.judge import Timing
from bringup.judge._turns import (
    LONGEST,
    Side,
    doubts,
    half_width,
    longest,
    take_turns,
    take_turns_cool,
    times_of,
)


class World:
    """A clock that only the sides move."""

    def __init__(self) -> None:
        self.now, self.order = 0.0, []  # type: ignore[var-annotated]

    def side(self, name: str, *samples: float, cost: float = 1e-3, required: bool = False, dies: int = -1) -> Side:
        """A side whose repeats give `samples`, over and over, and take `cost` seconds; `dies`: at which repeat."""
        count = [0]

        def run(number: int) -> float:
            self.order.append((name, number))
            self.now += cost
            count[0] += 1
            if count[0] - 1 == dies:
                raise RuntimeError("out of memory")
            return samples[(count[0] - 1) % len(samples)]

        return Side(name, run, required)

    def clock(self) -> float:
        return self.now


def test_sides_take_turns_and_copies_of_the_inputs_too() -> None:
    world = World()
    sides = [world.side("candidate", 1e-5), world.side("eager", 2e-5)]
    take_turns(sides, Timing(warm_up_seconds=0, repeats=8, rotate=3, width=1), world.clock)
    assert [name for name, _ in world.order] == ["candidate", "eager"] * 10  # two rounds of warm-up are not kept
    assert [number for name, number in world.order if name == "eager"] == [0, 1, 0, 1, 2, 0, 1, 2, 0, 1]
    assert [len(side.samples) for side in sides] == [8, 8]


def test_warm_up_takes_its_time() -> None:
    world = World()
    side = world.side("candidate", 1e-5, cost=0.25)
    take_turns([side], Timing(warm_up_seconds=2.5, repeats=8, width=1), world.clock)
    assert len(world.order) == 10 + 8
    assert len(side.samples) == 8


def test_it_ends_when_every_median_is_narrow() -> None:
    world = World()
    quiet, noisy = world.side("quiet", 1e-5), world.side("noisy", 1e-5, 1.2e-5, 1.4e-5)
    timing = Timing(warm_up_seconds=0, repeats=20, seconds=1e9, width=0.1)
    take_turns([quiet, noisy], timing, world.clock)
    assert len(quiet.samples) == len(noisy.samples) > 20
    assert half_width(noisy.samples) <= 0.1 < half_width(noisy.samples[:20])
    assert doubts(noisy, timing) == []


def test_it_ends_when_the_time_is_up_and_says_so() -> None:
    world = World()
    side = world.side("candidate", *(1e-6 * (n * 7 % 23 + 1) for n in range(23)), cost=0.25)
    timing = Timing(warm_up_seconds=0, repeats=10, seconds=12.5, width=0.001)
    take_turns([side], timing, world.clock)
    assert len(side.samples) == 3 * 50  # three times the seconds, since it is noisy to the end
    assert any("noisy" in doubt for doubt in doubts(side, timing))


def test_what_becomes_narrow_after_the_seconds_is_waited_for() -> None:
    world = World()
    noise = random.Random(3)
    side = world.side("candidate", *(1e-5 * (1 + noise.uniform(-0.2, 0.2)) for _ in range(2000)), cost=0.01)
    timing = Timing(warm_up_seconds=0, repeats=10, seconds=1.0, width=0.03)
    take_turns([side], timing, world.clock)
    assert 100 < len(side.samples) < 300
    assert half_width(side.samples) <= 0.03 < half_width(side.samples[:100])
    assert doubts(side, timing) == []


HOT = {"throttled": ["heat (hardware)"]}


def watched(world: World, side: Side, *states: dict[str, object]) -> tuple[list[dict[str, object]], list[float]]:
    """Turns on a device that is in these states, one after the other, and how long it rested."""
    coming, rests = iter(states), []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        world.now += seconds

    timing = Timing(warm_up_seconds=0, repeats=8, seconds=1.5, width=1)
    found = take_turns_cool([side], timing, lambda: next(coming), world.clock, rest)
    return found, rests


@pytest.mark.parametrize("first", [(HOT, {}), ({}, HOT), (HOT, HOT)])
def test_times_are_taken_once_more_after_a_pause_where_the_device_was_slowed_down(
    first: tuple[dict[str, object], dict[str, object]],
) -> None:
    world = World()
    side = world.side("candidate", *[2e-5] * 10, *[1e-5] * 10)  # slow in the first turns and their warm-up
    states, rests = watched(world, side, *first, {}, {"throttled": []})
    assert side.samples == [1e-5] * 8
    assert rests == [3.0]
    assert states == [{}, {"throttled": []}]


def test_a_device_that_stays_slow_is_timed_twice_and_no_more() -> None:
    world = World()
    states, rests = watched(world, world.side("candidate", 1e-5), *[HOT] * 4)
    assert states == [HOT, HOT]
    assert len(rests) == 1


def test_a_cool_device_is_timed_once_without_a_pause() -> None:
    world = World()
    states, rests = watched(world, world.side("candidate", 1e-5), {"missing": "no NVML"}, {"throttled": []})
    assert (len(states), rests) == (2, [])
    assert len(world.order) == 2 + 8


def test_the_device_is_waited_for_as_long_as_turns_may_take() -> None:
    timing = Timing(warm_up_seconds=1, repeats=20, seconds=2)
    assert longest(timing) == 2 * (2 + LONGEST * 2) + 4


def test_a_slow_call_is_repeated_three_times_whatever_it_takes() -> None:
    world = World()
    side = world.side("candidate", 30.0, cost=30.0)
    timing = Timing(warm_up_seconds=0, repeats=20, seconds=1)
    take_turns([side], timing, world.clock)
    assert len(side.samples) == 3
    assert "candidate: only 3 repeats, 20 were asked for" in doubts(side, timing)
    assert LONGEST * timing.seconds < 90


def test_a_baseline_that_fails_leaves_and_the_others_go_on() -> None:
    world = World()
    sides = [world.side("candidate", 1e-5, required=True), world.side("compile", 1e-5, dies=5)]
    take_turns(sides, Timing(warm_up_seconds=0, repeats=10, width=1), world.clock)
    assert len(sides[0].samples) == 10
    assert sides[1].samples == []
    assert doubts(sides[1], Timing()) == ["compile failed: RuntimeError: out of memory"]


def test_a_candidate_that_fails_ends_the_measurement() -> None:
    world = World()
    with pytest.raises(RuntimeError, match="out of memory"):
        take_turns([world.side("candidate", 1e-5, required=True, dies=7)], Timing(warm_up_seconds=0), world.clock)


def test_times_that_are_no_times_are_left_out_and_told() -> None:
    side = Side("candidate", lambda number: 0.0, samples=[0.0, -1e-6, math.nan, *[1e-5] * 20])
    times = times_of(side.samples)
    assert times is not None
    assert (times.median, times.repeats) == (1e-5, 20)
    assert any("no time above zero in 3 of 23 repeats" in doubt for doubt in doubts(side, Timing()))
    assert times_of([0.0, -1.0, math.inf]) is None


def test_drift_is_told() -> None:
    samples = [1e-5] * 20 + [1.2e-5] * 20
    assert any(
        "drifts: the second half is +20.0%" in d for d in doubts(Side("a", lambda n: 0.0, samples=samples), Timing())
    )
    assert doubts(Side("a", lambda n: 0.0, samples=[1e-5] * 40), Timing()) == []


def test_percentiles_enclose_the_median() -> None:
    times = times_of([float(n) for n in range(1, 101)])
    assert times is not None
    assert (times.low, times.median, times.high) == (11, 50.5, 90)
    assert times.width == half_width([float(n) for n in range(1, 101)])
    few = times_of([1.0, 2.0])
    assert few is not None
    assert few.width == 1.0  # nothing is known of the median


def test_the_interval_of_the_median_holds_it_in_95_of_100_cases() -> None:
    drawn = random.Random(5)
    held = 0
    for _ in range(1000):
        samples = sorted(drawn.expovariate(1.0) for _ in range(40))
        width = half_width(samples)
        n = len(samples)
        low = samples[math.floor((n - 1.96 * math.sqrt(n)) / 2) - 1]
        high = samples[math.ceil(1 + (n + 1.96 * math.sqrt(n)) / 2) - 1]
        assert width == pytest.approx((high - low) / 2 / statistics.median(samples))
        held += low <= math.log(2) <= high
    assert 930 <= held <= 985


def test_few_samples_have_no_interval() -> None:
    assert half_width([1.0] * 7) == math.inf
    assert half_width([]) == math.inf
    assert half_width([1.0] * 8) == 0
