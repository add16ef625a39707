"""Verifies a kernel against a profile, before code is made: each broken rule with source line, figure, limit
and advice.

All problems of a kernel are collected; the compiler refuses it with a short message (one paragraph a problem)
and a log.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bringup.vpe import sources
from bringup.vpe.chains import MOST_IN_CHAIN, chains
from bringup.vpe.ir import TRITON_NAMES, Block, Func, Module, Op, Type, Value
from bringup.vpe.lower.elementwise import CANONICAL
from bringup.vpe.lower.kernel import KNOWN
from bringup.vpe.lower.owners import ACCESSES, Owners
from bringup.vpe.lower.plan import Plan
from bringup.vpe.parse import frames
from bringup.vpe.profile import Profile

_TL_NAMES: dict[str, tuple[str, ...]] = {
    "tt.dot": ("dot",), "tt.dot_scaled": ("dot_scaled",), "tt.gather": ("gather",), "tt.histogram": ("histogram",),
    "tt.cat": ("cat",), "tt.join": ("join", "interleave", "ravel", "reshape"), "tt.split": ("split", "sort", "topk"),
    "tt.trans": ("trans", "permute"), "tt.atomic_cas": ("atomic_cas",), "tt.print": ("device_print",),
    "tt.assert": ("device_assert",), "tt.map_elementwise": ("map_elementwise",),
    "tt.elementwise_inline_asm": ("inline_asm_elementwise",), "tt.mulhiui": ("umulhi", "philox", "rand",
    "randn", "randint"),
    "tt.scan": ("associative_scan", "cumsum", "cumprod"),
    "tt.reduce": ("reduce", "sum", "max", "min", "argmax", "argmin", "xor_sum", "reduce_or", "sort", "topk", "flip"),
    "tt.precise_sqrt": ("sqrt_rn",), "tt.precise_divf": ("div_rn",), "tt.clampf": ("clamp",), "math.fma": ("fma",),
    "math.exp": ("exp", "softmax", "sigmoid"), "math.exp2": ("exp2",), "math.log": ("log",), "math.log2": ("log2",),
    "math.sin": ("sin",), "math.cos": ("cos",), "math.sqrt": ("sqrt",), "math.rsqrt": ("rsqrt",), "math.erf": ("erf",),
    "math.floor": ("floor",), "math.ceil": ("ceil",), "math.absf": ("abs",), "math.absi": ("abs",),
    "arith.select": ("where",),
}  # fmt: skip
_RMW = {
    "fadd": "atomic_add", "add": "atomic_add", "max": "atomic_max", "umax": "atomic_max", "min": "atomic_min",
    "umin": "atomic_min", "and": "atomic_and", "or": "atomic_or", "xor": "atomic_xor", "exch": "atomic_xchg",
}  # fmt: skip
_DTYPED = {"tt.dot", "tt.trans", "tt.gather", "tt.cat", "tt.join", "tt.histogram", "tt.atomic_rmw", "tt.atomic_cas"}


@dataclass(frozen=True)
class Problem:
    """One broken rule."""

    op: Op
    rule: str
    text: str
    """What is wrong, with the figure and the limit."""
    advice: str


def check(module: Module, profile: Profile, options: Any) -> tuple[list[Problem], int]:
    """Find every broken rule; also gives the bytes of local memory that the kernel's live tensors take."""
    problems: list[Problem] = []
    live = 0
    owners = Owners(module) if getattr(options, "one_owner", False) else None
    for func in module.funcs.values():
        plan = Plan(func)
        checker = _Checker(profile, options, plan, problems, module, owners)
        for block in func.blocks:
            checker.block(block)
        live += checker.local_memory(func, live)  # a function that is called has its room beside its callers'
        if func.public:
            checker.streams()
            checker.chains()
    return problems, live


def _ill_typed(op: Op, symbol: str) -> str | None:
    """What a call of a library's function says of itself and is not so; Triton's own verifier does not look."""
    from bringup.vpe.libdevice import UnknownMathFunction, result_of

    declared = op.result.type
    try:
        result = result_of(symbol, tuple(value.type.elem for value in op.operands))
    except UnknownMathFunction as error:
        return str(error)
    if result != declared.elem:
        return f"{symbol} gives {result}, and the call says {declared.elem}"
    return None


