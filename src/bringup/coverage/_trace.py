"""Which kernels serve on a device that has PyTorch's own: a library's registrations, and what else computed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bringup.library.enabled import plain_name
from bringup.library.routing import DEVICE_OWN


def registered(key: str) -> dict[str, str]:
    """Return what is registered for a dispatch key, or for its autograd key, by overload: the dispatcher's words."""
    found: dict[str, str] = {}
    for name in torch._C._dispatch_get_all_op_names():
        if not name.startswith("aten::"):
            continue
        lines = torch._C._dispatch_dump(name).splitlines()
        told = [line for line in lines if line.startswith((f"{key}:", f"Autograd{key}:", f"{key}[", f"Autograd{key}["))]
        if told:
            found[plain_name(name)] = "\n".join(told)
    return found


def _own_kernel(name: str, key: str) -> bool:
    """Whether PyTorch has a kernel for this key itself, rather than a composition of other operators."""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key))


class BuiltinTrace(TorchDispatchMode):  # type: ignore[misc]
    """Notes, below autograd, each overload that is called: those of the library's, and PyTorch's own.

    Memory, views and copies are the device's; what PyTorch composes of others is taken apart, so that what counts is
    who computes the parts. Backward passes run under the mode of the thread that asked for them.
    """

    def __init__(self, key: str, own: frozenset[str]) -> None:
        """`own`: the overloads that the library has registered for `key`."""
        super().__init__()
        self.key, self._mine = key, own
        self.own: Counter[str] = Counter()
        self.builtins: set[str] = set()
        self._inside: list[str] = []  # compositions that are being taken apart

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note a call, and make it."""
        kwargs = kwargs or {}
        args = _tensors_again(func, args)
        name = plain_name(func._schema.name + (f".{func._schema.overload_name}" if func._schema.overload_name else ""))
        if func.namespace != "aten":
            return func(*args, **kwargs)
        if name in self._mine:
            self.own[name] += 1
            return func(*args, **kwargs)
        if name in DEVICE_OWN or _allocates_or_views(func):
            return func(*args, **kwargs)
        if not _own_kernel(name, self.key) and name not in self._inside:
            for composed in ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"):
                if _own_kernel(name, composed):
                    self._inside.append(name)
                    try:
                        with self:
                            return func._op_dk(getattr(torch._C.DispatchKey, composed), *args, **kwargs)
                    finally:
                        self._inside.pop()
        self.builtins.add(name)
        return func(*args, **kwargs)


def _tensors_again(func: Any, args: Any) -> Any:
    """Return arguments with tensors where PyTorch gives a number for one that it had made of a number."""
    wanted = [isinstance(argument.type, torch.TensorType) for argument in func._schema.arguments]
    return tuple(
        torch.tensor(value) if is_tensor and isinstance(value, bool | int | float) else value
        for value, is_tensor in zip(args, wanted, strict=False)
    )


def _allocates_or_views(func: Any) -> bool:
    """Whether an operator only makes memory, or another view of it: no library is asked for these."""
    if func.is_view:
        return True
    packet = func._schema.name.removeprefix("aten::")
    return packet in {
        "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_quantized", "copy_",
        "_to_copy", "clone", "detach", "detach_", "lift", "lift_fresh", "alias", "set_", "resize_",
        "_efficientzerotensor", "record_stream", "is_pinned", "_pin_memory", "_local_scalar_dense",
    }  # fmt: skip
