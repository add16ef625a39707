"""Seeds in sealed use: a guest is told a name, one tape serves all seeds, and no Python of a wrapper's knows any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from library_testkit import make_library

import bringup
from bringup.device.seeds import NAMED, SEED, put, word
from bringup.library.errors import KernelFailed

UNIFORM = """
@triton.jit
def kernel_uniform(out_ptr, n, seed, low, span, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.rand(seed, i) * span + low, mask=i < n)


def wrapper(self, low=0.0, high=1.0, *, seed):
    if self.numel():
        kernel_uniform[(triton.cdiv(self.numel(), 64),)](
            self, self.numel(), GIVEN, low * 1.0, (high - low) * 1.0, BLOCK=64)
    return self
"""


@pytest.fixture(params=["seed", "seed ^ 1"], ids=["passed", "computed"])
def on(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    library = make_library(tmp_path / "kernels", {"uniform_": UNIFORM.replace("GIVEN", request.param)})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as enabled:
        yield enabled


def drawn(seed: int | None = None, elements: int = 100) -> torch.Tensor:
    if seed is not None:
        torch.manual_seed(seed)
    return torch.empty(elements, device="vpe").uniform_().cpu()


@pytest.mark.parametrize("on", ["seed"], indirect=True)
def test_one_tape_serves_every_seed(on: Any) -> None:
    first, other, again = drawn(1), drawn(), drawn(1)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert 0.3 < float(torch.cat([first, other]).mean()) < 0.7
    assert on.sealer.asked == 1


@pytest.mark.parametrize("on", ["seed ^ 1"], indirect=True)
def test_what_python_makes_of_a_seed_is_the_same_for_all(on: Any) -> None:
    with pytest.raises(KernelFailed, match=r"element \[0\] is 0\.1106"):  # and not what the call's seed gives
        drawn(1)


def test_a_seed_is_put_where_it_is_named_and_nowhere_else() -> None:
    body = b"head" + NAMED + NAMED + word(SEED ^ 1)
    assert put(body, [4, 20], 7) == b"head" + word(7) + NAMED + word(SEED ^ 1)


def test_the_name_is_odd_and_wider_than_32_bits() -> None:
    # Triton makes another kernel of multiples of 16, of 1 and of what fits into 32 bits.
    assert SEED % 2
    assert 1 << 32 < SEED < 1 << 63
