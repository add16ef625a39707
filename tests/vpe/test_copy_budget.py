"""Copies within the device count towards a call's cycles, like launches."""

from __future__ import annotations

import pytest

from bringup.device import Fault
from bringup.targets._vpe_engine import VpeEngine
from bringup.vpe.profile import load_profile
from bringup.vpe.work import Budget, copy_work, launch_work

CHIP = load_profile("pe64")


def test_a_copy_costs_a_launch_and_its_bytes_twice() -> None:
    assert copy_work(CHIP, 0) == launch_work(CHIP)
    one, two = (copy_work(CHIP, n << 20) - launch_work(CHIP) for n in (1, 2))
    assert two == pytest.approx(2 * one, rel=1e-6)


def test_a_copy_across_rows_costs_more_than_one_in_order() -> None:
    in_order, across = (copy_work(CHIP, 1 << 20, runs) - launch_work(CHIP) for runs in (1, 1 << 20))
    assert across > 50 * in_order


def test_who_copies_for_hours_is_told() -> None:
    budget = Budget(10_000_000)
    said = [budget.spent_by_copies(CHIP, 1 << 20) for _ in range(10_000)]
    assert said[0] == ""
    assert "more than the 10000000 cycles that a call" in said[-1]


def test_the_device_stops_the_call() -> None:
    engine = VpeEngine(CHIP)
    engine.begin({})
    engine.copied(1 << 20)
    with pytest.raises(Fault, match="copies, allocations and launches take more") as stopped:
        engine.copied(1 << 50)
    assert stopped.value.kind == "time"
    engine.begin({})  # the next call has its own
    engine.copied(1 << 20)
