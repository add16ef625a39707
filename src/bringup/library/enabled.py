"""A library that serves a device: registration with PyTorch's dispatcher, and taking it back."""

from __future__ import annotations

import atexit
import collections
import contextlib
import functools
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Literal

from bringup.library import routing
from bringup.library._index import Entry
from bringup.library.errors import NotServed
from bringup.library.folder import Library
from bringup.library.routing import Device, Route

LOCK = threading.RLock()
ACTIVE: dict[str, Enabled] = {}
"""What serves, by type of device."""


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
            from bringup.library._sealer import Sealer

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
        """How often one of PyTorch's decompositions in Python served, by overload."""
        self.builtins: collections.Counter[str] = collections.Counter()
        """Calls of overloads with a kernel here that the device's own kernel served, by overload."""
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
        return ACTIVE.get(self.device.type) is self

    def disable(self) -> None:
        """Give the device back what served before; tensors keep their memory. Calling it twice does nothing."""
        with LOCK:
            if not self.enabled:
                return
            del ACTIVE[self.device.type]
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

        with LOCK:
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
            seal = self._sealed if self.sealer is not None else None
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

    def _sealed(self, source: str, schema: Any) -> Any:
        from bringup.library._sealed import SealedWrapper

        return SealedWrapper(self.sealer, source, schema)

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
