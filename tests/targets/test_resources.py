"""What compiled kernels take of GPUs that are not here, and the target `hip`."""

from __future__ import annotations

from typing import Any

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from bringup.errors import ConfigError, EnvironmentFault
from bringup.targets import Target, get_target
from bringup.targets._resources import of_amdgcn, of_cuobjdump, resources_of, tool_of

USAGE = """
 Function k:
  REG:{registers} STACK:{stack} SHARED:1024 LOCAL:{local} CONSTANT[0]:568 TEXTURE:0
        /*0000*/                   LDC R1, c[0x0][0x28] ;      /* 0x0 */
        /*00b0*/              @!P6 LDG.E.128 R9, desc[UR4][R4.64] ;   /* 0x0 */
        /*00c0*/                   MUFU.EX2 R0, R7 ;           /* 0x0 */
        /*00d0*/                   STL [R1], R0 ;              /* 0x0 */
        /*00e0*/                   HGMMA.64x64x16.F32.BF16 R24, gdesc[UR4] ;  /* 0x0 */
        /*00f0*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;  /* 0x0 */
"""


@triton.jit
def kernel_exp(x, y, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.exp(tl.load(x + i, mask=i < n)), mask=i < n)


def compiled(target: tuple[str, Any, int], block: int) -> dict[str, Any]:
    source = ASTSource(kernel_exp, {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {(3,): block})
    made = triton.compile(source, target=GPUTarget(*target), options={"num_warps": 4})
    return resources_of(target, made.asm, 4, made.metadata.shared)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_amds_assembly_says_what_a_kernel_takes(arch: str) -> None:
    small, large = (compiled(("hip", arch, 64), block) for block in (1024, 16384))
    assert 0 < small["vector registers"] < large["vector registers"]
    assert small["global loads instructions"] < large["global loads instructions"]
    assert small["special instructions"] >= 4
    assert small["instructions"] < large["instructions"]
    assert small["share of most waves"] == 1
    assert large["waves a SIMD"] == min(8, 512 // (-(-large["vector registers"] // 8) * 8))


def test_registers_and_shared_memory_bound_the_waves() -> None:
    text = "    .vgpr_count:     200\n    .vgpr_spill_count: 3\n    .group_segment_fixed_size: 0\n"
    assert of_amdgcn(text, "gfx942", 4, 0)["waves a SIMD"] == 2
    assert of_amdgcn(text, "gfx942", 4, 40 << 10)["waves a SIMD"] == 1
    assert of_amdgcn(text, "gfx950", 4, 40 << 10)["waves a SIMD"] == 2
    assert of_amdgcn(text, "gfx942", 4, 0)["vector registers spilled"] == 3


@pytest.mark.skipif(tool_of("cuobjdump") is None, reason="this Triton brings no cuobjdump")
def test_nvidias_cubin_says_what_a_kernel_takes() -> None:
    small, large = (compiled(("cuda", 90, 32), block) for block in (1024, 16384))
    assert 0 < small["registers"] < large["registers"]
    assert small["special instructions"] >= 4
    assert small["global loads instructions"] < large["global loads instructions"]


def test_what_cuobjdump_prints_is_read() -> None:
    found = of_cuobjdump(USAGE.format(registers=128, stack=0, local=16), 90, 8, 2048)
    assert found["registers"] == 128
    assert found["local bytes a thread"] == 16
    assert found["shared bytes"] == 2048
    kinds = ("global loads", "special", "spill traffic", "matrix", "barriers")
    assert [found[f"{kind} instructions"] for kind in kinds] == [1] * 5
    assert found["global accesses of 16 bytes"] == 1
    assert found["instructions"] == 6
    assert found["share of most warps"] == 0.25  # 65,536 registers / (128 * 32) = 16 of 64
    assert of_cuobjdump(USAGE.format(registers=24, stack=0, local=0), 90, 8, 0)["share of most warps"] == 1
    assert of_cuobjdump("nothing", 90, 4, 0) == {}


def test_hip_compiles_for_architectures_and_runs_nowhere() -> None:
    target = get_target("hip:gfx950")
    assert isinstance(target, Target)
    assert target.triton_target() == ("hip", "gfx950", 64)
    assert target.facts()["memory_gb_s"] == 8000
    assert get_target("hip").triton_target()[1] == "gfx942"
    assert "--compile-for hip:gfx950" in str(target.unavailable())
    with pytest.raises(EnvironmentFault, match="does not run there"):
        target.engine()
    with pytest.raises(ConfigError, match="use hip:gfx942 or hip:gfx950"):
        get_target("hip:gfx90")
    kernel = target.compile_text({"text": _TTIR, "source": "", "options": {"num_warps": 2}})
    assert kernel.name == "kernel_k"
    assert kernel.binary


_TTIR = """module {
  tt.func public @kernel_k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
    %v = tt.load %x : !tt.ptr<f32>
    tt.store %y, %v : !tt.ptr<f32>
    tt.return
  }
}
"""
