"""The commands of the stream and how they look as bytes; nothing here executes what it reads.

A command is one byte (which), four bytes (length, little-endian) and a body. Tensors travel as descriptors: base of
the storage, address of the first element, dtype, rank, then sizes and strides in elements. Commands are not answered,
but for `READ`, `KERNEL` and `TIME`, whose answers are frames (`bringup.device.frames`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum


class Command(IntEnum):
    """Everything that a guest can ask for."""

    ALLOC = 1
    """base, bytes: memory of the guest's own, at an address that it has not used before."""
    FREE = 2
    """base"""
    COPY = 3
    """descriptor of the source, descriptor of the target: same dtype, same sizes."""
    UPLOAD = 4
    """descriptor of the target, its elements row by row."""
    READ = 5
    """descriptor; answered with the elements row by row."""
    KERNEL = 6
    """JSON of a `KernelRequest`; answered with its number and resources, or with the compiler's words."""
    ALSO = 7
    """JSON of a `KernelRequest` for another toolchain: compiled as a check, never launched."""
    LAUNCH = 8
    """number of the kernel, grid, line of the wrapper, arguments: 16 bytes a pointer, 8 bytes a scalar."""
    MARK = 9
    """what the next `TIME` is asked about begins here"""
    TIME = 10
    """what has begun with the latest mark was a trial: answered with seconds, which are always the same"""
    RETURNED = 11
    """the wrapper has returned: of calls that are rehearsed, several come in a row"""


SOURCE = "candidate.py"  # under this name messages quote the candidate's lines
HEAD = struct.Struct("<BI")
LARGEST = 512 << 20  # bytes of one command: more is broken framing
LONGEST_CONSTANT = 1000  # characters of a constexpr that messages quote
LARGEST_TEXT = 8 << 20  # of a command that carries a kernel's text
ALLOCATION = struct.Struct("<QQ")
ADDRESS = struct.Struct("<Q")
POINTER = struct.Struct("<QQ")  # value, base of its storage
LAUNCH = struct.Struct("<IiiiIH")  # kernel, grid, line, count of arguments
_DESCRIPTOR = struct.Struct("<QQBB")
MOST_DIMENSIONS = 63  # of numpy's 64: the map of a tensor's bytes has an axis more

DTYPES = (
    "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64",
    "uint16", "uint32", "uint64", "complex128", "complex32", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
    "float8_e5m2fnuz",
)  # fmt: skip
CODES = {name: code for code, name in enumerate(DTYPES)}


class Malformed(Exception):
    """Bytes that are no command, or a command on what is not the guest's."""


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A strided tensor in device memory; sizes and strides in elements, addresses in bytes."""

    base: int
    address: int
    dtype: str
    size: tuple[int, ...]
    stride: tuple[int, ...]

    def pack(self) -> bytes:
        """The descriptor as bytes."""
        rank = len(self.size)
        head = _DESCRIPTOR.pack(self.base, self.address, CODES[self.dtype], rank)
        return head + struct.pack(f"<{2 * rank}q", *self.size, *self.stride)


def unpack_descriptor(data: memoryview, at: int) -> tuple[Descriptor, int]:
    """Read a descriptor; returns it and where it ends. Raises Malformed."""
    try:
        base, address, code, rank = _DESCRIPTOR.unpack_from(data, at)
        at += _DESCRIPTOR.size
        if code >= len(DTYPES) or rank > MOST_DIMENSIONS:
            raise Malformed("a descriptor with an unknown dtype or too many dimensions")
        dims = struct.unpack_from(f"<{2 * rank}q", data, at)
    except struct.error:
        raise Malformed("a descriptor that ends too early") from None
    return Descriptor(base, address, DTYPES[code], dims[:rank], dims[rank:]), at + 16 * rank
