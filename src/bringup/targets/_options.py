"""What compilers of GPUs take beside the language, and what it is worth: sentences for an author of kernels.

From triton 3.7: `CUDAOptions` (backends/nvidia/compiler.py), `HIPOptions` (backends/amd/compiler.py), `load` and
`range` (language/core.py); the figures are those of `knowledge/base/hardware`.
"""

from __future__ import annotations

NVIDIA_OPTIONS: tuple[str, ...] = (
    "A launch takes `num_warps=` (default 4, a power of two, 32 threads each): 4 for about 1024 elements or tiles up "
    "to 128 x 64, 8 for 4096 elements or tiles of 128 x 128; and `num_stages=` (default 3: loads that feed a tl.dot "
    "are pipelined so many turns ahead, as far as shared memory goes). `tl.range(..., num_stages=n)` does so too.",
    'tl.load and tl.store take `eviction_policy=` ("evict_first" for what is used once, "evict_last" for what is read '
    'again) and `cache_modifier=` (".cg", ".ca"; stores ".cs"): a few percent at best.',
    'The `input_precision` of a float32 tl.dot is "ieee" (float32, without the matrix unit), "tf32x3" (three products '
    'on the matrix unit, nearly as exact as float32 and faster), "bf16x6", "bf16x3", or "tf32", the default, which '
    "keeps 10 bits and is not exact enough where float32 is asked for.",
)
AMD_OPTIONS: tuple[str, ...] = (
    "A launch takes `num_warps=` (default 4, a power of two, 64 threads each), `num_stages=` (default 2: loads that "
    "feed a tl.dot are pipelined) and `waves_per_eu=` (a hint to use fewer registers, for more waves at once).",
    'The `input_precision` of a float32 tl.dot is "ieee" (the default: the matrix unit takes float32), "bf16x6" or '
    '"bf16x3"; "tf32x3" is not known here.',
)
# The chips that kernels are compiled for most, in a line each.
_NVIDIA = {
    "sm_80": (
        "NVIDIA A100: 108 multiprocessors, 163 KB of shared memory a program, 40 MB of L2, 1.6 to 2.0 TB/s; 19.5 "
        "TFLOP/s in float32, 312 in half precisions on the matrix unit, 156 in tf32"
    ),
    "sm_90": (
        "NVIDIA H100: 132 multiprocessors, 227 KB of shared memory a program, 50 MB of L2, 3.35 TB/s; 67 TFLOP/s in "
        "float32, 989 in half precisions on the matrix unit, 495 in tf32"
    ),
}


def options_of(toolchain: str) -> tuple[str, ...]:
    """Return what an author must know of a toolchain that also compiles the kernels ("cuda:sm_90"): chip and options.

    Empty for one of which nothing is known.
    """
    from bringup.targets.hip import CHIPS

    kind, _, arch = toolchain.partition(":")
    if kind == "cuda":
        known = (_NVIDIA[arch] + ".",) if arch in _NVIDIA else ()
        return (*known, *NVIDIA_OPTIONS)
    if kind == "hip" and arch in CHIPS:
        chip = CHIPS[arch]
        line = (
            f"{chip['name']}: {chip['compute_units']} compute units, {chip['shared_bytes_per_program'] >> 10} KB of "
            f"shared memory a program, {chip['memory_gb_s'] / 1000:g} TB/s; {chip['fp32_tflops']} TFLOP/s in float32, "
            f"{chip['fp16_tflops']} in half precisions on the matrix unit."
        )
        return (line, *AMD_OPTIONS)
    return ()
