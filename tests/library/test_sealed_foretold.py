"""Foretold calls: none is made before a guest that goes on has done the same, and a wrong pattern does nothing."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from library_kernels import decides
from library_testkit import dense, make_library

import bringup
from bringup.judge.calling import CallFailed
from bringup.library._study import NOW, SOON, Study
from bringup.library._tape_store import TapeStore
from bringup.library._tapes import Returned, Tape
from bringup.library._witness import Witnesses
from bringup.library.errors import KernelFailed

PLAIN = (0.26, 0.29, 0.33, 0.37, 0.41, 0.42)
"""So many that the last one is foretold."""


TAPE = Tape((), Returned(None, None, []), ())


def rare(tmp_path: Path, number: float) -> Path:
    """A library with a kernel that treats one number apart, as which none is drawn."""
    return make_library(tmp_path / "kernels", {"add.out": decides(f"7.0 if round(alpha, 5) == {number} else alpha")})


def foretelling(on: Any, *more: float) -> Any:
    """A tensor that was added with numbers until they are foretold, and then with more."""
    x = torch.ones(3).to("vpe")
    for alpha in dense(*PLAIN, *more):
        torch.add(x, x, alpha=alpha)
        on.sealer.study.settle()
    assert on.sealer.foretold
    return x


def test_a_number_that_a_wrapper_treats_apart_is_never_foretold_wrongly(tmp_path: Path) -> None:
    """It gets what the wrapper does with it, and the kind is foretold no more."""
    with bringup.enable(rare(tmp_path, 0.56143), device="vpe:permissive", sealed=True, checked=False) as on:
        x = foretelling(on, *[0.26 + 0.01 * number for number in range(30)])
        before = on.sealer.foretold, on.sealer.asked
        assert before[0] > 20
        for alpha, factor in zip(dense(0.56143, 0.5), (7.0, dense(0.5)[0]), strict=True):
            torch.testing.assert_close(torch.add(x, x, alpha=alpha).cpu(), torch.full((3,), 1 + factor))
            on.sealer.study.settle()
        assert (on.sealer.foretold, on.sealer.asked) == (before[0], before[1] + 2)
        assert "guests that make other calls as well agreed" in on.report()


def test_a_wrong_pattern_has_written_nothing(tmp_path: Path) -> None:
    """In place there would be no way back."""
    with bringup.enable(rare(tmp_path, 0.43752), device="vpe:permissive", sealed=True, checked=False) as on:
        x, y, seen = torch.zeros(3).to("vpe"), torch.ones(3).to("vpe"), []
        for alpha in dense(*PLAIN):
            x.add_(y, alpha=alpha)
            on.sealer.study.settle()
        assert on.sealer.foretold
        before, agreed = x.cpu(), on.sealer.witnesses.agreed

        def watched(source: str, request: Any, tape: Any, seconds: Any = None) -> Any:
            seen.append(x.cpu().equal(before))
            return agreed(source, request, tape, seconds)

        on.sealer.witnesses.agreed = watched  # type: ignore[method-assign]
        x.add_(y, alpha=dense(0.43752)[0])
        assert seen == [True, True]  # of what is foretold, of what a new guest has done
        torch.testing.assert_close(x.cpu(), before + 7)


def test_the_same_call_is_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": decides("alpha")})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as on:
        x = foretelling(on)
        asked, agreed, before = [], on.sealer.witnesses.agreed, on.sealer.foretold
        monkeypatch.setattr(on.sealer.witnesses, "agreed", lambda *given: asked.append(1) or agreed(*given))
        (alpha,) = dense(0.43)
        for _ in range(5):
            torch.add(x, x, alpha=alpha)
        assert on.sealer.foretold == before + 5
        assert len(asked) == 1


def test_a_guest_that_ends_has_not_agreed(tmp_path: Path) -> None:
    """The attacker's way to be asked by nobody: whoever is asked is gone. The call is a first one then, and fails."""
    rule = "exec('import os; os._exit(0)') if round(alpha, 5) == 0.61234 else alpha"
    library = make_library(tmp_path / "kernels", {"add.out": decides(rule)})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as on:
        x = foretelling(on)
        with pytest.raises(KernelFailed, match="aten::add"):
            torch.add(x, x, alpha=dense(0.61234)[0])


def test_where_no_guest_answers_nothing_is_foretold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": decides("alpha / 1.0")})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as on:
        x = foretelling(on)
        before = on.sealer.foretold

        def gone(*given: Any) -> str:
            raise CallFailed("it does not answer")

        monkeypatch.setattr(on.sealer.witnesses, "agreed", gone)
        with pytest.raises(KernelFailed, match="does not answer"):
            torch.add(x, x, alpha=dense(0.43)[0])
        assert on.sealer.foretold == before


def test_a_forked_child_asks_guests_of_its_own(tmp_path: Path) -> None:
    with bringup.enable(rare(tmp_path, 0.43753), device="vpe:permissive", sealed=True, checked=False) as on:
        x = foretelling(on)
        child = os.fork()
        if not child:
            right = False
            try:
                right = all(
                    torch.add(x, x, alpha=alpha).cpu().allclose(torch.full((3,), 1 + factor))
                    for alpha, factor in zip(dense(0.43753, 0.44), (7.0, 0.44), strict=True)
                )
            finally:
                os._exit(0 if right else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_pattern_that_was_wrong_once_is_wrong_for_all(tmp_path: Path) -> None:
    """Whoever has read the file before, and writes his own behind it."""
    store = TapeStore(tmp_path / "tapes", lambda key: None)
    store.drop_pattern("kind")
    store._add("kind 'kind'", {"steps": [], "lanes": []})
    later = TapeStore(tmp_path / "tapes", lambda key: None)
    assert later.was_wrong("kind")
    assert later.pattern("kind") is None


def test_what_a_call_has_waited_for_is_studied_first() -> None:
    study, done, free = Study(), list[str](), threading.Event()
    study.want(NOW, free.wait)
    for number in range(3):
        study.want(SOON, lambda number=number: done.append(f"soon {number}"))
        study.want(NOW, lambda number=number: done.append(f"now {number}"))
    free.set()
    study.settle()
    assert done == ["now 0", "now 1", "now 2", "soon 0", "soon 1", "soon 2"]
    study.close()


def test_a_guest_that_does_not_answer_holds_up_its_own_kernel_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    free, answered = threading.Event(), list[str]()

    class Witness:
        def __init__(self, begin: Any, kernels: Any) -> None:
            self.lock, self.source = threading.Lock(), begin.args[0]

        def again(self, request: Any, tape: Any, seconds: Any) -> Any:
            if self.source == "slow":
                free.wait()
            answered.append(self.source)
            return tape

        def close(self) -> None:
            pass

    monkeypatch.setattr("bringup.library._witness._Witness", Witness)
    witnesses: Any = Witnesses(SimpleNamespace(session=print), None)  # type: ignore[arg-type]
    slow = threading.Thread(target=witnesses.agreed, args=("slow", {}, TAPE), daemon=True)
    slow.start()
    quick = threading.Thread(target=witnesses.agreed, args=("quick", {}, TAPE), daemon=True)
    quick.start()
    quick.join(10)
    assert answered == ["quick"]
    free.set()
    slow.join(10)
    assert answered == ["quick", "slow"]
    witnesses.close()
