"""Kernels that were written for one target, as another takes them."""

from __future__ import annotations

import re

from bringup.targets._base import get_target

# A launch option of vpe's compiler, which Triton's other compilers refuse by its name; it changes no result.
_OPTION = re.compile(r"\s*\benable_scatter_stores=True,?")


def ported(source: str, target: str) -> str:
    """Return a kernel's text for a target: away from vpe without the launch option that its compiler alone knows."""
    if get_target(target).clock == "model" or "enable_scatter_stores" not in source:
        return source
    return _OPTION.sub("", source)
