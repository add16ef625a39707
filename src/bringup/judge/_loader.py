"""Turn a candidate's source text into a module: the names that it may use are provided, nothing is imported."""

from __future__ import annotations

import ast
import linecache
import math
import sys
import types
from typing import Any

from bringup.device.wire import SOURCE

FILENAME = SOURCE


def provided_names() -> dict[str, Any]:
    """Return the names that every candidate finds: torch, triton, tl, math and libdevice."""
    import torch
    import triton
    import triton.language as tl
    from triton.language.extra import libdevice

    return {"torch": torch, "triton": triton, "tl": tl, "math": math, "libdevice": libdevice}


def load(source: str) -> types.ModuleType:
    """Execute `source` as a module called `candidate`; raises whatever it raises."""
    # Triton reads a kernel's source through `inspect`, which finds it in the line cache. It appends nothing to
    # the text, so line numbers in every message are those that the model wrote.
    linecache.cache[FILENAME] = (len(source), None, source.splitlines(keepends=True), FILENAME)
    tree = ast.parse(source, FILENAME)
    module = types.ModuleType("candidate")
    module.__file__ = FILENAME
    module.__dict__.update(provided_names())
    sys.modules[module.__name__] = module  # where dataclasses and others look for the module of a class
    # The candidate is untrusted; this runs in an isolated worker only.
    exec(compile(tree, FILENAME, "exec"), module.__dict__)
    return module
