"""vpe: a virtual accelerator, as an out-of-tree Triton backend.

Nothing heavy is imported here; names load on first use. `activate("pe64")` chooses the profile and makes vpe
Triton's active device.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_LAZY = {
    "VpeFault": "bringup.vpe.errors",
    "VpeCompileError": "bringup.vpe.errors",
    "VpeLaunchError": "bringup.vpe.errors",
    "LaunchStats": "bringup.vpe.stats",
    "last_launches": "bringup.vpe.state",
    "clear_launches": "bringup.vpe.state",
    "launch_mode": "bringup.vpe.state",
    "protect": "bringup.vpe.state",
    "render_dump": "bringup.vpe.debugger",
    "load_profile": "bringup.vpe.profile",
    "profile_names": "bringup.vpe.profile",
}

if TYPE_CHECKING:
    from bringup.vpe.debugger import render_dump
    from bringup.vpe.errors import VpeCompileError, VpeFault, VpeLaunchError
    from bringup.vpe.profile import load_profile, profile_names
    from bringup.vpe.state import clear_launches, last_launches, launch_mode, protect
    from bringup.vpe.stats import LaunchStats

__all__ = [
    "LaunchStats", "VpeCompileError", "VpeFault", "VpeLaunchError", "activate", "clear_launches", "deactivate",
    "last_launches", "launch_mode", "load_profile", "profile_names", "protect", "render_dump", "warm",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'bringup.vpe' has no attribute '{name}'")
    return getattr(importlib.import_module(_LAZY[name]), name)


_TRITON = "3.6 and 3.7"
_NEEDED = (
    "triton.backends:Backend", "triton.backends:backends", "triton.backends.compiler:BaseBackend",
    "triton.backends.compiler:GPUTarget", "triton.backends.compiler:Language", "triton.backends.driver:DriverBase",
    "triton.compiler.errors:TritonError", "triton.knobs:cache.manager_class", "triton.runtime.cache:FileCacheManager",
    "triton.runtime.cache:triton_key", "triton.runtime.driver:driver._active", "triton._C.libtriton:passes.ttir",
)  # fmt: skip
"""What vpe takes of Triton beyond its public language, as module:attribute."""


def _check_triton() -> None:
    """Say at once, and in one line, what an unknown Triton lacks. Raises ImportError."""
    import functools

    import triton

    for name in _NEEDED:
        module, _, path = name.partition(":")
        try:
            functools.reduce(getattr, path.split("."), importlib.import_module(module))
        except (ImportError, AttributeError):
            raise ImportError(
                f"triton {triton.__version__} has no {module}.{path}, which vpe needs; it works with triton {_TRITON}"
            ) from None


def activate(profile: Any = None) -> None:
    """Make vpe the device that Triton compiles for and launches on, with a profile (name, path or `Profile`).

    None takes `$BRINGUP_VPE`, `$BRINGUP_VPE_PROFILE` or the default profile. Works with or without the
    installed plug-in, and
    wins over a GPU's driver until `deactivate`. Raises `ProfileError`, and ImportError for a Triton that vpe does not
    know.
    """
    _check_triton()
    from triton.backends import Backend, backends
    from triton.runtime.driver import driver

    from bringup.vpe import state
    from bringup.vpe.backend import alignment
    from bringup.vpe.backend.compiler import VpeBackend
    from bringup.vpe.backend.driver import VpeDriver
    from bringup.vpe.profile import DEFAULT_PROFILE

    state.set_profile(profile or state.environment_profile() or DEFAULT_PROFILE)
    alignment.install()
    if "vpe" not in backends:
        backends["vpe"] = Backend(VpeBackend, VpeDriver)
    if not isinstance(driver._active, VpeDriver):
        driver.set_active(VpeDriver())


def warm() -> None:
    """Do once what the first launch of a process would do: imports, digests, the DMA engine. Starts no threads.

    For a parent that forks workers: each worker's first launch is then as fast as any other.
    """
    import triton
    import triton.experimental.gluon  # imported by Triton's first launch
    import triton.runtime.cache as triton_cache

    from bringup.vpe import compile, dump, identity, kernel, launch, native, prints, state  # noqa: F401
    from bringup.vpe.backend import compiler  # noqa: F401
    from bringup.vpe.language import libdevice  # noqa: F401
    from bringup.vpe.libdevice import lookup

    del triton
    lookup("math.exp", ("f32",))
    triton_cache.triton_key()
    identity.source_digest()
    state.profile_number()
    native.runtime()


def deactivate() -> None:
    """Give Triton its default driver back."""
    from triton.runtime.driver import driver

    from bringup.vpe.backend import cache

    cache.uninstall()
    driver._active = None
