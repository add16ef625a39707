"""NVIDIA's driver API through ctypes: as much of it as launches take. Imports neither torch nor Triton.

Run as a script it prints what the driver says of this machine's devices: for `devices`, whose caller must not
initialise CUDA itself, since processes that are forked later could not use it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PROBE_SECONDS = 60  # the first process after a start of the machine waits for the driver
DEFAULT_SHARED = 48 << 10  # dynamic shared memory that needs no opting in
WARP = 32
MOST_PRINTED = 1 << 16  # bytes of one launch

_MAX_THREADS, _SHARED, _LOCAL, _REGISTERS, _MAX_DYNAMIC, _NON_PORTABLE_CLUSTER = 0, 1, 3, 4, 8, 14  # of a function
_CLOCK, _MULTIPROCESSORS, _L2, _MAJOR, _MINOR, _SHARED_OPT_IN = 13, 16, 38, 75, 76, 97  # of a device
_MEMORY_CLOCK, _BUS_BITS = 36, 37
_PREFER_SHARED = 1
_COOPERATIVE, _CLUSTER, _CLUSTER_POLICY, _SPREAD = 2, 4, 5, 1  # of a launch
_LARGEST_PORTABLE_CLUSTER = 8

# Errors that a context does not survive: a kernel was stopped, or nothing can be known any more.
STICKY = frozenset({700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999})
# Errors of the device itself, which no kernel brings about: it is unavailable (46), not there (100, 101), not licensed
# (102) or not ready (802), or its memory (214), its links (220) or a unit of its own (226) have failed.
LOST = frozenset({46, 100, 101, 102, 214, 220, 226, 802})
OUT_OF_MEMORY = 2


class CudaError(Exception):
    """The driver refused something. `code` is CUresult, `name` its name."""

    def __init__(self, code: int, name: str, words: str, doing: str) -> None:
        super().__init__(f"{words} ({name}, error {code}, {doing})")
        self.code, self.name, self.words = code, name, words

    @property
    def sticky(self) -> bool:
        """Whether the context is lost."""
        return self.code in STICKY or self.lost

    @property
    def lost(self) -> bool:
        """Whether the device is, whatever ran on it."""
        return self.code in LOST


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16))


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


@dataclass(frozen=True)
class Function:
    """A kernel on the device, and what the driver says of it."""

    handle: int
    registers: int = 0
    local_bytes: int = 0
    """Bytes a thread keeps outside of registers: spills."""
    static_shared: int = 0
    most_threads: int = 1024


def library() -> Any:
    """Load libcuda; raises OSError where there is none."""
    return ctypes.CDLL("libcuda.so.1")


class Driver:
    """The primary context of one device, which PyTorch uses as well. Every method raises CudaError."""

    def __init__(self, device: int) -> None:
        """Take device number `device`; a context must be current (PyTorch makes it)."""
        self.cuda = library()
        self._declare()
        handle = ctypes.c_int()
        self._check(self.cuda.cuDeviceGet(ctypes.byref(handle), device), "asking for the device")
        self.device = handle.value
        self.most_shared = self._attribute(_SHARED_OPT_IN)

    def _declare(self) -> None:
        pointer, unsigned = ctypes.c_void_p, ctypes.c_uint
        for name, types in (
            ("cuModuleLoadData", (pointer, pointer)),
            ("cuModuleGetFunction", (pointer, pointer, ctypes.c_char_p)),
            ("cuFuncGetAttribute", (pointer, ctypes.c_int, pointer)),
            ("cuFuncSetAttribute", (pointer, ctypes.c_int, ctypes.c_int)),
            ("cuFuncSetCacheConfig", (pointer, ctypes.c_int)),
            ("cuLaunchKernel", (pointer, *[unsigned] * 7, pointer, pointer, pointer)),
            ("cuLaunchKernelEx", (pointer, pointer, pointer, pointer)),
            ("cuCtxSynchronize", ()),
            ("cuEventCreate", (pointer, unsigned)),
            ("cuEventRecord", (pointer, pointer)),
            ("cuEventElapsedTime", (pointer, pointer, pointer)),
            ("cuEventDestroy_v2", (pointer,)),
        ):
            function = getattr(self.cuda, name)
            function.argtypes, function.restype = types, ctypes.c_int

    def _attribute(self, which: int) -> int:
        value = ctypes.c_int()
        self._check(self.cuda.cuDeviceGetAttribute(ctypes.byref(value), which, self.device), "asking for an attribute")
        return value.value

    def _check(self, code: int, doing: str) -> None:
        if code:
            raise self.error(code, doing)

    def error(self, code: int, doing: str) -> CudaError:
        """The driver's own words for an error."""
        name, words = ctypes.c_char_p(), ctypes.c_char_p()
        self.cuda.cuGetErrorName(ctypes.c_int(code), ctypes.byref(name))
        self.cuda.cuGetErrorString(ctypes.c_int(code), ctypes.byref(words))
        return CudaError(code, (name.value or b"unknown").decode(), (words.value or b"unknown error").decode(), doing)

    # Kernels -------------------------------------------------------------------------------------------------

    def load(self, binary: bytes, name: str, shared: int) -> Function:
        """Make a kernel of a cubin ready, with as much dynamic shared memory as the device gives if it needs much."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(self.cuda.cuModuleLoadData(ctypes.byref(module), binary), f"loading kernel '{name}'")
        found = self.cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
        self._check(found, f"looking for kernel '{name}'")
        assert function.value is not None
        made = Function(
            function.value,
            self._of(function, _REGISTERS),
            self._of(function, _LOCAL),
            self._of(function, _SHARED),
            self._of(function, _MAX_THREADS),
        )
        most = self.most_shared - made.static_shared
        if shared + made.static_shared > DEFAULT_SHARED and shared <= most:
            doing = f"giving shared memory to kernel '{name}'"
            self._check(self.cuda.cuFuncSetCacheConfig(function, _PREFER_SHARED), doing)
            self._check(self.cuda.cuFuncSetAttribute(function, _MAX_DYNAMIC, most), doing)
        return made

    def _of(self, function: ctypes.c_void_p, which: int) -> int:
        value = ctypes.c_int()
        code = self.cuda.cuFuncGetAttribute(ctypes.byref(value), which, function)
        self._check(code, "asking for a kernel's attribute")
        return value.value

    def launch(
        self, function: Function, grid: tuple[int, int, int], threads: int, shared: int, parameters: Any, stream: int,
        ctas: int = 1, cooperative: bool = False,
    ) -> None:  # fmt: skip
        """Queue a kernel; `parameters` is an array of pointers to its parameters, read before this returns."""
        doing, handle = "launching", function.handle
        if ctas == 1 and not cooperative:
            code = self.cuda.cuLaunchKernel(handle, *grid, threads, 1, 1, shared, stream, parameters, None)
            self._check(code, doing)
            return
        attributes = launch_attributes(ctas, cooperative)
        if ctas > _LARGEST_PORTABLE_CLUSTER:
            self._check(self.cuda.cuFuncSetAttribute(handle, _NON_PORTABLE_CLUSTER, 1), doing)
        config = _Config(
            (ctypes.c_uint * 3)(grid[0] * ctas, grid[1], grid[2]), (ctypes.c_uint * 3)(threads, 1, 1), shared, stream,
            attributes, len(attributes),
        )  # fmt: skip
        self._check(self.cuda.cuLaunchKernelEx(ctypes.byref(config), handle, parameters, None), doing)

    def synchronize(self) -> None:
        """Wait for everything in the context."""
        self._check(self.cuda.cuCtxSynchronize(), "waiting for the device")

    # Time ----------------------------------------------------------------------------------------------------

    def mark(self, stream: int) -> int:
        """Put an event into the stream."""
        event = ctypes.c_void_p()
        self._check(self.cuda.cuEventCreate(ctypes.byref(event), 0), "making an event")
        self._check(self.cuda.cuEventRecord(event, stream), "recording an event")
        return event.value or 0

    def microseconds(self, before: int, after: int) -> float:
        """Time between two events that have happened."""
        taken = ctypes.c_float()
        self._check(self.cuda.cuEventElapsedTime(ctypes.byref(taken), before, after), "reading a time")
        return taken.value * 1e3

    def forget(self, event: int) -> None:
        """Destroy an event."""
        self.cuda.cuEventDestroy_v2(event)


def launch_attributes(ctas: int, cooperative: bool) -> Any:
    """The attributes of a launch in clusters of `ctas` blocks, or of blocks that wait for each other."""
    wanted: list[tuple[int, tuple[int, ...]]] = []
    if cooperative:
        wanted.append((_COOPERATIVE, (1,)))
    if ctas != 1:
        wanted += [(_CLUSTER, (ctas, 1, 1)), (_CLUSTER_POLICY, (_SPREAD,))]
    attributes = (_Attribute * len(wanted))()
    for attribute, (kind, values) in zip(attributes, wanted, strict=True):
        attribute.id = kind
        for position, value in enumerate(values):
            attribute.value[position] = value
    return attributes


@contextlib.contextmanager
def captured() -> Iterator[list[str]]:
    """What this process writes to standard output and error, C's buffers included; the text is there at the end."""
    flush = ctypes.CDLL(None).fflush
    heard = [""]
    flush(None)
    with contextlib.ExitStack() as stack:
        sink = os.memfd_create("printed")
        stack.callback(os.close, sink)
        for descriptor in (1, 2):
            kept = os.dup(descriptor)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, descriptor)
            os.dup2(sink, descriptor)
        try:
            yield heard
        finally:
            flush(None)
            heard[0] = os.pread(sink, MOST_PRINTED, 0).decode(errors="replace")


