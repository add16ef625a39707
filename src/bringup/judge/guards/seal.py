"""The seal: PyTorch, Triton, time and the judge's own code in the worker are after a call what they were before."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
    misses = "a patch that is undone before the wrapper returns; objects that are changed without being replaced"
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
        self.code: list[tuple[str, FunctionType, CodeType]] = []
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
            self.code.append((f"{name}.{value.__qualname__}", value, value.__code__))
        elif isinstance(value, type) and value.__module__.startswith("bringup.judge"):
            for item in list(vars(value).values()):
                if isinstance(item, FunctionType):
                    self.code.append((f"{name}.{item.__qualname__}", item, item.__code__))
            self._press(f"{name}.{value.__name__}", value.__dict__)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Look at the language before a launch: a patch for one launch may be undone when the wrapper returns."""
        self._compare("triton.language")
        yield

    def finish(self) -> None:
        """Compare; what is new in a module (another module imported lazily, say) is nobody's patch."""
        self._compare("")
        for name, found, keys in self.closed:
            self.findings += [
                Finding(self.id, f"the candidate added {name}.{key}") for key in found.__dict__ if key not in keys
            ]
        for name, function, code in self.code:
            if function.__code__ is not code:
                self.findings.append(Finding(self.id, f"the candidate replaced the code of {name}"))
        if self.findings:
            self.start()  # told once

    def _compare(self, prefix: str) -> None:
        for name, namespace, kept in self.attributes:
            if name.startswith(prefix):
                for key, value in kept.items():
                    if namespace.get(key) is not value:
                        self.findings.append(Finding(self.id, f"the candidate replaced {name}.{key}"))
