"""The CUDA target on a machine without a GPU: what it says of itself, and its compiler, which needs none."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from typing import Any

import pytest
import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.language.extra import libdevice

from bringup.candidate import Candidate
from bringup.errors import ConfigError
from bringup.linter import lint
from bringup.suites import get_suite
from bringup.targets import Target, cuda, get_target, ported
from bringup.targets._compile import compile_with_triton, constants_in, signature_of, verified
from bringup.targets._libdevice import AMD, NVIDIA

ARCH = "BRINGUP_CUDA_ARCH"


@triton.jit(noinline=True)
def scaled(x, k):  # type: ignore[no-untyped-def]
    return x * k + 3.25


@triton.jit
def kernel_softmax(x, o, n, s, B: tl.constexpr):  # type: ignore[no-untyped-def]
    row, i = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=float("-inf")).to(tl.float32)
    e = libdevice.exp(v - tl.max(v, 0))
    tl.store(o + row * n + i, e / scaled(tl.sum(e, 0), s), mask=i < n)


def ttir(kernel: Any, signature: dict[str, str], constants: dict[tuple[int, ...], Any], arch: int = 90) -> str:
    """What Triton's front end makes of a kernel, where no GPU is visible."""
    source = ASTSource(kernel, signature, constants, {(0,): [["tt.divisibility", 16]]})
    target = GPUTarget("cuda", arch, 32)
    backend = make_backend(target)
    options = backend.parse_options({"num_warps": 8, **source.parse_options()})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    first = (target, options) if "target" in inspect.signature(ASTSource.make_ir).parameters else (options,)
    hooks = backend.get_codegen_implementation(options)
    module = source.make_ir(*first, hooks, backend.get_module_map(), context)
    return str(backend.make_ttir(module, {}, options, arch))


SOFTMAX = {"x": "*bf16", "o": "*bf16", "n": "i32", "s": "fp32", "B": "constexpr"}


# The target --------------------------------------------------------------------------------------------------


def test_a_profile_is_a_number() -> None:
    assert isinstance(get_target("cuda"), Target)
    assert cuda.CudaTarget("3").number == 3
    for bad in ("x", "-1", "²"):
        with pytest.raises(ConfigError, match="number of a device"):
            cuda.CudaTarget(bad)


def pretend(monkeypatch: pytest.MonkeyPatch, *capabilities: int, why: str = "") -> None:
    found = tuple({"name": f"GPU {c}", "capability": c} for c in capabilities)
    monkeypatch.setattr(cuda, "devices", lambda: (found, why))
    monkeypatch.delenv(ARCH, raising=False)


def test_the_capability_is_the_devices_and_is_told_to_processes_that_see_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 80, 100)
    assert cuda.CudaTarget().triton_target() == ("cuda", 80, 32)
    assert cuda.CudaTarget("1").environment() == {ARCH: "100"}
    assert cuda.CudaTarget("2").triton_target() == ("cuda", 90, 32)
    monkeypatch.setenv(ARCH, "89")
    assert cuda.CudaTarget("1").triton_target() == ("cuda", 89, 32)


def test_without_a_gpu_it_says_so_and_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, why="no CUDA driver")
    target = cuda.CudaTarget()
    assert target.unavailable()
    assert target.facts() == {}
    assert target.triton_target() == ("cuda", 90, 32)


def test_a_device_that_is_not_there_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 90)
    monkeypatch.setattr(cuda.Path, "glob", lambda self, pattern: iter([self]))
    monkeypatch.setattr(cuda, "version", lambda name: "2.11.0")
    assert cuda.CudaTarget().unavailable() is None
    assert cuda.CudaTarget().facts()["capability"] == 90
    assert cuda.CudaTarget("1").unavailable() == "no CUDA device number 1: this machine shows 1"
    monkeypatch.setattr(cuda, "version", lambda name: "2.11.0+cpu")
    assert "without CUDA" in str(cuda.CudaTarget().unavailable())


def test_the_toolchain_names_triton_target_and_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 90)
    assert f"triton {triton.__version__} ('cuda', 90, 32) ptxas 1" in cuda.CudaTarget().toolchain()


