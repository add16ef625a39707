"""The virtual accelerator: kernels compiled for a chip described by a profile, run on simulated processing elements.

`vpe` is the default profile, `vpe:NAME` a shipped one, `vpe:PATH.yaml` one of the user's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

from bringup.dialect import Dialect, load_dialect
from bringup.errors import ConfigError
from bringup.targets._base import TargetDefaults, compile_log


class VpeTarget(TargetDefaults):
    """The target `vpe[:PROFILE]`. Its device has no kernels at all, so work left to PyTorch fails by itself."""

    name = "vpe"
    device = "vpe"
    features: frozenset[str] = frozenset()  # no complex numbers, no sparse tensors
    limits_address_space = True
    compile_for: tuple[str, ...] = ()  # its own compiler is the real one

    def __init__(self, profile: str | None = None) -> None:
        """Make the target; the profile is read here, so that a bad one is refused before anything starts."""
        from bringup.vpe.profile import DEFAULT_PROFILE, ProfileError, load_profile

        self.profile = profile or DEFAULT_PROFILE
        try:
            self.chip = load_profile(self.profile)
        except ProfileError as error:
            raise ConfigError(f"target vpe:{self.profile}", str(error)) from error

    def dialect(self) -> Dialect:
        """Return upstream Triton's language as far as the profile allows it, and libdevice."""
        return self._dialect

    @cached_property
    def _dialect(self) -> Dialect:
        base, chip = load_dialect("triton"), self.chip
        missing = {f"tl.{name}" for name in _TL_DTYPES if _CHIP_NAMES.get(name, name) not in chip.dtypes}

        functions = base.tl_functions
        if chip.tl is not None:
            functions = tuple(name for name in functions if name.rpartition(".")[2] in chip.tl)
        if chip.libdevice is not None:
            functions += tuple(f"libdevice.{name}" for name in chip.libdevice)
        return base.model_copy(
            update={
                "name": f"vpe:{self.profile}",
                "description": f"{chip.title}. {chip.description}",
                "tl_functions": functions,
                "tl_constants": tuple(n for n in base.tl_constants if n not in missing),
                "tl_host": tuple(n for n in base.tl_host if n not in missing),
                "tensor_methods": (*base.tensor_methods, "copy_"),
                "modules": (*base.modules, "libdevice"),
                "rules": (chip.alignment_text, *chip.note_texts, *_language_rules(base.rules)),
                "examples": "vpe",
            }
        )

    def profiles(self) -> tuple[str, ...]:
        """Return the shipped profiles."""
        from bringup.vpe.profile import profile_names

        return profile_names()

    def facts(self) -> dict[str, Any]:
        """Return the profile without its prose and lists of functions."""
        prose = {"title", "description", "tl", "libdevice", "alignment_rule", "notes"}
        return self.chip.model_dump(mode="json", exclude=prose)

    def environment(self) -> Mapping[str, str]:
        """Name the profile to Triton's plug-in."""
        return {"BRINGUP_VPE": self.profile}

    def warm_up(self) -> None:
        """Import the compiler and register the device before the fork; no thread starts here."""
        from bringup import vpe
        from bringup.vpe import device

        device.enable()
        vpe.activate(self.profile)
        vpe.warm()

    def worker_to_device(self, tensor: Any) -> Any:
        """Copy a flat host tensor to the device."""
        return tensor.to("vpe")

    def worker_to_host(self, tensor: Any) -> Any:
        """Copy a flat device tensor to the host."""
        return tensor.cpu()

    def worker_bytes(self, storage: Any) -> Any:
        """Return the host memory behind a storage; what was never written stays so for the poison check."""
        import torch

        from bringup.vpe.device import host_view

        if storage.device.type != "vpe":
            return super().worker_bytes(storage)
        return host_view(torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage))

    def worker_order(self, seed: int | None) -> AbstractContextManager[Any]:
        """Shuffle the programs over the processing elements."""
        from bringup.vpe import launch_mode

        return nullcontext() if seed is None else launch_mode(seed=seed)

    def worker_protect(self, storages: list[Any]) -> AbstractContextManager[Any]:
        """A write to a protected storage is a `read_only` fault, with the kernel's line."""
        import torch

        from bringup.vpe import protect

        return protect(*(torch.empty(0, dtype=torch.uint8, device="vpe").set_(s) for s in storages if s.nbytes()))

    def worker_fault(self, error: BaseException) -> str | None:
        """Return the debugger's text for a core dump."""
        from bringup.vpe import VpeFault, render_dump

        return render_dump(error.dump) if isinstance(error, VpeFault) else None

    def worker_counters(self) -> list[dict[str, Any]]:
        """Return what the simulator counted, and the time that the profile's figures make of it."""
        from bringup.vpe import clear_launches, last_launches

        counted = [launch.as_dict() for launch in last_launches()]
        clear_launches()
        return counted

    def worker_compile_log(self, error: BaseException) -> str | None:
        """Return the whole log of the chip's compiler."""
        from bringup.vpe import VpeCompileError

        return error.log if isinstance(error, VpeCompileError) else compile_log(error)


_TL_DTYPES = (
    "int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64",
)  # fmt: skip
_CHIP_NAMES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}


def _language_rules(rules: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out what upstream's rules say of functions that libdevice supplies here."""
    return tuple(rule for rule in rules if not rule.startswith("There is no tanh"))
