"""Which kernels a guest makes, and what it sends: one for aligned arguments and others, and the source alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from bringup_testkit import DOUBLE
from judge_bench import Bench

from bringup import vpe
from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.suites import get_suite
from bringup.targets import get_target
from bringup.targets._compile import compile_with_triton, verified
from bringup.vpe.errors import VpeCompileError


@triton.jit
def k_plain(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


def test_a_program_of_its_own_makes_one_kernel_too() -> None:
    vpe.activate("pe64")
    x = torch.zeros(64)
    for n in (16, 17, 48):
        k_plain[(1,)](x, n, BLOCK=64)
    (found,) = (cache[0] for cache in k_plain.device_caches.values())
    assert len(found) == 1
    k_plain[(1,)](x, 1, BLOCK=64)  # what is 1 is a constant, as anywhere
    assert len(found) == 2
    assert x[0] == 4
    assert x[20] == 1


COUNTS = (
    DOUBLE.replace("    v = tl.load(x + i, mask=i < n)\n", "")
    .replace("v + v", "i")
    .replace(
        "    return y\n",
        "    room = x.new_empty(64)\n"
        "    for m in (16, 17, 48):\n"
        "        kernel_double[(1,)](room, room, m, BLOCK=16)\n"
        "    (made,) = (cache[0] for cache in kernel_double.device_caches.values())\n"
        "    raise ValueError(f'{len(made)} kernels')\n",
    )
)


@pytest.mark.asyncio
@pytest.mark.parametrize(("checked", "made"), [((), 1), (("cuda:sm_90",), 2)])
async def test_a_guest_makes_kernels_for_alignment_where_a_gpu_checks_them(checked: tuple[str, ...], made: int) -> None:
    config = JudgeConfig(kernel_cache=NO_CACHE, compile_for=checked)
    async with Bench("vpe:pe64", config) as judge:
        verdict = await judge.candidate(Candidate(source=COUNTS), get_suite("tiny").operator("double"))
    assert verdict.kind == "raised", verdict.summary
    assert f"{made} kernels" in verdict.summary


def made_of(text: str = "", source: str = "") -> Any:
    request = {"text": text, "source": source, "options": {"num_warps": 4}}
    return get_target("vpe:pe64").compile_text(request)


def texts() -> tuple[str, str]:
    """A kernel's text before and after Triton's passes."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import ASTSource

    from bringup.vpe.backend.compiler import VpeBackend, make_ttir

    target = get_target("vpe:pe64")
    target.warm_up()
    gpu = GPUTarget(*target.triton_target())
    backend = VpeBackend(gpu)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    src = ASTSource(k_plain, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {(2,): 64}, {})
    module = src.make_ir(gpu, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    source = str(module)
    return source, str(make_ttir(module, options))


def test_the_source_alone_makes_what_source_and_text_make() -> None:
    source, text = texts()
    assert source != text
    kernels = [made_of(source=source), made_of(text, source), made_of(text)]
    assert len({kernel.facts["canonical"] for kernel in kernels}) == 1
    assert len({json.loads(kernel.binary)["llvm"] for kernel in kernels}) == 1
    with pytest.raises(VpeCompileError, match="not what Triton's passes make"):
        made_of(text.replace("arith.addf", "arith.mulf"), source)
    with pytest.raises(VpeCompileError, match="no TTIR of this Triton"):
        made_of(source=source.replace("tt.load", "tt.lood"))


def test_a_gpu_compiles_the_text() -> None:
    _, text = texts()
    assert verified(text)
    kernel = compile_with_triton(("cuda", 90, 32), {"text": text, "source": "", "options": {"num_warps": 4}})
    assert kernel.name == "k_plain"
