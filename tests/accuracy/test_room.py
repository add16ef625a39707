"""What a reference asks for in memory while it is found out whether it behaves."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
import torch

from bringup.accuracy import _room, limited_memory
from bringup.suites._opinfo_calls import Call
from bringup.suites.audit._meta import on_meta
from bringup.suites.audit._vet import raised, small_result

linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")


def huge(x: torch.Tensor) -> torch.Tensor:
    if bool(x.sum() > 0):  # no meta kernel can tell
        return torch.zeros(1 << 40)
    return x


@linux
def test_a_result_that_no_meta_kernel_foretells_is_refused() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    assert "memory" in raised(Call(huge, (torch.ones(3),), {}))
    assert raised(Call(huge, (torch.zeros(3),), {})) == ""
    assert resource.getrlimit(resource.RLIMIT_AS) == before


@linux
def test_calls_without_values_are_refused_as_well() -> None:
    many = Call(torch.combinations, (torch.arange(1 << 17),), {"r": 1 << 31})  # a vector of 16 GB for its tensors
    with pytest.raises((MemoryError, RuntimeError), match=r"alloc|^$"):
        on_meta(many)
    assert small_result(many)  # unknown: what is asked for when it is run decides
    assert "alloc" in raised(many) or "MemoryError" in raised(many)


@linux
def test_what_a_process_has_does_not_count() -> None:
    kept = torch.empty(1 << 28, dtype=torch.int64)  # 2 GiB of addresses, which nobody writes
    with limited_memory(1 << 30):
        assert torch.zeros(1 << 20).numel() + kept.numel() > 1 << 28
        with pytest.raises(RuntimeError):
            torch.empty(1 << 28, dtype=torch.int64)


def test_without_proc_nothing_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_room, "_STATUS", Path("/nowhere/statm"))
    before = resource.getrlimit(resource.RLIMIT_AS)
    with limited_memory(1 << 20):
        assert resource.getrlimit(resource.RLIMIT_AS) == before
