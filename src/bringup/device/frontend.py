"""Triton in the guest: its front end runs here up to TTIR; the text goes to the device process, launches follow it.

The candidate's Python that Triton runs while it compiles sees no data and no device: what leaves this process is text.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
from triton import knobs
from triton._C.libtriton import ir
from triton.backends import Backend, backends
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.compiler.code_generator import CodeGenerator
from triton.compiler.compiler import ASTSource
from triton.compiler.errors import CompilationError
from triton.errors import TritonError
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver
from triton.runtime.errors import OutOfResources

from bringup.device import held
from bringup.device.handles import Handles
from bringup.device.wire import LARGEST_TEXT, LAUNCH, LONGEST_CONSTANT, POINTER, SOURCE, Command
from bringup.vpe.device import tensors
from bringup.vpe.signature import Signature

_MAKE_IR_TAKES_TARGET = "target" in inspect.signature(ASTSource.make_ir).parameters  # since Triton 3.7

# Toolchains that may be asked to check kernels, whatever chip of theirs.
CHECKING = (GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64))
DEEPEST = 24  # functions of a kernel that call each other: 20 and more frames of Python each
NO_RECURSION = "kernels have no recursion but one that a constexpr ends; use a loop"
LONGEST_INTEGER = 1 << 10  # bits of one


class KernelRefused(TritonError):  # type: ignore[misc]
    """The device's compiler refuses a kernel. `log` is all that it said."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.message, self.log = message, log or message

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Any:
        return (KernelRefused, (self.message, self.log))


class FrontEnd:
    """Makes Triton compile for a target's language and launch over a stream."""

    def __init__(self, handles: Handles, target: GPUTarget, name: str) -> None:
        """`target`: for which Triton makes TTIR; `name`: of the device in PyTorch."""
        self.handles, self.target, self.name = handles, target, name
        self.also: dict[str, GPUTarget] = {}
        """Toolchains that only check kernels, by the name that the job gives them."""
        self.latest = ""  # name of the kernel that Triton or the device was asked to compile last
        self.real = {key: known.compiler for key, known in backends.items()}

    def install(self) -> None:
        """Become Triton's active driver and the only backend for the target."""
        front = self

        class Driver(_Driver):
            frontend = front

        for key, real in self.real.items():
            if real.supports_target(self.target):
                backends[key] = Backend(_text_backend(real, self), Driver)
        driver.set_active(Driver())
        held.install()
        for target in (self.target, *CHECKING):  # Triton reads files at the first need, and keeps what it has read
            with contextlib.suppress(Exception):
                self.backend(target).parse_options({}).hash()
        _refuse_recursion()
        _choose_anew()
        knobs.runtime.jit_cache_hook = self._note

    def _note(self, *, fn: Any, **_: Any) -> bool:
        """Note which kernel Triton is about to compile; asked by it before each one."""
        self.latest = str(fn.name)
        return False

    def backend(self, target: GPUTarget) -> Any:
        """Triton's own backend for a target."""
        return next(real for real in self.real.values() if real.supports_target(target))(target)

    def texts(self, src: Any, metadata: Any) -> Iterable[dict[str, Any]]:
        """The kernel for each of the toolchains that only check it."""
        for spec, target in self.also.items():
            try:
                yield {"target": spec, **_ttir(self.backend(target), target, src, metadata), "kernel": metadata.name}
            except Exception as error:
                yield {"target": spec, "kernel": metadata.name, "refused": f"{type(error).__name__}: {error}"}


def _recursion_in(error: BaseException | None) -> str:
    """What was said of a recursion, in an error or its causes."""
    for _ in range(8):
        if error is None or hasattr(error, "recursion"):
            break
        error = error.__cause__
    return str(getattr(error, "recursion", ""))


