"""The language by operation and dtype: run each on vpe, compare with PyTorch, write the table of docs/vpe-language.md.

    python benchmarks/vpe_language.py [--only 'sum,atomic_*'] [--write]

A cell passes if the kernel compiles, runs and gives the right values; else it has the number of the line below the
table that says why not: a rule of the compiler, or Triton's own front end.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import triton

PAGE = Path(__file__).resolve().parents[1] / "docs" / "vpe-language.md"
PROFILES = ("permissive", "pe64")
N = 64
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = ("bool", *INTEGERS, *FLOATS, "float8_e4m3fn", "float8_e5m2")
SHORT = {"float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}
SHORT |= {"float64": "fp64", "bool": "int1"}
ROUNDING = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6, "float64": 1e-14, "float8_e4m3fn": 0.13}
ROUNDING |= {"float8_e5m2": 0.26}
# What `tl.dot_scaled` calls the formats that it takes.
_SCALED = {"float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "float16": "fp16", "bfloat16": "bf16"}
_FRONT = {"float8_e4m3fn": "float8e4nv", "float8_e5m2": "float8e5"}
Reference = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Operation:
    """One row: an expression on blocks `a` and `b` of 64 elements, and the same in PyTorch, in float64 or int64."""

    name: str
    expression: str
    reference: Reference
    setup: str = ""
    """Lines before the expression."""
    last: str = ""
    """What the store of the result has beside it: a mask."""


def _unary(name: str, reference: Callable[[Any], Any], text: str = "") -> Operation:
    return Operation(name, text or f"tl.{name}(a)", lambda a, b: reference(a))


def _atomic(name: str, reference: Reference) -> Operation:
    return Operation(name, "tl.load(o + i)", reference, f"tl.store(o + i, a)\n    tl.{name}(o + i, b)")


def _matrix(a: Any) -> Any:
    return a.reshape(8, 8)


def _philox(offset: int, seed: int = 7) -> int:
    """The first word of Philox 4x32 with ten rounds, as Salmon et al. 2011 define it, as a signed number."""
    word = 0xFFFFFFFF
    c, k = [offset & word, 0, 0, 0], [seed, 0]
    for _ in range(10):
        low, high = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [high >> 32 ^ c[1] ^ k[0], high & word, low >> 32 ^ c[3] ^ k[1], low & word]
        k = [k[0] + 0x9E3779B9 & word, k[1] + 0xBB67AE85 & word]
    return c[0] - (c[0] >> 31 << 32)


def _random(a: Any, b: Any) -> Any:
    return torch.tensor([_philox(int(offset)) for offset in a])


def _uniform(a: Any, b: Any) -> Any:
    words = _random(a, b)
    return torch.where(words < 0, -words - 1, words).double() * 4.6566127342e-10


def _product(a: Any, b: Any) -> Any:
    return (a[:32, None] * a[None, :32]).reshape(-1) * 32


_SQUARE = "x = tl.broadcast_to(tl.load(p + tl.arange(0, 32))[:, None], [32, 32])"
_SCALE = "s = tl.full([32, 1], 127, tl.uint8)"  # 2 to the power of 0

OPERATIONS = (
    Operation("load, store", "a", lambda a, b: a),
    Operation(
        "masked load and store", "tl.load(q + i, mask=i >= 40, other=0).to(a.dtype)",
        lambda a, b: torch.cat([a[:40], b[40:]]),
        "tl.store(r + i, a, mask=i < 40)", "mask=i >= 40",
    ),
    Operation(
        "tensor descriptors", "tl.make_tensor_descriptor(o, [N], [1], [N]).load([0])", lambda a, b: a,
        "tl.make_tensor_descriptor(o, [N], [1], [N]).store([0], tl.make_tensor_descriptor(p, [N], [1], [N]).load([0]))",
    ),
    Operation("cast to fp32 and back", "a.to(tl.float32).to(a.dtype)", lambda a, b: a),
    *(Operation(f"a {sign} b", f"a {sign} b", function) for sign, function in (
        ("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", lambda a, b: a * b), ("/", lambda a, b: a / b),
        ("//", lambda a, b: torch.div(a, b, rounding_mode="trunc")), ("%", torch.fmod), ("&", torch.bitwise_and),
        ("|", torch.bitwise_or), ("^", torch.bitwise_xor),
    )),
    Operation("a << 1", "a << 1", lambda a, b: a << 1),
    Operation("a >> 1", "a >> 1", lambda a, b: a >> 1),
    Operation("-a", "-a", lambda a, b: -a),
    Operation("where(a < b, a, b)", "tl.where(a < b, a, b)", torch.minimum),
    Operation("maximum", "tl.maximum(a, b)", torch.maximum),
    Operation("minimum", "tl.minimum(a, b)", torch.minimum),
    Operation("clamp", "tl.clamp(a, b - b, b)", lambda a, b: a.clamp(min=0).minimum(b)),
    Operation("fma", "tl.fma(a, b, a)", lambda a, b: a * b + a),
    Operation("div_rn", "tl.div_rn(a, b)", lambda a, b: a / b),
    Operation("fdiv", "tl.fdiv(a, b)", lambda a, b: a / b),
    Operation("umulhi", "tl.umulhi(a, b)", lambda a, b: a * 0),
    *(_unary(name, getattr(torch, name)) for name in (
        "abs", "exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "floor", "ceil", "sigmoid",
    )),
    _unary("sqrt_rn", torch.sqrt),
    Operation("softmax", "tl.softmax(a)", lambda a, b: torch.softmax(a, 0)),
    *(Operation(name, f"tl.{name}(a, 0)", function) for name, function in (
        ("sum", lambda a, b: a.sum()), ("max", lambda a, b: a.max()), ("min", lambda a, b: a.min()),
        ("xor_sum", lambda a, b: __import__("functools").reduce(torch.bitwise_xor, a)),
        ("argmax", lambda a, b: a.argmax()), ("argmin", lambda a, b: a.argmin()),
        ("cumsum", lambda a, b: a.cumsum(0)),
        ("sort", lambda a, b: a.sort().values), ("flip", lambda a, b: a.flip(0)),
    )),
    Operation(
        "cumprod", "tl.cumprod(tl.where(i < 3, a, tl.full([N], 1, a.dtype)), 0)",
        lambda a, b: torch.cat([a[:3], b[3:] * 0 + 1]).cumprod(0),
    ),
    Operation("associative_scan", "tl.associative_scan(a, 0, larger)", lambda a, b: a.cummax(0).values),
    Operation("histogram", "tl.histogram(a, 16)", lambda a, b: torch.bincount(a, minlength=16)),
    Operation("gather", "tl.gather(a, 63 - i, 0)", lambda a, b: a.flip(0)),
    Operation("trans", "tl.reshape(tl.trans(tl.reshape(a, [8, 8])), [64])", lambda a, b: _matrix(a).T.reshape(-1)),
    Operation("join", "tl.reshape(tl.join(a, b), [128])", lambda a, b: torch.stack([a, b], 1).reshape(-1)),
    Operation("interleave", "tl.interleave(a, b)", lambda a, b: torch.stack([a, b], 1).reshape(-1)),
    Operation("split", "x0 + x1", lambda a, b: a[0::2] + a[1::2], "x0, x1 = tl.split(tl.reshape(a, [32, 2]))"),
    Operation("cat", "tl.cat(a, b, can_reorder=True)", lambda a, b: torch.cat([a, b])),
    Operation(
        "broadcast", "tl.max(tl.maximum(a[:, None], b[None, :]), 1)", lambda a, b: torch.maximum(a, b.max())
    ),
    Operation("reduce, 2 axes", "tl.max(tl.reshape(a, [8, 8]), 1)", lambda a, b: _matrix(a).max(1).values),
    Operation(
        "dot", "tl.reshape(tl.dot(x, tl.trans(x)), [1024])", _product, _SQUARE,
    ),
    Operation(
        "dot_scaled", "tl.reshape(tl.dot_scaled(x, s, FORMAT, tl.trans(x), s, FORMAT), [1024])", _product,
        f"{_SQUARE}\n    {_SCALE}",
    ),
    Operation("topk", "tl.topk(a, 8)", lambda a, b: a.sort(descending=True).values[:8]),
    Operation("randint", "tl.randint(7, a)", _random),
    Operation("rand", "tl.rand(7, a)", _uniform),
    Operation(
        "cast to fp8e4b15 and back", "(a > 4).to(a.dtype).to(tl.float8e4b15).to(a.dtype)", lambda a, b: (a > 4) * 1.0
    ),
    _atomic("atomic_add", lambda a, b: a + b), _atomic("atomic_max", torch.maximum),
    _atomic("atomic_min", torch.minimum), _atomic("atomic_and", torch.bitwise_and),
    _atomic("atomic_or", torch.bitwise_or), _atomic("atomic_xor", torch.bitwise_xor),
    _atomic("atomic_xchg", lambda a, b: b),
    Operation(
        "atomic_cas", "tl.load(o + i)", lambda a, b: b, "tl.store(o + i, a)\n    tl.atomic_cas(o + i, a, b)"
    ),
)  # fmt: skip
"""Every row."""
_HEAD = """import triton
import triton.language as tl


