"""Turn a candidate's source text into a module: the names that it may use are provided, nothing is imported."""

from __future__ import annotations

import ast
import linecache
import math
import types
from typing import Any

FILENAME = "candidate.py"


def provided_names() -> dict[str, Any]:
    """Return the names that every candidate finds: torch, triton, tl, math and libdevice."""
    import torch
    import triton
    import triton.language as tl
    from triton.language.extra import libdevice

    return {"torch": torch, "triton": triton, "tl": tl, "math": math, "libdevice": libdevice}


def load(source: str, *, kernels_only: bool = False, builtins: dict[str, Any] | None = None) -> types.ModuleType:
    """Execute `source` as a module called `candidate`; raises whatever it raises.

    `kernels_only` keeps just functions with a decorator and plain constants: what the compiler needs, so that the
    wrapper's code never runs where kernels are compiled. `builtins` replaces Python's own.
    """
    # Triton reads a kernel's source through `inspect`, which finds it in the line cache. It appends nothing to
    # the text, so line numbers in every message are those that the model wrote.
    linecache.cache[FILENAME] = (len(source), None, source.splitlines(keepends=True), FILENAME)
    tree = ast.parse(source, FILENAME)
    if kernels_only:
        tree.body = [node for node in tree.body if _is_kernel_part(node)]
    module = types.ModuleType("candidate")
    module.__file__ = FILENAME
    module.__dict__.update(provided_names())
    if builtins is not None:
        module.__dict__["__builtins__"] = builtins
    # The candidate is untrusted; this runs in an isolated worker only.
    exec(compile(tree, FILENAME, "exec"), module.__dict__)
    return module


def _is_kernel_part(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        return bool(node.decorator_list)
    return isinstance(node, ast.Assign | ast.AnnAssign)
