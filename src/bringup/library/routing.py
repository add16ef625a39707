"""Which kernel serves a call on a device, and why: the decisions of `enable`, without enabling anything."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from bringup.library import schemas
from bringup.library._index import Entry
from bringup.library.compositions import INSTEAD
from bringup.library.errors import LibraryError, WrongDevice
from bringup.library.folder import Library

Kind = Literal["kernel", "form", "composed", "decomposed", "device", "builtin", "cpu", "missing"]

# What the device vpe does by itself: memory, views, copies.
DEVICE_OWN = frozenset({
    "empty.memory_format", "empty_strided", "as_strided", "view", "view.dtype", "_reshape_alias", "unfold",
    "view_as_real", "view_as_complex", "set_", "set_.source_Tensor", "set_.source_Storage",
    "set_.source_Storage_storage_offset", "is_set_to", "resize_", "_copy_from", "_copy_from_and_resize", "_to_copy",
    "_local_scalar_dense",
})  # fmt: skip


@dataclass(frozen=True)
class Device:
    """A device that a library is enabled for, as far as choosing kernels goes."""

    type: str
    """`vpe`, `cuda`, `cpu`."""
    target: str
    """`vpe:pe64`, `cuda`."""
    chip: str
    """Digest of the target's figures; empty: any chip of the target will do."""
    torch: str
    triton: str

    @property
    def key(self) -> str:
        """PyTorch's dispatch key."""
        return {"vpe": "PrivateUse1", "cuda": "CUDA", "cpu": "CPU"}[self.type]

    @property
    def builtin(self) -> bool:
        """Whether PyTorch has kernels of its own there, which a library overrides."""
        return self.type != "vpe"


def release(version: str) -> str:
    """Return the part of a version within which kernels are trusted: `2.13.0+cpu` is `2.13`."""
    match = re.match(r"\d+\.\d+", version)
    return match.group() if match else version


def unfit(entry: Entry, device: Device) -> str | None:
    """Return why an entry's judgements do not hold on a device; None when one does."""
    if not entry.judged:
        return "it was not judged"
    reasons = []
    for judged in entry.judged:
        if _family(judged.target) != _family(device.target) or (device.chip and judged.target != device.target):
            reasons.append(f"judged on {judged.target}")
        elif device.chip and judged.chip != device.chip:
            reasons.append(f"judged on another {judged.target} (its profile has changed)")
        elif release(judged.torch) != release(device.torch):
            reasons.append(f"judged with torch {judged.torch}, this is {device.torch}")
        elif release(judged.triton) != release(device.triton):
            reasons.append(f"judged with triton {judged.triton}, this is {device.triton}")
        else:
            return None
    return "; ".join(dict.fromkeys(reasons))


def _family(target: str) -> str:
    return target.partition(":")[0]


def matches(overload: str, patterns: Iterable[str]) -> bool:
    """Whether a name is among patterns: globs of overloads (`add.*`, `*softmax*`) or operators (`add`, `aten::add`)."""
    names = {overload, overload.partition(".")[0]}
    return any(
        fnmatchcase(name, pattern.removeprefix("aten::").removeprefix("aten."))
        for pattern in patterns
        for name in names
    )


@dataclass(frozen=True)
class Choice:
    """What a library offers a device: kernels by overload, variants first, and why others do not serve."""

    serving: dict[str, list[Entry]]
    refused: dict[str, str]


def without_calls(choice: Choice) -> Choice:
    """Leave out kernels that call operators: in a guest there are none."""
    serving, refused = {}, dict(choice.refused)
    for overload, entries in choice.serving.items():
        kept = [entry for entry in entries if not entry.calls]
        if kept:
            serving[overload] = kept
        else:
            refused[overload] = "it calls other operators, which a sealed kernel cannot"
    return Choice(serving, refused)


