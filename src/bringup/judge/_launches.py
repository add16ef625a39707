"""Record every kernel launch of a candidate as the specialisation that a real compiler would be asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bringup.judge._overseer import Overseer


def gpu_target(spec: str) -> Any:
    """Return Triton's target for `cuda:sm_90`, `hip:gfx942` and the like; raises ValueError for anything else."""
    from triton.backends.compiler import GPUTarget

    backend, _, arch = spec.partition(":")
    if backend == "cuda" and arch.startswith("sm_") and arch[3:].isdigit():
        return GPUTarget("cuda", int(arch[3:]), 32)
    if backend == "hip" and arch.startswith("gfx"):
        return GPUTarget("hip", arch, 64 if arch.startswith("gfx9") else 32)
    raise ValueError(f"compile target '{spec}' is not of the form cuda:sm_NN or hip:gfxNNN")


class LaunchRecorder:
    """Counts launches and collects each distinct specialisation once, for every toolchain of `compile_for`."""

    def __init__(self, compile_for: tuple[str, ...]) -> None:
        """Prepare binders for the toolchains; nothing is compiled here."""
        from triton.compiler.compiler import make_backend

        self.launches = 0
        self.latest = ""  # name of the kernel launched last
        self._backends = {spec: make_backend(gpu_target(spec)) for spec in compile_for}
        self._binders: dict[tuple[str, int], Any] = {}
        self._seen: set[str] = set()
        self._fresh: list[dict[str, Any]] = []

    def take(self) -> list[dict[str, Any]]:
        """Return the specialisations that are new since the last call, as JSON objects."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def record(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note one launch of the Python function behind a kernel."""
        self.launches += 1
        self.latest = function.__name__
        for spec, backend in self._backends.items():
            try:
                entry = self._specialise(spec, backend, function, args, kwargs)
            except Exception:
                # A launch that cannot even be bound raises by itself, with a better message, a moment later.
                continue
            text = json.dumps(entry, sort_keys=True)
            if text not in self._seen:
                self._seen.add(text)
                self._fresh.append(entry)

    def _specialise(
        self, spec: str, backend: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        from triton.runtime.jit import JITFunction, create_function_from_signature

        known = self._binders.get((spec, id(function)))
        if known is None:
            jit = JITFunction(function)
            known = (jit, create_function_from_signature(jit.signature, jit.params, backend))
            self._binders[spec, id(function)] = known
        jit, binder = known
        bound, specialization, options = binder(*args, **kwargs)
        # The same packing as triton's JITFunction._pack_args, into plain data.
        signature = {p.name: item[0] for p, item in zip(jit.params, specialization, strict=True)}
        constants = {}
        attributes = {}
        for index, (name, (kind, value)) in enumerate(zip(signature, specialization, strict=True)):
            if kind == "constexpr":
                constants[index] = encode_constant(bound[name])
            elif isinstance(value, str):
                attributes[index] = backend.parse_attr(value)
        return {
            "target": spec,
            "kernel": function.__name__,
            "line": function.__code__.co_firstlineno,
            "signature": signature,
            "constants": constants,
            "attributes": attributes,
            "options": {k: v for k, v in options.items() if isinstance(v, int | float | str | bool)},
        }


def encode_constant(value: Any) -> Any:
    """Return a compile-time constant as JSON; raises TypeError for one that cannot travel."""
    import triton.language as tl
    from triton.runtime.jit import JITCallable

    if isinstance(value, tl.constexpr):
        value = value.value
    if isinstance(value, tl.dtype):
        return {"dtype": str(value)}
    if isinstance(value, JITCallable) or type(value).__name__ == "InterpretedFunction":
        return {"function": value.fn.__name__}
    if isinstance(value, tuple | list):
        return {"tuple": [encode_constant(item) for item in value]}
    if isinstance(value, float):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"constexpr of type {type(value).__name__}")


def decode_constant(value: Any, module: dict[str, Any]) -> Any:
    """Undo `encode_constant` inside the compiling worker."""
    import triton.language as tl

    if isinstance(value, dict):
        if "dtype" in value:
            return tl.dtype(value["dtype"])  # str_to_ty knows other names (i64, not int64)
        if "function" in value:
            return module[value["function"]]
        if "float" in value:
            return float(value["float"])
        return tuple(decode_constant(item, module) for item in value["tuple"])
    return value


@contextmanager
def recorded(recorder: LaunchRecorder, overseer: Overseer) -> Iterator[None]:
    """Report every launch to `recorder`; while it runs `overseer` stands aside.

    Triton's interpreter calls torch for its own bookkeeping, which is not the wrapper's doing. In a ghost call the
    launch is recorded and left out.
    """
    from triton.runtime import interpreter, jit

    original_run = jit.JITFunction.run
    original_call = interpreter.GridExecutor.__call__

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        with overseer.launching(self, args, kwargs), _watched_hooks(self, overseer), _noted_faults(overseer):
            recorder.record(self.fn, args, kwargs)
            if overseer.ghost:
                return None
            grid = overseer.wrappers_own(grid) if callable(grid) else grid
            return original_run(self, *args, grid=grid, warmup=warmup, **kwargs)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with overseer.launching(self, args, kwargs), _watched_hooks(self, overseer), _noted_faults(overseer):
            recorder.record(self.fn, args, kwargs)
            if overseer.ghost:
                return None
            self.grid = overseer.wrappers_own(self.grid) if callable(self.grid) else self.grid
            return original_call(self, *args, **kwargs)

    jit.JITFunction.run = run
    interpreter.GridExecutor.__call__ = call
    try:
        with _language_restored():
            yield
    finally:
        jit.JITFunction.run = original_run
        interpreter.GridExecutor.__call__ = original_call


@contextmanager
def _language_restored() -> Iterator[None]:
    """Have Triton's interpreter put its language back after a call from kernel to device function, `tl.sum` say.

    It does so only after whole launches, so `triton.language.core` would stay patched, as if by the candidate.
    """
    from triton.runtime import interpreter

    original_patch, original_call = interpreter._patch_lang, interpreter.InterpretedFunction.__call__
    scopes: list[Any] = []

    def patch(function: Any) -> Any:
        scopes.append(original_patch(function))
        return scopes[-1]

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        outer = len(scopes)
        try:
            return original_call(self, *args, **kwargs)
        finally:
            while len(scopes) > outer:
                scopes.pop().restore()

    interpreter._patch_lang, interpreter.InterpretedFunction.__call__ = patch, call
    try:
        yield
    finally:
        interpreter._patch_lang, interpreter.InterpretedFunction.__call__ = original_patch, original_call


@contextmanager
def _watched_hooks(kernel: Any, overseer: Overseer) -> Iterator[None]:
    """Have the hooks that run inside a launch, but are the wrapper's code, watched like the wrapper."""
    hooks = getattr(kernel, "pre_run_hooks", None)
    if not hooks:
        yield
        return
    kernel.pre_run_hooks = [overseer.wrappers_own(hook) for hook in hooks]
    try:
        yield
    finally:
        kernel.pre_run_hooks = hooks


@contextmanager
def _noted_faults(overseer: Overseer) -> Iterator[None]:
    """Tell the overseer what a launch raises, before the wrapper can swallow it."""
    try:
        yield
    except BaseException as error:
        overseer.failed(error)
        raise
