"""What stands behind the device while it is measured: a library, or what a function of the user's registers. Imports
torch.
"""

from __future__ import annotations

import importlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import torch

from bringup.coverage._trace import BuiltinTrace, registered
from bringup.errors import ConfigError
from bringup.library import NotEnabled, NotServed
from bringup.library.enabled import plain_name
from bringup.library.enabling import CHECKED, SEALED, active, device_of, enable
from bringup.library.folder import Library

# How PyTorch and the device name an operator that has no kernel there.
_NAMED = re.compile(r"has no kernel for aten::([\w.]+\w)|Could not run 'aten::([\w.]+\w)'|\b(\w+_overrideable)\b")


class Serving(Protocol):
    """A device with kernels behind it."""

    device: torch.device
    observes: bool
    """Whether calls of kernels are counted."""

    def plain(self, text: str) -> str:
        """Return a message without the place where the kernels are."""
        ...

    def calls(self) -> tuple[Counter[str], Counter[str]]:
        """Return how often kernels were called so far, and how often PyTorch's decompositions served."""
        ...

    def watched(self) -> AbstractContextManager[set[str]]:
        """Run calls, and collect the overloads that PyTorch's own kernels of the device served."""
        ...

    def surveyed(self) -> AbstractContextManager[dict[str, set[str]]]:
        """Run calls with something else behind what is missing; collect, by overload called, what was missing."""
        ...

    def fault(self) -> str:
        """Say what has broken the device for this process, once all that was begun is over; "" where nothing has."""
        ...


def missing_overload(error: BaseException | None) -> str | None:
    """Return the overload for lack of which a call failed, or None where it failed for another reason."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # code that is measured may make a chain without end
        seen.add(id(error))
        if isinstance(error, NotServed) and error.overload:
            return error.overload
        if isinstance(error, NotImplementedError | RuntimeError) and (found := _NAMED.search(str(error))):
            return next(name for name in found.groups() if name)
        error = error.__cause__ or error.__context__
    return None


class LibraryServing:
    """A library of bringup's, or with `path` None the bare device."""

    observes = True

    def __init__(self, path: Path | None, target: str, unjudged: bool, scratch: Path) -> None:
        """Enable it. Raises LibraryError, NotEnabled, WrongDevice, ConfigError."""
        self.target, self.unjudged = target, unjudged
        self.library = Library.create(scratch / "bare", target) if path is None else Library.open(path)
        device_of(target, self.library)  # one clear error for a target that is none
        self._enabled = self._enable(None)
        self.device = torch.device(target.partition(":")[0])

    def _enable(self, fallback: str | None) -> Any:
        # Every case is another kind of call: sealed, nearly each would ask a guest.
        sealed = None if SEALED in os.environ else False
        checked = None if CHECKED in os.environ else False
        return enable(
            self.library, self.target, fallback=fallback, unjudged=self.unjudged, sealed=sealed, checked=checked
        )

    def plain(self, text: str) -> str:
        """See `Serving`."""
        return text.replace(f"{self.library.path}{os.sep}", "")

    def calls(self) -> tuple[Counter[str], Counter[str]]:
        """See `Serving`."""
        return Counter(self._enabled.calls()), Counter(self._enabled.compositions)

    @contextmanager
    def watched(self) -> Iterator[set[str]]:
        """See `Serving`; on a device with no kernels of PyTorch's there is nothing to watch."""
        if not self._enabled.device.builtin:
            yield set()
            return
        self._enabled.builtins.clear()
        with BuiltinTrace(self._enabled.device.key, self._enabled.registered) as trace:
            try:
                yield trace.builtins
            finally:
                trace.builtins.update(self._enabled.builtins)

    @contextmanager
    def surveyed(self) -> Iterator[dict[str, set[str]]]:
        """See `Serving`: the CPU computes what is missing."""
        if self._enabled.device.builtin:
            raise NotEnabled("PyTorch's own kernels serve what is missing")
        self._enabled.disable()
        self._enabled = self._enable("cpu")
        self._enabled.compose_first = True
        try:
            yield self._enabled.lacked
        finally:
            self._enabled.fallbacks.clear()  # the CPU was asked for here: no report at the end
            self._enabled.disable()
            self._enabled = self._enable(None)

    def fault(self) -> str:
        """See `Serving`."""
        return device_fault(self.device)


