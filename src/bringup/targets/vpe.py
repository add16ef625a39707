"""The virtual accelerator: kernels compiled for a chip described by a profile, run on simulated processing elements.

`vpe` is the default profile, `vpe:NAME` a shipped one, `vpe:PATH.yaml` one of the user's own.
"""

from __future__ import annotations

from functools import cached_property

from bringup.dialect import Dialect, load_dialect
from bringup.targets.simulated import SimulatedTarget


class VpeTarget(SimulatedTarget):
    """The target `vpe[:PROFILE]`."""

    name = "vpe"
    device = "vpe"
    features: frozenset[str] = frozenset()  # no complex numbers, no sparse tensors
    compile_for: tuple[str, ...] = ()  # its own compiler is the real one

    def __init__(self, profile: str | None = None) -> None:
        """Make the target for a profile, the default one unless given."""
        from bringup.vpe.profile import DEFAULT_PROFILE

        super().__init__(profile or DEFAULT_PROFILE)
        self.profile = self.chip_file

    def dialect(self) -> Dialect:
        """Return upstream Triton's language as far as the profile allows it, and libdevice."""
        return self._dialect

    @cached_property
    def _dialect(self) -> Dialect:
        base = load_dialect("triton")
        return self.narrowed(base).model_copy(
            update={
                "name": f"vpe:{self.chip.name}",
                "description": f"{self.chip.title}. {self.chip.description}",
                "tensor_methods": (*base.tensor_methods, "copy_"),
                "examples": "plain" if self._unlimited() else "vpe",
            }
        )

    def _unlimited(self) -> bool:
        """Whether the profile has none of the limits that the chips' own examples are written around."""
        chip = self.chip
        return chip.memory.dma_alignment_bytes == 1 and chip.limits.grid_max is None and "fp64" in chip.dtypes

    def profiles(self) -> tuple[str, ...]:
        """Return the shipped profiles."""
        from bringup.vpe.profile import profile_names

        return profile_names()
