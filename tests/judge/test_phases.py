"""The clock of a judgement's phases."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bringup.judge import _phases
from bringup.judge._phases import Phases


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A clock that moves when it is told to."""
    now = [100.0]
    monkeypatch.setattr(_phases.time, "monotonic", lambda: now[0])

    def let_pass(seconds: float) -> None:
        now[0] += seconds

    return let_pass


def test_each_second_counts_in_the_innermost_phase(passes: Callable[[float], None]) -> None:
    phases = Phases()
    passes(1)
    with phases("calls"):
        passes(2)
        with phases("comparison"):
            passes(4)
            with phases("limits"):
                passes(8)
        passes(16)
    with phases("calls"):
        passes(32)
    passes(64)
    assert phases.seconds() == {"calls": 50, "comparison": 4, "limits": 8, "rest": 65}


def test_an_exception_ends_its_phases(passes: Callable[[float], None]) -> None:
    phases = Phases()

    def fail() -> None:
        with phases("outer"), phases("inner"):
            passes(1)
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        fail()
    passes(2)
    assert phases.seconds() == {"inner": 1, "outer": 0, "rest": 2}


def test_what_happened_meanwhile_can_be_moved(passes: Callable[[float], None]) -> None:
    phases = Phases()
    with phases("calls"):
        passes(5)
        phases.move(3, "compiler")
    assert phases.seconds() == {"calls": 2, "compiler": 3, "rest": 0}