class _Checker:
    def __init__(
        self, profile: Profile, options: Any, plan: Plan, problems: list[Problem], module: Module,
        owners: Owners | None,
    ) -> None:  # fmt: skip
        self.profile, self.options, self.plan, self.problems, self.module = profile, options, plan, problems, module
        self.owners = owners
        self.seen: set[tuple[object, ...]] = {(*place(module, p.op), p.rule, p.text) for p in problems}

    def add(self, op: Op, rule: str, text: str, advice: str) -> None:
        """Note a problem, once for each source line."""
        key = (*place(self.module, op), rule, text)
        if key not in self.seen:
            self.seen.add(key)
            self.problems.append(Problem(op, rule, text, advice))

    def block(self, block: Block) -> None:
        for op in block.everything:
            self.op(op)
            for region in op.regions:
                self.block(region)

    def op(self, op: Op) -> None:
        if op.name not in KNOWN or op.name == CANONICAL:
            shown = op.name.removeprefix("tt.")
            self.add(op, "unsupported operation", f"'{shown}' has no lowering on vpe", _advice(op.name))
            return
        self.names(op)
        if op.name in ACCESSES and self.owners is not None:
            self.owner(op, self.owners)
        for value in (*op.operands, *op.results):
            self.type(op, value.type)
        handler: Callable[[Op], None] | None = getattr(self, "_" + op.name.replace(".", "_"), None)
        if handler is not None:
            handler(op)

    def chains(self) -> None:
        """A stack has an end, which is another one in each process: calls that end in themselves, and long chains."""
        found = chains(self.module)
        for op in found.recursive:
            self.add(op, "recursion", "this function calls itself, here or through others", "write a loop")
        if not found.recursive and found.size > MOST_IN_CHAIN:
            self.add(
                found.call or self.module.kernel.blocks[0].ops[0], "length",
                f"functions that call each other hold {found.size:,} registers at once, {MOST_IN_CHAIN:,} are allowed",
                "write loops, or several kernels",
            )  # fmt: skip

    def owner(self, op: Op, owners: Owners) -> None:
        """An address is checked against the one argument that it comes from: how far apart two lie is chance."""
        if owners.of(op.operands[0]) is None:
            self.add(
                op, "pointer", "this pointer may come from more than one argument: its bounds are not known",
                "load through each pointer, and choose between the values",
            )  # fmt: skip

    def in_library(self, op: Op) -> bool:
        """Whether an operation comes from Triton's own library: sorting reshapes to a hypercube."""
        stack = frames(self.module, op.loc)
        return bool(stack) and f"{os.sep}triton{os.sep}language{os.sep}" in stack[0].file

    def names(self, op: Op) -> None:
        profile = self.profile
        if op.name == "tt.extern_elementwise":
            from bringup.vpe.libdevice import name_of

            symbol = op.attrs["symbol"].strip('"')
            name = name_of(symbol)
            if name is None:
                self.add(
                    op,
                    "unknown function",
                    f"libdevice has no function {symbol}",
                    "see `bringup targets show` for the list",
                )
            elif not profile.allows_libdevice(name):
                self.add(
                    op, "libdevice function not allowed", f"libdevice.{name} does not exist on {profile.name}",
                    "build it from the functions that the chip has",
                )  # fmt: skip
            elif (wrong := _ill_typed(op, symbol)) is not None:
                self.add(op, "call of a function", wrong, f"write libdevice.{name}(...)")
            return
        if op.name == "tt.atomic_rmw":
            names: tuple[str, ...] = (_RMW.get(op.attrs["bare"].split(",")[0].strip(), "atomic_add"),)
        else:
            names = _TL_NAMES.get(op.name, ())
        if not names:
            return
        if not any(profile.allows_tl(name) for name in names):
            self.add(op, "tl function not allowed", f"tl.{names[0]} does not exist on {profile.name}", _advice(op.name))
        elif op.name in _DTYPED:
            value = (op.operands[1] if op.name.startswith("tt.atomic") else op.operands[0]).type
            dtype = TRITON_NAMES[value.elem]
            restricted = profile.tl_dtypes.get(names[0])
            unsigned = "u" + dtype
            if restricted is not None and dtype not in restricted and unsigned not in restricted:
                self.add(
                    op, "dtype not allowed here", f"tl.{names[0]} takes {', '.join(restricted)} on "
                    f"{profile.name}, not {dtype}",
                    "cast the operands first",
                )  # fmt: skip

    def type(self, op: Op, type_: Type) -> None:
        profile = self.profile
        name = TRITON_NAMES[type_.elem]
        if type_.elem == "ptr":
            name = TRITON_NAMES[type_.target.elem] if type_.pointee else "int64"
        if name == "pointer":
            return
        if not profile.allows_dtype(name) and not profile.allows_dtype("u" + name):
            self.add(
                op, "dtype not supported", f"{name} does not exist on {profile.name} (it has "
                f"{', '.join(profile.dtypes)})",
                "use fp32 for intermediate results" if name == "fp64" else "cast to a dtype that the chip has",
            )  # fmt: skip
        limits = profile.limits
        if len(type_.dims) > limits.tensor_rank and not self.in_library(op):
            self.add(
                op, "tensor rank", f"rank {len(type_.dims)} of {type_} is above the limit of {limits.tensor_rank}",
                "reshape to fewer axes",
            )  # fmt: skip
        if type_.numel > limits.tensor_numel:
            self.add(
                op,
                "tensor size",
                f"{type_} has {type_.numel} elements, the limit is {limits.tensor_numel}",
                "use a smaller BLOCK",
            )

    def _tt_store(self, op: Op) -> None:
        pointer = op.operands[0]
        self._last_axis(op, op.operands[1].type)
        if not pointer.type.is_tensor or pointer.type.numel == 1 or self.plan.affine.of(pointer) is not None:
            return
        features = self.profile.features
        allowed = features.scatter_stores or (features.scatter_stores_option and self.options.enable_scatter_stores)
        if not allowed:
            advice = "make the offsets a sum of start + stride * tl.arange for each axis"
            if features.scatter_stores_option:
                advice += ", or launch with enable_scatter_stores=True"
            self.add(
                op, "scatter store", "the addresses of this store have no stride known to the compiler (they "
                "come from loaded data, "
                "a remainder, tl.where or the like), and scatter stores are switched off", advice,
            )  # fmt: skip

    def _tt_load(self, op: Op) -> None:
        pointer = op.operands[0]
        self._last_axis(op, op.result.type)
        if not pointer.type.is_tensor or pointer.type.numel == 1 or self.plan.affine.of(pointer) is not None:
            return
        if not self.profile.features.gather_loads:
            self.add(
                op, "gather load", "the addresses of this load have no stride known to the compiler, and "
                f"{self.profile.name} has no gather loads",
                "make the offsets a sum of start + stride * tl.arange for each axis",
            )  # fmt: skip

    def _last_axis(self, op: Op, type_: Type) -> None:
        multiple = self.profile.limits.last_axis_multiple_bytes
        if multiple is None or not type_.is_tensor:
            return
        row = type_.dims[-1] * type_.bytes
        if row % multiple:
            self.add(
                op, "last axis", f"the last axis of {type_} is {row} bytes, not a multiple of {multiple}",
                f"make it a multiple of {multiple // type_.bytes} elements",
            )  # fmt: skip

    def _tt_dot(self, op: Op) -> None:
        result = op.result.type
        if len(result.dims) == 3 and not self.profile.features.dot_3d:
            self.add(
                op, "3-D dot", f"tl.dot on rank 3 ({op.operands[0].type}): the matrix unit takes matrices only",
                "loop over the batch axis, or make it an axis of the grid",
            )  # fmt: skip
        limit = self.profile.limits.dot_accumulator_row_bytes
        row = result.dims[-1] * result.bytes
        if limit is not None and row < limit:
            self.add(
                op, "dot accumulator", f"rows of the accumulator {result} are {row} bytes, the matrix unit "
                f"needs at least {limit}",
                f"use at least {limit // result.bytes} columns (BLOCK_N), padding and masking the rest",
            )  # fmt: skip

    def _tt_gather(self, op: Op) -> None:
        if self.profile.limits.gather_axis == "last" and op.int_attr("axis") != len(op.operands[0].type.dims) - 1:
            self.add(
                op,
                "gather axis",
                f"tl.gather along axis {op.int_attr('axis')}; only the last axis is allowed",
                "transpose first",
            )

    def streams(self) -> None:
        """Load and store sites use one DMA stream each, those of functions that the kernel calls as well."""
        limit = self.profile.limits.dma_streams
        if limit is None:
            return
        accesses = [op for op in self.module.walk() if op.name in ("tt.load", "tt.store")]
        sites = [op for op in accesses if op.operands[0].type.is_tensor]
        if len(sites) > limit:
            self.add(
                sites[limit], "DMA streams",
                f"the kernel has {len(sites)} load and store sites on blocks; a PE has {limit} circular "
                "buffers, one for each",
                "split the kernel, keep values instead of loading them again, or turn unrolled accesses into a loop",
            )  # fmt: skip

    def local_memory(self, func: Func, others: int) -> int:
        """Peak of live tensors; a problem if it, with those of `others`, is above the local memory of a PE."""
        peak = _Peak(self.plan)
        for block in func.blocks:
            peak.block(block)
        usable = self.profile.memory.usable_local_bytes
        if usable is not None and others + peak.best > usable:
            largest = sorted(peak.at_best, key=lambda value: -value.type.nbytes)[:5]
            listed = ", ".join(
                f"{value.name.split('#')[0]} {value.type} ({value.type.nbytes} bytes)" for value in largest
            )
            op = peak.op if peak.op is not None else func.blocks[0].ops[0]
            self.add(
                op, "local memory", f"the tensors alive at this point take {others + peak.best} bytes, a program has "
                f"{usable}; the largest: {listed}",
                "use smaller blocks, or load in a loop what is not needed at once",
            )  # fmt: skip
        return peak.best