@triton.jit
def larger(x, y):
    return tl.maximum(x, y)
"""


def kernels(folder: Path, chosen: list[Operation]) -> ModuleType:
    """A module with one kernel an operation, `k0`, `k1`, ..."""
    parts = [_HEAD]
    for number, operation in enumerate(chosen):
        lines = [f"def k{number}(p, q, o, r, N: tl.constexpr, M: tl.constexpr, FORMAT: tl.constexpr):"]
        lines += ["    i = tl.arange(0, N)", "    a, b = tl.load(p + i), tl.load(q + i)"]
        lines += [f"    {operation.setup}"] if operation.setup else []
        lines += [f"    c = {operation.expression}", "    if M == 1:", "        tl.store(r, c)", "    else:"]
        lines.append(f"        tl.store(r + tl.arange(0, M), c{operation.last and ', ' + operation.last})")
        parts.append("@triton.jit\n" + "\n".join(lines) + "\n")
    path = folder / "language_kernels.py"
    path.write_text("\n\n".join(parts), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("language_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def inputs(dtype: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Small positive numbers that every dtype holds exactly; b is never 0."""
    if dtype == "bool":
        return torch.arange(N) % 3 == 0, torch.ones(N, dtype=torch.bool)
    a, b = torch.arange(N) * 7 % 8 + 1, torch.arange(N) * 5 % 4 + 1
    return a.to(getattr(torch, dtype)), b.to(getattr(torch, dtype))


