"""A wrapper is called here as it was in the cases of its gate: what has its default is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from library_kernels import ADD
from library_testkit import make_library

import bringup
from bringup.library.errors import KernelFailed

# The kernel of `add`, whose wrapper fails where it is told what a case of the gate would leave out.
TOLD = (
    ADD.replace("def wrapper(", "def right(")
    + """

def wrapper(*args, **kwargs):
    if len(args) > 2 or kwargs.get("alpha") == 1:
        raise RuntimeError("told what no case has told")
    return right(*args, **kwargs)
"""
)

REQUIRED = ADD.replace("alpha=1", "alpha")


@pytest.mark.parametrize("sealed", [True, False])
def test_a_default_is_left_out(tmp_path: Path, sealed: bool) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": TOLD})
    a, b = torch.randn(3, 4), torch.randn(4)
    with bringup.enable(library, device="vpe:permissive", sealed=sealed):
        x, y = a.to("vpe"), b.to("vpe")
        for found in (x + y, torch.add(x, y, alpha=1), x.clone().add_(y)):
            torch.testing.assert_close(found.cpu(), a + b)
        torch.testing.assert_close(torch.add(x, y, alpha=2).cpu(), a + 2 * b)


@pytest.mark.parametrize("sealed", [True, False])
def test_who_has_no_default_is_not_served(tmp_path: Path, sealed: bool) -> None:
    """To be told more by what a text says would tell use from judgement: the text may be about another function."""
    assert REQUIRED != ADD
    library = make_library(tmp_path / "kernels", {"add.out": REQUIRED})
    a, b = torch.randn(3, 4), torch.randn(4)
    with bringup.enable(library, device="vpe:permissive", sealed=sealed):
        x, y = a.to("vpe"), b.to("vpe")
        torch.testing.assert_close(torch.add(x, y, alpha=2).cpu(), a + 2 * b)
        with pytest.raises(KernelFailed, match="no default for 'alpha', which PyTorch leaves out"):
            torch.add(x, y)


DECOY = """

def actual(input, other, *, alpha=None, out=None):
    if alpha == 1:
        raise RuntimeError("told what no case has told")
    return right(input, other, alpha=1 if alpha is None else alpha, out=out)


wrapper = actual
"""


@pytest.mark.parametrize("sealed", [True, False])
def test_what_the_text_says_of_defaults_changes_nothing(tmp_path: Path, sealed: bool) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": TOLD + DECOY})
    a, b = torch.randn(3, 4), torch.randn(4)
    with bringup.enable(library, device="vpe:permissive", sealed=sealed):
        torch.testing.assert_close(torch.add(a.to("vpe"), b.to("vpe")).cpu(), a + b)


def test_only_a_default_of_the_same_kind_is_one() -> None:
    from bringup.library.schemas import schema_of

    of: dict[str, Any] = {p.name: p for p in schema_of("sum.IntList_out").parameters}
    assert of["keepdim"].left_out(False)
    assert of["dtype"].left_out(None)
    assert not of["keepdim"].left_out(True)
    assert not of["keepdim"].left_out(0)
    assert not of["dim"].left_out(None)  # it has none
    assert not {p.name: p for p in schema_of("add.out").parameters}["alpha"].left_out(1.0)
    assert {p.name: p for p in schema_of("fft_fft2").parameters}["dim"].left_out([-2, -1])
