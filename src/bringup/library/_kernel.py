"""A kernel of a library in this process: read, checked and loaded when it is first called."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import math
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bringup.device.seeds import mixed
from bringup.library._index import Entry
from bringup.library.errors import GuestFailed, KernelFailed, WrongResult
from bringup.library.folder import Library
from bringup.library.schemas import Schema

if TYPE_CHECKING:
    from bringup.library._first_use import FirstUse  # imports torch

_loading = threading.RLock()
_running = threading.local()

# What a wrapper may raise because the caller's arguments are wrong: PyTorch's own classes for that.
_REFUSALS = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError)


def running() -> list[Kernel]:
    """Return the kernels whose wrappers this thread is in, the innermost last."""
    found: list[Kernel] | None = getattr(_running, "stack", None)
    if found is None:
        found = _running.stack = []
    return found


class Kernel:
    """One entry of a library, ready to be called."""

    def __init__(
        self, library: Library, entry: Entry, schema: Schema, prepare: Callable[[], None],
        seal: Callable[[str, Schema], Callable[..., Any]] | None = None, first_use: FirstUse | None = None,
    ) -> None:  # fmt: skip
        """`prepare` is called before the first kernel is loaded: it makes Triton's driver the device's.

        `seal` makes of a source what stands for its wrapper, where that shall not run in this process; `first_use`
        makes calls, and compares some.
        """
        self.library = library
        self.entry = entry
        self.schema = schema
        self.calls = 0
        self._prepare, self._seal, self._first_use = prepare, seal, first_use
        self._call: Callable[..., Any] | None = None

    @property
    def sealed(self) -> bool:
        """Whether its wrapper runs in another process."""
        return self._seal is not None

    @property
    def loaded(self) -> bool:
        """Whether its file was read."""
        return self._call is not None

    def __call__(self, values: Sequence[Any], replays: Any = None) -> Any:
        """Call the wrapper with completed arguments, in the schema's order. Raises KernelFailed, or what it raises.

        `replays` keeps the launches of calls whose results are in their arguments.
        """
        call = self._call or self._load()
        stack = running()
        stack.append(self)
        self.calls += 1
        try:
            seed = mixed(self.entry.salt, drawn_seed(self.schema, values)) if self.schema.random else None
            made = call if seed is None else functools.partial(call, seed=seed)
            compute = functools.partial(made, values)
            if replays is not None:
                compute = functools.partial(replays.call, made, values)
            return compute() if self._first_use is None else self._first_use(values, compute, seed)
        except KernelFailed:
            raise
        except Exception as error:
            failure = self._failure(error)
            if failure is error:
                raise  # `from error` would make it its own cause: a chain without end
            raise failure from error
        finally:
            stack.pop()

    def _failure(self, error: Exception) -> Exception:
        path = self.library.file(self.entry)
        if isinstance(error, _REFUSALS) and not type(error).__module__.startswith(("bringup.vpe", "triton")):
            error.add_note(f"raised by the kernel of aten::{self.entry.overload} ({path})")
            return error
        lines = str(error).strip().splitlines()
        if len(lines) > 2 and ("CompilationError: at " in lines[0] or type(error).__module__.startswith("triton")):
            lines[1] = lines[-1]  # place, source, and the reason last
        text = " ".join(lines[:2])[:400] or "no message"
        said = text if isinstance(error, GuestFailed | WrongResult) else f"{type(error).__name__}: {text}"
        return KernelFailed(
            f"aten::{self.entry.overload}: its kernel {path} failed: {said} "
            f"(leave it out with exclude=['{self.entry.overload}'])"
        )

    def _load(self) -> Callable[..., Any]:
        with _loading:
            if self._call is None:
                if self._seal is None:
                    self._prepare()
                    wrapper = self.module().wrapper
                else:
                    wrapper = self._seal(self.library.source(self.entry), self.schema)
                self._call = _bound(wrapper, self.schema, self.entry.overload)
            return self._call

    def module(self) -> types.ModuleType:
        """Execute the file, which is what the index says; names are provided as the judge provides them."""
        import torch
        import triton
        import triton.language as tl
        from triton.language.extra import libdevice

        text = self.library.text(self.entry)
        self.library.source(self.entry)
        path = str(self.library.file(self.entry))
        # Triton reads a kernel's source through `inspect`: it shall be the text that was checked, whatever happens
        # to the file.
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        module = types.ModuleType(f"bringup_library.{self.entry.folder}")
        module.__file__ = path
        provided = {"torch": torch, "triton": triton, "tl": tl, "math": math, "libdevice": libdevice}
        module.__dict__.update(provided)
        sys.modules[module.__name__] = module  # where dataclasses and others look for the module of a class
        try:
            exec(compile(ast.parse(text, path), path, "exec"), module.__dict__)
        except BaseException:
            del sys.modules[module.__name__]
            raise
        return module


def _bound(wrapper: Callable[..., Any], schema: Schema, overload: str) -> Callable[..., Any]:
    """Return a caller of a wrapper: positional parameters by position, keyword-only ones by name; a seed, if it draws.

    What has its default is left out, last ones and names: so does PyTorch when it calls a kernel in Python, and so it
    was in the cases of the gate. Nothing that the wrapper's text says changes that: a wrapper that is told more here
    than there could tell the two apart, and a text can be about another function than the one that is called. A
    parameter that the wrapper does not have is left out as well: no case gave it another value.
    """
    import torch

    dense = torch.strided  # the layout of every dense tensor: no judged call says it
    positional = [i for i, p in enumerate(schema.parameters) if not p.keyword_only]
    keyword = [(i, p.name) for i, p in enumerate(schema.parameters) if p.keyword_only]
    drawing = schema.random
    if drawing:
        positional = [i for i in positional if schema.parameters[i].name != "generator"]
        keyword = [(i, name) for i, name in keyword if name != "generator"]
    parameters = list(inspect.signature(wrapper).parameters.values())
    kinds = inspect.Parameter
    takes_all_positions = any(p.kind == kinds.VAR_POSITIONAL for p in parameters)
    takes_all_names = any(p.kind == kinds.VAR_KEYWORD for p in parameters)
    room = sum(p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD) for p in parameters)
    names = {p.name for p in parameters if p.kind in (kinds.KEYWORD_ONLY, kinds.POSITIONAL_OR_KEYWORD)}
    extra_positions = [] if takes_all_positions else positional[room:]
    extra_names = [] if takes_all_names else [(i, name) for i, name in keyword if name not in names]
    dropped = [*extra_positions, *(i for i, _ in extra_names)]
    kept_positions = [i for i in positional if i not in extra_positions]
    kept_names = [pair for pair in keyword if pair not in extra_names]
    by_place = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    required = {p.name for p in parameters if p.default is kinds.empty and p.kind is not kinds.VAR_KEYWORD}

    def call(values: Sequence[Any], seed: int | None = None) -> Any:
        for i in dropped:
            parameter = schema.parameters[i]
            if not parameter.has_default or values[i] != parameter.default:
                raise KernelFailed(
                    f"aten::{overload}: its kernel does not take '{parameter.name}', which this call gives "
                    f"({values[i]!r}); no case of its gate did"
                )
        last = len(kept_positions)
        while last and schema.parameters[kept_positions[last - 1]].left_out(values[kept_positions[last - 1]]):
            last -= 1
        named = {
            name: values[i] for i, name in kept_names
            if not (schema.parameters[i].left_out(values[i]) or values[i] is dense)
        }  # fmt: skip
        left_out = [p.name for p in by_place[last : len(kept_positions)]]
        left_out += [name for _, name in kept_names if name not in named]
        if missed := required.intersection(left_out):
            raise KernelFailed(
                f"aten::{overload}: its wrapper has no default for '{missed.pop()}', which PyTorch leaves out here"
            )
        if seed is not None:
            named["seed"] = seed
        return wrapper(*[values[i] for i in kept_positions[:last]], **named)

    return call


def drawn_seed(schema: Schema, values: Sequence[Any]) -> int:
    """Draw the seed of one call, from 0 to 2**63 - 1: from the caller's generator, else the device's own.

    The generator moves on, so that the next call gets another one; seeded again it gives the same.
    """
    import torch

    from bringup.vpe.device import generator

    given = [v for v, p in zip(values, schema.parameters, strict=True) if p.name == "generator" and v is not None]
    source = given[0] if given else generator.default()
    return int(torch.randint(0, 2**63 - 1, (), generator=source, dtype=torch.int64))