def expected(operation: Operation, dtype: str) -> torch.Tensor | None:
    """The reference's values, as float64 or int64; None where PyTorch has none."""
    wide = torch.float64 if dtype.startswith(("float", "bfloat")) else torch.int64
    a, b = (x.float().to(wide) if wide == torch.float64 else x.to(wide) for x in inputs(dtype))
    try:
        return torch.as_tensor(operation.reference(a, b)).reshape(-1)
    except (RuntimeError, TypeError, NotImplementedError):
        return None


@contextmanager
def diagnostics(said: list[str]) -> Iterator[None]:
    """Put into `said` what MLIR writes to standard error, not into its exceptions: the first error, with its line."""
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
            file.seek(0)
            lines = file.read().decode("utf-8", "replace").splitlines()
            found = ((line.partition(": error: ")[2], at) for at, line in enumerate(lines) if ": error: " in line)
            for message, at in found:
                source = lines[at + 1].strip() if at + 1 < len(lines) else ""
                message = re.sub(r"tensor<(\d+)x\w+>", r"tensor<\1 x this dtype>", message)
                said[:] = [f"{message}, at `{source}`" if source else message]
                break


def _general(text: str, dtype: str) -> str:
    """A reason without the name of the dtype that it is about."""
    return re.sub(
        rf"(triton\.language\.|\b)({dtype}|{SHORT.get(dtype, dtype)}|{_FRONT.get(dtype, dtype)})\b", "this dtype", text
    )


