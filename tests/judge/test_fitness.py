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


def test_weights_say_how_much_a_case_counts() -> None:
    seconds, references = {"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 16.0, "b": 1.0}
    assert fitness(seconds, references, {"a": 3.0, "b": 1.0, "c": 9.0}) == pytest.approx(8.0)
    assert fitness(seconds, references, {"a": 3.0}) == pytest.approx(8.0)  # the others count 1
    assert fitness(seconds, references, {}) == pytest.approx(4.0)
    assert fitness(seconds, {}, {"a": 3.0}) == 0.0
