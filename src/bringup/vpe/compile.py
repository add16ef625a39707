"""TTIR to a packed kernel: parse, check against the profile, lower."""

from __future__ import annotations

from typing import Any

from bringup.vpe import state
from bringup.vpe.errors import VpeCompileError
from bringup.vpe.kernel import pack
from bringup.vpe.legalise import Problem, check, report
from bringup.vpe.lower.core import Unsupported
from bringup.vpe.lower.functions import Calls
from bringup.vpe.lower.kernel import lower
from bringup.vpe.parse import ParseError, parse


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
    except ParseError as error:
        raise VpeCompileError(f"vpe cannot read this TTIR: {error}", ttir) from None
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
    return pack(ttir, lowered, list(calls.used), live), module.kernel.name, live


def _refuse(module: Any, profile: Any, problems: list[Problem]) -> VpeCompileError:
    short, log = report(module, profile, problems)
    return VpeCompileError(short, log, tuple(problem.text for problem in problems))
