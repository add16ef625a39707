"""What a command may say of tensors and pointers: one set of rules for the judge's device and for sealed use.

What one of them refused and the other did would tell a wrapper where it is: a tuner's question for a time is answered
either way. So both ask here, and nothing here knows which of them asks.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence

import numpy as np

from bringup.device import space
from bringup.device.wire import MOST_DIMENSIONS, Descriptor, Malformed, unpack_descriptor

ITEM_BYTES = {"complex128": 16, "float64": 8, "int64": 8, "uint64": 8, "complex64": 8, "float32": 4, "int32": 4}
ITEM_BYTES |= {"uint32": 4, "complex32": 4, "float16": 2, "bfloat16": 2, "int16": 2, "uint16": 2}  # others: 1
MOST_REPEATED = 64 << 20  # bytes of a view that is larger than its storage
SHARED = (
    "two tensors that share elements and are not the same: what such a copy makes hangs on the order of its elements; "
    "copy into a buffer of its own first"
)
MOST_MAPPED, MOST_WAYS = 1 << 22, 1 << 12  # what is looked at to find out whether two tensors share elements
WOVEN_TARGET = "a target whose elements are woven into one another, too far apart to see whether some lie on others"
WOVEN = (
    "two tensors of one storage that are woven into one another, too large or in too many dimensions for anybody to "
    "look whether they share elements; copy by way of another buffer"
)


def item_bytes(dtype: str) -> int:
    """Bytes of one element."""
    return ITEM_BYTES.get(dtype, 1)


def check_extent(
    offset: int, width: int, size: tuple[int, ...], stride: tuple[int, ...], nbytes: int, most: int = 0
) -> None:
    """Raise Malformed where a tensor (offset and width in bytes, strides in elements) leaves `nbytes` bytes.

    Also where it has more bytes than `most`, and than its storage.
    """
    if len(size) != len(stride) or len(size) > MOST_DIMENSIONS or min(offset, *size, *stride, 0) < 0:
        raise Malformed("a tensor with negative sizes or strides, or too many dimensions")
    if 0 in size:
        return
    if math.prod(size) * width > max(MOST_REPEATED, most, nbytes):
        raise Malformed("a view that repeats the elements of its storage too often")
    if offset + _reach(size, stride) * width > nbytes:
        raise Malformed("a tensor that reaches beyond its storage")


def repeats(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether elements of a tensor that is not empty may lie on one another: a stride within reach of smaller ones."""
    reach = 0
    for step, length in sorted((step, length) for step, length in zip(stride, size, strict=True) if length > 1):
        if step <= reach:
            return True
        reach += (length - 1) * step
    return False


def check_tensor(tensor: Descriptor, nbytes: int, most: int = 0) -> int:
    """Return how many bytes a tensor lies behind the beginning of its storage, which has `nbytes`.

    Raises Malformed where it is none of that storage; `most` as in `check_extent`.
    """
    offset, width = tensor.address - tensor.base, item_bytes(tensor.dtype)
    check_extent(offset, width, tensor.size, tensor.stride, nbytes, most)
    if offset % width:
        raise Malformed("a tensor whose address is not a multiple of its element's size")
    return offset


def extent_of(tensor: Descriptor) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    """Where a tensor is in its storage: bytes from the beginning, bytes an element, sizes and strides in elements."""
    return tensor.address - tensor.base, item_bytes(tensor.dtype), tensor.size, tensor.stride


def check_target(tensor: Descriptor, nbytes: int) -> int:
    """As `check_tensor`, for one that is written: no two of its elements lie on one another."""
    offset = check_tensor(tensor, nbytes)
    size, stride = tensor.size, tensor.stride
    if 0 not in size and repeats(size, stride):
        counted = math.prod(size)
        if _reach(size, stride) > MOST_MAPPED:
            raise Malformed(WOVEN_TARGET)
        if counted > nbytes or int(_map([(0, size, stride)], _reach(size, stride)).sum()) != counted:
            raise Malformed("a target whose elements lie on one another")
    return offset


def unpack_copy(body: memoryview) -> tuple[Descriptor, Descriptor]:
    """Source and target of a copy; raises Malformed where no copy makes them equal."""
    source, at = unpack_descriptor(body, 0)
    target, end = unpack_descriptor(body, at)
    if end != len(body) or source.dtype != target.dtype or source.size != target.size:
        raise Malformed("two tensors of different dtypes or sizes, which no copy makes equal")
    return source, target