def cell(kernel: Any, operation: Operation, dtype: str) -> str:
    """Empty if the operation is right on this dtype; else why it is refused."""
    from bringup.vpe import VpeCompileError

    a, b = inputs(dtype)
    wanted = expected(operation, dtype)
    size = N if wanted is None else wanted.numel()
    kinds = {"argmax": torch.int32, "argmin": torch.int32, "histogram": torch.int32, "randint": torch.int32}
    kinds |= {"rand": torch.float32, "dot_scaled": torch.float32}
    kind = kinds.get(operation.name, a.dtype)
    if operation.name in ("a / b", "fdiv") and dtype in INTEGERS:
        kind = torch.float32
    if operation.name == "dot":
        kind = torch.int32 if dtype == "int8" else (torch.float64 if dtype == "float64" else torch.float32)
    if operation.name in ("sum", "cumsum") and dtype in ("bool", "int8", "int16"):
        kind = torch.int32
    if operation.name in ("sum", "cumsum") and dtype in ("uint8", "uint16"):
        kind = torch.uint32
    result, out = torch.zeros(size, dtype=kind), torch.zeros(N, dtype=a.dtype)
    said: list[str] = []
    try:
        with diagnostics(said):
            kernel[(1,)](a, b, out, result, N=N, M=size, FORMAT=_SCALED.get(dtype, dtype))
    except VpeCompileError as error:
        return _general(re.sub(r"^\S+ error: ", "", str(error).splitlines()[1]), dtype)
    except (triton.CompilationError, RuntimeError) as error:
        inner: BaseException = error
        while inner.__cause__ is not None:
            inner = inner.__cause__
        lines = said or [line for line in str(inner).splitlines() if line.strip(" ^")]
        return _general(f"the front end: {lines[-1] if lines else type(inner).__name__}", dtype)
    if wanted is None:
        return "no reference"
    got = (result.float() if "float8" in str(result.dtype) else result).to(torch.float64)
    if str(kind).startswith("torch.uint"):
        # as signed numbers of 64 bits, in which the reference wraps
        bits = 8 * kind.itemsize
        got = (result.view(torch.int64) if bits == 64 else result.to(torch.int64)).to(torch.float64)
        wanted = wanted if bits == 64 else wanted.to(torch.int64) % (1 << bits)
    bound = 0.0
    if kind.is_floating_point:
        bound = ROUNDING[str(kind).removeprefix("torch.")] + 4 * ROUNDING.get(dtype, 0.0)
    if kind == torch.bool:
        # arithmetic of one bit; a shift makes an integer of it first
        wanted = wanted != 0 if "<<" in operation.name else wanted.to(torch.int64) & 1
    wanted = wanted.to(torch.float64)
    right = bool((got - wanted).abs().le(bound * wanted.abs().clamp(min=1e-2)).all())
    return "" if right else "wrong values"


def measure(profile: str, chosen: list[Operation], module: ModuleType) -> dict[str, dict[str, str]]:
    """Why each operation is refused on each dtype (empty: it passes)."""
    from bringup import vpe

    vpe.activate(profile)
    return {
        operation.name: {dtype: cell(getattr(module, f"k{number}"), operation, dtype) for dtype in DTYPES}
        for number, operation in enumerate(chosen)
    }


def rows(only: str = "*") -> tuple[dict[str, dict[str, dict[str, str]]], list[Operation]]:
    """Results by profile, operation and dtype for the operations whose names match."""
    chosen = [one for one in OPERATIONS if any(fnmatch.fnmatch(one.name, glob) for glob in only.split(","))]
    with tempfile.TemporaryDirectory() as folder:
        module = kernels(Path(folder), chosen)
        found = {profile: measure(profile, chosen, module) for profile in PROFILES}
    return found, chosen


def table(found: dict[str, dict[str, str]], reasons: dict[str, int]) -> list[str]:
    """Markdown lines of one profile's table; numbers the reasons."""
    lines = ["| operation | " + " | ".join(SHORT.get(d, d) for d in DTYPES) + " |", "| --- |" + " --- |" * len(DTYPES)]
    for name, cells in found.items():
        marks = ["✓" if not why else str(reasons.setdefault(why, len(reasons) + 1)) for why in cells.values()]
        lines.append(f"| {name.replace('|', chr(92) + '|')} | " + " | ".join(marks) + " |")
    return lines


_INTRODUCTION = """# The language by operation and dtype

What `python benchmarks/vpe_language.py --write` found: each operation ran on 64 elements of each dtype, and its values
were compared with PyTorch's in float64 or int64. A number is a refusal, explained below the tables. `permissive` is the
language itself, `pe64` what the default chip has of it. PyTorch has no fp8e4b15, so that it is a row. fp8e4b8,
fp8e5b16, and pairs of fp4 in `tl.dot_scaled`, have tests of their own.
"""


def page(found: dict[str, dict[str, dict[str, str]]]) -> str:
    """The whole page."""
    reasons: dict[str, int] = {}
    text = [_INTRODUCTION]
    for profile, results in found.items():
        cells = [why for row in results.values() for why in row.values()]
        count = f"{cells.count('')} of {len(cells)} cells pass."
        text += [f"## `{profile}`", "", count, "", *table(results, reasons), ""]
    text += ["## Why not", "", *(f"{number}. {why.replace('|', chr(92) + '|')}" for why, number in reasons.items())]
    return "\n".join(text) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", help="globs of operations, separated by commas")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    found, _ = rows(options.only)
    text = page(found)
    if options.write:
        if options.only != "*":
            sys.exit("--write needs all operations: leave --only out")
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
