"""What a compiled kernel takes of a GPU, read from what its compiler wrote; no device is needed.

AMD: the kernel descriptor's metadata at the end of the assembly (`.vgpr_count` and the like; LLVM's AMDGPU usage guide,
"Code Object V3 Metadata"), and its instructions. NVIDIA: `cuobjdump`, which Triton brings along, on the cubin.

Waves and warps that fit at once follow from published sizes: on gfx9 a SIMD has 512 vector registers a lane, given out
by eights, room for 8 waves, and its compute unit 64 KiB of LDS (160 KiB on gfx950); on NVIDIA a multiprocessor has
65,536 registers, given out by 256 a warp, and 64 warps (48 on sm_86, sm_89, sm_120).
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TOOL_SECONDS = 60
_AMD = {
    "vgpr_count": "vector registers", "agpr_count": "accumulation registers", "sgpr_count": "scalar registers",
    "vgpr_spill_count": "vector registers spilled", "sgpr_spill_count": "scalar registers spilled",
    "group_segment_fixed_size": "shared bytes", "private_segment_fixed_size": "local bytes a thread",
}  # fmt: skip
_AMD_LINE = re.compile(r"^\s*(?:- )?\.(\w+):\s+(\d+)\s*$", re.MULTILINE)
_AMD_CLASSES = {
    "matrix": r"v_(?:mfma|wmma|smfmac)", "special": r"v_(?:exp|log|sin|cos|rcp|rsq|sqrt)_",
    "global loads": r"(?:global|buffer|flat)_load", "global stores": r"(?:global|buffer|flat)_store",
    "shared": r"ds_", "atomics": r"(?:global|buffer|flat)_atomic", "spill traffic": r"scratch_(?:load|store)",
    "barriers": r"s_barrier", "waits": r"s_waitcnt",
}  # fmt: skip
_NVIDIA_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
_NVIDIA_LINE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", re.MULTILINE)
_NVIDIA_CLASSES = {
    "matrix": r"(?:[HIDQ]|HG|IG|QG|U?TC\w*)MMA|U?TCHMMA|HGMMA", "special": r"MUFU",
    "global loads": r"LDG|LDGSTS|UBLKCP|UTMALDG", "global stores": r"STG|UTMASTG", "shared": r"LDS|STS|LDSM|STSM",
    "atomics": r"ATOM|RED\b|ATOMG", "spill traffic": r"LDL|STL", "barriers": r"BAR",
}  # fmt: skip
_FEWER_WARPS = frozenset({86, 89, 120})


def resources_of(target: tuple[str, str | int, int], asm: Mapping[str, Any], warps: int, shared: int) -> dict[str, Any]:
    """Figures of a compiled kernel by name; empty where what reads them is missing.

    Args:
        target: Triton's target: backend, architecture, threads of a warp.
        asm: what Triton's compiler left, by stage (`amdgcn`, `cubin`).
        warps: of a program.
        shared: bytes of shared memory of a program.
    """
    backend, arch, _ = target
    if backend == "hip" and "amdgcn" in asm:
        return of_amdgcn(str(asm["amdgcn"]), str(arch), warps, shared)
    if backend == "cuda" and "cubin" in asm:
        return of_cubin(bytes(asm["cubin"]), int(arch), warps, shared)
    return {}


def of_amdgcn(text: str, arch: str, warps: int, shared: int) -> dict[str, Any]:
    """Figures of a kernel of AMD's, from its assembly."""
    found: dict[str, Any] = {
        _AMD[name]: int(number) for name, number in _AMD_LINE.findall(text) if name in _AMD
    }  # fmt: skip
    found["shared bytes"] = max(found.get("shared bytes", 0), shared)
    code = re.findall(r"^\s+([a-z]\w+)", text.partition(".section\t.AMDGPU")[0], re.MULTILINE)
    found |= _counted(code, _AMD_CLASSES)
    if arch.startswith("gfx9"):
        registers = found.get("vector registers", 0)  # accumulation registers are counted in
        waves = min(8, 512 // max(-(-registers // 8) * 8, 8))
        memory = (160 if arch == "gfx950" else 64) << 10
        if found["shared bytes"]:  # four SIMDs share the memory of a compute unit
            waves = min(waves, memory // found["shared bytes"] * warps // 4)
        found["waves a SIMD"] = waves
        found["share of most waves"] = round(waves / 8, 3)
    return found


def of_cubin(binary: bytes, arch: int, warps: int, shared: int) -> dict[str, Any]:
    """Figures of a kernel of NVIDIA's, from its cubin by `cuobjdump`."""
    tool = tool_of("cuobjdump")
    if tool is None:
        return {}
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        try:
            said = subprocess.run(
                [tool, "-res-usage", "-sass", file.name], capture_output=True, text=True, timeout=TOOL_SECONDS,
                check=True,
            ).stdout  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return {}
    return of_cuobjdump(said, arch, warps, shared)


def of_cuobjdump(said: str, arch: int, warps: int, shared: int) -> dict[str, Any]:
    """Read what `cuobjdump -res-usage -sass` prints of one kernel."""
    usage = _NVIDIA_USAGE.search(said)
    if usage is None:
        return {}
    registers, stack, static, local = map(int, usage.groups())
    found: dict[str, Any] = {
        "registers": registers, "local bytes a thread": local + stack, "shared bytes": max(static, shared),
    }  # fmt: skip
    code = _NVIDIA_LINE.findall(said)
    found |= _counted(code, _NVIDIA_CLASSES)
    wide = sum(1 for name in code if name.startswith(("LDG", "STG")) and ".128" in name)
    if wide:
        found["global accesses of 16 bytes"] = wide
    most = 48 if arch in _FEWER_WARPS else 64
    of_warp = -(-registers * 32 // 256) * 256
    resident = min(most // warps, (65536 // max(of_warp, 256)) // warps) * warps
    found["share of most warps"] = round(min(resident, most) / most, 3)
    return found


def _counted(code: list[str], classes: Mapping[str, str]) -> dict[str, Any]:
    counts: dict[str, Any] = {"instructions": len(code)}
    for name, pattern in classes.items():
        number = sum(1 for one in code if re.match(pattern, one))
        if number:
            counts[f"{name} instructions"] = number
    return counts


def tool_of(name: str) -> str | None:
    """The path of one of the tools that Triton brings for NVIDIA's binaries; None where there is none."""
    triton = importlib.util.find_spec("triton")
    for folder in (triton and triton.submodule_search_locations) or ():
        path = Path(folder) / "backends" / "nvidia" / "bin" / name
        with contextlib.suppress(OSError):
            if os.access(path, os.X_OK):
                return str(path)
    return None
