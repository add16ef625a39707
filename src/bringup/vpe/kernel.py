"""A compiled kernel in this process: object code plus what a launch and a core dump need."""

from __future__ import annotations

import base64
import functools
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bringup.vpe import native
from bringup.vpe.ir import Module
from bringup.vpe.lower.functions import Calls, FunctionKey, load_packed, packed
from bringup.vpe.lower.functions import load as load_function
from bringup.vpe.lower.kernel import Lowered, lower
from bringup.vpe.parse import parse
from bringup.vpe.verify import place

FORMAT = 3
WORTH_BETTER_CODE = 20e-3
"""Seconds in launches after which a kernel's code is made anew, slowly."""


def pack(ttir: str, lowered: Lowered, functions: list[FunctionKey], local_bytes: int) -> bytes:
    """What Triton's cache keeps of a kernel: LLVM IR and TTIR, compressed (object code is in the native cache)."""
    header = {
        "format": FORMAT,
        "arena": lowered.arena_bytes,
        "local": local_bytes,
        "functions": [packed(key) for key in functions],
        "llvm": base64.b64encode(zlib.compress(lowered.text.encode(), 1)).decode(),
        "ttir": base64.b64encode(zlib.compress(ttir.encode(), 1)).decode(),
        "prints": bool(lowered.prints),
        "follows": lowered.follows,
    }
    return json.dumps(header).encode()


def with_code(data: bytes, plain: bool = False) -> bytes:
    """Add object code for this processor to what `pack` made: who loads that makes none of its own.

    For a process that is thrown away: LLVM ends it where a text is not to its passes' liking, and then there is
    `plain` code, made without these.
    """
    header = json.loads(data)
    text = zlib.decompress(base64.b64decode(header["llvm"])).decode()
    code = base64.b64encode(native.object_code(text, plain)).decode()
    return json.dumps({**header, "code": {"key": native.object_key(text), "object": code}}).encode()


@dataclass
class LoadedKernel:
    """A kernel ready to launch."""

    name: str
    entry: Callable[[int], int]
    """Runs programs, by the address of a context; releases the interpreter lock."""
    arena_bytes: int
    local_bytes: int
    prints: bool
    compressed_ttir: bytes
    library: Any
    seconds_per_program: float = 0.0
    """Measured; decides whether a launch is worth several threads."""
    seconds: float = 0.0
    """Time spent in launches of quickly made code."""
    compressed_llvm: bytes = b""
    follows: bool = False
    """Whether it goes through pointers that are not its arguments': loaded ones, or integers."""
    keep: list[Any] = field(default_factory=list)
    lines: tuple[int, ...] = ()
    """In a copy that counts by line: the lines of the source by row of counters, the first 0; else empty."""

    def spent(self, seconds: float) -> None:
        """Note the time of a launch; once a kernel has run for longer than better code takes to make, it gets that."""
        if not self.library.quick:
            return
        self.seconds += seconds
        if self.seconds > WORTH_BETTER_CODE:
            better = native.compile_text(zlib.decompress(self.compressed_llvm).decode())
            # other threads may be in the old code
            self.keep.append(self.library)
            self.entry, self.library = native.runner(better, self.rows), better
            self.seconds_per_program = 0.0

    @functools.cached_property
    def ttir(self) -> str:
        """The kernel's TTIR with locations."""
        return zlib.decompress(self.compressed_ttir).decode()

    @functools.cached_property
    def module(self) -> Module:
        """The kernel's TTIR, parsed."""
        return parse(self.ttir)

    @property
    def rows(self) -> int:
        """Rows of counters that each PE has."""
        return len(self.lines) or 1

    @functools.cached_property
    def by_line(self) -> LoadedKernel:
        """A copy of the kernel that counts by line of its source, made when it is first asked for."""
        return _load_by_line(self)


def load(name: str, data: bytes) -> LoadedKernel:
    """Load what `pack` made, with its object code, if it has some for this processor, or as it comes without passes."""
    header = json.loads(data)
    if header.get("format") != FORMAT:
        text = f"kernel '{name}' was compiled by another version of vpe's compiler (format {header.get('format')})"
        raise RuntimeError(f"{text}: a target's `toolchain` must tell versions apart")
    native.runtime()
    keep: list[Any] = [load_packed(entry) for entry in header["functions"]]
    llvm = base64.b64decode(header["llvm"])
    text, code = zlib.decompress(llvm).decode(), header.get("code")
    if code is None:
        library = native.compile_text(text, quick=True)
    elif code["key"] == native.object_key(text):
        library = native.load_object(base64.b64decode(code["object"]))
    else:  # for another processor, in spite of the key under which it lay: LLVM's passes may end a process
        library = native.compile_text(text, plain=True)
    return LoadedKernel(
        name, native.runner(library), header["arena"], header["local"], header["prints"],
        base64.b64decode(header["ttir"]), library, keep=keep, compressed_llvm=llvm,
        follows=header["follows"],
    )  # fmt: skip


def _load_by_line(kernel: LoadedKernel) -> LoadedKernel:
    calls = Calls()
    places = {op: line for op in kernel.module.walk() if (line := place(kernel.module, op)[1])}
    lines = (0, *sorted(set(places.values())))
    lowered = lower(kernel.module, calls, rows={op: lines.index(line) for op, line in places.items()})
    keep = [load_function(key) for key in calls.used]
    library = native.compile_text(lowered.text, quick=True, plain=True)
    return LoadedKernel(
        kernel.name, native.runner(library, len(lines)), lowered.arena_bytes, kernel.local_bytes, kernel.prints,
        kernel.compressed_ttir, library, keep=keep, compressed_llvm=zlib.compress(lowered.text.encode(), 1),
        follows=kernel.follows, lines=lines,
    )  # fmt: skip


def load_for_dump(kernel: LoadedKernel, site: int) -> tuple[LoadedKernel, Lowered]:
    """A copy of the kernel that writes all variables out before operation `site`."""
    calls = Calls()
    lowered = lower(kernel.module, calls, dump_site=site)
    keep = [load_function(key) for key in calls.used]
    library = native.compile_text(lowered.text, quick=True, plain=True)
    copy = LoadedKernel(
        kernel.name, native.runner(library), lowered.arena_bytes, kernel.local_bytes, False,
            kernel.compressed_ttir,
        library, keep=keep,
    )  # fmt: skip
    return copy, lowered
