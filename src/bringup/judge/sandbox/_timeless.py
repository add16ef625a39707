"""Take the clock away from a process and all that it forks: the time of day, that since boot, the counter of cycles.

A wrapper that may know the day may be right until it and wrong after it, where no judge can see it. Three things tell
a process the time without a system call, which a filter (`_seccomp`) could refuse: the functions that the kernel maps
into every process (vDSO), the pages from which these read, and an instruction. The functions are overwritten with ones
that say zero, the pages are unmapped, the instruction is made a fault. What is told as zero still works: logging and
timers of libraries find a clock that stands still. A process stops its clock before it imports anything, since what it
was told before would lie about in its memory; children that need the time take it up again.

Sources: vdso(7), PR_SET_TSC in prctl(2); the ELF-64 object file format, version 1.5.
"""

from __future__ import annotations

import ctypes
import mmap
import re
import struct
from collections.abc import Iterator

from bringup.judge.sandbox import _kernel

PR_SET_TSC, PR_TSC_ENABLE, PR_TSC_SIGSEGV = 26, 1, 2
READ, WRITE, EXECUTE = 1, 2, 4
DYNAMIC_SYMBOLS = 11  # SHT_DYNSYM
X86, ARM = "x86_64", "aarch64"
# Functions of the vDSO by machine, and code that stores zeros where they are asked to store the time.
STILL = {
    X86: {
        # xor eax, eax; mov [rsi], rax; mov [rsi+8], rax; ret
        "__vdso_clock_gettime": bytes.fromhex("31c0 488906 48894608 c3"),
        # xor eax, eax; test rdi, rdi; jz over; mov [rdi], rax; mov [rdi+8], rax; over: ret
        "__vdso_gettimeofday": bytes.fromhex("31c0 4885ff 7407 488907 48894708 c3"),
        # xor eax, eax; test rdi, rdi; jz over; mov [rdi], rax; over: ret
        "__vdso_time": bytes.fromhex("31c0 4885ff 7403 488907 c3"),
    },
    ARM: {
        # stp xzr, xzr, [x1]; mov w0, wzr; ret
        "__kernel_clock_gettime": struct.pack("<3I", 0xA9007C3F, 0x2A1F03E0, 0xD65F03C0),
        # cbz x0, over; stp xzr, xzr, [x0]; over: mov w0, wzr; ret
        "__kernel_gettimeofday": struct.pack("<4I", 0xB4000040, 0xA9007C1F, 0x2A1F03E0, 0xD65F03C0),
    },
}
# The same functions as system calls, and others that read the pages: their numbers.
CALLS = {
    X86: {
        "__vdso_clock_gettime": 228, "__vdso_gettimeofday": 96, "__vdso_time": 201, "__vdso_clock_getres": 229,
        "__vdso_getrandom": 318,
    },
    ARM: {
        "__kernel_clock_gettime": 113, "__kernel_gettimeofday": 169, "__kernel_clock_getres": 114,
        "__kernel_getrandom": 278,
    },
}  # fmt: skip


def stop_the_clock() -> None:
    """Let this process and its children be told no time but zero. Raises OSError where that cannot be.

    System calls still tell it: the filter of guests refuses them.
    """
    machine = _kernel.machine()
    if machine not in STILL:
        raise OSError(38, f"the architecture {machine} is not supported")
    _write(_asking(machine) | STILL[machine])
    for name, start, end in _maps():
        if name.startswith("[vvar"):
            _kernel.checked(_kernel.libc().munmap(ctypes.c_void_p(start), ctypes.c_size_t(end - start)), "munmap")


def take_up_the_clock() -> None:
    """Let this process and its children be told the time again, by system calls. Raises OSError."""
    if _kernel.machine() in STILL:
        _write(_asking(_kernel.machine()))


def stop_counting_cycles() -> None:
    """Make reading the counter of cycles a fault, for this process and its children. Raises OSError.

    On aarch64 it stays readable: it tells how long the machine has been running, and no day.
    """
    if _kernel.machine() == X86:
        _kernel.prctl(PR_SET_TSC, PR_TSC_SIGSEGV)


def _asking(machine: str) -> dict[str, bytes]:
    """Code that makes the system call which a function of the vDSO saves."""
    if machine == X86:  # mov eax, number; syscall; ret
        return {name: b"\xb8" + struct.pack("<I", number) + b"\x0f\x05\xc3" for name, number in CALLS[X86].items()}
    # movz x8, number; svc 0; ret
    return {
        name: struct.pack("<3I", 0xD2800008 | number << 5, 0xD4000001, 0xD65F03C0)
        for name, number in CALLS[ARM].items()
    }


def _maps() -> list[tuple[str, int, int]]:
    """What the kernel has mapped by itself: name, first address, end."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        found = re.finditer(r"^([0-9a-f]+)-([0-9a-f]+) .* (\[\w+\])$", file.read(), re.MULTILINE)
    return [(match[3], int(match[1], 16), int(match[2], 16)) for match in found]


def _write(code: dict[str, bytes]) -> None:
    """Write code over functions of the vDSO, in pages that are this process's own from now on."""
    found = [(start, end) for name, start, end in _maps() if name == "[vdso]"]
    if not found:
        return  # whoever asks makes system calls
    start, end = found[0]
    places = dict(_functions(ctypes.string_at(start, end - start)))
    for name, instructions in code.items():
        if any(0 < place - places.get(name, end) < len(instructions) for place in places.values()):
            raise OSError(38, f"the vDSO has no room for another {name}")
    _protect(start, end, READ | WRITE)
    try:
        for name, instructions in code.items():
            if name in places:
                ctypes.memmove(start + places[name], instructions, len(instructions))
    finally:
        _protect(start, end, READ | EXECUTE)


def _protect(start: int, end: int, rights: int) -> None:
    size = -(-(end - start) // mmap.PAGESIZE) * mmap.PAGESIZE
    result = _kernel.libc().mprotect(ctypes.c_void_p(start), ctypes.c_size_t(size), ctypes.c_int(rights))
    _kernel.checked(result, "mprotect")


def _functions(image: bytes) -> Iterator[tuple[str, int]]:
    """The names and offsets of what a shared object of 64 bits, little-endian, offers."""
    table, size, count = struct.unpack_from("<Q", image, 40)[0], *struct.unpack_from("<HH", image, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, table + i * size) for i in range(count)]
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != DYNAMIC_SYMBOLS:
            continue
        names = sections[link][4]
        for place in range(offset, offset + length, entry):
            name, _, _, defined, value, _ = struct.unpack_from("<IBBHQQ", image, place)
            if defined:
                yield image[names + name : image.index(b"\0", names + name)].decode(), value
