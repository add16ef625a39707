"""Looks at foretold calls: each is looked at, none is foretold faster than that, and what was wrong is told."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from library_kernels import decides
from library_testkit import dense, make_library

import bringup
from bringup.library import _sealed
from bringup.library._study import EVERY, LAST, LATER, NOW, Study
from bringup.library._tape_store import TapeStore
from bringup.library._witness import Witnesses
from bringup.library.errors import KernelFailed


def rare(tmp_path: Path, number: float) -> Path:
    """A library with a kernel that treats one number apart, as which none is drawn."""
    return make_library(tmp_path / "kernels", {"add.out": decides(f"7.0 if round(alpha, 5) == {number} else alpha")})


def test_each_foretold_call_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by chance alone: a number that is rare, and comes late, is met, by the guest that goes on."""
    monkeypatch.setattr("bringup.library._sealed.LOOKED_AT", 0.0)
    with bringup.enable(rare(tmp_path, 0.56143), device="vpe:permissive", sealed=True) as on:
        x = torch.ones(3).to("vpe")
        for alpha in dense(*[0.26 + 0.01 * number for number in range(30)], 0.56143):
            torch.add(x, x, alpha=alpha)
            on.sealer.study.settle()
        assert on.sealer.foretold > 20
        assert on.sealer.looked_at == on.sealer.foretold + 1  # the first by a new guest as well
        with pytest.raises(KernelFailed, match=r'a call with 0\.56143 .* use sealed="strict"'):
            x + x
        assert "guests were asked for" in on.report()


def test_the_same_call_is_looked_at_once(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": decides("alpha")})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as on:
        x = torch.ones(3).to("vpe")
        for alpha in dense(0.26, 0.29, 0.33, 0.37, 0.41, 0.42):
            torch.add(x, x, alpha=alpha)
            on.sealer.study.settle()
        before = on.sealer.looked_at, on.sealer.foretold
        (alpha,) = dense(0.43)
        for _ in range(5):
            torch.add(x, x, alpha=alpha)
        on.sealer.study.settle()
        assert on.sealer.foretold == before[1] + 5
        assert on.sealer.looked_at < before[0] + 5


def test_a_mistake_in_the_last_call_is_told_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with bringup.enable(rare(tmp_path, 0.43752), device="vpe:permissive", sealed=True) as on:
        x = torch.ones(3).to("vpe")
        for alpha in dense(0.26, 0.29, 0.33, 0.37, 0.41, 0.42):
            torch.add(x, x, alpha=alpha)
            on.sealer.study.settle()
        for alpha in dense(0.43752):
            torch.add(x, x, alpha=alpha)
    assert "add.out: a call with 0.43752" in capsys.readouterr().err


PLAIN = (0.26, 0.29, 0.33, 0.37, 0.41, 0.42)
"""So many that the last one is foretold."""


def foretelling(on: Any, *more: float) -> Any:
    """A tensor that was added with numbers until they are foretold, and then with more."""
    x = torch.ones(3).to("vpe")
    for alpha in dense(*PLAIN, *more):
        torch.add(x, x, alpha=alpha)
        on.sealer.study.settle()
    assert on.sealer.foretold
    return x


def test_a_guest_that_ends_has_not_agreed(tmp_path: Path) -> None:
    """The attacker's way to be looked at by nobody: whoever is asked is gone."""
    rule = "exec('import os; os._exit(0)') if round(alpha, 5) == 0.61234 else alpha"
    library = make_library(tmp_path / "kernels", {"add.out": decides(rule)})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as on:
        x = foretelling(on, 0.61234)
        with pytest.raises(KernelFailed, match="ends its guest, or gets no answer"):
            x + x


def test_the_tape_that_counts_instead_counts_in_a_look_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": decides("alpha + 0.0")})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as on:
        x = foretelling(on)
        contradict = on.sealer.witnesses.contradict

        def instead(source: str, request: Any, tape: Any, seconds: Any = None) -> Any:
            assert contradict(source, request, tape, seconds) == ("", None)
            return "", replace(tape, steps=tape.steps[:-1])

        monkeypatch.setattr(on.sealer.witnesses, "contradict", instead)
        for alpha in dense(0.43):
            torch.add(x, x, alpha=alpha)
        on.sealer.study.settle()
        with pytest.raises(KernelFailed, match="does something else"):
            x + x


def test_nothing_is_foretold_faster_than_it_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sealed, "CREDIT", 3)
    library = make_library(tmp_path / "kernels", {"add.out": decides("alpha * 1.0")})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as on:
        x = foretelling(on)
        free, before = threading.Event(), (on.sealer.asked, on.sealer.foretold)
        on.sealer.study.want(NOW, free.wait)
        alphas = dense(*[0.275 + 0.01 * number for number in range(8)])
        results = [torch.add(x, x, alpha=alpha) for alpha in alphas]
        foretold = on.sealer.foretold - before[1]
        assert 1 <= foretold <= 3  # what is still looked at from before takes of the credit, on a busy machine
        assert on.sealer.asked - before[0] == 8 - foretold
        free.set()
        for alpha, result in zip(alphas, results, strict=True):
            torch.testing.assert_close(result.cpu(), torch.full((3,), 1 + alpha))


