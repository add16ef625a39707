"""Putting a library behind a device: registration with PyTorch's dispatcher, and taking it back."""

from __future__ import annotations

import atexit
import collections
import contextlib
import functools
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from bringup.library import routing
from bringup.library._index import INDEX, Entry
from bringup.library.errors import LibraryError, NotEnabled, NotServed
from bringup.library.folder import Library
from bringup.library.routing import Device, Route

VARIABLE = "BRINGUP_LIBRARY"
SEALED, CHECKED = "BRINGUP_SEALED", "BRINGUP_CHECKED"
DEVICES = ("vpe", "cuda")
"""Types of devices that a library serves."""
_SEALS: dict[str, bool | Literal["strict"]] = {"": True, "1": True, "0": False, "strict": "strict"}

_lock = threading.RLock()
_active: dict[str, Enabled] = {}
_keep_enabled = False
"""Set where somebody else decides what is enabled (`bringup bisect`): `enable` then returns what there is."""


def active(device: str = "vpe") -> Enabled | None:
    """Return what is enabled for a type of device, or None."""
    return _active.get(device)


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
    with _lock:
        if kind in _active:
            if _keep_enabled:
                return _active[kind]
            other = _active[kind]
            if other.by_itself:
                other.disable()
        if kind in _active:
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
        _active[kind] = enabled
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


