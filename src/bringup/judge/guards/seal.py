"""The seal: PyTorch, Triton, time and the judge's own code in the worker are after a call what they were before."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from gc import get_referents
from operator import is_
from types import CodeType, FunctionType, ModuleType
from typing import Any

from bringup.judge.guards._base import Finding, Watch

MODULES = (
    "builtins",
    "math",
    "time",
    "torch",
    "torch._C",
    "torch._C._nn",
    "torch.cuda",
    "torch._ops",
    "torch.nn.functional",
    "torch.overrides",
    "torch.utils._python_dispatch",
    "triton",
    "triton.language",
    "triton.language.core",
    "triton.language.math",
    "triton.runtime.autotuner",
    "triton.runtime.interpreter",
    "triton.runtime.jit",
    "triton.testing",
)
CLASSES = (
    ("torch", "Tensor"),
    ("torch._C", "TensorBase"),
    ("torch.utils._python_dispatch", "TorchDispatchMode"),
    ("triton.runtime.jit", "JITFunction"),
    ("triton.runtime.jit", "KernelInterface"),
    ("triton.runtime.autotuner", "Autotuner"),
    ("triton.runtime.interpreter", "InterpretedFunction"),
    ("triton.runtime.interpreter", "GridExecutor"),
)
# Names that their own modules rebind in the course of events.
RESTLESS = frozenset({"__warningregistry__", "__builtins__", "_", "__getattr__", "__annotations__", "__doc__"})


class Seal(Watch):
    """Compares the attributes of some modules and classes, and the code of the judge's functions, by identity."""

    id = "seal"
    catches = "monkey-patching of torch, triton, time, builtins, and of the judge's code inside the worker"
    misses = "a patch that is undone before anybody looks; objects that are changed without being replaced"
    advice = "do not change torch, triton or any other module"

    def start(self) -> None:
        """Take the impression; Triton patches and restores itself while kernels run, so calls are looked at after."""
        self.attributes: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self.closed: list[tuple[str, type, frozenset[str]]] = []  # a new attribute of a class hides an inherited one
        for name in MODULES:
            module = sys.modules.get(name)
            if module is not None:
                self._press(name, vars(module))
        for module_name, class_name in CLASSES:
            found = getattr(sys.modules.get(module_name), class_name, None)
            if found is not None:
                self._press(f"{module_name}.{class_name}", found.__dict__)
                self.closed.append((f"{module_name}.{class_name}", found, frozenset(found.__dict__)))
        self.code: dict[FunctionType, tuple[str, list[CodeType]]] = {}
        self.codes: list[CodeType] = []
        self.own: list[tuple[str, list[tuple[Any, str, Any]]]] = []
        self.streams: tuple[Any, Any] = (sys.stdout, sys.stderr)
        self.left_on = False
        self.told: set[str] = set()
        for name, module in list(sys.modules.items()):
            if name.startswith("bringup.judge") and isinstance(module, ModuleType):
                self._press(name, vars(module))
                for value in list(vars(module).values()):
                    self._press_code(name, value)

    def _press(self, name: str, namespace: Any) -> None:
        kept = {k: v for k, v in namespace.items() if k not in RESTLESS and not isinstance(v, int | float | str)}
        self.attributes.append((name, namespace, kept))

    def _press_code(self, name: str, value: Any) -> None:
        if isinstance(value, FunctionType):
            self._press_function(f"{name}.{value.__qualname__}", value)
        elif isinstance(value, type) and value.__module__.startswith("bringup.judge"):
            for item in list(vars(value).values()):
                if isinstance(item, FunctionType):
                    self._press_function(f"{name}.{item.__qualname__}", item)
            self._press(f"{name}.{value.__name__}", value.__dict__)

    def _press_function(self, name: str, function: FunctionType) -> None:
        if function not in self.code:
            self.code[function] = (name, _codes(function))
            self.codes += self.code[function][1]

    def loaded(self, module: Any) -> None:
        """Seal the candidate's own functions and kernels: what is compiled is what is launched."""
        for name, value in list(vars(module).items()):
            if callable(value) or _wrapped(value) is not None:
                inner = self._press_own(module, name, value)
                if inner is not value and getattr(getattr(inner, "__code__", None), "co_name", name) != name:
                    self._tell([f"replaced its own {name}"])  # while the module was executed

    def _press_own(self, module: Any, name: str, value: Any) -> Any:
        chain = [(vars(module), name, value)]
        while (inner := _wrapped(value)) is not None:
            chain.append((value, "fn", inner))
            value = inner
        self.own.append((name, chain))
        if isinstance(value, FunctionType):
            self._press_function(name, value)
        return value

    @contextmanager
    def around(self, mode: dict[str, Any]) -> Iterator[None]:
        """Note where output goes and which modes are on, and look at both again afterwards."""
        self.streams = (sys.stdout, sys.stderr)
        modes = _modes()
        try:
            yield
        finally:
            self.left_on = _modes() != modes

    def launching(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Look before a launch: a patch for one launch may be undone when the wrapper returns."""
        self._look("triton.language")

    def finish(self) -> None:
        """Look at everything; what is new in a module (another one imported lazily, say) is nobody's patch."""
        self._look("")
        for name, found, keys in self.closed:
            self._tell(f"added {name}.{key}" for key in found.__dict__ if key not in keys)
        if self.left_on:
            self._tell(["left a mode of torch switched on"])

    def _look(self, prefix: str) -> None:
        self._compare(prefix)
        if not _same(_codes(*self.code), self.codes):
            self._tell(
                f"replaced the code of {name}"
                for function, (name, codes) in self.code.items()
                if not _same(_codes(function), codes)
            )
        for name, chain in self.own:
            self._tell(f"replaced its own {name}" for holder, key, value in chain if _held(holder, key) is not value)
        if self.streams != (sys.stdout, sys.stderr):
            self._tell(["replaced sys.stdout or sys.stderr"])

    def _compare(self, prefix: str) -> None:
        for name, namespace, kept in self.attributes:
            if name.startswith(prefix):
                self._tell(f"replaced {name}.{key}" for key, value in kept.items() if namespace.get(key) is not value)

    def _tell(self, deeds: Iterable[str]) -> None:
        """Add findings, each once in a worker's life."""
        for deed in deeds:
            if deed not in self.told:
                self.told.add(deed)
                self.findings.append(Finding(self.id, f"the candidate {deed}"))


def _codes(*functions: FunctionType) -> list[CodeType]:
    """Return the code objects that functions hold, in their order.

    Reading `__code__` is an audit event each time, which another guard listens to: two milliseconds a launch.
    """
    return [held for held in get_referents(*functions) if type(held) is CodeType]


def _same(now: list[CodeType], then: list[CodeType]) -> bool:
    return len(now) == len(then) and all(map(is_, now, then))


def _held(holder: Any, key: str) -> Any:
    return holder.get(key) if isinstance(holder, dict) else _wrapped(holder)


def _wrapped(value: Any) -> Any:
    """Return what an object holds as `fn`, as Triton's kernels do, without running code of its class."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return held.get("fn") if type(held) is dict else None


def _modes() -> tuple[int, int]:
    """Return how many function modes and dispatch modes are on."""
    import torch

    return torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()
