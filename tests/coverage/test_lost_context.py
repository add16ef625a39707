"""A GPU whose context is lost, and a device that has PyTorch's own kernels: tried without one, on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from library_kernels import ADD, KERNELS
from library_testkit import bundle, make_library

from bringup.coverage._serving import LibraryServing, device_fault
from bringup.coverage.measuring import DEATHS, Died, measure_operator
from bringup.library import Library, NotEnabled, parse_when
from bringup.library.adding import add_judged


class Scripted:
    """A process that says what a worker would: each asking begins the next script."""

    def __init__(self, *scripts: list[dict[str, Any]]) -> None:
        self.scripts, self.asked, self.ended = list(scripts), list[dict[str, Any]](), 0
        self.setting = type("Setting", (), {"seconds": 1.0})()
        self._now: list[dict[str, Any]] = []

    def ask(self, request: dict[str, Any]) -> None:
        self.asked.append(request)
        self._now = list(self.scripts.pop(0))

    def answer(self, seconds: float) -> dict[str, Any]:
        if not self._now:
            raise Died("crashed", "the process ended")
        return self._now.pop(0)

    def end(self) -> None:
        self.ended += 1


def case(index: int, kind: str, **more: Any) -> list[dict[str, Any]]:
    identity = ["float32", index, "call"]
    return [{"begin": identity}, {"end": identity, "kind": kind, "message": kind, "lacks": "", **more}]


DONE = [{"done": "add", "observes": True}]


def test_the_cases_after_one_that_loses_the_device_are_measured_in_another_process() -> None:
    process = Scripted(
        [*case(0, "passed"), *case(1, "crashed", over=True)], [*case(2, "passed"), *case(3, "passed"), *DONE]
    )
    found = measure_operator(process, "add")  # type: ignore[arg-type]
    assert process.ended == 1
    assert process.asked[1]["skip"] == ['["float32", 0, "call"]', '["float32", 1, "call"]']
    assert found.forms["call"].passed == 3
    assert found.failed == {"crashed": 1}


def test_an_operator_that_loses_the_device_again_and_again_is_given_up() -> None:
    process = Scripted(*(case(number, "crashed", over=True) for number in range(DEATHS + 3)))
    found = measure_operator(process, "add")  # type: ignore[arg-type]
    assert len(process.asked) == DEATHS
    assert found.failed == {"crashed": DEATHS}


def test_all_that_pytorch_computed_itself_is_missing_and_not_what_comes_first_alone() -> None:
    lacking = case(0, "missing", builtins=["any", "isnan"])
    lacking[1]["lacks"] = "any"
    process = Scripted([*lacking, *DONE], [])
    found = measure_operator(process, "add")  # type: ignore[arg-type]
    assert found.status == "missing"
    assert found.needs == {"any": ("any",), "isnan": ("isnan",)}


def test_a_fault_is_told_in_one_line_of_a_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def lost(device: Any) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nFor debugging consider ...")

    monkeypatch.setattr(torch.cuda, "synchronize", lost)
    assert device_fault(torch.device("cuda")) == "CUDA error: an illegal memory access was encountered"
    assert device_fault(torch.device("cpu")) == ""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_a_kernel_leaves_to_pytorch_is_pytorchs(tmp_path: Path) -> None:
    """A kernel for calls with few elements: PyTorch's own kernel serves the others, and that is no kernel of ours."""
    import torch

    library = Library.create(tmp_path / "kernels", "vpe:permissive")
    when = parse_when("elements<=8")
    add_judged(library, bundle("add.out", ADD, "vpe:permissive"), origin="t", variant="few", when=when)
    serving = LibraryServing(library.path, "cpu", False, tmp_path)
    few, many = torch.ones(4), torch.ones(64)
    try:
        with serving.watched() as builtins:
            torch.add(few, few)
        assert builtins == set()
        with serving.watched() as builtins:
            torch.add(many, many)
        assert builtins == {"add.Tensor"}
        assert (
            "1 calls of 1 operators left to PyTorch's own kernels for cpu: add.Tensor (1)" in serving._enabled.report()
        )
    finally:
        serving._enabled.disable()


def test_numbers_that_pytorch_made_tensors_of_reach_the_operator_as_tensors() -> None:
    import torch

    from bringup.coverage._trace import BuiltinTrace

    x = torch.tensor([1.5, -2.0])
    with BuiltinTrace("CPU", frozenset()) as trace:
        assert torch.equal(torch.copysign(x, -3.0), torch.tensor([-1.5, -2.0]))
        assert torch.remainder(torch.tensor([7, 8]), 5).dtype == torch.int64
        assert torch.remainder(7, torch.tensor([5])).item() == 2
    assert {"copysign.Tensor", "remainder.Tensor"} <= trace.builtins


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_survey_that_cannot_be_leaves_the_library_enabled(tmp_path: Path) -> None:
    """On the CPU, which has kernels of PyTorch's own as a GPU has."""
    import torch

    library = make_library(tmp_path / "kernels", KERNELS)
    serving = LibraryServing(library.path, "cpu", False, tmp_path)
    try:
        with pytest.raises(NotEnabled, match="own kernels"), serving.surveyed():
            pass
        before = serving.calls()[0].total()
        assert torch.equal(torch.ones(3, 4) + torch.ones(4), torch.full((3, 4), 2.0))
        assert serving.calls()[0].total() > before
    finally:
        serving._enabled.disable()
