"""Numbers of sealed calls: what is left open, how it is found out, and what is said where that was wrong."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from library_kernels import decides
from library_testkit import dense, make_library

import bringup
from bringup.library._numbers import PROVED, drawn, far_apart, left_open, order, relation, successors


@pytest.mark.long
def test_what_a_wrapper_decides_by_a_number_is_not_left_open(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": decides("alpha if alpha < 0.45 else 2 * alpha")})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False) as on:
        x = torch.ones(3).to("vpe")
        for alpha in dense(0.26, 0.29, 0.33, 0.37, 0.46):
            factor = alpha if alpha < 0.45 else 2 * alpha
            torch.testing.assert_close(torch.add(x, x, alpha=alpha).cpu(), torch.full((3,), 1 + factor))
            on.sealer.study.settle()
        assert on.sealer.asked == 5


def test_a_class_of_numbers_that_is_the_program_s_own_is_never_foretold(tmp_path: Path) -> None:
    """However unlikely it is that a number of it is drawn: the program's own calls are of it."""
    own = dense(0.9951, 0.9962, 0.9973, 0.9981, 0.9988, 0.9992, 0.9996)
    library = make_library(tmp_path / "kernels", {"add.out": decides("0.5 if 0.995 < alpha < 0.9998 else alpha")})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False) as on:
        x = torch.ones(3).to("vpe")
        for alpha in own:
            torch.testing.assert_close(torch.add(x, x, alpha=alpha).cpu(), torch.full((3,), 1.5))
            on.sealer.study.settle()
        assert on.sealer.asked == len(own)


def test_a_pattern_counts_once_the_program_s_calls_have_proved_it(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": decides("alpha")})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as on:
        x = torch.ones(3).to("vpe")
        for alpha in dense(0.26, 0.29, 0.33, 0.37, 0.41, 0.42, 0.43, 0.44):
            torch.testing.assert_close(torch.add(x, x, alpha=alpha).cpu(), torch.full((3,), 1 + alpha))
            on.sealer.study.settle()
        assert on.sealer.asked == 2 + PROVED


def test_numbers_of_few_binary_digits_are_never_left_open() -> None:
    for value in (1 / 3, 2**0.5, math.pi / 7):
        assert left_open(value)
    for exact in (torch.rand(()).item() * 3, (12345678901 << 20) * 2.0**-60, (1 << 40) + (7 << 16)):
        assert not left_open(exact)


def test_opposite_numbers_are_of_a_kind_of_their_own() -> None:
    assert relation([-0.3, 0.3]) != relation([-0.3, 0.31])
    assert relation([-0.3, 0.31]) == relation([-0.2, 0.5])
    # Of such hardly any are drawn, and of too few nothing is learned.
    assert len(drawn(dense(-0.3, 0.3), lambda proposed: relation(proposed) == relation([-0.3, 0.3]), 5)) < 5


def test_seeds_are_drawn_where_seeds_are() -> None:
    """Nearly all of them lie in the largest powers; each half of these is met in some six draws."""
    number = (5 << 60) // 3
    found = [one[0] for _ in range(200) for one in drawn([number], lambda p: left_open(p[0]) == left_open(number), 6)]
    assert sum(one > 7 << 60 for one in found) > 40
    assert sum(one < 1 << 40 for one in found) > 40


def test_draws_reach_from_end_to_end_of_a_kind() -> None:
    for numbers in (dense(0.3), dense(0.3, 0.45), dense(-3.3, 5e-7, 0.2), [(1 << 40) + 5], [(3 << 40) + 48]):
        kind = [left_open(number) for number in numbers], order(numbers)
        found = drawn(numbers, lambda p, kind=kind: ([left_open(one) for one in p], order(p)) == kind, 4)
        assert len(found) == 4
        assert far_apart([number for one in [numbers, *found] for number in one])
        powers = [math.log2(abs(one[0])) for one in found]
        assert max(powers) - min(powers) > (27 if isinstance(numbers[0], int) else 6.9)


def test_the_order_of_numbers_is_part_of_the_kind() -> None:
    assert order([0.3, 2, 0.1, math.nan, 0.3]) == [1, 2, 0, -1, 1]
    assert far_apart([0.1, 0.3, 1 << 40, (1 << 40) + 1 + (1 << 37)])
    assert not far_apart([0.1, 0.1])
    assert not far_apart([0.1, 0.1000001])
    assert not far_apart([1 << 40, 3 << 40])


def test_numbers_move_on_between_powers() -> None:
    assert successors([0.3, 0.7, 5 << 40], [0.2, 0.7, 3 << 40]) == [[76.8, 0.7, 5 << 40]]
    small, smaller = 0.3 / 256, -1.4 * 128
    assert successors([0.3, -0.7], [0.4, -0.6]) == [[small, -0.7], [0.3, smaller], [small, smaller]]
