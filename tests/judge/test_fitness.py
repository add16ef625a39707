"""What a search climbs: the ratio of times, and what counts as a time."""

from __future__ import annotations

import pytest

from bringup.judge.measuring import fitness


@pytest.mark.parametrize(
    ("seconds", "references", "expected"),
    [
        ({"a": 1.0, "b": 4.0}, {"a": 2.0, "b": 2.0}, 1.0),
        ({"a": 1.0, "b": 4.0}, {"a": 2.0}, 2.0),  # b has nothing to be compared with
        ({"a": 1.0}, {"a": 0.0}, 0.0),
        ({"a": 0.0, "b": 1.0}, {"a": 2.0, "b": 2.0}, 0.0),  # a clock that gave nothing
        ({"a": float("nan")}, {"a": 2.0}, 0.0),
        ({}, {"a": 2.0}, 0.0),
    ],
)
def test_fitness(seconds: dict[str, float], references: dict[str, float], expected: float) -> None:
    assert fitness(seconds, references) == pytest.approx(expected)