# What there is, asked in another process ---------------------------------------------------------------------


@functools.cache
def devices() -> tuple[tuple[dict[str, Any], ...], str]:
    """The devices of this machine, and why there are none (empty if there are). Never raises, makes no context."""
    try:
        answer = subprocess.run(
            [sys.executable, "-I", __file__], capture_output=True, timeout=PROBE_SECONDS, check=False, text=True
        )
        found = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return (), f"the CUDA driver does not answer ({type(error).__name__})"
    return tuple(found["devices"]), str(found["why"])


def survey() -> dict[str, Any]:
    """Ask the driver; initialises CUDA in this process, but makes no context."""
    try:
        cuda = library()
    except OSError as error:
        return {"devices": [], "why": f"no CUDA driver ({error})"}
    count = ctypes.c_int()
    code = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    if code:
        name = ctypes.c_char_p()
        cuda.cuGetErrorName(ctypes.c_int(code), ctypes.byref(name))
        return {"devices": [], "why": f"the CUDA driver says {(name.value or b'an unknown error').decode()}"}
    found = [_describe(cuda, number) for number in range(count.value)]
    return {"devices": found, "why": "" if found else "the CUDA driver shows no device"}


def _describe(cuda: Any, number: int) -> dict[str, Any]:
    device, name, memory, value = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_size_t(), ctypes.c_int()
    cuda.cuDeviceGet(ctypes.byref(device), number)
    cuda.cuDeviceGetName(name, 256, device)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)

    def attribute(which: int) -> int:
        cuda.cuDeviceGetAttribute(ctypes.byref(value), which, device)
        return value.value

    return {
        "name": name.value.decode(errors="replace"),
        "capability": attribute(_MAJOR) * 10 + attribute(_MINOR),
        "multiprocessors": attribute(_MULTIPROCESSORS),
        "memory_bytes": memory.value,
        "l2_bytes": attribute(_L2),
        "shared_bytes_per_program": attribute(_SHARED_OPT_IN),
        "clock_mhz": attribute(_CLOCK) // 1000,
        # both edges of the memory's clock, which is in kHz, times the bus in bytes
        "memory_gb_s": round(2 * attribute(_MEMORY_CLOCK) * (attribute(_BUS_BITS) / 8) / 1e6, 1),
    }


if __name__ == "__main__":
    print(json.dumps(survey()))