def check_copy(source: Descriptor, source_bytes: int, target: Descriptor, target_bytes: int) -> None:
    """Raise Malformed for a copy that is none, or whose outcome hangs on the order in which elements are copied.

    `source_bytes`, `target_bytes`: of their storages. A tensor may be copied onto itself.
    """
    check_target(target, target_bytes)
    # what is expanded into memory that is there already costs no more than that memory
    check_tensor(source, source_bytes, most=target_bytes)
    if shares(source, target):
        raise Malformed(SHARED)


def shares(source: Descriptor, target: Descriptor) -> bool:
    """Whether two tensors of one size and dtype have elements in common, but not all in the same places."""
    if source.base != target.base or 0 in target.size or is_itself(source, target):
        return False
    width = item_bytes(target.dtype)
    ends = [one.address + _reach(one.size, one.stride) * width for one in (source, target)]
    if source.address >= ends[1] or target.address >= ends[0]:
        return False
    if source.stride == target.stride and not repeats(target.size, target.stride):
        dims = [(n, step * width) for n, step in zip(target.size, target.stride, strict=True) if n > 1]
        return _meets(abs(source.address - target.address), sorted(dims, key=lambda dim: -dim[1]), width)
    first = min(source.address, target.address)
    # In units of the greatest common divisor: the two may begin at other bytes of an element.
    unit = math.gcd(width, source.address - target.address)
    places = [
        ((one.address - first) // unit, (*one.size, width // unit), (*[step * width // unit for step in one.stride], 1))
        for one in (source, target)
    ]
    length = (max(ends) - first) // unit
    if length > MOST_MAPPED:
        raise Malformed(WOVEN)
    taken, put = (_map([place], length) for place in places)
    return bool((taken & put).any())


def _meets(apart: int, dims: Sequence[tuple[int, int]], width: int) -> bool:
    """Whether some element of a tensor lies on one of another with the same dimensions, so many bytes behind it.

    `dims`: (length, step in bytes), each step as large as what those behind it reach; `width`: bytes of an element.
    """
    left = {apart}
    for length, step in dims:
        left = {one - k * step for one in left for k in (one // step, one // step + 1) if abs(k) < length}
        if len(left) > MOST_WAYS:
            raise Malformed(WOVEN)
    return any(abs(one) < width for one in left)


def is_itself(source: Descriptor, target: Descriptor) -> bool:
    """Whether two tensors of one size and dtype are one, whatever their strides along dimensions of one element."""
    return source.base == target.base and _dims(source) == _dims(target)


def unpack_upload(body: memoryview) -> tuple[Descriptor, int]:
    """The target of an upload, and where its values begin; raises Malformed."""
    target, at = unpack_descriptor(body, 0)
    if len(body) - at != math.prod(target.size) * item_bytes(target.dtype):
        raise Malformed("an upload whose bytes do not fill its tensor")
    return target, at


def check_allocation(base: int, nbytes: int, following: int) -> None:
    """Raise Malformed for an allocation that is not behind all that a guest has had; `following`: the next address."""
    if base < following or base % space.ALIGNMENT or nbytes <= 0 or base + nbytes > space.MIDDLE:
        raise Malformed("an allocation at an address that is not the next free one")


def block_behind(bases: Sequence[int], nbytes: Callable[[int], int], value: int) -> int | None:
    """The base of the block, of those at `bases` in order, that has the byte at an address; None for nobody's."""
    found = bisect.bisect_right(bases, value)
    base = bases[found - 1] if found else None
    return base if base is not None and value < base + nbytes(base) else None


def _dims(tensor: Descriptor) -> tuple[int, list[tuple[int, int]]]:
    return tensor.address, [(n, step) for n, step in zip(tensor.size, tensor.stride, strict=True) if n > 1]


def _reach(size: Sequence[int], stride: Sequence[int]) -> int:
    """Elements from the first to the last of a tensor that is not empty, both included."""
    return 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True))


def _map(tensors: Sequence[tuple[int, Sequence[int], Sequence[int]]], length: int) -> np.typing.NDArray[np.bool_]:
    """bool[length], true where an element of the tensors (offset, sizes, strides) lies."""
    made = np.zeros(length, np.bool_)
    for offset, size, stride in tensors:
        np.lib.stride_tricks.as_strided(made[offset:], tuple(size), tuple(stride))[...] = True
    return made
