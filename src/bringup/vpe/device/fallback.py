"""What happens to an operator without a kernel: an error with its name, or, if asked for, the CPU's kernel.

The CPU's kernel runs on host views, so in-place and `out=` operators need no copy; new results are copied into memory
of the device, and results that alias an argument become views of it.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree

from bringup.vpe.device import tensors

missing: Callable[..., Any] | None = None
"""What a kernel library does with operators that it has no kernel for: `missing(operator, *args, **kwargs)`."""

_mode: str | None = None
_observers: list[Callable[[Any, Sequence[Any], dict[str, Any]], None]] = []
calls: collections.Counter[str] = collections.Counter()
"""How often the CPU stood in, by operator."""

# Torch sends convolutions of devices from outside to operators that have no CPU kernel.
_STAND_INS = {
    "aten::convolution_overrideable": torch.ops.aten.convolution.default,
    "aten::convolution_backward_overrideable": torch.ops.aten.convolution_backward.default,
}


# Composite operators that torch would take apart on this device, although the CPU has a better kernel in one piece:
# layer norm would go through batch norm, with other rounding in bf16 and statistics of another dtype.
_IN_ONE_PIECE = ("native_layer_norm", "native_group_norm", "_efficientzerotensor")

_library: Any = None


def use(mode: str | None) -> None:
    """`None`: operators without a kernel raise; `"cpu"`: the CPU computes them."""
    global _mode  # noqa: PLW0603
    if mode not in (None, "cpu"):
        raise ValueError(f"fallback is None or 'cpu', not {mode!r}")
    _mode = mode


@contextmanager
def observed(observer: Callable[[Any, Sequence[Any], dict[str, Any]], None]) -> Iterator[None]:
    """Call `observer(operator, args, kwargs)` before each call that the CPU stands in for, on the calling thread.

    For the whole process, since backward passes run on torch's own threads.
    """
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def register_stand_ins() -> None:
    """Kernels that only the CPU's stand-in needs; whoever registers real ones for them passes `allow_override=True`."""
    global _library  # noqa: PLW0603
    if _library is not None:
        return
    _library = torch.library.Library("aten", "IMPL")
    for name in stand_ins():
        operator = getattr(torch.ops.aten, name).default
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "PrivateUse1"):
            _library.impl(name, functools.partial(fallback, operator), "PrivateUse1")


def stand_ins() -> tuple[str, ...]:
    """The operators for which the CPU stands in only if it is registered for them: others lead there by themselves."""
    return (*_IN_ONE_PIECE, *(name.removeprefix("aten::") for name in _STAND_INS))


