"""What a compiled kernel takes: names and types of its arguments, and how Triton's values become them."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any


def _pack_float(kind: str) -> Callable[[Any], bytes]:
    if kind in ("fp64", "f64"):
        return lambda value: struct.pack("<d", value)
    if kind in ("fp16", "f16"):
        return lambda value: struct.pack("<e6x", value)
    if kind in ("bf16",):
        from bringup.vpe.lower.lanes import float_bits

        return lambda value: struct.pack("<Q", float_bits(float(value), "bf16"))
    return _pack_single


def _pack_single(value: Any) -> bytes:
    """A number beyond float32 is an infinity, as in Triton's own launchers."""
    try:
        return struct.pack("<f4x", value)
    except OverflowError:
        return struct.pack("<f4x", math.copysign(math.inf, value))


class Signature:
    """The arguments of a compiled function, flattened: tuples and descriptors are taken apart as Triton does."""

    def __init__(self, src: Any) -> None:
        """Take Triton's source of the kernel (`ASTSource`)."""
        names = list(src.signature)
        self.arguments: list[tuple[str, str, tuple[Any, ...]]] = []
        """Name, type and path to the value of each argument of the compiled function."""
        for position, (name, kind) in enumerate(src.signature.items()):
            self._flatten(str(name), kind, (position,))
        self.plain = all(len(path) == 1 for _, _, path in self.arguments)
        constants = getattr(src, "constants", {})
        self.constants = {names[path[0]]: value for path, value in constants.items() if len(path) == 1}
        self.packers = [None if kind.startswith("*") else packer(kind) for _, kind, _ in self.arguments]

    def values(self, args: Sequence[Any]) -> list[Any]:
        """The value of each flattened argument."""
        if self.plain:
            return [args[path[0]] for _, _, path in self.arguments]
        return [_follow(args, path) for _, _, path in self.arguments]

    def _flatten(self, name: str, kind: Any, path: tuple[Any, ...]) -> None:
        if isinstance(kind, (tuple, list)):
            for index, inner in enumerate(kind):
                self._flatten(f"{name}[{index}]", inner, (*path, index))
        elif kind.startswith("tensordesc"):
            self._descriptor(name, kind, path)
        elif kind != "constexpr":
            self.arguments.append((name, kind, path))

    def _descriptor(self, name: str, kind: str, path: tuple[Any, ...]) -> None:
        """A descriptor made on the host: the front end takes it apart into base, shape, strides, flags, and
        both again.
        """
        from triton.tools.tensor_descriptor import TensorDescriptor

        element, _, shape = kind.removeprefix("tensordesc<").partition("[")
        rank = shape.count(",") + 1
        flags = ["padding"] + (["round_f32_to_tf32"] if hasattr(TensorDescriptor, "round_f32_to_tf32") else [])
        self.arguments.append((name, f"*{element}", (*path, "base")))
        for field, width in (("shape", "i64"), ("strides", "i64")):
            self.arguments += [(name, width, (*path, field, d)) for d in range(rank)]
        self.arguments += [(name, "i1", (*path, flag)) for flag in flags]
        for field, width in (("shape", "i32"), ("strides", "i64")):
            self.arguments += [(name, width, (*path, field, d)) for d in range(rank)]


def _follow(args: Sequence[Any], path: tuple[Any, ...]) -> Any:
    value: Any = args
    for step in path:
        value = getattr(value, step) if isinstance(step, str) else value[step]
    return value == "nan" if path[-1] == "padding" else value


def packer(kind: str) -> Callable[[Any], bytes]:
    """How a scalar of Triton's type becomes eight bytes."""
    if kind.startswith(("fp", "bf", "f")):
        return _pack_float(kind)
    return lambda value: struct.pack("<q" if value < 1 << 63 else "<Q", value)
