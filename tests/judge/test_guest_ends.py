"""How a guest's end is read: a candidate's own, or the machine's."""

from __future__ import annotations

from typing import Any

import pytest

from bringup.judge import _guest, _memory
from bringup.judge._guest import Guest, describe_end
from bringup.judge.sandbox import SandboxFault

KILLED: dict[str, Any] = {"signal": 9}


def end(monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], kills: int) -> dict[str, Any]:
    """Return what `wait` says of a guest that ended so, while the machine killed `kills` processes."""
    guest = Guest.__new__(Guest)
    guest.ended, guest._memory_kills = None, 3
    guest._out = -1
    monkeypatch.setattr(guest, "_wait", lambda deadline: dict(how))
    monkeypatch.setattr(guest, "_ready", lambda descriptor: False)
    monkeypatch.setattr(_guest, "memory_kills", lambda: 3 + kills)
    return guest.wait()


@pytest.mark.parametrize("how", [KILLED, {}], ids=["worker", "supervisor"])
def test_a_machine_without_memory_is_no_verdict(monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]) -> None:
    with pytest.raises(SandboxFault, match=r"the machine ran out of memory.*--jobs"):
        end(monkeypatch, how, 1)


@pytest.mark.parametrize(
    ("how", "kills"),
    [(KILLED, 0), ({**KILLED, "limit": "memory"}, 1), ({"signal": 11}, 1), ({"exit": 3}, 1), ({"alive": True}, 1)],
)
def test_any_other_end_is_the_candidates(monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], kills: int) -> None:
    assert describe_end(end(monkeypatch, how, kills))


def test_the_machine_is_asked() -> None:
    assert _memory.memory_kills() >= 0
