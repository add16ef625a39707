"""A kernel's module may define classes, dataclasses among them, which look for their module where Python keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from library_kernels import ADD
from library_testkit import make_library

import bringup

CLASSES = """
import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Launch:
    blocks: int
    names: typing.ClassVar[int] = 3


launch = Launch(1)
assert dataclasses.asdict(launch) == {"blocks": 1}
"""


@pytest.mark.parametrize("sealed", [False, True])
def test_a_module_with_a_dataclass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sealed: bool) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    library = make_library(tmp_path / "kernels", {"add.out": CLASSES + ADD})
    with bringup.enable(library, device="vpe:permissive", sealed=sealed):
        x = torch.randn(9)
        torch.testing.assert_close((x.to("vpe") + x.to("vpe")).cpu(), x + x)