def _refuse_recursion() -> None:
    """Have Triton say so where functions of a kernel call themselves.

    Where types and constants are the same it looks for a result type that is not known yet. Where a constant grows it
    goes on until Python ends it, and takes twice as long to report for each call within another.
    """
    real = CodeGenerator.call_JitFunction
    if hasattr(real, "refuses_recursion"):
        return
    depth = 0

    @functools.wraps(real)
    def call(self: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        name, words = getattr(fn, "__name__", "function"), ""
        if depth >= DEEPEST:
            words = f"'{name}' is called from within {depth} other calls: {NO_RECURSION}"
        else:
            depth += 1
            try:
                return real(self, fn, *args, **kwargs)
            except KeyError as error:
                if not str(error.args[0]).partition("__")[0].endswith(name):
                    raise
                words = f"'{name}' calls itself with the same types and constants: {NO_RECURSION}"
            except CompilationError as error:
                words = _recursion_in(error)
                if not words:
                    raise
            finally:
                depth -= 1
        refused = CompilationError(self.jit_fn.src, self.cur_node, words)
        refused.recursion = words
        raise refused  # of the outermost call alone: causes would pile up

    call.refuses_recursion = True  # type: ignore[attr-defined]
    CodeGenerator.call_JitFunction = call


def _choose_anew() -> None:
    """Have a tuner try its configurations in every call: which one runs is the device's choice each time."""
    real = Autotuner.run
    if hasattr(real, "chooses_anew"):
        return

    @functools.wraps(real)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.cache.clear()
        return real(self, *args, **kwargs)

    run.chooses_anew = True  # type: ignore[attr-defined]
    Autotuner.run = run


def _ttir(backend: Any, target: GPUTarget, src: Any, metadata: Any) -> dict[str, Any]:
    wanted = {name: getattr(metadata, name) for name in ("num_warps", "num_stages", "num_ctas", "maxnreg")}
    options = backend.parse_options({**wanted, **src.parse_options()})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    first = (target, options) if _MAKE_IR_TAKES_TARGET else (options,)
    hooks = backend.get_codegen_implementation(options)
    module = src.make_ir(*first, hooks, backend.get_module_map(), context)
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, src.language)
    return {"text": str(stages["ttir"](module, {})), "source": "", "options": _plain(options)}


def _plain(options: Any) -> dict[str, Any]:
    return {k: v for k, v in vars(options).items() if v is None or isinstance(v, bool | int | float | str)}


def _text_backend(real: Any, front: FrontEnd) -> type:
    """A backend like Triton's own for the target, whose last stage is the text."""
    sends_source = getattr(real, "sends_source", False)

    class Text(real):  # type: ignore[misc]
        def __init__(self, target: GPUTarget) -> None:
            super().__init__(target)
            self.binary_ext = "text"
            # Kernels that are checked for other chips, too, are what these would get.
            self.ignores_alignment = getattr(real, "ignores_alignment", False) and not front.also

        def hash(self) -> str:
            return f"text-{self.target}"  # Triton's own asks the assembler for its version

        def pack_metadata(self, metadata: Any) -> tuple[()]:
            return ()

        def add_stages(self, stages: dict[str, Any], options: Any, language: Any = None) -> None:
            own: dict[str, Any] = {}
            super().add_stages(own, options, language)
            source = ""

            def ttir(module: Any, metadata: dict[str, Any]) -> Any:
                nonlocal source
                source = str(module)
                return module if sends_source else own["ttir"](module, metadata)

            def text(module: Any, metadata: dict[str, Any]) -> bytes:
                metadata["name"], metadata["shared"] = module.get_entry_func_name(), 0
                text = "" if sends_source else str(module)
                return json.dumps({"text": text, "source": source, "options": _plain(options)}).encode()

            stages["ttir"], stages["text"] = ttir, text

    return Text


class _Utils:
    """What Triton asks of a device."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        """Triton's own checks find nothing to refuse: the device process has the last word."""
        return {
            "max_shared_mem": 1 << 40, "multiprocessor_count": 64, "max_num_regs": 1 << 16, "warpSize": 32,
            "max_threads_per_block": 1 << 30, "sm_clock_rate": 1, "mem_clock_rate": 1, "mem_bus_width": 1,
        }  # fmt: skip

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[Any, Any, int, int, int]:
        """The text is all there is."""
        return kernel, kernel, 1, 0, 1 << 30