def test_bringups_own_process_imports_neither_torch_nor_triton() -> None:
    code = (
        "import sys; from bringup.targets import get_target; t = get_target('cuda'); t.unavailable(), t.facts(); "
        "t.environment(), t.triton_target(), t.toolchain(); print({'torch', 'triton'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


# The compiler ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", [80, 90])
def test_text_is_compiled_where_no_gpu_is_visible(arch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, arch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    text = ttir(kernel_softmax, SOFTMAX, {(4,): 1024}, arch)
    assert "__nv_expf" in text
    assert "tt.call" in text
    kernel = cuda.CudaTarget().compile_text({"text": text, "source": "", "options": {"num_warps": 8, "arch": "sm70"}})
    assert kernel.binary[:4] == b"\x7fELF"
    assert kernel.name == "kernel_softmax"
    assert kernel.facts["num_warps"] == 8
    assert kernel.facts["signature"] == ["*bf16", "*bf16", "i32", "f32"]
    assert kernel.facts["global_scratch_size"] == 0
    assert kernel.facts["constants"] == 2  # minus infinity, 3.25


def test_arguments_that_are_neither_pointers_nor_numbers_are_refused() -> None:
    odd = "module { tt.func public @k(%a: tensor<4xi32>) { tt.return } }"
    with pytest.raises(RuntimeError, match="neither a pointer nor a number"):
        cuda.CudaTarget().compile_text({"text": odd, "options": {}})
    made_on_host = "module { tt.func public @k(%a: !tt.tensordesc<DESC>) { tt.return } }"
    for form in ("tensor<4x4xf32>", "4x4xf32"):  # as Triton's versions write it
        try:
            verified(made_on_host.replace("DESC", form))
        except RuntimeError:
            continue
        with pytest.raises(RuntimeError, match="make it in the kernel"):
            cuda.CudaTarget().compile_text({"text": made_on_host.replace("DESC", form), "options": {}})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "no kernel"),
        ("tt.func private @f() { tt.return }", "no kernel"),
        ("tt.func public @a() { tt.return } tt.func public @b(%i: i32) { tt.return }", "other kernels beside 'a'"),
        ("tt.func public @a() { %c = llvm.mlir.constant(5 : i32) : i32 tt.return }", r"llvm\.mlir\.constant"),
    ],
)
def test_texts_that_no_front_end_makes_are_refused(body: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        compile_with_triton(("cuda", 90, 32), {"text": f"module {{ {body} }}", "options": {}})


def test_the_kernel_is_found_behind_functions_that_are_not_inlined() -> None:
    function = "tt.func private @f(%x: f32) -> f32 attributes {noinline = true} { tt.return %x : f32 }"
    kernel = "tt.func public @k(%p: !tt.ptr<f32>, %n: i64) { tt.return }"
    assert signature_of(verified(f"module {{ {function} {kernel} }}")) == ("k", ["*f32", "i64"])


def body_with(line: str) -> str:
    module = verified(f"module {{ tt.func public @k(%a: tensor<4xi32>, %f: i32) {{ {line} tt.return }} }}")
    return str(module)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("", 0),
        ("%c = arith.constant 5 : i32", 1),
        ("%c = arith.constant dense<1.0> : tensor<256xf32>", 1),
        ("%c = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>", 3),
        ("%c = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>", 4),
        (f"%c = arith.constant dense<{list(range(256))}> : tensor<256xi16>", 256),  # is written as one long number
        ("%c = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>", 0),
        ("%c = tt.make_range {end = 1028 : i32, start = 1024 : i32} : tensor<4xi32>", 1),
        ("scf.index_switch %i case 5 { scf.yield } case 6 { scf.yield } default { scf.yield }", 3),
        (
            '%c = tt.elementwise_inline_asm "mov.b32 $0, 0x12; // 7\\0Aadd.s32 %r1, $1, 5;" '
            '{constraints = "=r,r", packed_element = 1 : i32, pure = true} %a : tensor<4xi32> -> tensor<4xi32>',
            3,
        ),
    ],
)
def test_every_number_of_a_text_counts(line: str, count: int) -> None:
    if "%i " in line:
        line = f"%i = arith.constant 1 : index {line}"
    assert constants_in(body_with(line)) == count


def test_resources_count() -> None:
    text = "module { tt.func public @k() { %c = arith.constant dense_resource<b> : tensor<2xf32> tt.return } }"
    blob = '{-# dialect_resources: { builtin: { b: "0x040000000000803F00000040" } } #-}'
    assert constants_in(str(verified(f"{text}\n{blob}"))) == 2


def test_a_kernel_of_the_virtual_chip_finds_its_functions_here() -> None:
    """Copies and libdevice: recorded kernels are where a search for a GPU begins."""
    source = """
@triton.jit
def kernel_tanh(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, libdevice.tanh(tl.load(x + i, mask=i < n)), mask=i < n)


def wrapper(input):
    x = torch.empty(input.shape, dtype=input.dtype, device=input.device)
    x.copy_(input)
    y = torch.empty_like(x)
    kernel_tanh[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""
    operator = get_suite("opinfo").operator("tanh")
    for name in ("cuda", "hip:gfx942"):
        assert lint(Candidate(source=source), get_target(name).dialect(), operator) == []
    unknown = source.replace("libdevice.tanh", "libdevice.brev")
    assert lint(Candidate(source=unknown), get_target("cuda").dialect(), operator) == []
    assert lint(Candidate(source=unknown), get_target("hip:gfx942").dialect(), operator)


@pytest.mark.parametrize(("backend", "names"), [("cuda", NVIDIA), ("hip", AMD)])
def test_triton_has_the_functions_of_libdevice_that_a_dialect_names(backend: str, names: tuple[str, ...]) -> None:
    module = importlib.import_module(f"triton.language.extra.{backend}.libdevice")
    assert [name for name in names if not hasattr(module, name)] == []


def test_a_launch_option_that_vpe_alone_knows_is_left_out_elsewhere() -> None:
    source = "kernel[(n,)](x, y, enable_scatter_stores=True, BLOCK=64)\n"
    assert ported(source, "vpe:pe64") == source
    assert ported(source, "cuda") == "kernel[(n,)](x, y, BLOCK=64)\n"
