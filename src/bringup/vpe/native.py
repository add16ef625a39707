"""LLVM IR text to functions in this process: optimise, emit an object, keep it on disk, load it.

The disk cache is addressed by content (IR text, host CPU, LLVM version): a hit skips LLVM's optimiser and code
generator. It lives in
`$BRINGUP_VPE_CACHE`, else `$XDG_CACHE_HOME/bringup/vpe`, else `~/.cache/bringup/vpe`. A cache that cannot be
written is a
warning, once.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import tempfile
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bringup.vpe.llvm_text import Unit
from bringup.vpe.programs import KERNEL, PROGRAMS, write_programs

T = TypeVar("T")
_LOCK = threading.RLock()
_warned: set[str] = set()


def once(function: Callable[..., T]) -> Callable[..., T]:
    """Keep what a function returns, by its arguments, and let no two threads compute the same.

    What it returns is loaded code: of two libraries the one that is dropped takes along functions whose addresses are
    known to kernels already.
    """
    kept: dict[Any, T] = {}

    @functools.wraps(function)
    def call(*args: Any) -> T:
        if args not in kept:
            with _LOCK:
                if args not in kept:
                    kept[args] = function(*args)
        return kept[args]

    return call


def cache_dir() -> Path | None:
    """Folder of the object cache; None when `BRINGUP_VPE_CACHE` is empty (no cache)."""
    chosen = os.environ.get("BRINGUP_VPE_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "bringup" / "vpe"


def _warn(problem: str) -> None:
    if problem not in _warned:
        _warned.add(problem)
        warnings.warn(f"vpe: the object cache is not used: {problem}", stacklevel=2)


def _read(key: str) -> bytes | None:
    folder = cache_dir()
    if folder is None:
        return None
    try:
        data = (folder / key[:2] / f"{key}.o").read_bytes()
    except OSError:
        return None
    # the digest guards against a file that was cut short
    return data[32:] if hashlib.sha256(data[32:]).digest() == data[:32] else None


def _write(key: str, data: bytes) -> None:
    folder = cache_dir()
    if folder is None:
        return
    temporary = None
    try:
        target = folder / key[:2]
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target, delete=False) as file:
            temporary = file.name
            file.write(hashlib.sha256(data).digest() + data)
        os.replace(temporary, target / f"{key}.o")
    except OSError as error:
        _warn(f"{folder}: {error.strerror or error}")
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


@dataclass
class _Host:
    binding: Any
    machine: Any
    quick_machine: Any
    """Its code generator takes a fifth of the time; the code is slower."""
    identity: str


@once
def _host() -> _Host:
    import llvmlite
    import llvmlite.binding as llvm

    with contextlib.suppress(RuntimeError):
        llvm.initialize()  # needed before llvmlite 0.45, an error since
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    cpu = llvm.get_host_cpu_name()
    features = llvm.get_host_cpu_features().flatten()
    machine, quick = (
        target.create_target_machine(cpu=cpu, features=features, opt=opt, jit=True, codemodel="jitdefault")
        for opt in (2, 0)
    )
    identity = f"{llvmlite.__version__} {llvm.llvm_version_info} {llvm.get_default_triple()} {cpu} {features}"
    return _Host(llvm, machine, quick, identity)


class Library:
    """Loaded object code: addresses of its functions. Lives as long as this object."""

    def __init__(self, engine: Any, keep: object, from_disk: bool, size: int, quick: bool = False) -> None:
        self._engine, self._keep = engine, keep
        self.from_disk, self.size, self.quick = from_disk, size, quick

    def address(self, name: str) -> int:
        """Address of a function of the library; 0 if there is none."""
        return int(self._engine.get_function_address(name))


def compile_text(
    text: str, level: int = 1, vectorise: bool = False, quick: bool = False, plain: bool = False
) -> Library:
    """Compile a module, or take it from the disk cache, and load it.

    Args:
        text: LLVM IR.
        level: speed level of LLVM's pass pipeline (kernels come vectorised already, so 1 is enough).
        vectorise: run LLVM's own loop vectoriser, too.
        quick: code that is made quickly and runs slowly, unless the disk cache has the better one.
        plain: no passes at all, for text of which nobody knows that LLVM's passes come to an end with it.

    Raises:
        RuntimeError: text that LLVM refuses (a defect of ours; the message is LLVM's).
    """
    with _LOCK:
        host = _host()
        how = -1 if plain else level
        keys = [object_key(text, how, vectorise)] + ([object_key(text, how, vectorise, True)] if quick else [])
        for key in keys:
            data = _read(key)
            if data is not None:
                return _load(host, data, True, quick and key == keys[1])
        data = _object(host, text, how, vectorise, quick)
        _write(keys[-1], data)
        return _load(host, data, False, quick)


def processor() -> str:
    """Which processor code is made for, and by which LLVM: sixteen digits."""
    return hashlib.sha256(_host().identity.encode()).hexdigest()[:16]


def object_key(text: str, level: int = 1, vectorise: bool = False, quick: bool = False) -> str:
    """Where the disk cache keeps the object code of a text."""
    how = f"{level}{vectorise}{'quick' if quick else ''}"
    return hashlib.sha256(f"{_host().identity}\n{how}\n{text}".encode()).hexdigest()


def object_code(text: str, plain: bool = False) -> bytes:
    """Object code of a module as `compile_text` makes it without being quick; touches no cache, loads nothing.

    LLVM may end the process: its own checks are not for texts that anybody writes. `plain`: without its passes.
    """
    with _LOCK:
        return _object(_host(), text, -1 if plain else 1, False, False)


def load_object(data: bytes) -> Library:
    """Load what `object_code` made, on such a processor as this one."""
    with _LOCK:
        return _load(_host(), data, True)


def load_cached(key: str) -> Library | None:
    """Object code by its key, without its text; None if the disk cache does not have it."""
    with _LOCK:
        data = _read(key)
        return None if data is None else _load(_host(), data, True)


def _object(host: _Host, text: str, level: int, vectorise: bool, quick: bool) -> bytes:
    llvm = host.binding
    module = llvm.parse_assembly(text)
    if level < 0:  # made after a fault, or elsewhere: nobody has seen it through LLVM's passes
        module.verify()
    module.triple = host.machine.triple
    module.data_layout = str(host.machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=max(level, 0))
    options.loop_vectorization = vectorise
    options.slp_vectorization = False
    options.loop_unrolling = vectorise
    options.loop_interleaving = vectorise
    builder = llvm.create_pass_builder(host.machine, options)
    if vectorise or level > 1:
        manager = builder.getModulePassManager()
        manager.run(module, builder)
    elif level > 0:
        _light(llvm, builder, module)
    return bytes((host.quick_machine if quick else host.machine).emit_object(module))


def _light(llvm: Any, builder: Any, module: Any) -> None:
    """The passes that text from our generator profits from; a fifth of the time of the standard pipeline."""
    manager = llvm.create_new_function_pass_manager()
    manager.add_sroa_pass()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    manager.add_new_gvn_pass()
    for function in module.functions:
        if not function.is_declaration:
            manager.run(function, builder)


def _load(host: _Host, data: bytes, from_disk: bool, quick: bool = False) -> Library:
    llvm = host.binding
    empty = llvm.parse_assembly("")
    engine = llvm.create_mcjit_compiler(empty, _machine())
    file = llvm.ObjectFileRef.from_data(data)
    engine.add_object_file(file)
    engine.finalize_object()
    return Library(engine, file, from_disk, len(data), quick)


def _machine() -> Any:
    """A target machine for one engine (the engine takes it over)."""
    import llvmlite.binding as llvm

    return llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True)


def add_symbol(name: str, address: int) -> None:
    """Make an address known to all libraries loaded from now on."""
    with _LOCK:
        _host().binding.add_symbol(name, address)


RUNTIME = (
    "vpe_load", "vpe_store", "vpe_gather", "vpe_scatter", "vpe_check", "vpe_fault", "vpe_dot_f32", "vpe_dot_f64",
    "vpe_dot_i32", "vpe_work", "vpe_turn", PROGRAMS,
)  # fmt: skip


@once
def runtime() -> Library:
    """The DMA engine, loaded and known by name to every kernel compiled afterwards."""
    from bringup.vpe.dma import write_dma
    from bringup.vpe.dot import write_dot
    from bringup.vpe.work import write_work

    unit = Unit("vpe runtime")
    write_dma(unit)
    write_work(unit)
    write_programs(unit)
    write_dot(unit)
    library = compile_text(unit.text(), level=2, vectorise=True)
    for name in RUNTIME:
        add_symbol(name, library.address(name))
    return library


def make_runtime_elsewhere() -> None:
    """Have the disk cache hold the DMA engine's code, compiled by another process where nobody has compiled it yet.

    For a process that others are copies of, with one thread: compiling leaves in memory how much it took.
    """
    child = os.fork()
    if child == 0:
        try:
            runtime()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def entry(library: Library, name: str) -> Any:
    """A function `i32 (ptr, i64, i64)` as a ctypes callable that releases the interpreter lock."""
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(library.address(name))


def runner(library: Library, rows: int = 1) -> Callable[[int], int]:
    """What runs the programs of a kernel (`programs`), for an address of a context."""
    run, kernel = entry(runtime(), PROGRAMS), library.address(KERNEL)
    return lambda context: run(context, kernel, rows)