class Enabled:
    """A library that serves a device. Also a context manager that disables it."""

    def __init__(
        self, library: Library, device: Device, choice: routing.Choice, *, fallback: str | None, compose: bool,
        sealed: bool | Literal["strict"] = False, checked: bool = False,
    ) -> None:  # fmt: skip
        """Use `bringup.enable`."""
        self.first_uses: Any = None
        """What compares first calls with the CPU's, if anything does."""
        if checked:
            from bringup.library._first_use import FirstUses

            self.first_uses = FirstUses(device.target, sealed=bool(sealed))
        self.sealer: Any = None
        """Where wrappers run, if not in this process."""
        if sealed:
            from bringup.library._sealed import Sealer

            self.sealer = Sealer(device.target, strict=sealed == "strict")
        self.unsealable: list[str] = []
        """Overloads whose kernels do not serve since they call operators."""
        self.library = library
        self.device = device
        self.choice = choice
        self.fallback = fallback
        self.compose = compose
        self.fallbacks: collections.Counter[str] = collections.Counter()
        """How often the CPU stood in, by overload."""
        self.compositions: collections.Counter[str] = collections.Counter()
        self.builtins: collections.Counter[str] = collections.Counter()
        """Calls of overloads with a kernel here that the device's own kernel served, by overload."""
        """How often one of PyTorch's decompositions in Python served, by overload."""
        self.lacked: dict[str, set[str]] = {}
        """What the CPU stood in for, by the overload that was called: itself, or parts of its decomposition."""
        self.by_itself = False
        self.switch: Any = None
        """Decides for each call who computes it (`bringup bisect`); called with kernel, overload, form, arguments."""
        self.compose_first = False
        self._registrations: Any = None
        self._forms: dict[str, _Lazy] = {}
        self._kernels: dict[str, list[Any]] = {}
        self._composing = threading.local()
        self._activated = False
        self._reported = False

    def __enter__(self) -> Enabled:
        """Nothing more to do: `enable` did it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disable."""
        self.disable()

    @property
    def enabled(self) -> bool:
        """Whether it still serves."""
        return _active.get(self.device.type) is self

    def disable(self) -> None:
        """Give the device back what served before; tensors keep their memory. Calling it twice does nothing."""
        with _lock:
            if not self.enabled:
                return
            del _active[self.device.type]
            self._registrations._destroy()
            if self.device.type == "vpe":
                from bringup.vpe.device import fallback

                fallback.missing = None
            if self.sealer is not None:
                self.sealer.close()
            if self._activated:
                from bringup import vpe

                vpe.deactivate()
        self._report_fallbacks()

    def route(self, overload: str) -> Route:
        """Say what serves calls of an overload (`add.Tensor`); raises LibraryError for a name that is none."""
        return routing.route(plain_name(overload), self.choice, self.device, fallback=self.fallback)

    @property
    def registered(self) -> frozenset[str]:
        """The overloads that kernels of the library serve, in any form."""
        return frozenset(self._forms)

    def calls(self) -> dict[str, int]:
        """Return how often each kernel was called, by its overload."""
        return {name: sum(k.calls for k in kernels) for name, kernels in self._kernels.items()}

    def report(self) -> str:
        """Say in a few lines what served so far: own kernels, compositions, and the CPU."""
        self._reported = True
        served = {name: count for name, count in sorted(self.calls().items()) if count}
        lines = [f"{sum(served.values())} calls of {len(served)} kernels of {self.library.path}"]
        if self.sealer is not None:
            sealer = self.sealer
            lines.append(f"sealed: {sealer.asked} calls asked a guest, {sealer.repeated} ran a kept tape")
            if sealer.foretold:
                lines.append(
                    f"{sealer.foretold} of these with numbers that no call had before: as patterns foretold them, and "
                    "guests that make other calls as well agreed"
                )
            if self.unsealable:
                lines.append(
                    f"not served, since they call operators, which sealed kernels cannot: {', '.join(self.unsealable)}"
                )
        if self.first_uses is not None:
            lines.append(
                f"{self.first_uses.compared} first calls of a kind, and later ones, were compared with the CPU's"
            )
            for why, count in self.first_uses.left_out.most_common():
                lines.append(f"{count} calls were not compared: {why}")
        for title, counts in (
            ("composed by PyTorch", self.compositions),
            (f"left to PyTorch's own kernels for {self.device.type}", self.builtins),
            ("computed by the CPU", self.fallbacks),
        ):
            if counts:
                names = ", ".join(f"{name} ({count})" for name, count in counts.most_common())
                lines.append(f"{sum(counts.values())} calls of {len(counts)} operators {title}: {names}")
        return "\n".join(lines)

    # ---------------------------------------------------------------- registration

    def _register(self) -> None:
        import torch

        from bringup.library import schemas
        from bringup.library.compositions import DETOURS

        key = self.device.key
        registrations = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*[Oo]verrid.*")
            try:
                for served in routing.forms(self.choice.serving, self.device):
                    form = _Lazy(self, served)
                    self._forms[served.overload] = form
                    if schemas.is_composite(served.overload):
                        self._register_composite(registrations, served.overload, form)
                    detour = DETOURS.get(served.overload)
                    registrations.impl(served.overload, detour(form) if detour else form, key, allow_override=True)
                if self.device.type == "vpe":
                    self._register_device(registrations)
            except BaseException:
                registrations._destroy()
                raise
        self._registrations = registrations
        if self.fallback:
            _report_at_exit(self)

    def _register_composite(self, registrations: Any, overload: str, form: Any) -> None:
        """A kernel of an operator that PyTorch composes, gradient included: it serves where no gradient is asked."""
        import torch

        from bringup.library._call import tensors_in
        from bringup.library.schemas import operator

        found = operator(overload)

        def composite(*args: Any, **kwargs: Any) -> Any:
            inputs = tensors_in([*args, *kwargs.values()])
            if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs):
                return found.decompose(*args, **kwargs)
            with torch._C._AutoDispatchBelowAutograd():
                return form(*args, **kwargs)

        registrations.impl(overload, composite, f"Autograd{self.device.key}", allow_override=True)

    def _register_device(self, registrations: Any) -> None:
        from bringup.library import schemas
        from bringup.library.compositions import INSTEAD
        from bringup.vpe.device import fallback

        fallback.missing = self._missing
        own = set(self._forms)
        # In gradient formulas PyTorch asks for zeros that it need not write; here they are written.
        if "_efficientzerotensor" not in own:
            registrations.impl("_efficientzerotensor", _zeros, self.device.key, allow_override=True)
        if "zero_" not in own and "fill_.Scalar" in own:
            registrations.impl("zero_", _zero_by_filling, self.device.key, allow_override=True)
        if self.compose:
            for name in INSTEAD:
                if name not in own:
                    own.add(name)
                    composed = functools.partial(self._missing, schemas.operator(name))
                    registrations.impl(name, composed, self.device.key, allow_override=True)
        if self.fallback == "cpu":
            for name in fallback.stand_ins():
                if name not in own:
                    stand_in = functools.partial(self._missing, schemas.operator(name))
                    registrations.impl(name, stand_in, self.device.key, allow_override=True)

    def _form(self, served: routing.Served) -> Any:
        """Make what serves an overload; at its first call."""
        from bringup.library import _forms
        from bringup.library.schemas import schema_of

        with _lock:
            builtin = None
            before = self._forms[served.overload].before
            if before is not None:
                builtin = functools.partial(self._builtin, served.overload, before, _keys(self.device.key))
            choose = self._chooser(served.kernel)
            kind = {
                "itself": _forms.Form,
                "functional": _forms.FunctionalForm,
                "in-place": _forms.InplaceForm,
                "out=": _forms.CopiedForm,
            }[served.form]
            if served.form == "itself" and schema_of(served.overload).outs:
                kind = _forms.OutForm
            return kind(served.overload, served.kernel, choose, self.device.type, builtin, self._refused)

    def _builtin(self, overload: str, before: Any, keys: Any, *args: Any, **kwargs: Any) -> Any:
        """Let the device's own kernel serve a call that those of the library do not."""
        self.builtins[overload] += 1
        return before.call_boxed(keys, *args, **kwargs)

    def _chooser(self, overload: str) -> Callable[[Sequence[Any]], Any]:
        from bringup.library._call import tensors_in
        from bringup.library._kernel import Kernel
        from bringup.library.schemas import schema_of

        if overload not in self._kernels:
            seal = None if self.sealer is None else self.sealer.wrapper
            schema = schema_of(overload)
            self._kernels[overload] = [
                Kernel(
                    self.library, entry, schema, self._prepare, seal,
                    None if self.first_uses is None else self.first_uses.of(schema),
                )
                for entry in self.choice.serving[overload]
            ]  # fmt: skip
        kernels = self._kernels[overload]

        def choose(inputs: Sequence[Any]) -> Any:
            if len(kernels) == 1 and kernels[0].entry.when is None:
                return kernels[0]
            tensors = list(tensors_in(inputs))
            first = tensors[0] if tensors else None
            for kernel in kernels:
                when = kernel.entry.when
                if when is None or (first is not None and when.admits(
                    str(first.dtype).removeprefix("torch."),
                    first.dim(),
                    max(tensor.numel() for tensor in tensors),
                    all(tensor.is_contiguous() for tensor in tensors),
                )):  # fmt: skip
                    return kernel
            return None

        return choose

    def _prepare(self) -> None:
        """Before the first kernel is loaded: let Triton compile for this device."""
        if self.device.target.startswith("vpe") and not self._activated:
            from triton.runtime.driver import driver

            from bringup import vpe
            from bringup.vpe.backend.driver import VpeDriver

            already = isinstance(driver._active, VpeDriver)
            vpe.activate(self.device.target.partition(":")[2])
            self._activated = not already

    # ---------------------------------------------------------------- what no kernel serves

    def _missing(self, operator: Any, *args: Any, **kwargs: Any) -> Any:
        """Serve a call of an overload that has no kernel, if it can be."""
        return self._otherwise(operator, "", args, kwargs)

    def _refused(self, operator: Any, why: str, args: Any, kwargs: Any) -> Any:
        """Serve a call that the kernel there is not for."""
        return self._otherwise(operator, why, args, kwargs)

    def _otherwise(self, operator: Any, refusal: str, args: Any, kwargs: Any) -> Any:
        from bringup.library._forms import undeclared
        from bringup.library._kernel import running
        from bringup.library.compositions import INSTEAD, ONLY_OURS
        from bringup.vpe.device import fallback

        name = plain_name(fallback.name_of(operator))
        stack = running()
        if stack and name not in stack[-1].entry.calls:
            raise undeclared(stack[-1], name)
        composing = getattr(self._composing, "names", None)
        if composing is None:
            composing = self._composing.names = []
        needs = ""
        # The CPU has no kernel of some; others PyTorch composes, with the CPU behind what is missing, too.
        first = self.compose_first or not self.fallback or name in ONLY_OURS or name in INSTEAD
        if self.compose and name not in composing and first:
            decomposition = routing.decomposition(operator)
            if decomposition is not None:
                composing.append(name)
                try:
                    result = decomposition(*args, **kwargs)
                except NotServed as error:
                    if error.overload != name:
                        needs = f"; PyTorch's decomposition of it needs aten::{error.overload}"
                else:
                    if result is not NotImplemented:
                        self.compositions[name] += 1
                        return result
                finally:
                    composing.pop()
        if self.fallback == "cpu":
            self.fallbacks[name] += 1
            self.lacked.setdefault(composing[0] if composing else name, set()).add(name)
            return fallback.compute_on_cpu(operator, args, kwargs)
        if refusal:
            missing = NotServed(
                f"aten::{name} is not served for this call: {refusal}{needs}; "
                f"{routing.generate_for_calls(name, self.device.target)}; or let the CPU compute what is missing: "
                "fallback='cpu'"
            )
            missing.overload = name
            raise missing
        why = self.choice.refused.get(name)
        refused = f" (the one there does not serve: {why})" if why else ""
        missing = NotServed(
            f"no kernel for aten::{name} in the library {self.library.path}{refused}{needs}; "
            f"{routing.generate(name, self.device.target)}; or let the CPU compute what is missing: fallback='cpu'"
        )
        missing.overload = name
        raise missing

    def _report_fallbacks(self) -> None:
        if self.fallbacks and not self._reported:
            self._reported = True
            names = ", ".join(f"{name} ({count})" for name, count in self.fallbacks.most_common(8))
            more = "" if len(self.fallbacks) <= 8 else f" and {len(self.fallbacks) - 8} more"
            print(
                f"bringup: the CPU computed {sum(self.fallbacks.values())} calls of {len(self.fallbacks)} operators "
                f"that no kernel serves: {names}{more}",
                file=sys.stderr,
            )


