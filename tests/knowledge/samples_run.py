"""What each sample of the knowledge base is called with, and what must come out; how it is loaded, run and compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.language.extra import libdevice

from bringup.knowledge import KnowledgeFile, code_blocks, load

F = torch.nn.functional
TARGETS = {"nvidia": GPUTarget("cuda", 90, 32), "amd": GPUTarget("hip", "gfx942", 64)}


@dataclass(frozen=True)
class Check:
    """Arguments, made anew for each run, and the reference; `exact` where every element must be equal."""

    arguments: Callable[[], tuple[Any, ...]]
    reference: Callable[..., torch.Tensor]
    rtol: float = 1e-5
    atol: float = 1e-5


def _made(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def _product(m: int, k: int, n: int) -> Callable[[], tuple[torch.Tensor, ...]]:
    return lambda: (_made(m, k, dtype=torch.float16), _made(k, n, dtype=torch.float16, seed=1))


def _mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.float() @ b.float()).to(a.dtype)


def _table() -> torch.Tensor:
    return torch.arange(0, 300, 2, dtype=torch.float32)


PRODUCT = Check(_product(136, 208, 96), _mm, rtol=2e-3, atol=2e-3 * math.sqrt(208))

CHECKS: dict[str, Check] = {
    "attention-forward": Check(
        lambda: tuple(_made(1, 2, 90, 32, seed=n) for n in range(3)), F.scaled_dot_product_attention, 1e-4, 1e-4
    ),
    "autotune-in-source": Check(lambda: (_made(10_007), 2.5), lambda x, factor: x * factor),
    "binary-search": Check(
        lambda: (torch.randint(-10, 320, (700,), generator=torch.Generator().manual_seed(3)).float(), _table()),
        torch.bucketize,
        0,
        0,
    ),
    "conv1d-as-dot": Check(
        lambda: (_made(2, 48, 104, dtype=torch.float16), _made(40, 48, 5, dtype=torch.float16, seed=1)),
        lambda x, w: F.conv1d(x.float(), w.float()).half(),
        2e-3,
        5e-2,
    ),
    "cumsum-carry": Check(lambda: (_made(5, 1000),), lambda x: x.cumsum(1), 1e-4, 1e-3),
    "dropout-philox": Check(lambda: (torch.ones(50_000), 0.25, 7), lambda x, p, seed: x),  # looked at apart
    "elementwise-loop": Check(lambda: (_made(700_001),), F.silu),
    "elementwise-wide": Check(lambda: (_made(5003),), F.gelu),
    "gather-rows": Check(
        lambda: (_made(50, 304), torch.tensor([3, 0, -1, 49, 7, -50])), lambda x, index: x[index], 0, 0
    ),
    "layer-norm": Check(
        lambda: (_made(9, 200) + 100, _made(200, seed=1), _made(200, seed=2)),
        lambda x, w, b: F.layer_norm(x, (200,), w, b),
        1e-3,
        1e-3,
    ),
    "reduce-with-index": Check(
        lambda: (torch.tensor([[1, 5, 2, 5, 5, 0, 0, 3], [9, 9, 1, 1, 1, 1, 1, 1.0]]),), lambda x: torch.tensor([1, 0])
    ),
    "matmul-grouped": PRODUCT,
    "matmul-mi300": PRODUCT,
    "matmul-persistent": PRODUCT,
    "matmul-split-k": Check(_product(48, 1024, 64), _mm, 2e-3, 0.1),
    "matmul-vpe": PRODUCT,
    "softmax-online": Check(
        lambda: (torch.cat([_made(3, 2504) * 20, torch.full((1, 2504), -math.inf)]),), lambda x: x.softmax(1)
    ),
    "softmax-row": Check(lambda: (_made(37, 200) * 20,), lambda x: x.softmax(1)),
    "strided-column-vpe": Check(lambda: (_made(11, 107),), lambda x: x.sum(1), 1e-4, 1e-4),
    "sum-two-stage": Check(lambda: (_made(600_000),), lambda x: x.sum(), 1e-3, 1e-2),
    "transpose-tiles": Check(lambda: (_made(104, 72),), lambda x: x.t().contiguous(), 0, 0),
}


def samples() -> dict[str, KnowledgeFile]:
    """Return the samples by their stem."""
    found = (file for file in load().files if file.section == "samples")
    return {file.path.removeprefix("samples/").removesuffix(".md"): file for file in found}


def module_of(file: KnowledgeFile, folder: Any) -> dict[str, Any]:
    """Write the sample's code to a file (Triton reads sources) and run it as candidates are run."""
    blocks, _ = code_blocks(file.body)
    (code,) = [code for _, language, code in blocks if language == "python"]
    path = folder / f"{file.path.rsplit('/', 1)[1]}.py"
    path.write_text(code)
    names = {"torch": torch, "triton": triton, "tl": tl, "math": math, "libdevice": libdevice, "__name__": path.stem}
    exec(compile(code, str(path), "exec"), names)
    return names


@dataclass(frozen=True)
class Launch:
    """One launch as it was asked for."""

    kernel: Any
    arguments: dict[str, Any]
    options: dict[str, Any]

    def compiled(self, platform: str) -> Any:
        """Compile for a platform; needs no GPU."""
        signature, constants, attributes = {}, {}, {}
        for position, parameter in enumerate(self.kernel.params):
            value = self.arguments[parameter.name]
            if parameter.is_constexpr:
                signature[parameter.name], constants[(position,)] = "constexpr", value
            elif isinstance(value, torch.Tensor):
                signature[parameter.name] = "*" + _TYPES[value.dtype]
                attributes[(position,)] = [["tt.divisibility", 16]]
            else:
                signature[parameter.name] = "fp32" if isinstance(value, float) else "i32"
        source = ASTSource(self.kernel, signature, constants, attributes)
        return triton.compile(source, target=TARGETS[platform], options=self.options)


_TYPES = {torch.float16: "fp16", torch.float32: "fp32", torch.int64: "i64"}
OPTIONS = ("num_warps", "num_stages", "matrix_instr_nonkdim", "waves_per_eu")


def record(module: dict[str, Any]) -> list[Launch]:
    """From now on the module's kernels are not run: what they were asked for comes into the list."""
    launches: list[Launch] = []
    for value in module.values():
        if isinstance(value, triton.JITFunction):
            value.run = _recording(value, launches)
    return launches


def _recording(kernel: Any, launches: list[Launch]) -> Callable[..., None]:
    def run(*values: Any, grid: Any, warmup: bool, **named: Any) -> None:
        options = {name: named.pop(name) for name in OPTIONS if name in named}
        names = [parameter.name for parameter in kernel.params]
        arguments = dict(zip(names, values, strict=False)) | named
        assert set(arguments) == set(names), "every argument is given"
        launches.append(Launch(kernel, arguments, options))

    return run
