"""Alternatives of launches in the judge: the numbers that use chooses among, each as often as the others."""

from __future__ import annotations

import itertools
import random

from bringup.device.timing import MOST, fastest
from bringup.judge._exchange import _turns


def test_each_number_has_its_turn() -> None:
    numbers = list(itertools.islice(_turns(random.Random(7)), 5 * MOST))
    for first in range(0, len(numbers), MOST):
        assert sorted(numbers[first : first + MOST]) == list(range(MOST))
    assert numbers[:MOST] != numbers[MOST : 2 * MOST]


def test_use_chooses_none_that_has_no_turn() -> None:
    """Of launches with different numbers of alternatives only some combinations run, and these have turns."""
    chance = random.Random(3)
    for _ in range(200):
        seconds = [[chance.random() for _ in range(chance.randrange(2, MOST + 1))] for _ in range(4)]
        assert fastest(seconds) in range(MOST)
