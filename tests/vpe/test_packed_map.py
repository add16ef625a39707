"""`tl.map_elementwise` of packs: each function sees its own block's elements, however many."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
import torch
import triton
import triton.language as tl

import bringup.vpe as vpe
from bringup.vpe.lower.evaluate import Eval

pytestmark = pytest.mark.usefixtures("permissive")
PACKS = [2, 8, 16, 32, 64]


def source_of(pack: int) -> str:
    """Kernels that turn each pack around: of a row, and of one that is stored as columns."""
    arguments = ", ".join(f"a{i}" for i in range(pack))
    turned = ", ".join(f"a{i} * 2" for i in reversed(range(pack)))
    return f"""
@triton.jit
def turn{pack}({arguments}):
    return {turned}


@triton.jit
def row{pack}(x, y):
    i = tl.arange(0, 256)
    tl.store(y + i, tl.map_elementwise(turn{pack}, tl.load(x + i) + 1, pack={pack})[0])


@triton.jit
def columns{pack}(x, y):
    i = tl.arange(0, 256)
    rows = tl.reshape(tl.load(x + i), [4, 64]) + 1
    tl.store(y + i, tl.reshape(tl.trans(tl.map_elementwise(turn{pack}, rows, pack={pack})[0]), [256]))
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    path = tmp_path_factory.mktemp("packs") / "packs.py"
    path.write_text("import triton\nimport triton.language as tl\n" + "".join(map(source_of, PACKS)))
    spec = importlib.util.spec_from_file_location("packs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("pack", PACKS)
def test_packs_wider_than_a_vector(kernels: ModuleType, pack: int) -> None:
    x, y = torch.arange(256, dtype=torch.int32), torch.zeros(256, dtype=torch.int32)
    turned = ((x + 1) * 2).reshape(-1, pack).flip(1).reshape(-1)
    getattr(kernels, f"row{pack}")[(1,)](x, y)
    assert torch.equal(y, turned)
    getattr(kernels, f"columns{pack}")[(1,)](x, y)
    assert torch.equal(y, turned.reshape(4, 64).t().reshape(-1))


@triton.jit
def kernel_turns(x, y):
    i = tl.arange(0, 64)
    tl.store(y + i, tl.cumsum(tl.load(x + i), 0) * 3)


def test_no_code_is_made_for_an_index_past_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a block is read at is known to lie in it while the code is made."""
    leaf = Eval.leaf

    def beyond(self, pointer, type_, index):  # type: ignore[no-untyped-def]
        last = index[-1]
        return leaf(
            self, pointer, type_, (*index[:-1], last._replace(lanes=tuple(one + 1 for one in last.lanes or (0,))))
        )

    monkeypatch.setattr(Eval, "leaf", beyond)
    with pytest.raises(vpe.VpeCompileError, match="an index goes up to"):
        kernel_turns[(1,)](torch.zeros(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32))