class ModuleServing:
    """What `MODULE:FUNCTION` registers with PyTorch's dispatcher."""

    def __init__(self, spec: str, target: str) -> None:
        """Import and call it. Raises ConfigError, NotEnabled."""
        self.kind, _, profile = target.partition(":")
        if self.kind == "vpe":
            from bringup.vpe import device

            if (enabled := active("vpe")) is not None:
                enabled.disable()  # PyTorch's autoload
            try:
                device.enable(profile=profile)
            except device.DeviceUnavailable as error:
                raise NotEnabled(f"the device vpe is not available: {error}") from error
            from bringup import vpe

            vpe.activate(profile or None)
        elif self.kind == "cuda" and not torch.cuda.is_available():
            raise NotEnabled("the device cuda is not available: no NVIDIA GPU, or torch is not built for one")
        self.device = torch.device(self.kind)
        self.observes = self.kind != "vpe"
        key = "PrivateUse1" if self.kind == "vpe" else self.kind.upper()
        before = registered(key)
        call_spec(spec)
        after = registered(key)
        self._own = frozenset(name for name in after if after[name] != before.get(name))
        if not self._own:
            raise ConfigError(f"--enable {spec}", f"registered no kernel of namespace aten for {self.kind}")
        self._key = key
        self._served: Counter[str] = Counter()

    def plain(self, text: str) -> str:
        """See `Serving`."""
        return text

    def calls(self) -> tuple[Counter[str], Counter[str]]:
        """See `Serving`; on vpe nothing is counted."""
        return Counter(self._served), Counter()

    def watched(self) -> AbstractContextManager[set[str]]:
        """See `Serving`."""
        if self.kind == "vpe":
            return nullcontext(set())
        return self._traced()

    @contextmanager
    def _traced(self) -> Iterator[set[str]]:
        with BuiltinTrace(self._key, self._own) as trace:
            yield trace.builtins
        self._served.update(trace.own)

    @contextmanager
    def surveyed(self) -> Iterator[dict[str, set[str]]]:
        """See `Serving`: the CPU computes what is missing."""
        if self.kind != "vpe":
            raise NotEnabled("PyTorch's own kernels serve what is missing")
        from bringup.vpe.device import fallback

        found: defaultdict[str, set[str]] = defaultdict(set)

        def note(operator: Any, *_: Any) -> None:
            name = plain_name(fallback.name_of(operator))
            found[name].add(name)

        fallback.use("cpu")
        try:
            with fallback.observed(note):
                yield found
        finally:
            fallback.use(None)

    def fault(self) -> str:
        """See `Serving`."""
        return device_fault(self.device)


def device_fault(device: torch.device) -> str:
    """Wait for a GPU, and say what has broken its context: nothing that runs there afterwards says anything.

    On `vpe` a fault is an error of its launch alone.
    """
    if device.type != "cuda":
        return ""
    try:
        torch.cuda.synchronize(device)
    except Exception as error:  # torch.AcceleratorError, RuntimeError: a context that is lost stays lost
        return str(error).splitlines()[0]
    return ""


def call_spec(spec: str) -> None:
    """Import MODULE and call FUNCTION of `MODULE:FUNCTION`; raises ConfigError."""
    module, _, function = spec.partition(":")
    if not module or not function:
        raise ConfigError(f"--enable {spec}", "not MODULE:FUNCTION", "such as flag_gems:use_gems")
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:  # whatever a module of the user's raises
        raise ConfigError(f"--enable {spec}", f"{module} cannot be imported: {type(error).__name__}: {error}") from None
    for part in function.split("."):
        if not hasattr(found, part):
            raise ConfigError(f"--enable {spec}", f"{module} has no {function}")
        found = getattr(found, part)
    try:
        entered = found()
        # `use_gems` of FlagGems is a context manager: it holds for the rest of the process.
        if hasattr(entered, "__enter__"):
            entered.__enter__()
            _entered.append(entered)
    except Exception as error:
        raise ConfigError(f"--enable {spec}", f"{function} failed: {type(error).__name__}: {error}") from None


_entered: list[Any] = []


def open_serving(
    target: str, library: Path | None, spec: str, *, unjudged: bool, scratch: Path
) -> LibraryServing | ModuleServing:
    """Put kernels behind a device: a library's, or those of `MODULE:FUNCTION`."""
    if spec:
        return ModuleServing(spec, target)
    return LibraryServing(library, target, unjudged, scratch)
