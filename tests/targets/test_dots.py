"""What a kernel's text says of its matrix products, and what chips can do of them at most."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from bringup.device import Kernel
from bringup.device.frames import digest
from bringup.judge._bench import _Bench
from bringup.targets import dots_of, peak_tflops


@pytest.mark.parametrize(
    ("name", "capability", "multiprocessors", "mhz", "published"),
    [
        ("NVIDIA A100-SXM4-80GB", 80, 108, 1410, {"bf16": 312, "fp16": 312, "tf32": 156, "fp32": 19.5, "int8": 624,
                                                  "fp64": 9.7, "fp64 dot": 19.5}),
        ("NVIDIA A40", 86, 84, 1740, {"bf16": 149.7, "tf32": 74.8, "fp32": 37.4, "int8": 299.3}),
        ("NVIDIA GeForce RTX 3090", 86, 82, 1695, {"bf16": 71, "fp32": 35.6, "tf32": 35.6, "int8": 284}),
        ("NVIDIA L40S", 89, 142, 2520, {"bf16": 362, "tf32": 183, "fp8": 733, "fp32": 91.6}),
        ("NVIDIA GeForce RTX 4090", 89, 128, 2520, {"bf16": 165.2, "fp32": 82.6, "fp8": 330.3, "int8": 660.6}),
        ("NVIDIA H100 80GB HBM3", 90, 132, 1830, {"bf16": 989, "tf32": 495, "fp8": 1979, "int8": 1979}),
        ("NVIDIA H100 80GB HBM3", 90, 132, 1980, {"fp32": 67, "fp64": 33.5, "fp64 dot": 67}),
        ("NVIDIA B200", 100, 148, 1850, {"bf16": 2250, "tf32": 1125, "fp8": 4500, "int8": 4500}),
    ],
)  # fmt: skip
def test_peaks_are_the_published_ones(
    name: str, capability: int, multiprocessors: int, mhz: int, published: dict[str, float]
) -> None:
    facts = {"name": name, "capability": capability, "multiprocessors": multiprocessors, "clock_mhz": mhz}
    found = peak_tflops(facts)
    assert {one: found[one] for one in published} == pytest.approx(published, rel=0.015)


def test_of_a_chip_that_is_not_known_nothing_is_said() -> None:
    assert peak_tflops({}) == {}
    assert peak_tflops({"capability": 75, "multiprocessors": 40, "clock_mhz": 1590}) == {}
    assert peak_tflops({"capability": 90}) == {}


@triton.jit
def kernel_mm(a, b, o, K, HOW: tl.constexpr, TURNS: tl.constexpr, B: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    total = tl.zeros((B, B), tl.float32)
    if TURNS:
        for k in range(0, TURNS):
            total = tl.dot(tl.load(a + at + k), tl.load(b + at + k), total, input_precision=HOW)
    else:
        for k in range(0, tl.cdiv(K, B)):
            total = tl.dot(tl.load(a + at + k), tl.load(b + at + k), total, input_precision=HOW)
    tl.store(o + at, total)


def text_of(dtype: str, how: str, turns: int) -> str:
    types = {"a": f"*{dtype}", "b": f"*{dtype}", "o": "*fp32", "K": "i32", "HOW": "constexpr", "TURNS": "constexpr",
             "B": "constexpr"}  # fmt: skip
    source = ASTSource(kernel_mm, types, {(4,): how, (5,): turns, (6,): 32})
    return str(triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"])


@pytest.mark.parametrize(
    ("dtype", "how", "unit", "times"),
    [
        ("bf16", "ieee", "bf16", 1), ("fp16", "tf32", "fp16", 1), ("fp32", "ieee", "fp32", 1),
        ("fp32", "tf32", "tf32", 1), ("fp32", "tf32x3", "tf32", 3),
    ],
)  # fmt: skip
def test_constant_loops_are_counted_and_the_unit_is_that_of_what_is_multiplied(
    dtype: str, how: str, unit: str, times: int
) -> None:
    found = dots_of(text_of(dtype, how, 7))
    assert found == {"unit": unit, "times": times, "operations": 2 * 32**3 * 7 * times}


def test_loops_that_hang_on_arguments_have_no_number() -> None:
    found = dots_of(text_of("bf16", "ieee", 0))
    assert found == {"unit": "bf16", "times": 1, "operations": None}


def test_a_kernel_without_dots_and_a_text_that_cannot_be_read() -> None:
    assert dots_of("module { tt.func public @k() { tt.return } }") == {}
    assert dots_of("tt.dot of something else") is None


def test_the_kernels_of_a_tape_are_told_with_their_dots() -> None:
    request = {"text": text_of("bf16", "ieee", 3), "source": "", "options": {}}
    machine = SimpleNamespace(loaded={digest(request): (Kernel(b"cubin", "kernel_mm", 64, {"num_warps": 4}), None)})
    bench = _Bench.__new__(_Bench)
    bench.machine = machine  # type: ignore[assignment]
    (found,) = bench._kernels(SimpleNamespace(kernels={1: request}))  # type: ignore[arg-type]
    dots = {"unit": "bf16", "times": 1, "operations": 2 * 32**3 * 3}
    assert found["facts"] == {"num_warps": 4, "dots": dots}
