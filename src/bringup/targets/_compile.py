"""Compiling TTIR text with Triton's own backends: needs no GPU, runs in a process that is thrown away."""

from __future__ import annotations

import contextlib
import math
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from bringup.device import Kernel
from bringup.device.elements import pointed_bytes
from bringup.device.engine import FENCE
from bringup.targets._fence import fenced
from bringup.targets._resources import resources_of
from bringup.vpe.flows import flows
from bringup.vpe.parse import ParseError, parse

# Options of a launch that its author may choose. Paths, assembler flags and the like are not among them.
OPTIONS = (
    "num_warps", "num_ctas", "num_stages", "maxnreg", "enable_fp_fusion", "debug", "sanitize_overflow",
    "default_dot_input_precision", "max_num_imprecise_acc_default", "launch_cooperative_grid", "launch_pdl",
    "allow_flush_denorm", "waves_per_eu", "matrix_instr_nonkdim", "kpack",
)  # fmt: skip
_TO_POINTERS = re.compile(r"!tt\.ptr<(?:tensor<[^>]*x)?!tt\.ptr<")
_ACCESS = re.compile(r"\btt\.(?:load|store|atomic|descriptor_|experimental_descriptor_|gather|scatter)")
_NAMED = "a kernel gets its memory as arguments; pass the tensors to the launch, a few at a time where there are many"
_CONSTANT = re.compile(r"\b(?:arith\.constant|llvm\.mlir\.constant)\b")
_TABLE = re.compile(r"\bdense(?:<[\[\"]|_resource<)[^>]*>\s*:\s*(?:tensor|vector)<((?:\d+x)+)")
_RANGE_START = re.compile(r"\btt\.make_range\b[^}]*\bstart = (?!0\b)")
_CASE = re.compile(r"\bcase -?\d|-?\d+: \^bb")
_BLOCKS = re.compile(r"\btt\.(?:make_tensor_ptr|make_tensor_descriptor|descriptor_)")
_ASSEMBLY = re.compile(r'inline_asm\s+"((?:[^"\\]|\\.)*)"|\basm_string = "((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\[0-9A-F]{2}")
_NUMBER = re.compile(r"(?<![\w$%.])(?:0[xXfFdD][0-9a-fA-F]+|\d[\d.]*)")
_FOREIGN = re.compile(r"\bllvm\.(?!intr\.)[\w.]+")  # only what Triton's front end itself makes is Triton's language
_PRINTS = re.compile(r"\btt\.(?:print|assert)\b")
_ENTRY = re.compile(r"\btt\.func\b(?! private\b)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def gpu_target(spec: str) -> tuple[str, str | int, int]:
    """Return Triton's target for `cuda:sm_90`, `hip:gfx942` and the like; raises ValueError for anything else."""
    backend, _, arch = spec.partition(":")
    if backend == "cuda" and arch.startswith("sm_") and arch[3:].isdigit():
        return "cuda", int(arch[3:]), 32
    if backend == "hip" and arch.startswith("gfx"):
        return "hip", arch, 64 if arch.startswith("gfx9") else 32
    raise ValueError(f"compile target '{spec}' is not of the form cuda:sm_NN or hip:gfxNNN")


def verified(text: str) -> Any:
    """Parse TTIR and check it by its own rules; raises RuntimeError for what is none."""
    from triton._C.libtriton import ir

    context = ir.context()
    ir.load_dialects(context)
    with _as_file(text) as path:
        module = ir.parse_mlir_module(path, context)
    module.context = context
    return module


@contextlib.contextmanager
def _as_file(text: str) -> Iterator[str]:
    """The path of a file that holds a text; errors quote it, and guests are told these.

    So every compiling process, which is one of two in a world of its own, has the same one.
    """
    path = os.path.join(tempfile.gettempdir(), f"kernel-{os.getpid()}-{threading.get_native_id()}.ttir")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # of a process that was killed
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
        file.write(text)
    try:
        yield path
    finally:
        os.unlink(path)


_POINTED = re.compile(r"!tt\.ptr<(?:tensor<[^>]*x)?(\w+)")


def refuse_addresses(text: str) -> None:
    """Raise RuntimeError for a kernel that makes a number of an address, or an address of a number.

    Where its data lie tells a kernel who calls. An address becomes a number by `tt.ptr_to_int`, or in memory, where a
    pointer is written and a number read. A table of addresses that a kernel may follow is one of numbers that it may
    look at as well, so nothing makes a pointer of a number either: a launch names its memory.
    """
    for line in text.splitlines():
        if "tt.ptr_to_int" in line:
            raise RuntimeError("an address is made a number (tt.ptr_to_int): a kernel may not know where its data lie")
        if "tt.int_to_ptr" in line:
            raise RuntimeError(f"a number is made an address (tt.int_to_ptr): {_NAMED}")
        if _ACCESS.search(line) and _TO_POINTERS.search(line):
            if "tt.load" in line or "descriptor_load" in line:
                raise RuntimeError(f"an address is read from memory: {_NAMED}")
            raise RuntimeError("an address is written to memory: a kernel may not know where its data lie")


def signature_of(module: Any) -> tuple[str, list[str]]:
    """The kernel's name and the types of its arguments (`*fp32`, `i32`), as the text has them.

    Functions that are not inlined are private and no kernels. Raises RuntimeError for a text without a kernel.
    """
    name = module.get_entry_func_name()
    if not name or not module.has_function(name):
        raise RuntimeError("this text holds no kernel")
    return name, [str(kind) for kind in module.get_function_signature(module.get_function(name))]


def facts_of(module: Any) -> dict[str, Any]:
    """What the device process must know of a kernel's text: its arguments, and how much its author put into it."""
    text = str(module)
    return {
        "signature": signature_of(module)[1],
        "constants": constants_in(text),
        # What its author has chosen is counted on what MLIR has read: another lexer may take other parts for comments.
        "canonical": module.str_nodebug(),
        "recast": recast(module.str_nodebug()),
        "flows": flows_of(module.str_nodebug()),
    }


def flows_of(text: str) -> list[list[Any]] | None:
    """Through which arguments a kernel may store, and on the memory of which others that may hang, by position.

    None where the text has operations that nobody here reads: then on all, through all.
    """
    if _BLOCKS.search(text):
        text = _by_pointers(text)
    try:
        return [[place, sorted(others)] for place, others in flows(parse(text)).items()]
    except (ParseError, RecursionError):
        return None


def _by_pointers(text: str) -> str:
    """A text whose block pointers and descriptors are pointers, by Triton's own passes; as it is where these fail."""
    from triton._C.libtriton import ir, passes

    module = verified(text)
    manager = ir.pass_manager(module.context)
    passes.common.add_inliner(manager)
    passes.ttir.add_rewrite_tensor_pointer(manager)
    passes.ttir.add_rewrite_tensor_descriptor_to_pointer(manager)
    try:
        manager.run(module, "pointers")
    except RuntimeError:
        return text
    return str(module.str_nodebug())


def recast(text: str) -> bool:
    """Whether a kernel makes of a pointer one to elements of another size: what it is given says less than it does."""
    for line in text.splitlines():
        if "tt.bitcast" in line:
            kinds = _POINTED.findall(line)
            if len({pointed_bytes(kind) for kind in kinds}) > 1:
                return True
    return False


def constants_in(text: str) -> int:
    """How many numbers of its author's choice a kernel's text holds; each element of a table counts.

    Beside constants these are starts of ranges, cases of switches, and numbers in inline assembly.
    """
    count = len(_CONSTANT.findall(text)) + len(_RANGE_START.findall(text)) + len(_CASE.findall(text))
    for dims in _TABLE.findall(text):
        count += math.prod(int(n) for n in dims.rstrip("x").split("x")) - 1
    for found in _ASSEMBLY.finditer(text):
        count += len(_NUMBER.findall(_ESCAPE.sub(" ", found.group(1) or found.group(2) or "")))
    return count


def compile_with_triton(
    target: tuple[str, str | int, int], request: Mapping[str, Any], *, resources: bool = False
) -> Kernel:
    """Compile a text for one of Triton's own targets; no device need be visible. Raises the compiler's error.

    `resources`: look into what came of it; the kernel's facts have them under that name.
    """
    import triton
    from triton.backends.compiler import GPUTarget

    module = verified(str(request["text"]))
    text = str(module)
    name, _ = signature_of(module)
    bare = _STRING.sub("", text)
    foreign = _FOREIGN.search(bare)
    if foreign is not None:
        raise RuntimeError(f"kernel '{name}': {foreign.group()} is not of Triton's language")
    if len(_ENTRY.findall(bare)) > 1:
        raise RuntimeError(f"the text holds other kernels beside '{name}'")
    refuse_addresses(module.str_nodebug())
    facts = {**facts_of(module), "prints": bool(_PRINTS.search(text))}
    if request["options"].get(FENCE):
        text, accesses = fenced(module)
        facts[FENCE] = [[one.argument, one.what, one.line] for one in accesses]
    options = {key: value for key, value in request["options"].items() if key in OPTIONS and value is not None}
    with _as_file(text) as path:
        compiled = triton.compile(path, target=GPUTarget(*target), options=options)
    metadata = compiled.metadata
    for key in _FACTS:
        facts[key] = getattr(metadata, key, None)
    if resources:
        warps = int(getattr(metadata, "num_warps", 4) or 4)
        facts["resources"] = resources_of(target, compiled.asm, warps, int(metadata.shared))
    return Kernel(compiled.kernel, metadata.name or name, int(metadata.shared), facts)


_FACTS = (
    "num_warps", "num_ctas", "global_scratch_size", "global_scratch_align", "profile_scratch_size",
    "profile_scratch_align", "launch_cooperative_grid", "launch_pdl", "warp_size",
)  # fmt: skip
