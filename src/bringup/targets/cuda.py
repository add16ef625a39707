"""NVIDIA GPUs: real silicon behind the wall, launched through NVIDIA's driver (`_cuda_engine`, `_cuda_driver`).

The profile chooses the device: `cuda` is device 0, `cuda:1` device 1.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import re
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bringup.device import Engine, Kernel
from bringup.dialect import Dialect, load_dialect
from bringup.errors import ConfigError
from bringup.targets._base import TargetDefaults
from bringup.targets._cuda_driver import WARP, devices
from bringup.targets._libdevice import NVIDIA, with_libdevice
from bringup.targets._options import NVIDIA_OPTIONS

ARCH = "BRINGUP_CUDA_ARCH"  # tells the capability to processes that see no GPU: guests and compilers
FALLBACK_ARCH = 90
BLACKWELL = 100  # from here on Triton brings another assembler
_SCALAR = re.compile(r"[iu](?:1|8|16|32|64)|(?:fp|f|bf)(?:16|32|64)")


class CudaTarget(TargetDefaults):
    """The target `cuda[:N]`. In a guest's PyTorch its device is called `gpu`: PyTorch keeps `cuda` for itself."""

    name = "cuda"
    device = "gpu"
    # Triton's libdevice and its approximate instructions (ex2, rcp, cvt) are compiled with `ftz`; loads, stores and
    # additions are not, so that each operation decides for itself.
    subnormals = False
    features: frozenset[str] = frozenset()  # Triton has no complex numbers, whatever the device can do
    compile_for: tuple[str, ...] = ()  # the launch itself compiles
    fences = True

    def __init__(self, profile: str | None = None) -> None:
        """Make the target for device number `profile` (default 0)."""
        if profile is not None and not (profile.isascii() and profile.isdigit()):
            raise ConfigError(f"target cuda:{profile}", "the profile is the number of a device", "use `cuda:0`")
        self.profile = profile
        self.number = int(profile or 0)

    def dialect(self) -> Dialect:
        """Return upstream Triton's language."""
        base = load_dialect("triton")
        update = {
            "name": "cuda",
            "description": "Upstream Triton on an NVIDIA GPU.",
            "rules": (*base.rules, *NVIDIA_OPTIONS),
            "tensor_methods": (*base.tensor_methods, "copy_"),
        }
        return with_libdevice(base.model_copy(update=update), NVIDIA)

    def facts(self) -> dict[str, Any]:
        """Return what the driver says of the device; empty where there is none."""
        return {} if self.unavailable() else dict(devices()[0][self.number])

    def environment(self) -> Mapping[str, str]:
        """Tell the judge's processes what the GPU is: most of them do not see it."""
        return {ARCH: str(self._arch())}

    def unavailable(self) -> str | None:
        """Say why this machine cannot run kernels on this GPU; asked without torch, and without a context."""
        if not any(Path("/dev").glob("nvidia[0-9]*")):
            return "no NVIDIA GPU (no /dev/nvidia*)"
        with contextlib.suppress(PackageNotFoundError):
            if "+cpu" in version("torch"):
                return f"this PyTorch ({version('torch')}) was built without CUDA"
        found, why = devices()
        if self.number >= len(found):
            return why or f"no CUDA device number {self.number}: this machine shows {len(found)}"
        return None

    def triton_target(self) -> tuple[str, str | int, int]:
        """Return the device's capability, 90 for an H100."""
        return "cuda", self._arch(), WARP

    def _arch(self) -> int:
        told = os.environ.get(ARCH, "")
        if told.isascii() and told.isdigit():
            return int(told)
        found, _ = devices()
        return int(found[self.number]["capability"]) if self.number < len(found) else FALLBACK_ARCH

    def toolchain(self) -> str:
        """Triton, its target, and the assembler that it brings or is told to use."""
        return f"{super().toolchain()} ptxas {_assembler_version(self._arch())}"

    def warm_up(self) -> None:
        """Import the compiler and ask its tools for their versions once, not in every process: makes no context."""
        import triton.runtime.cache as triton_cache
        from triton.backends.nvidia import compiler

        from bringup.targets import _cuda_engine  # noqa: F401

        triton_cache.triton_key()
        with contextlib.suppress(Exception):  # a private function of Triton's: without it compiling is slower
            compiler.get_ptxas(self._arch())

    def compile_text(self, request: Mapping[str, Any]) -> Kernel:
        """Compile with Triton's own backend; refuse arguments that are neither pointers nor numbers."""
        from bringup.targets._compile import signature_of, verified

        name, kinds = signature_of(verified(str(request["text"])))
        for kind in kinds:
            if "tensordesc" in kind:
                raise RuntimeError(
                    f"kernel '{name}' takes a tensor descriptor made on the host, which this device does not; make it "
                    "in the kernel"
                )
            if not kind.startswith("*") and not _SCALAR.fullmatch(kind):
                raise RuntimeError(f"kernel '{name}' has an argument that is neither a pointer nor a number: {kind}")
        return super().compile_text(request)

    def engine(self) -> Engine:
        """The GPU."""
        from bringup.targets._cuda_engine import CudaEngine

        return CudaEngine(self.number)


@functools.cache
def _assembler_version(arch: int) -> str:
    """The version of ptxas as Triton chooses it; found without importing Triton."""
    tool = "ptxas-blackwell" if arch >= BLACKWELL else "ptxas"
    triton = importlib.util.find_spec("triton")
    places = [os.environ.get(f"TRITON_{tool.upper().replace('-', '_')}_PATH", "")]
    places += [
        f"{folder}/backends/nvidia/bin/{tool}" for folder in (triton and triton.submodule_search_locations) or ()
    ]
    for place in filter(None, places):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            said = subprocess.run([place, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
            found = re.search(r"\bV(\d[\d.]*)", said)
            return found.group(1) if found else said.strip()[-80:]
    return "unknown"
