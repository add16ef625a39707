"""Kernels that were recorded for a modelled chip, as another target takes them. Imported by benchmarks beside it."""

from __future__ import annotations

import re

from bringup.candidate import Candidate
from bringup.targets import get_target

# A launch option of vpe's compiler, which Triton's other compilers refuse by its name; it changes no result.
_OPTION = re.compile(r"\s*\benable_scatter_stores=True,?")


def ported(candidate: Candidate, target: str) -> Candidate:
    """Return a recorded kernel for a target: away from vpe without the launch option that its compiler alone knows."""
    if get_target(target).clock == "model" or "enable_scatter_stores" not in candidate.source:
        return candidate
    return Candidate(source=_OPTION.sub("", candidate.source))
