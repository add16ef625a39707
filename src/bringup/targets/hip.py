"""AMD GPUs: a compile gate with a report of resources, which needs no hardware.

The profile is the architecture: `hip:gfx942` (MI300), `hip:gfx950` (MI350). The language, the compiler and the chip's
published figures are here; a device behind the wall is not, so that nothing can be run yet.
"""

from __future__ import annotations

from typing import Any

from bringup.device import Engine
from bringup.dialect import Dialect, load_dialect
from bringup.errors import ConfigError, EnvironmentFault
from bringup.targets._base import TargetDefaults
from bringup.targets._libdevice import AMD, with_libdevice
from bringup.targets._options import AMD_OPTIONS

# Published by AMD: data sheets of the Instinct MI300X and MI355X, CDNA 3 and CDNA 4 white papers.
CHIPS: dict[str, dict[str, Any]] = {
    "gfx942": {
        "name": "AMD Instinct MI300X", "compute_units": 304, "clock_mhz": 2100, "memory_bytes": 192 << 30,
        "memory_gb_s": 5300, "shared_bytes_per_program": 64 << 10, "fp16_tflops": 1307, "fp32_tflops": 163,
    },
    "gfx950": {
        "name": "AMD Instinct MI355X", "compute_units": 256, "clock_mhz": 2400, "memory_bytes": 288 << 30,
        "memory_gb_s": 8000, "shared_bytes_per_program": 160 << 10, "fp16_tflops": 2500, "fp32_tflops": 157,
    },
}  # fmt: skip
DEFAULT = "gfx942"


class HipTarget(TargetDefaults):
    """The target `hip[:ARCH]`."""

    name = "hip"
    device = "gpu"
    features: frozenset[str] = frozenset()
    compile_for: tuple[str, ...] = ()

    def __init__(self, profile: str | None = None) -> None:
        """Make the target for an architecture (default gfx942). Raises ConfigError for one that is not known."""
        if profile is not None and profile not in CHIPS:
            known = " or ".join(f"hip:{name}" for name in CHIPS)
            raise ConfigError(f"target hip:{profile}", "no architecture is known by this name", f"use {known}")
        self.profile = profile
        self.arch = profile or DEFAULT

    def profiles(self) -> tuple[str, ...]:
        """The architectures."""
        return tuple(CHIPS)

    def dialect(self) -> Dialect:
        """Return upstream Triton's language."""
        base = load_dialect("triton")
        update = {
            "name": f"hip:{self.arch}",
            "description": f"Upstream Triton on an {CHIPS[self.arch]['name']}.",
            "rules": (*base.rules, *AMD_OPTIONS),
            "tensor_methods": (*base.tensor_methods, "copy_"),
        }
        return with_libdevice(base.model_copy(update=update), AMD)

    def facts(self) -> dict[str, Any]:
        """Published figures of the chip."""
        return dict(CHIPS[self.arch])

    def unavailable(self) -> str | None:
        """There is no engine for AMD's devices yet."""
        return (
            f"this bringup compiles for {self.arch} and does not run there; `--target vpe:permissive --compile-for "
            f"hip:{self.arch}` judges on a simulator, compiles every kernel for it and reports its resources"
        )

    def triton_target(self) -> tuple[str, str | int, int]:
        """The architecture, with waves of 64."""
        return "hip", self.arch, 64

    def engine(self) -> Engine:
        """There is none yet. Raises EnvironmentFault."""
        raise EnvironmentFault(self.unavailable() or "")