def choose(
    library: Library,
    device: Device,
    *,
    include: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    unjudged: bool = False,
) -> Choice:
    """Choose the entries that serve a device.

    An override for the device's target comes before the base. Raises WrongDevice when no kernel at all is fit, and
    LibraryError for a pattern that names nothing in the library.
    """
    overloads = library.overloads()
    for pattern in (*(include or ()), *exclude):
        if not any(matches(name, [pattern]) for name in overloads):
            raise LibraryError(
                f"{library.path}: no kernel matches '{pattern}'; `bringup library list` shows what there is"
            )
    serving: dict[str, list[Entry]] = {}
    refused: dict[str, str] = {}
    fit_at_all = not overloads
    for name in overloads:
        entries = [e for e in library.of(name) if e.profile in ("", device.target)]
        overrides = [e for e in entries if e.profile]
        chosen = []
        for variant in dict.fromkeys(e.variant for e in entries):
            same = [e for e in overrides if e.variant == variant] or [e for e in entries if e.variant == variant]
            why = None if unjudged else unfit(same[0], device)
            if why is None:
                chosen.append(same[0])
            elif not variant or name not in refused:
                refused[name] = why
        fit_at_all = fit_at_all or bool(chosen)
        if include is not None and not matches(name, include):
            refused[name] = "it is not among include="
        elif matches(name, exclude):
            refused[name] = "it is among exclude="
        elif chosen:
            refused.pop(name, None)
            serving[name] = sorted(chosen, key=lambda e: e.when is None)
    if not fit_at_all:
        example = next(iter(refused.values()), "it holds none for this profile")
        raise WrongDevice(
            f"{library.path}: no kernel of this library (for {library.target}) is for {device.target} with torch "
            f"{device.torch} and triton {device.triton}: {example}. Judge them there: bringup library verify -l "
            f"{library.path} --judge --target {device.target} --record; or trust them with unjudged=True"
        )
    return Choice(serving, refused)


@dataclass(frozen=True)
class Served:
    """One overload to register, and the overload whose kernels serve it."""

    overload: str
    kernel: str
    form: Literal["itself", "functional", "in-place", "out="]


def forms(serving: Iterable[str], device: Device) -> list[Served]:
    """Return every overload that kernels serve on a device: their own, and other forms of the operator.

    On a device from outside PyTorch itself sends the functional and in-place forms of a structured operator to `out=`;
    on `cuda` each form has a kernel of its own to be replaced. Of other operators each form reaches the device: the
    result of a functional kernel is copied to `out=`.
    """
    names = set(serving)
    found = [Served(name, name, "itself") for name in sorted(names)]
    taken = set(names)
    for name in sorted(names):
        schema = schemas.schema_of(name)
        functional = schemas.functional_of(name) if schema.outs else None
        twin = schemas.inplace_of(name)
        out = None if schema.outs else schemas.out_of(name)
        for other, form in ((functional, "functional"), (twin, "in-place"), (out, "out=")):
            if other is None or other in taken:
                continue
            if not device.builtin and schemas.is_composed(other):
                continue  # PyTorch goes to this kernel by itself, or has a composition of its own
            taken.add(other)
            found.append(Served(other, name, form))  # type: ignore[arg-type]
    return found


@dataclass(frozen=True)
class Route:
    """Which code serves an overload on a device."""

    overload: str
    kind: Kind
    why: str
    entries: tuple[Entry, ...] = ()


def route(overload: str, choice: Choice, device: Device, *, fallback: str | None = None) -> Route:
    """Say what serves a call of an overload; raises LibraryError for a name that is none."""
    schemas.schema_of(overload)
    table = {served.overload: served for served in forms(choice.serving, device)}
    if overload in table:
        served = table[overload]
        entries = tuple(choice.serving[served.kernel])
        if served.form == "itself":
            return Route(overload, "kernel", "its own kernel", entries)
        word = "its result is allocated and given to" if served.form == "functional" else "its tensor is given to"
        if served.form != "functional" and not schemas.schema_of(served.kernel).outs:
            word = "its tensor receives the result of"
        return Route(overload, "form", f"{word} the kernel of {served.kernel}", entries)
    refused = choice.refused.get(overload)
    note = f"; the library's kernel does not serve: {refused}" if refused else ""
    if device.builtin:
        return Route(overload, "builtin", f"PyTorch's own kernel for {device.type}{note}")
    if overload in DEVICE_OWN:
        return Route(overload, "device", "the device itself: memory, views and copies")
    for out in schemas.overloads(overload.partition(".")[0].removesuffix("_")):
        if overload in (schemas.functional_of(out), schemas.inplace_of(out)) and schemas.is_structured(overload):
            inner = route(out, choice, device, fallback=fallback)
            return Route(overload, "form" if inner.kind == "kernel" else inner.kind,
                         f"PyTorch sizes the result and calls {out}: {inner.why}", inner.entries)  # fmt: skip
    if overload in INSTEAD:
        return Route(
            overload, "decomposed", f"other operators, in the place of PyTorch's composition: {INSTEAD[overload]}{note}"
        )
    if schemas.is_composed(overload):
        return Route(overload, "composed", f"PyTorch composes it of other operators{note}")
    if fallback == "cpu":
        return Route(overload, "cpu", f"the CPU: fallback='cpu' was asked for{note}")
    if decomposed(overload):
        return Route(overload, "decomposed", f"PyTorch's decomposition (torch._decomp) into other operators{note}")
    return Route(overload, "missing", f"no kernel{note}; {generate(overload, device.target)}")


