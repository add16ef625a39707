"""Random numbers of samples: PyTorch's streams, nearly its values, and the same bits under every instruction set."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch

from bringup.suites._opinfo_numbers import portable_numbers

DRAWS: dict[str, Callable[[], torch.Tensor]] = {
    "uniform": lambda: torch.empty(37).uniform_(-9, 9),
    "uniform by name": lambda: torch.empty(5, 20).uniform_(to=3.0),
    "uniform bfloat16": lambda: torch.empty(100, dtype=torch.bfloat16).uniform_(-9, 9),
    "normal": lambda: torch.empty(100).normal_(1, 3),
    "few normal": lambda: torch.empty(7).normal_(),
    "randn": lambda: torch.randn(3, 16),
    "randn of a size": lambda: torch.randn(size=(5, 5)),
    "randn_like": lambda: torch.randn_like(torch.empty(40)),
}
PRINT = """
import hashlib, torch
from bringup.suites._opinfo_numbers import portable_numbers
torch.manual_seed(3)
with portable_numbers():
    drawn = [torch.empty(1000).uniform_(-9, 9), torch.empty(1003).normal_(1, 3), torch.randn(64)]
print(hashlib.sha256(torch.cat(drawn).numpy().tobytes()).hexdigest(), torch.backends.cpu.get_cpu_capability())
"""


@pytest.mark.parametrize("name", DRAWS)
def test_the_stream_is_pytorchs_and_the_values_nearly(name: str) -> None:
    torch.manual_seed(11)
    wanted, following = DRAWS[name](), torch.rand(1)
    torch.manual_seed(11)
    with portable_numbers():
        drawn = DRAWS[name]()
        assert torch.equal(torch.rand(1), following)
    assert (drawn.dtype, drawn.shape) == (wanted.dtype, wanted.shape)
    torch.testing.assert_close(drawn, wanted, rtol=2 * torch.finfo(wanted.dtype).eps, atol=1e-6)


def test_the_upper_bound_is_never_drawn() -> None:
    with portable_numbers():
        drawn = torch.empty(20000, dtype=torch.bfloat16).uniform_(1.0, 1.0078125)
    assert set(drawn.tolist()) == {1.0}


def test_the_block_leaves_pytorch_as_it_was() -> None:
    before = torch.Tensor.uniform_, torch.Tensor.normal_, torch.randn, torch.randn_like
    with portable_numbers(), portable_numbers():
        assert torch.randn is not before[2]
    assert before == (torch.Tensor.uniform_, torch.Tensor.normal_, torch.randn, torch.randn_like)
    assert "uniform_" not in torch.Tensor.__dict__


@pytest.mark.long
def test_every_instruction_set_draws_the_same_bits() -> None:
    found = {}
    for capability in ("default", "avx2"):
        environment = {**os.environ, "ATEN_CPU_CAPABILITY": capability}
        done = subprocess.run(
            [sys.executable, "-c", PRINT], env=environment, capture_output=True, text=True, check=True
        )
        digest, used = done.stdout.split()
        found[used] = digest
    assert len(set(found.values())) == 1, found
