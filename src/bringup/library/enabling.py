"""Putting a library behind a device: which library, which device, and with what around its kernels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from bringup.library import routing
from bringup.library._index import INDEX
from bringup.library.enabled import ACTIVE, LOCK, Enabled
from bringup.library.errors import LibraryError, NotEnabled
from bringup.library.folder import Library
from bringup.library.routing import Device

VARIABLE = "BRINGUP_LIBRARY"
SEALED, CHECKED = "BRINGUP_SEALED", "BRINGUP_CHECKED"
DEVICES = ("vpe", "cuda")
"""Types of devices that a library serves."""
_SEALS: dict[str, bool | Literal["strict"]] = {"": True, "1": True, "0": False, "strict": "strict"}

_keep_enabled = False
"""Set where somebody else decides what is enabled (`bringup bisect`): `enable` then returns what there is."""


def active(device: str = "vpe") -> Enabled | None:
    """Return what is enabled for a type of device, or None."""
    return ACTIVE.get(device)


def keep_enabled() -> None:
    """Let later calls of `enable` in this process return what is enabled: somebody else has decided."""
    global _keep_enabled  # noqa: PLW0603
    _keep_enabled = True


def default_library() -> Path | None:
    """Return the library that is meant where none is named: `$BRINGUP_LIBRARY`, else the one beside the package.

    None where there is none, or the variable is set to nothing.
    """
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named).expanduser() if named else None
    here = Path(__file__).resolve()
    for folder in (here.parents[1] / "kernels", here.parents[3] / "kernels"):
        if (folder / "library.json").is_file():
            return folder
    return None


def library_of_command() -> Path | None:
    """Return the library that a command reads where none is named: as `default_library`, but `kernels` here first."""
    if VARIABLE not in os.environ and (Path("kernels") / INDEX).is_file():
        return Path("kernels")
    return default_library()


def enable(
    library: Library | str | Path | None = None,
    device: str = "vpe",
    *,
    include: Sequence[str] | str | None = None,
    exclude: Sequence[str] | str = (),
    fallback: str | None = None,
    compose: bool = True,
    unjudged: bool = False,
    sealed: bool | Literal["strict"] | None = None,
    checked: bool | None = None,
    by_itself: bool = False,
) -> Enabled:
    """Let a kernel library compute on a device, until `disable()` or the end of a `with` block.

    Args:
        library: A library, or its folder; None takes `$BRINGUP_LIBRARY`, else the one that ships.
        device: `vpe`, `vpe:PROFILE`, or `cuda`, where the library's kernels take the place of PyTorch's own.
        include: Only these kernels: overloads (`add.out`), operators (`add`) or globs, one or several.
        exclude: All but these.
        fallback: `"cpu"` lets the CPU compute what nothing serves, on the device `vpe`; it is counted and reported.
        compose: Whether operators without a kernel may be composed of others by PyTorch's decompositions.
        unjudged: Let kernels serve that were not judged for this device and these versions, too.
        sealed: Whether wrappers run in guests without data instead of this process; `"strict"`: also where calls differ
            in a number alone. None: as `$BRINGUP_SEALED` says (`1`, `0` or `strict`), else True on `vpe`; on `cuda`
            wrappers always run in this process.
        checked: Whether first calls of each kind are compared with what the CPU's kernel makes of them, by the judge's
            tables; a wrong one is KernelFailed. None: as `$BRINGUP_CHECKED` says (`1` or `0`), else where it is sealed.
        by_itself: Nobody asked for this one by name: the next call of `enable` takes its place.

    Raises:
        LibraryError: the library cannot be read, or a pattern names nothing in it.
        WrongDevice: none of its kernels was judged for this device and these versions.
        NotEnabled: the device is not available, or a library serves it already.
    """
    if isinstance(include, str):
        include = [include]
    if isinstance(exclude, str):
        exclude = [exclude]
    kind = device.partition(":")[0]
    with LOCK:
        if kind in ACTIVE:
            if _keep_enabled:
                return ACTIVE[kind]
            other = ACTIVE[kind]
            if other.by_itself:
                other.disable()
        if kind in ACTIVE:
            raise NotEnabled(
                f"the library {other.library.path} is enabled for {kind} already, and one library serves a device at "
                "a time; call disable() on it first, or put overrides into the library itself "
                "(bringup library add --override)"
            )
        opened = _opened(library)
        if fallback not in (None, "cpu"):
            raise NotEnabled(f"fallback is None or 'cpu', not {fallback!r}")
        if fallback and kind != "vpe":
            raise NotEnabled(f"fallback='cpu' is for the device vpe; on {kind} PyTorch's own kernels serve the rest")
        if sealed is None:
            sealed = _seal_of_environment() if kind == "vpe" else False
        if sealed and kind != "vpe":
            raise NotEnabled(f"sealed=True is for the device vpe; on {kind} wrappers run in this process")
        checked = _checked(sealed) if checked is None else checked
        where = device_of(device, opened)
        _make_ready(where)
        choice = routing.choose(opened, where, include=include, exclude=exclude, unjudged=unjudged)
        served = set(choice.serving)
        if sealed:
            choice = routing.without_calls(choice)
        enabled = Enabled(opened, where, choice, fallback=fallback, compose=compose, sealed=sealed, checked=checked)
        enabled.unsealable = sorted(served - set(choice.serving))
        enabled.by_itself = by_itself
        enabled._register()
        ACTIVE[kind] = enabled
        return enabled


def _seal_of_environment() -> bool | Literal["strict"]:
    said = os.environ.get(SEALED, "")
    if said not in _SEALS:
        raise NotEnabled(f"${SEALED} is {said!r}; it is 1 (wrappers run in guests), 0 (in this process) or strict")
    return _SEALS[said]


def _checked(sealed: bool | Literal["strict"]) -> bool:
    said = os.environ.get(CHECKED, "")
    if said not in ("", "0", "1"):
        raise NotEnabled(f"${CHECKED} is {said!r}; it is 1 (first calls are compared with the CPU's) or 0 (none is)")
    return said == "1" if said else bool(sealed)


def _opened(library: Library | str | Path | None) -> Library:
    if isinstance(library, Library):
        return library
    path = Path(library) if library is not None else default_library()
    if path is None:
        raise LibraryError(f"no library: give its folder, or name it in ${VARIABLE}; `bringup library add` makes one")
    if str(library).partition(":")[0] in DEVICES and not path.exists():
        raise LibraryError(
            f"'{library}' is a device, and the first argument is a library's folder: bringup.enable(device='{library}')"
        )
    return Library.open(path)


def device_of(device: str, library: Library) -> Device:
    """Return a device as far as choosing kernels goes: `vpe`, `vpe:PROFILE`, `cuda`. Raises NotEnabled, ConfigError.

    `vpe` alone is $BRINGUP_VPE's profile, else the library's, else the default one.
    """
    kind, _, profile = device.partition(":")
    versions = {"torch": version("torch"), "triton": _version("triton")}
    if kind == "vpe":
        from bringup.targets import get_target
        from bringup.vpe.profile import DEFAULT_PROFILE

        own = library.target.partition(":")[2] if library.target.startswith("vpe:") else ""
        profile = profile if profile and profile != "0" else os.environ.get("BRINGUP_VPE") or own or DEFAULT_PROFILE
        target = get_target(f"vpe:{profile}")
        return Device("vpe", f"vpe:{target.profile}", _chip(target), **versions)
    if kind == "cuda":
        return Device("cuda", "cuda", "", **versions)
    if kind == "cpu":
        # Kernels compiled by vpe, on tensors of the CPU: how overriding a device's own kernels is tried without a GPU.
        return Device("cpu", library.target, _chip(get_target_of(library.target)), **versions)
    raise NotEnabled(f"device '{kind}' is not one that a library serves; vpe, vpe:PROFILE and cuda are")


def _make_ready(where: Device) -> None:
    if where.type == "vpe":
        from bringup.vpe import device

        try:
            device.enable(profile=where.target.partition(":")[2])
        except device.DeviceUnavailable as error:
            raise NotEnabled(f"the device vpe is not available: {error}") from error
    elif where.type == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise NotEnabled(
                "the device cuda is not available: this process has no NVIDIA GPU, or torch is not built for one"
            )


def get_target_of(target: str) -> Any:
    """Return the target that a library is for."""
    from bringup.targets import get_target

    return get_target(target)


def _chip(target: Any) -> str:
    """The digest of a target's figures, as the judge notes it."""
    import json

    from bringup.candidate import digest

    facts = target.facts()
    return digest(json.dumps(facts, sort_keys=True, default=str)) if facts else ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        raise NotEnabled(f"{package} is not installed; kernels need it") from None