class _Peak:
    """Walks a function in order and adds up the buffers that are alive."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.live: dict[Value, int] = {}
        self.best = 0
        self.op: Op | None = None
        self.at_best: list[Value] = []

    def take(self, value: Value, op: Op) -> None:
        """A buffer comes to life."""
        root = self.plan.root(value)
        if root in self.plan.in_place or root in self.live or not root.type.is_tensor:
            return
        self.live[root] = root.type.nbytes
        total = sum(self.live.values())
        if total > self.best:
            self.best, self.op, self.at_best = total, op, list(self.live)

    def block(self, block: Block) -> None:
        """Walk a block."""
        for op in block.ops:
            if op.name in ("scf.for", "scf.while"):
                for value in op.regions[0].args:
                    if value.type.is_tensor and value not in self.plan.affine.carried:
                        self.take(value, op)
            if op.name.startswith("scf."):
                for region in op.regions:
                    self.block(region)
            if op.name in ("scf.for", "scf.while"):
                for value in op.regions[0].args:
                    self.live.pop(value, None)
            for value in op.results:
                if self.plan.is_buffer(value) and value not in self.plan.affine.carried:
                    self.take(value, op)
            for value in self.plan.dead_after.get(op, ()):
                self.live.pop(value, None)


def _advice(name: str) -> str:
    return {
        "tt.elementwise_inline_asm": "write the computation with tl operations: there is no assembler for this chip",
        "tt.dot_scaled": "multiply by the scales and use tl.dot",
        "tt.atomic_cas": "use tl.atomic_add, tl.atomic_max or tl.atomic_min, or give each program its own output",
        "tt.map_elementwise": "write the function with tl.where",
    }.get(name, "rewrite this line with operations that the chip has")


def where(module: Module, op: Op) -> tuple[str, int, str]:
    """File, line and text of the kernel's source for an operation: the outermost frame outside of Triton's library."""
    file, line = place(module, op)
    return (file, line, sources.line(file, line)) if file else ("", 0, "")


def place(module: Module, op: Op) -> tuple[str, int]:
    """File and line of `where`; no file is read."""
    stack = frames(module, op.loc)
    mine = [frame for frame in stack if f"{os.sep}triton{os.sep}language{os.sep}" not in frame.file]
    if not (mine or stack):
        return "", 0
    frame = (mine or stack)[0]
    return (frame.file, frame.line) if frame.file else ("", 0)


def report(module: Module, profile: Profile, problems: list[Problem]) -> tuple[str, str]:
    """The short message and the whole log."""
    kernel = module.kernel
    paragraphs = []
    for problem in problems:
        file, line, text = where(module, problem.op)
        place = f"{file}:{line}" if file else "unknown place"
        paragraphs.append(
            f"{place}: error: {problem.rule}: {problem.text}\n"
            + (f"    {text.strip()}\n" if text.strip() else "")
            + f"  operation: {problem.op.name}\n  help: {problem.advice}"
        )
    plural = "s" if len(problems) > 1 else ""
    short = f"vpe:{profile.name}: kernel '{kernel.name}' was refused, {len(problems)} problem{plural}\n" + "\n".join(
        paragraphs
    )
    log = [
        f"vpe compiler, profile {profile.name} ({profile.title})",
        f"kernel {kernel.name}({', '.join(f'{value.name}: {value.type}' for value in kernel.args)})",
        f"alignment rule: {profile.alignment_text}",
        "pass: read TTIR ... done",
        "pass: verify ... failed",
        "",
        *paragraphs,
        "",
        "note: the module at the point of failure:",
        module.text,
        f"error: kernel '{kernel.name}' was refused, {len(problems)} problem{plural} (see above)",
    ]
    return short, "\n".join(log)