@pytest.mark.parametrize(
    ("number", "leave"),  # each another one: what was wrong once is not foretold again
    [(0.43761, torch.Tensor.cpu), (0.43762, torch.Tensor.tolist), (0.43763, lambda x: x[:1].item())],
)
def test_nothing_leaves_the_device_before_it_is_looked_at(
    tmp_path: Path, number: float, leave: Callable[[Any], Any]
) -> None:
    """A kernel that treats one number apart: the call is foretold, and its result seen by nobody."""
    with bringup.enable(rare(tmp_path, number), device="vpe:permissive", sealed=True) as on:
        x = foretelling(on)
        before = on.sealer.foretold
        (alpha,) = dense(number)
        wrong = torch.add(x, x, alpha=alpha)
        assert on.sealer.foretold == before + 1
        with pytest.raises(KernelFailed, match="does something else"):
            leave(wrong)


def test_who_waits_for_looks_that_never_come_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sealed, "LEAVING_SECONDS", 0.1)
    library = make_library(tmp_path / "kernels", {"add.out": decides("alpha * 1.0")})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as on:
        x = foretelling(on)
        free = threading.Event()
        on.sealer.study.want(NOW, free.wait)
        (alpha,) = dense(0.295)
        result = torch.add(x, x, alpha=alpha)
        with pytest.raises(KernelFailed, match="do not come to look"):
            result.cpu()
        free.set()
        on.sealer.study.settle()
        torch.testing.assert_close(result.cpu(), torch.full((3,), 1 + alpha))


def test_where_nobody_can_look_nothing_is_foretold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": decides("alpha / 1.0")})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as on:
        x = foretelling(on)
        on.sealer.cannot_watch("no processes")
        before = on.sealer.foretold
        for alpha in dense(0.43, 0.44):
            torch.add(x, x, alpha=alpha)
        assert on.sealer.foretold == before
    assert capsys.readouterr().err.count("calls are not foretold any more") == 1


def in_a_child(x: Any, alpha: float) -> None:
    torch.add(x, x, alpha=alpha)


@pytest.mark.long
def test_a_child_tells_at_its_end(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends without what `atexit` knows."""
    monkeypatch.setattr(_sealed, "LOOKED_SECONDS", 60.0)
    with bringup.enable(rare(tmp_path, 0.43753), device="vpe:permissive", sealed=True) as on:
        x = foretelling(on)
        child = multiprocessing.get_context("fork").Process(target=in_a_child, args=(x, dense(0.43753)[0]))
        child.start()
        child.join(60)
        assert child.exitcode == 0
    assert "add.out: a call with 0.43753" in capfd.readouterr().err


def test_a_pattern_that_was_wrong_once_is_wrong_for_all(tmp_path: Path) -> None:
    """Whoever has read the file before, and writes his own behind it."""
    store = TapeStore(tmp_path / "tapes", lambda key: None)
    store.drop_pattern("kind")
    store._add("kind 'kind'", {"steps": [], "lanes": []})
    later = TapeStore(tmp_path / "tapes", lambda key: None)
    assert later.was_wrong("kind")
    assert later.pattern("kind") is None


def test_what_has_waited_longest_has_its_turn() -> None:
    study, done, free = Study(), list[str](), threading.Event()
    study.want(NOW, free.wait)
    study.want(LAST, lambda: done.append("last"))
    for number in range(4 * EVERY):
        study.want(NOW, lambda number=number: done.append(str(number)))
    free.set()
    study.settle()
    assert done.index("last") < EVERY
    study.close()


def test_what_nobody_will_need_is_forgotten_at_the_end() -> None:
    study, done, free, owner = Study(), list[int](), threading.Event(), object()
    study.want(NOW, free.wait)
    for when in (NOW, LATER):
        study.want(when, lambda when=when: done.append(when), owner)
    assert not study.keeps_up(owner, 2, 0.01)
    study.forget(LATER)
    assert study.keeps_up(owner, 2, 0.01)
    free.set()
    study.settle()
    assert done == [LATER]
    study.close()


def test_a_guest_that_does_not_answer_holds_up_its_own_kernel_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    free, answered = threading.Event(), list[str]()

    class Witness:
        def __init__(self, begin: Any, kernels: Any) -> None:
            self.lock, self.source = threading.Lock(), begin.args[0]

        def contradiction(self, request: Any, tape: Any, seconds: Any) -> tuple[str, None]:
            if self.source == "slow":
                free.wait()
            answered.append(self.source)
            return "", None

        def close(self) -> None:
            pass

    monkeypatch.setattr("bringup.library._witness._Witness", Witness)
    witnesses: Any = Witnesses(SimpleNamespace(session=print), None)  # type: ignore[arg-type]
    slow = threading.Thread(target=witnesses.contradict, args=("slow", {}, None), daemon=True)
    slow.start()
    quick = threading.Thread(target=witnesses.contradict, args=("quick", {}, None), daemon=True)
    quick.start()
    quick.join(10)
    assert answered == ["quick"]
    free.set()
    slow.join(10)
    assert answered == ["quick", "slow"]
    witnesses.close()