class _Driver(DriverBase):  # type: ignore[misc]
    """Triton's driver in the guest."""

    frontend: FrontEnd

    def __init__(self) -> None:
        super().__init__()
        self.utils = _Utils()

    @property
    def launcher_cls(self) -> Callable[[Any, Any], Any]:
        """Makes launchers."""
        return lambda src, metadata: _Launcher(self.frontend, src, metadata)

    @classmethod
    def is_active(cls) -> bool:
        """Only here."""
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Nothing is built here."""
        return "void*" if ty.startswith("*") else "int64_t"

    def get_current_target(self) -> GPUTarget:
        """The language that the device process compiles."""
        return self.frontend.target

    def get_current_device(self) -> int:
        """There is one."""
        return 0

    def set_current_device(self, device: int) -> None:
        """There is one."""

    def get_current_stream(self, device: Any = None) -> int:
        """There is one order."""
        return 0

    def get_active_torch_device(self) -> Any:
        """The device of the handles."""
        return torch.device(self.frontend.name, 0)

    def get_device_interface(self) -> Any:
        """Module with `synchronize`, `Event` and so on."""
        return getattr(torch, self.frontend.name)

    def get_benchmarker(self) -> Any:
        """What tries something: the device measures it, and tells the same time of everything."""
        return self._benchmark

    def _benchmark(self, call: Callable[[], Any], *, quantiles: Any = None, **_: Any) -> Any:
        out = self.frontend.handles.stream
        assert out is not None
        out.put(Command.MARK, b"")
        try:
            call()
        finally:  # what has begun is ended, a configuration that does not compile included
            milliseconds = float(out.ask(Command.TIME)[0]["seconds"]) * 1e3
        return milliseconds if quantiles is None else [milliseconds] * len(quantiles)

    def get_empty_cache_for_benchmark(self) -> Any:
        """Nothing is flushed from here."""
        return torch.empty(1, dtype=torch.int32)

    def clear_cache(self, cache: Any) -> None:
        """Nothing is flushed from here."""


class _Launcher:
    """Puts launches of one kernel into the stream."""

    def __init__(self, frontend: FrontEnd, src: Any, metadata: Any) -> None:
        self.frontend, self.name, self.signature = frontend, metadata.name, Signature(src)
        self.number = 0
        self.also = list(frontend.texts(src, metadata)) if frontend.also else []

    def __call__(
        self, grid_x: int, grid_y: int, grid_z: int, stream: int, function: bytes, packed_metadata: Any,
        launch_metadata: Any, enter_hook: Any, exit_hook: Any, *args: Any,
    ) -> None:  # fmt: skip
        """Queue a launch. Raises KernelRefused at the first one of a kernel that does not compile."""
        if enter_hook is not None:
            enter_hook(launch_metadata)
        out = self.frontend.handles.stream
        assert out is not None
        body = [b""]
        signature = self.signature
        values = signature.values(args)
        for (name, _, _), pack, value in zip(signature.arguments, signature.packers, values, strict=True):
            body.append(self._pointer(name, value) if pack is None else pack(_scalar(value)))
        grid = [int(n) for n in (grid_x, grid_y, grid_z)]
        if min(grid) < 0 or max(grid) >= 1 << 31:
            raise ValueError(f"kernel '{self.name}': the grid {tuple(grid)} is not one")
        if not self.number:  # behind all that may be wrong with the launch: a kernel that is asked for is launched
            self._compile(function)
        body[0] = LAUNCH.pack(self.number, *grid, _line(), len(values))
        out.put(Command.LAUNCH, b"".join(body))
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _compile(self, text: bytes) -> None:
        out = self.frontend.handles.stream
        assert out is not None
        self.frontend.latest = self.name  # Triton compiles once, the device is asked in every call until it takes it
        constants = {name: _constant(value) for name, value in self.signature.constants.items()}
        arguments = [(name, kind) for name, kind, _ in self.signature.arguments]
        request = {**json.loads(text), "args": arguments, "constants": constants}
        answer, _ = out.ask(Command.KERNEL, self._told(request))
        for other in self.also:
            out.put(Command.ALSO, self._told(other))
        if "refused" in answer:
            raise KernelRefused(answer.get("short") or answer["refused"], answer["refused"])
        most = answer["facts"].get("most_shared")
        if most is not None and answer["shared"] > most:
            raise OutOfResources(answer["shared"], most, "shared memory")
        self.number = answer["number"]

    def _told(self, request: dict[str, Any]) -> bytes:
        """The request as the device process takes it. Raises KernelRefused for one that is too large."""
        body = json.dumps(request).encode()
        if len(body) > LARGEST_TEXT:
            raise KernelRefused(
                f"kernel '{self.name}' is too large: its text has {len(body) / (1 << 20):.1f} MiB, "
                f"{LARGEST_TEXT >> 20} are allowed; what is unrolled may be a loop, and tables belong into no kernel"
            )
        return body

    def _pointer(self, name: str, value: Any) -> bytes:
        if not hasattr(value, "data_ptr"):
            return POINTER.pack(int(value or 0), 0)
        owner = value
        while not isinstance(owner, torch.Tensor) and hasattr(owner, "base"):
            owner = owner.base  # triton.reinterpret wraps a tensor
        if not tensors.is_device_tensor(owner):
            where = getattr(owner, "device", "the host")
            raise ValueError(
                f"argument '{name}' of kernel '{self.name}' is a tensor on {where}; move it with "
                f".to('{self.frontend.name}')"
            )
        return POINTER.pack(int(value.data_ptr() or 0), owner.untyped_storage().data_ptr())


def _scalar(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _constant(value: Any) -> Any:
    """What messages say of a constant; a kernel is what its text says."""
    value = getattr(value, "value", value)
    if isinstance(value, int) and value.bit_length() > LONGEST_INTEGER:
        return f"an integer of {value.bit_length()} bits"
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST_CONSTANT else f"{text[:LONGEST_CONSTANT]}... ({len(text)} characters)"


def _line() -> int:
    """The wrapper's line, for messages."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == SOURCE:
            return int(frame.f_lineno)
        frame = frame.f_back
    return 0