def name_of(operator: Any) -> str:
    """`aten::add.out`, `aten::relu`."""
    schema = operator._schema
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def fallback(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """Boxed fallback of the device's dispatch key."""
    name = name_of(operator)
    if tensors.remote is not None:
        raise NotImplementedError(
            f"work left to PyTorch: the device has no {name}. A wrapper may allocate, take views and copy; everything "
            "else is computed in a kernel"
        )
    if missing is not None:
        return missing(operator, *args, **kwargs)
    if _mode is None:
        raise NotImplementedError(
            f"{tensors.NAME} has no kernel for {name}: no library is enabled, and nothing falls back to the CPU; "
            "call bringup.enable() (the library that ships), compute it in a Triton kernel, register a kernel for "
            "PrivateUse1, or allow the CPU with bringup.vpe.device.enable(fallback='cpu')"
        )
    return compute_on_cpu(operator, args, kwargs)


def compute_on_cpu(operator: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Let the CPU's kernel compute a call, and count it. Raises `HostAccessError` where nobody may touch the host."""
    name = name_of(operator)
    tensors.forbid(f"computing {name} on the CPU")
    calls[name] += 1
    for observer in _observers:
        observer(operator, args, kwargs)
    return _on_cpu(operator, args, kwargs)


class _Exchange:
    """Host views of a call's arguments, and the way back."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Any, Any]] = []
        self.outs: list[tuple[Any, Any]] = []

    def to_host(self, value: Any) -> Any:
        if tensors.is_device_tensor(value):
            view = tensors.host_view(value)
            self.pairs.append((view, value))
            return view
        if isinstance(value, torch.device) and value.type == tensors.NAME:
            return tensors.CPU
        return value

    def to_device(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
            return value
        if value.layout is torch.sparse_coo:
            from bringup.vpe.device import sparse

            return sparse.on_device(value)
        for view, original in self.pairs:
            if view is value:
                return original
        pointer = value.untyped_storage().data_ptr()
        if pointer:
            for _, original in self.pairs:
                storage = original.untyped_storage()
                if storage.data_ptr() == pointer:
                    return tensors.make_tensor(
                        storage, value.storage_offset(), value.size(), value.stride(), value.dtype
                    )
        return self._copied(value)

    @staticmethod
    def _copied(value: Any) -> Any:
        result = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=tensors.device())
        with torch.no_grad():
            tensors.host_view(result).copy_(value)
        tensors.mark_written(result)
        return result

    def out_to_host(self, value: Any) -> Any:
        """As `to_host` for `out=`: a copy, since the CPU's kernel may resize it and the device's memory cannot grow."""
        if not tensors.is_device_tensor(value):
            return self.to_host(value)
        copy = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=tensors.CPU)
        with torch.no_grad():
            copy.copy_(tensors.host_view(value))
        self.pairs.append((copy, value))
        self.outs.append((copy, value))
        return copy

    def settle(self) -> None:
        """After a kernel that writes to arguments: let the originals follow, in shape and contents."""
        for copy, original in self.outs:
            if copy.size() == original.size():
                with torch.no_grad():
                    tensors.host_view(original).copy_(copy)
            else:
                storage = self._copied(copy).untyped_storage()
                tensors.set_tensor(original, storage, 0, copy.size(), copy.stride())
        for view, original in self.pairs:
            same = view.size() == original.size() and view.stride() == original.stride()
            if not same and all(original is not out for _, out in self.outs):
                # In-place operators that change the shape (`t_`, `squeeze_`, `as_strided_`) stay in their memory.
                storage = original.untyped_storage()
                tensors.set_tensor(original, storage, view.storage_offset(), view.size(), view.stride())
            tensors.mark_written(original)


def _on_cpu(operator: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    exchange = _Exchange()
    outs = {p.name for p in operator._schema.arguments if p.kwarg_only and p.alias_info and p.alias_info.is_write}
    host_args = _pytree.tree_map(exchange.to_host, tuple(args))
    host_kwargs = {
        name: _pytree.tree_map(exchange.out_to_host if name in outs else exchange.to_host, value)
        for name, value in kwargs.items()
    }
    result = on_host(operator, host_args, host_kwargs)
    if operator._schema.is_mutable:
        exchange.settle()
    return _pytree.tree_map(exchange.to_device, result)


def on_host(operator: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call the CPU's kernel with host tensors as the dispatcher hands arguments to a kernel of the device."""
    operator = _STAND_INS.get(name_of(operator), operator)
    if operator is _STAND_INS["aten::convolution_backward_overrideable"]:
        args = _with_bias_sizes(args)
    return operator(*_boxed_numbers(operator, args), **kwargs)


def _boxed_numbers(operator: Any, args: Sequence[Any]) -> tuple[Any, ...]:
    """Numbers that stand where the schema says Tensor: `x + 1` reaches a kernel with a plain 1.

    Such a number widens no dtype of its own kind, that of a 0-d tensor neither, where a 0-d tensor in its place would.
    """
    if torch._C._should_allow_numbers_as_tensors(operator._schema.name.rpartition(":")[2]):
        return tuple(args)  # PyTorch takes them as they are
    single = [value.dtype for value in args if isinstance(value, torch.Tensor) and not value.dim()]
    boxed = []
    for value, parameter in zip(args, operator._schema.arguments, strict=False):
        if type(value) in (int, float, bool, complex) and "Tensor" in str(parameter.type):
            dtype = torch.get_default_dtype() if type(value) is float else None
            if single:
                widest = functools.reduce(torch.promote_types, single)
                dtype = torch.result_type(torch.empty((), dtype=widest, device=tensors.CPU), value)
            boxed.append(torch.tensor(value, dtype=dtype, device=tensors.CPU))
        else:
            boxed.append(value)
    return tuple(boxed)


def _with_bias_sizes(args: Sequence[Any]) -> tuple[Any, ...]:
    """`convolution_backward` takes the sizes of the bias, which its overrideable form does not pass on."""
    gradient, image, weight, stride, padding, dilation, transposed, output_padding, groups, mask = args
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    return (gradient, image, weight, [channels], stride, padding, dilation, transposed, output_padding, groups, mask)


def _wrong_layout(operator: Any, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        f"{tensors.NAME} has no kernel for {name_of(operator)} of sparse or quantized tensors; of sparse ones it knows "
        "what gradients of embeddings need, and to_dense()"
    )


def register(library: Any) -> None:
    """Register for every operator without a kernel, in a `torch.library.Library` of namespace `_`."""
    library.fallback(fallback, "PrivateUse1")
    for key in ("SparsePrivateUse1", "SparseCsrPrivateUse1", "QuantizedPrivateUse1"):
        library.fallback(_wrong_layout, key)
