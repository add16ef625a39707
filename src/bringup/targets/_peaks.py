"""The greatest arithmetic rate of an NVIDIA GPU, from its capability, its multiprocessors and its clock.

    TFLOP/s = multiprocessors * operations a clock of a multiprocessor * clock_mhz / 1e6

A multiply-add is two operations. Sources: "Throughput of Native Arithmetic Instructions" in NVIDIA's CUDA C++
Programming Guide for the CUDA cores; NVIDIA's architecture papers (GA100, GA102, AD102, GH100, Blackwell) for the
matrix unit, dense, accumulated in fp32. At the clocks that go with the published figures they give those: A100 (108,
1410 MHz) 312 in bf16 and 19.5 in fp32; A40 (84, 1740) 150; L40S (142, 2520) 366 for 362; RTX 4090 (128, 2520) 165 and
82.6; H100 SXM (132) 989 in bf16 at 1830 MHz and 67 in fp32 at 1980 MHz; B200 (148, 1850) 2243 for 2250. The driver's
clock is the greatest one: 1980 MHz on an H100, where the matrix unit gets 1070.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Operations a clock of a multiprocessor by capability. `fp32` and `fp64` are the CUDA cores', `fp64 dot` and all others
# the matrix unit's.
_RATES: dict[int, dict[str, int]] = {
    80: {"fp32": 128, "fp64": 64, "fp64 dot": 128, "tf32": 1024, "fp16": 2048, "bf16": 2048, "int8": 4096},
    86: {"fp32": 256, "fp64": 4, "tf32": 512, "fp16": 1024, "bf16": 1024, "int8": 2048},
    89: {"fp32": 256, "fp64": 4, "tf32": 512, "fp16": 1024, "bf16": 1024, "fp8": 2048, "int8": 2048},
    90: {
        "fp32": 256, "fp64": 128, "fp64 dot": 256, "tf32": 2048, "fp16": 4096, "bf16": 4096, "fp8": 8192,
        "int8": 8192,
    },
    100: {
        "fp32": 256, "fp64": 128, "fp64 dot": 128, "tf32": 4096, "fp16": 8192, "bf16": 8192, "fp8": 16384,
        "int8": 16384,
    },
}  # fmt: skip
# GeForce has the matrix unit of its capability at half rate where it accumulates in fp32.
_HALVED = frozenset({"tf32", "fp16", "bf16", "fp8"})


def peak_tflops(facts: Mapping[str, Any]) -> dict[str, float]:
    """TFLOP/s (in int8: TOP/s) at most by what is multiplied; empty where that is not known of the chip.

    `facts` are a target's: `capability`, `multiprocessors`, `clock_mhz`, `name`.
    """
    rates = _RATES.get(int(facts.get("capability", 0)), {})
    clocks = float(facts.get("multiprocessors", 0)) * float(facts.get("clock_mhz", 0)) * 1e-6
    halved = _HALVED if "geforce" in str(facts.get("name", "")).lower() else frozenset()
    return {name: rate * clocks / (2 if name in halved else 1) for name, rate in rates.items()} if clocks else {}