class _Lazy:
    """What is registered for an overload: makes the real thing at the first call, so that enabling is cheap."""

    __slots__ = ("before", "form", "owner", "served")

    def __init__(self, owner: Enabled, served: routing.Served) -> None:
        import torch

        self.owner = owner
        self.served = served
        self.form: Any = None
        self.before: Any = None
        if owner.device.builtin:
            with contextlib.suppress(RuntimeError):  # PyTorch has none there
                self.before = torch.library.get_kernel(f"aten::{served.overload}", owner.device.key)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        form = self.form
        if form is None:
            form = self.form = self.owner._form(self.served)
        if self.owner.switch is not None:
            return self.owner.switch(self.served.kernel, self.served.overload, form, args, kwargs)
        return form(*args, **kwargs)


def _keys(key: str) -> Any:
    import torch

    return torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))


def plain_name(name: str) -> str:
    """`aten::add.out`, `aten.add.out` and `add.out` are the same; `relu.default` is `relu`."""
    return name.removeprefix("aten::").removeprefix("aten.").removesuffix(".default")


def _zeros(size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Any:
    import torch

    return torch.empty(size, dtype=dtype, device="vpe").zero_()


def _zero_by_filling(tensor: Any) -> Any:
    return tensor.fill_(0)


_at_exit: weakref.WeakSet[Enabled] = weakref.WeakSet()


def _report_at_exit(enabled: Enabled) -> None:
    if not _at_exit:
        atexit.register(_report_all)
    _at_exit.add(enabled)


def _report_all() -> None:
    for enabled in list(_at_exit):
        enabled._report_fallbacks()


def entries_of(enabled: Enabled) -> Iterable[Entry]:
    """Return the entries that serve."""
    for entries in enabled.choice.serving.values():
        yield from entries
