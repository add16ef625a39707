"""TTIR to a packed kernel: parse, check against the profile, lower."""

from __future__ import annotations

import traceback
from typing import Any

from bringup.vpe import state
from bringup.vpe.addressing import check_addressing
from bringup.vpe.arena import MOST_SCRATCH
from bringup.vpe.errors import VpeCompileError
from bringup.vpe.kernel import pack
from bringup.vpe.lower.evaluate import Unsupported
from bringup.vpe.lower.functions import Calls
from bringup.vpe.lower.kernel import lower
from bringup.vpe.parse import ParseError, parse
from bringup.vpe.shapes import check_shapes
from bringup.vpe.verify import Problem, check, report


def compile_ttir(ttir: str, options: Any) -> tuple[bytes, str, int]:
    """Compile a kernel for the current profile.

    Args:
        ttir: text of the TTIR module, with locations.
        options: `VpeOptions`.

    Returns:
        The packed kernel, its name, and the bytes of local memory that a program needs.

    Raises:
        VpeCompileError: the kernel breaks a rule of the profile or uses what cannot be lowered.
    """
    profile = state.profile_named(options.arch)
    try:
        module = parse(ttir)
        check_shapes(module)
    except ParseError as error:
        text = f"vpe cannot read this TTIR: {error}"
        raise VpeCompileError(text, f"{text}\n{ttir}") from None
    read = [value.type.elem == "ptr" for value in module.kernel.args]
    told = getattr(options, "signature", None)
    if told is not None and read != [kind.startswith("*") for kind in told]:
        raise VpeCompileError(f"vpe reads other arguments of '{module.kernel.name}' than MLIR does")
    problems, live = check(module, profile, options)
    if problems:
        raise _refuse(module, profile, problems)
    calls = Calls()
    try:
        lowered = lower(module, calls)
    except Unsupported as error:
        problem = Problem(
            error.op, "unsupported operation", error.why, "rewrite this line with operations that the chip has"
        )
        raise _refuse(module, profile, [problem]) from None
    except (ArithmeticError, AssertionError, LookupError, RecursionError, TypeError, ValueError) as error:
        # a defect of ours, told as such: the kernel may be right
        text = f"vpe: internal compiler error in kernel '{module.kernel.name}': {type(error).__name__}: {error}"
        raise VpeCompileError(text, f"{text}\n{traceback.format_exc()}\n{ttir}") from error
    if lowered.arena_bytes > MOST_SCRATCH:
        raise VpeCompileError(
            f"kernel '{module.kernel.name}' takes {lowered.arena_bytes >> 20} MiB for its blocks and what lies between "
            f"operations, {MOST_SCRATCH >> 20} MiB are allowed; use smaller blocks, loops in the place of "
            "tl.static_range, and one return"
        )
    return pack(ttir, lowered, list(calls.used), live), module.kernel.name, live


def check_source(module: Any, options: Any) -> None:
    """Check what only the front end's own output shows: which form of addressing a kernel uses.

    Raises:
        VpeCompileError: a form that the profile does not have.
    """
    profile = state.profile_named(options.arch)
    features = profile.features
    if (
        features.pointer_tensors
        and features.block_pointers
        and features.tensor_descriptors
        and features.mixed_addressing
    ):
        return
    stub, problems = check_addressing(str(module), profile)
    if problems:
        raise _refuse(stub, profile, problems)


def _refuse(module: Any, profile: Any, problems: list[Problem]) -> VpeCompileError:
    short, log = report(module, profile, problems)
    return VpeCompileError(short, log, tuple(problem.text for problem in problems))