def decomposed(overload: str) -> bool:
    """Whether PyTorch has a decomposition in Python for an overload."""
    return decomposition(schemas.operator(overload)) is not None


def decomposition(operator: Any) -> Any:
    """Return PyTorch's decomposition in Python of an operator, or ours where it has none.

    None where there is none but a name for itself.
    """
    import torch
    from torch._decomp import decomposition_table

    from bringup.library.compositions import OURS

    if (ours := OURS.get(_name_of(operator))) is not None:
        return _writing(operator, ours)
    # What has the name of a primitive is not taken apart: its decomposition is that primitive, which is the operator.
    name = operator._schema.name.partition("::")[2]
    if hasattr(torch.ops.prims, name) or operator not in decomposition_table:
        return None
    return _writing(operator, decomposition_table[operator])


def _name_of(operator: Any) -> str:
    """Return the name of an overload object: `add.out`, `relu`."""
    name, overload = operator._schema.name.partition("::")[2], operator._schema.overload_name
    return f"{name}.{overload}" if overload else str(name)


def _writing(operator: Any, decomposition: Any) -> Any:
    """Let a decomposition write to the tensors that an `out=` form was given.

    Some know the functional form only. Others take these tensors, but convert all arguments to float32 first, and then
    write to the converted copies (`pw_cast_for_opmath` around `out_wrapper`).
    """
    outs = [p.name for p in operator._schema.arguments if p.kwarg_only and p.alias_info and p.alias_info.is_write]
    parameters = inspect.signature(decomposition).parameters
    if not outs:
        return decomposition
    takes_them = any(p.kind == p.VAR_KEYWORD for p in parameters.values()) or set(outs) <= set(parameters)

    def write(*args: Any, **kwargs: Any) -> Any:
        import torch

        given = [kwargs[name] for name in outs]
        inputs = kwargs if takes_them else {name: value for name, value in kwargs.items() if name not in outs}
        made = decomposition(*args, **inputs)
        if made is NotImplemented:
            return made
        results = list(made) if isinstance(made, list | tuple) else [made]
        for out, one in zip(given, results, strict=True):
            if not torch.can_cast(one.dtype, out.dtype):
                raise RuntimeError(f"result type {one.dtype} can't be cast to the desired output type {out.dtype}")
        for out, one in zip(given, results, strict=True):
            if out is not one:
                if out.shape != one.shape:
                    out.resize_(one.shape)
                out.copy_(one)
        return given[0] if len(given) == 1 else tuple(given)

    return write


def generate_for_calls(overload: str, target: str) -> str:
    """Return the commands that would make a kernel for the calls of a program."""
    return (
        "make a kernel for such calls: bringup capture -o calls.json -- python SCRIPT; bringup run --suite "
        f"captured:calls.json --ops {overload} --target {target}"
    )


def generate(overload: str, target: str) -> str:
    """Return the command that would make a kernel, or why there can be none on the target."""
    known, why_none = _judgeable(overload, target)
    if why_none:
        return f"none can be judged on {target}: {why_none}"
    if not known:
        return f"no sample of the suite aten calls it; {generate_for_calls(overload, target)}"
    return f"make one: bringup run --suite aten --ops {overload} --target {target}"


@functools.cache
def _judgeable(overload: str, target: str) -> tuple[bool, str]:
    """Whether the suite `aten` knows an overload, and why the target cannot judge it; "" where it can."""
    from bringup.errors import UnknownOperator
    from bringup.suites import get_suite
    from bringup.targets import get_target

    try:
        operator = get_suite("aten").operator(overload)
    except UnknownOperator:
        return False, ""
    return True, operator.exclusion or operator.not_applicable(get_target(target).features) or ""
