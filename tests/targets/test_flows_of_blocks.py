"""What a kernel tells is read in its text, too, where it walks by block pointers or tensor descriptors."""

from __future__ import annotations

from typing import Any

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from bringup.targets._compile import flows_of


@triton.jit
def k_pointers(x, y, o, n):
    got = tl.load(tl.make_block_ptr(x, (n,), (1,), (0,), (16,), (0,)), boundary_check=(0,))
    tl.load(tl.make_block_ptr(y, (n,), (1,), (0,), (16,), (0,)), boundary_check=(0,))
    tl.store(tl.make_block_ptr(o, (n,), (1,), (0,), (16,), (0,)), got, boundary_check=(0,))


@triton.jit
def k_descriptors(x, y, o, n):
    got = tl.make_tensor_descriptor(x, (n, 16), (16, 1), (16, 16)).load([0, 0])
    tl.make_tensor_descriptor(y, (n, 16), (16, 1), (16, 16)).load([0, 0])
    tl.make_tensor_descriptor(o, (n, 16), (16, 1), (16, 16)).store([0, 0], got)


@triton.jit
def k_for_show(x, y, o, n):
    tl.make_tensor_descriptor(y, (n, 16), (16, 1), (16, 16)).load([0, 0])


def ttir(kernel: Any) -> str:
    source = ASTSource(kernel, signature={"x": "*fp32", "y": "*fp32", "o": "*fp32", "n": "i32"})
    return str(triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"])


@pytest.mark.filterwarnings("ignore:tl.make_block_ptr")
@pytest.mark.parametrize(
    ("kernel", "wanted"), [(k_pointers, [[2, [0]]]), (k_descriptors, [[2, [0]]]), (k_for_show, [])]
)
def test_they_tell_what_pointers_tell(kernel: Any, wanted: list[list[Any]]) -> None:
    assert flows_of(ttir(kernel)) == wanted


@pytest.mark.parametrize("visibility", ["", "private "])
def test_a_text_without_a_kernel_tells_all(visibility: str) -> None:
    assert flows_of(f"module {{\ntt.func {visibility}@k(%x: !tt.ptr<f32>) {{\ntt.return\n}}\n}}\n") is None
