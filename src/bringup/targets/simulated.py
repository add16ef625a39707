"""A chip that is not there: a target whose compiler and device are those of `vpe`, for a chip profile.

`vpe` itself is one. A target of your own inherits `SimulatedTarget` to begin with, and gives its methods an
implementation of its own one by one as compiler and driver come to life.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bringup.device import Engine, Kernel
from bringup.dialect import Dialect, Limits
from bringup.errors import ConfigError
from bringup.targets._base import TargetDefaults
from bringup.targets._libdevice import language_rules

if TYPE_CHECKING:
    from bringup.vpe.profile_model import Profile


class SimulatedTarget(TargetDefaults):
    """A target that the simulator plays. Its device has no kernels at all, so work left to PyTorch fails by itself."""

    name: str
    device: str
    profile: str | None = None
    clock = "model"

    def __init__(self, chip: str) -> None:
        """Take the chip's profile: the name of a shipped one, or the path of a YAML file (docs/vpe-profiles.md).

        The profile is read here, so that a bad one is refused before anything starts. Raises ConfigError.
        """
        from bringup.vpe.profile import ProfileError, load_profile

        self.chip_file = _absolute(chip)
        try:
            self.chip = load_profile(self.chip_file)
        except ProfileError as error:
            raise ConfigError(f"target {self.name}:{chip}", str(error)) from error

    @property
    def alignment(self) -> int:  # type: ignore[override]
        """As the profile has it."""
        return max(64, self.chip.memory.allocation_alignment_bytes)

    @property
    def subnormals(self) -> bool:  # type: ignore[override]
        """As the profile has it; the simulator itself computes with subnormal numbers."""
        return self.chip.features.subnormals

    def dialect(self) -> Dialect:
        """Return what this target's Triton allows; `narrowed` makes it agree with the chip."""
        raise NotImplementedError

    def narrowed(self, base: Dialect) -> Dialect:
        """Return a dialect as far as the profile allows it: functions, dtypes, limits, and the profile's words first.

        What the profile's `libdevice` lists is added.
        """
        chip = self.chip
        missing = {f"tl.{name}" for name in _TL_DTYPES if _CHIP_NAMES.get(name, name) not in chip.dtypes}
        functions = base.tl_functions
        if chip.tl is not None:
            functions = tuple(n for n in functions if n.startswith("libdevice.") or n.rpartition(".")[2] in chip.tl)
        if chip.libdevice is not None:
            functions = tuple(n for n in functions if not n.startswith("libdevice."))
            functions += tuple(f"libdevice.{name}" for name in chip.libdevice)
        modules = base.modules if "libdevice" in base.modules else (*base.modules, "libdevice")
        return base.model_copy(
            update={
                "dtypes": tuple(name for name in base.dtypes if _CHIP_NAMES.get(name, name) in chip.dtypes),
                "limits": Limits(
                    programs=_least(base.limits.programs, chip.limits.grid_max),
                    block=_least(base.limits.block, 1 << (chip.limits.tensor_numel.bit_length() - 1)),
                ),
                "tl_functions": functions,
                "tl_constants": tuple(n for n in base.tl_constants if n not in missing),
                "tl_host": tuple(n for n in base.tl_host if n not in missing),
                "modules": modules,
                "rules": (
                    chip.alignment_text,
                    *chip.note_texts,
                    *_generated_rules(chip),
                    *language_rules(base.rules, functions),
                ),
            }
        )

    def profile_text(self) -> str:
        """Return the whole profile that the target was chosen with; "" for a chip that is always the same."""
        return self.chip.model_dump_json() if self.profile else ""

    def facts(self) -> dict[str, Any]:
        """Return the profile without its prose and lists of functions."""
        prose = {"title", "description", "tl", "libdevice", "alignment_rule", "notes"}
        return self.chip.model_dump(mode="json", exclude=prose)

    def copy_seconds(self, copies: int, nbytes: int, pieces: int) -> float:
        """As the profile's figures have it."""
        from bringup.vpe.stats import copy_seconds

        return copy_seconds(self.chip, copies, nbytes, pieces)

    def environment(self) -> Mapping[str, str]:
        """Name the profile to Triton's plug-in; where libraries lie, a guest would see by who runs it."""
        return {"BRINGUP_VPE": self.chip_file, "LD_LIBRARY_PATH": os.pathsep.join(_folders_of_libraries())}

    def triton_target(self) -> tuple[str, str | int, int]:
        """The profile's name is the architecture."""
        return "vpe", self.chip.name, 1

    def toolchain(self) -> str:
        """The code generator's source, the processor that it makes code for, the profile, Triton."""
        from bringup.vpe.identity import source_digest
        from bringup.vpe.native import processor

        return f"vpe {source_digest()} {processor()} {self.chip.digest} {super().toolchain()}"

    def warm_up(self) -> None:
        """Import the compiler and the device layer before the fork; no thread starts here."""
        from bringup import vpe
        from bringup.vpe import device, native  # noqa: F401

        kept = os.environ.get("BRINGUP_KERNEL_CACHE")
        os.environ.setdefault("BRINGUP_VPE_CACHE", os.path.join(kept, "vpe") if kept else "")
        vpe.activate(self.chip_file)
        native.make_runtime_elsewhere()
        vpe.warm()

    def compile_text(self, request: Mapping[str, Any]) -> Kernel:
        """Verify the text, check it against the profile, lower it."""
        from bringup.targets._vpe_engine import compile_for_vpe

        return compile_for_vpe(self.chip, request)

    def engine(self) -> Engine:
        """The simulator."""
        from bringup.targets._vpe_engine import VpeEngine

        return VpeEngine(self.chip)


def _absolute(profile: str) -> str:
    """Return a path to a profile as an absolute one; names stay. Other processes have other working directories."""
    is_path = "/" in profile or profile.endswith((".yaml", ".yml"))
    return str(Path(profile).expanduser().resolve()) if is_path else profile


def _least(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)


_TL_DTYPES = (
    "int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64",
)  # fmt: skip
_CHIP_NAMES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}


def _generated_rules(chip: Profile) -> tuple[str, ...]:
    """Say what the profile's figures say of atomic operations, literals and small numbers: its prose need not."""
    by_dtypes: dict[str, list[str]] = {}
    for name, dtypes in chip.tl_dtypes.items():
        if name.startswith("atomic_"):
            by_dtypes.setdefault(", ".join(dtypes), []).append(f"tl.{name}")
    found = []
    if by_dtypes:
        lists = "; ".join(f"{', '.join(names)} on {dtypes}" for dtypes, names in by_dtypes.items())
        found.append(f"Atomic operations: {lists}. They are no scatter stores and need no option of the launch.")
    if "fp64" not in chip.dtypes:
        found.append(
            "A Python float in a kernel that float32 holds only as a subnormal number (below 1.1755e-38) or not at all "
            "(above 3.4e38) is an fp64 constant to Triton, and is refused: write it as a product or by its bits."
        )
    if not chip.features.subnormals:
        found.append(
            "Arithmetic may take numbers below 1.1755e-38 (float32's smallest normal one) for zeros, in arguments and "
            "results: results are right with them or without."
        )
    return tuple(found)


def _folders_of_libraries() -> list[str]:
    """Return those of `LD_LIBRARY_PATH` that this process has loaded something from: without them Python may not start.

    A chip that is simulated needs no driver.
    """
    named = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder]
    try:
        loaded = Path("/proc/self/maps").read_text(encoding="utf-8")
    except OSError:
        return named
    return [folder for folder in named if f" {folder.rstrip('/')}/" in loaded]
