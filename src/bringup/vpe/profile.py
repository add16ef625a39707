"""Chip profiles: what a virtual chip allows, how large it is and what its work costs.

A profile is a YAML file with the fields of `Profile`. It may start from another with `extends: NAME`, then holding only
what differs (mappings merge, everything else replaces). Unknown keys, missing figures and limits that contradict one
another are refused with one line that names the file and the field.

    >>> profile = load_profile("pe64")
    >>> profile.grid.count, profile.memory.dma_alignment_bytes
    (64, 32)
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from bringup.vpe.profile_model import Contradiction, Profile, ProfileError, closest, flatten_names

__all__ = ["DEFAULT_PROFILE", "PROFILE_VARIABLE", "Profile", "ProfileError", "load_profile", "profile_names"]

DEFAULT_PROFILE = "pe64"
PROFILE_VARIABLE = "BRINGUP_VPE_PROFILE"
"""Environment variable: name or path of the profile that a process starts with."""

_SHIPPED = Path(__file__).parent / "profiles"


def profile_names() -> tuple[str, ...]:
    """Names of the profiles that ship with the package, sorted, the default first."""
    names = sorted(path.stem for path in _SHIPPED.glob("*.yaml"))
    return (DEFAULT_PROFILE, *(name for name in names if name != DEFAULT_PROFILE))


def load_profile(name_or_path: str | os.PathLike[str]) -> Profile:
    """Read a profile by the name of a shipped one or by the path of a YAML file.

    A string with a slash or the ending `.yaml`/`.yml` is a path. Raises `ProfileError`.
    """
    text = os.fspath(name_or_path)
    if "/" in text or text.endswith((".yaml", ".yml")):
        return _build(Path(text))
    return _load_shipped(text)


@functools.cache
def _load_shipped(name: str) -> Profile:
    return _build(_shipped_path(name, "profile"))


def _shipped_path(name: str, source: str, field: str = "") -> Path:
    if name not in profile_names():
        advice = f"known: {', '.join(profile_names())}, or the path of a .yaml file"
        raise ProfileError(source, field, f"no profile is named '{name}'", advice)
    return _SHIPPED / f"{name}.yaml"


def _build(path: Path) -> Profile:
    source = path.name if path.parent == _SHIPPED else str(path)
    data = _read(path, source, ())
    try:
        return Profile.model_validate(data)
    except ValidationError as error:
        raise _explain(source, error) from None


def _read(path: Path, source: str, seen: tuple[Path, ...]) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProfileError(source, "", f"cannot be read: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or type(error).__name__
        raise ProfileError(source, line, f"not valid YAML: {problem}") from None
    if not isinstance(data, dict):
        raise ProfileError(source, "", "not a mapping of fields", "start from a copy of a shipped profile")
    parent = data.pop("extends", None)
    if parent is None:
        return data
    if not isinstance(parent, str):
        raise ProfileError(source, "extends", f"{parent!r} is not a name or path")
    if parent.endswith((".yaml", ".yml")):
        parent_path = path.parent / parent
    else:
        parent_path = _shipped_path(parent, source, "extends")
    chain = (*seen, path.resolve())
    if parent_path.resolve() in chain:
        raise ProfileError(source, "extends", f"'{parent}' leads back to this file")
    merged = _merge(_without_what_is_gone(_read(parent_path, parent_path.name, chain), data), data)
    if "name" not in data:
        raise ProfileError(source, "name", "missing", "a derived profile needs its own name")
    return merged


# A list of names in groups replaces the inherited list: merging groups would keep names that the author left out.
_REPLACED = frozenset({"dtypes", "tl", "libdevice", "dot_macs_per_cycle"})


def _without_what_is_gone(inherited: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """Inherited details of functions and dtypes that the derived profile leaves out; its own entries are checked."""
    result = dict(inherited)
    functions, dtypes = flatten_names(data.get("tl")), flatten_names(data.get("dtypes"))
    details = inherited.get("tl_dtypes")
    if isinstance(details, dict):
        if isinstance(functions, list):
            details = {name: kinds for name, kinds in details.items() if name in functions}
        if isinstance(dtypes, list):
            details = {name: [kind for kind in kinds if kind in dtypes] for name, kinds in details.items()}
        result["tl_dtypes"] = details
    cost = inherited.get("cost")
    if isinstance(dtypes, list) and isinstance(cost, dict) and isinstance(cost.get("dot_macs_per_cycle"), dict):
        figures = {kind: figure for kind, figure in cost["dot_macs_per_cycle"].items() if kind in dtypes}
        result["cost"] = {**cost, "dot_macs_per_cycle": figures}
    return result


def _merge(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and key not in _REPLACED:
            merged[key] = _merge(old, value)
        else:
            merged[key] = value
    return merged


def _explain(source: str, error: ValidationError) -> ProfileError:
    """The first problem of a validation, as one line with advice."""
    problems = error.errors()
    first = problems[0]
    field = ".".join(str(step) for step in first["loc"])
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, Contradiction):
        return ProfileError(source, cause.field, cause.problem + more, cause.advice)
    if first["type"] == "extra_forbidden":
        return ProfileError(
            source, field, f"unknown key{more}", closest(str(first["loc"][-1]), _keys(first["loc"][:-1]))
        )
    if first["type"] == "missing":
        return ProfileError(source, field, f"missing{more}", "give a figure, or inherit it with 'extends: pe64'")
    shown = repr(first["input"])
    shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
    problem = first["msg"][:1].lower() + first["msg"][1:]
    return ProfileError(source, field, f"{problem}{more}", f"the file says {shown}")


def _keys(location: tuple[int | str, ...]) -> Iterable[str]:
    model: Any = Profile
    for step in location:
        model = model.model_fields[step].annotation if step in getattr(model, "model_fields", {}) else None
    return getattr(model, "model_fields", {})
