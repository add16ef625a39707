"""The door for targets. A target is chosen as `name` or `name:profile` (`vpe:pe64`, `cuda`)."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any, Literal, Protocol, runtime_checkable

from bringup.device import Engine, Kernel
from bringup.dialect import Dialect
from bringup.errors import BringupError, ConfigError, PluginError
from bringup.registry import Registry

FACTS = "facts 5"  # what is kept of a kernel beside its binary: another number where that changes


@runtime_checkable
class Target(Protocol):
    """A device and its toolchain, as the judge sees it.

    The attributes and the first group of methods run in bringup's own process and must import neither torch nor
    Triton. The others run in processes of the judge: the guest (`guest_*`), the compiling process (`compile_text`) and
    the device process (`engine` and what it returns).
    """

    name: str  # without the profile
    profile: str | None
    features: frozenset[str]  # what operators may need: "complex", "defined_values", "cpu_reference", ...
    device: str  # name of the device in the guest's PyTorch: that of the tensors that a wrapper receives
    alignment: int  # bytes: of the addresses that a wrapper's allocations get
    # Whether arithmetic keeps numbers below float32's smallest normal one; False: the chip may take them for zeros.
    subnormals: bool
    compile_for: tuple[str, ...]  # toolchains that also compile every launched kernel unless the run says otherwise
    worker_paths: tuple[str, ...]  # files and folders that compilers may read, beside Python's own
    fences: bool  # whether `compile_text` takes the option `fence`, which the device itself does not need
    clock: Literal["device", "model"]  # whose time launches take: a device's, or a model's, the same in every run

    def dialect(self) -> Dialect:
        """Return what this target's Triton allows."""
        ...

    def profiles(self) -> tuple[str, ...]:
        """Return the names of the target's profiles, if it has any."""
        ...

    def profile_text(self) -> str:
        """Return the profile as a file that the target takes in its place; "" where its name says it all."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return the figures of the chip as plain data, for people and reports; empty when nothing is known."""
        ...

    def copy_seconds(self, copies: int, nbytes: int, pieces: int) -> float:
        """Return the modelled time of copies: `nbytes` in so many contiguous `pieces`, those of both ends counted.

        Asked where the clock is a model's.
        """
        ...

    def environment(self) -> Mapping[str, str]:
        """Return the variables that the judge's processes need before torch and Triton are imported."""
        ...

    def unavailable(self) -> str | None:
        """Return why this machine cannot run the target (no GPU, say), or None."""
        ...

    def triton_target(self) -> tuple[str, str | int, int]:
        """Return backend, architecture and warp size of Triton's target: what the front end makes TTIR for."""
        ...

    def toolchain(self) -> str:
        """Identify the compiler and its settings: part of the key under which compiled kernels are kept."""
        ...

    def warm_up(self) -> None:
        """Import what every process of the target needs, in their common parent: no threads, no contexts."""
        ...

    def guest_setup(self) -> None:
        """Prepare the parent of guests: import and read what Triton's front end needs, for guests find no files."""
        ...

    def compile_text(self, request: Mapping[str, Any]) -> Kernel:
        """Compile TTIR (`text`; `source` before Triton's passes; launch `options`); raise the compiler's error.

        `text` is empty where Triton's backend for the target has `sends_source`: then the passes are run here.

        Runs in a process that holds no data and is thrown away: the text may be anything.
        """
        ...

    def compile_log(self, error: BaseException) -> str | None:
        """Return the compiler's log when `error` is a refusal of a kernel, else None."""
        ...

    def engine(self) -> Engine:
        """Return the device behind the wall, in a fresh device process."""
        ...


class TargetDefaults:
    """What most targets have in common: inherit it, and write what your chip does differently."""

    features: frozenset[str] = frozenset()
    alignment = 64
    subnormals = True
    compile_for: tuple[str, ...] = ()
    worker_paths: tuple[str, ...] = ()
    fences = False
    clock: Literal["device", "model"] = "device"

    def profiles(self) -> tuple[str, ...]:
        """There are none."""
        return ()

    def profile_text(self) -> str:
        """The name says it all."""
        return ""

    def facts(self) -> dict[str, Any]:
        """No figures are known."""
        return {}

    def copy_seconds(self, copies: int, nbytes: int, pieces: int) -> float:
        """The device's own clock tells."""
        return 0.0

    def environment(self) -> Mapping[str, str]:
        """Nothing must be set before torch and Triton are imported."""
        return {}

    def unavailable(self) -> str | None:
        """The target runs everywhere."""
        return None

    def toolchain(self) -> str:
        """Triton's version and the target that it compiles for."""
        from importlib.metadata import version

        return f"{FACTS} triton {version('triton')} {self.triton_target()}"

    def triton_target(self) -> tuple[str, str | int, int]:
        """Every target says this itself."""
        raise NotImplementedError

    def warm_up(self) -> None:
        """Nothing is prepared before the fork."""

    def guest_setup(self) -> None:
        """Triton's own backend for the target is all that the front end needs."""

    def compile_text(self, request: Mapping[str, Any]) -> Kernel:
        """Compile with Triton's own backend."""
        from bringup.targets._compile import compile_with_triton

        return compile_with_triton(self.triton_target(), request)

    def compile_log(self, error: BaseException) -> str | None:
        """Return what Triton's compiler said."""
        return compile_log(error)


_PARTS = frozenset(Target.__annotations__) | {name for name in vars(Target) if not name.startswith("_")}

targets: Registry[Target] = Registry(
    "target",
    "bringup.targets",
    {
        "cuda": "bringup.targets.cuda:CudaTarget",
        "hip": "bringup.targets.hip:HipTarget",
        "vpe": "bringup.targets.vpe:VpeTarget",
    },
    retired={"interpreter": "use `vpe:permissive`, plain Triton on a CPU"},
)


def get_target(spec: str) -> Target:
    """Return the target for `name` or `name:profile`.

    Raises UnknownName, RetiredName, ConfigError for a profile, and PluginError for a plug-in that is no target.
    """
    name, _, profile = spec.partition(":")
    if not name:
        raise ConfigError(f"target '{spec}'", "empty name", "give NAME or NAME:PROFILE")
    try:
        found = targets.create(name, profile=profile or None)
    except BringupError:
        raise
    except Exception as error:  # a plug-in's constructor
        raise PluginError(targets.group, name, error) from error
    if not isinstance(found, Target):
        lacks = ", ".join(sorted(part for part in _PARTS if not hasattr(found, part)))
        problem = TypeError(f"it has no {lacks}; inherit bringup.targets.TargetDefaults")
        raise PluginError(targets.group, name, problem)
    return found


def located(spec: str) -> str:
    """Return `spec` with the path of its profile, if it is one, made absolute; raises as `get_target` does.

    A profile is looked for once, here: later processes may have another working directory.
    """
    name, _, profile = spec.partition(":")
    found = get_target(spec)
    return f"{name}:{found.profile}" if profile else spec


def compile_log(error: BaseException) -> str | None:
    """Return what the compiler said when `error` is a refusal of a kernel, without Python's frames; all of its log."""
    from triton.errors import TritonError

    log = getattr(error, "log", None)
    if isinstance(log, str):
        return log
    return error_chain(error) if isinstance(error, TritonError) else None


def error_chain(error: BaseException) -> str:
    """Return the messages of an error and of what caused it, each once, without Python's frames."""
    parts: list[str] = []
    current: BaseException | None = error
    while current is not None:
        text = "".join(traceback.format_exception_only(current)).strip()
        if text not in parts:
            parts.append(text)
        current = current.__cause__ or current.__context__
    return "\n".join(parts)
